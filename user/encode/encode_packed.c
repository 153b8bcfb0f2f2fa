// SPDX-License-Identifier: LGPL-2.1-or-later
/* encode_packed.c: the graph as a packed file, and such a file in place of a recording: it has all
 * of its calls, but neither times nor values. */
#include "user/encode/encode.h"

#include "offline/base/private_file.h"
#include "offline/encode/encode_pack.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>

enum { FILE_MAX = 1 << 30 };

static void dag(struct encode *e, const struct dag *dag)
{
	struct pack_sequence *sequences = malloc((e->sequences.n + 1) * sizeof(*sequences));
	uint8_t *bytes;
	size_t len;
	e->pack_err = sequences ? 0 : -ENOMEM;
	for (uint32_t i = 0; sequences && i < e->sequences.n; i++)
		sequences[i] =
			(struct pack_sequence){e->sequences.at[i].place, e->sequences.at[i].ends};
	if (!e->pack_err)
		e->pack_err = pack_write(dag, e->symbols, sequences, &bytes, &len);
	if (!e->pack_err) {
		outbuf_bytes(e->out, (const char *)bytes, len);
		free(bytes);
	}
	free(sequences);
}

const struct encode_format encode_packed = {
	.name = "packed",
	.dag = dag,
};

/* ---- in place of a recording ---- */

bool encode_is_packed(const char *path)
{
	struct stat st;
	return !stat(path, &st) && S_ISREG(st.st_mode);
}

static int load(const char *path, struct private_file *out, struct pugmark_diag *diag)
{
	int err = private_file_open(path, FILE_MAX, out);
	return err ? pugmark_diag_set(diag, err, path, PUGMARK_NO_OFFSET, "cannot read: %s",
				      private_file_why(err))
		   : 0;
}

/* As of a recording, but of names alone. */
static uint8_t verdict(void *ctx, uint32_t name)
{
	const struct encode *e = ctx;
	const char *text = symbols_name(e->symbols, name);
	uint8_t out = 0;
	if (patterns_match(&e->view.without, text, NULL) >= 0)
		out |= FILTER_HIDE;
	if (patterns_match(&e->view.only, text, NULL) >= 0)
		out |= FILTER_ROOT;
	if (patterns_match(&e->face, text, NULL) >= 0)
		out |= FILTER_FACE;
	return out;
}

static int tell(struct encode *e, const struct packed *packed)
{
	const struct filter_rules rules = {
		.verdict = verdict,
		.ctx = e,
		.roots = e->view.only.n,
		.face = e->selection == SELECT_FACE,
		.depth = e->view.depth,
		.to_ns = UINT64_MAX,
	};
	struct tree_sink sink;
	int err = encode_selection_init(e, &sink);
	if (!err)
		err = filter_new(&rules, &sink, &e->filter);
	if (!err)
		err = packed_tell(packed, filter_sink(e->filter));
	if (!err)
		e->passed = filter_passed(e->filter);
	return err;
}

static const char *not_in_it(const struct encode *e)
{
	if (e->selection == SELECT_OBJECT)
		return "values by which objects are told apart";
	if (e->selection == SELECT_CHAINS || e->selection == SELECT_INTERVALS || e->view.timed ||
	    e->merge)
		return "times";
	return e->view.modules.n ? "modules" : e->view.n_tids ? "numbers of threads" : NULL;
}

int encode_packed_read(struct encode *e, struct pugmark_diag *diag)
{
	const char *path = e->view.dir, *lacks = not_in_it(e);
	struct private_file file = {0};
	if (lacks)
		return pugmark_diag_set(diag, -EINVAL, path, PUGMARK_NO_OFFSET,
					"a packed graph of calls has no %s", lacks);
	int err = load(path, &file, diag);
	if (!err && symbols_new(&e->symbols))
		err = trace_view_no_memory(&e->view, diag);
	if (!err)
		err = packed_open(file.bytes, file.len_bytes, path, e->symbols, &e->packed, diag);
	private_file_free(&file);
	if (!err && tell(e, e->packed))
		err = trace_view_no_memory(&e->view, diag);
	if (!err && !e->passed)
		err = pugmark_diag_set(diag, -ENODATA, path, PUGMARK_NO_OFFSET,
				       "the selection keeps none of its calls");
	e->events = 2 * e->passed;
	return err;
}
