// SPDX-License-Identifier: LGPL-2.1-or-later
/* values.c: see values.h. The results of a block come in the order of execution: which of them are
 * whose is told by the timestamps of all nodes in it. */
#include "offline/wet/values.h"

#include "offline/base/search.h"
#include "offline/wet/again_put.h"

#include <errno.h>
#include <stdlib.h>

struct wet_values {
	const struct wet_file *file;
	struct again *again;
	uint8_t *code;
	uint32_t *before; /* of block i and node k, at i * n_nodes + k: executions before it */
	uint32_t open;	  /* block; n_again: none */
	const uint64_t *results;
	uint32_t *first; /* of each path of the block, and behind the last: its first result */
	uint64_t room;
};

static int read_stream(const struct wet_file *f, uint32_t stream, size_t most, uint8_t **out,
		       size_t *len)
{
	int err;
	*out = again_take_bytes(f->bytes + f->streams[stream],
				f->streams[stream + 1] - f->streams[stream], most, len, &err);
	return err;
}

/* How often each node was executed before each block, and in all. */
static int read_counts(struct wet_values *v)
{
	const struct wet_file *f = v->file;
	uint64_t n = f->n_nodes;
	if ((f->n_again + (uint64_t)1) * n > AGAIN_COUNTS_MAX)
		return -EBADMSG; /* no such file is written */
	v->before = calloc((f->n_again + (uint64_t)1) * n + 1, sizeof(*v->before));
	if (!v->before)
		return -ENOMEM;
	for (uint32_t i = 0; i < f->n_again; i++) {
		uint8_t *bytes;
		size_t len;
		int err = read_stream(f, f->again_first + 2 + 2 * i, 10 * n, &bytes, &len);
		if (err)
			return err;
		struct cursor in = {bytes, bytes + len};
		const uint32_t *from = v->before + i * n;
		for (uint64_t k = 0; k < n && !err; k++) {
			uint64_t more = 0;
			if (in.at < in.end &&
			    (!cursor_varint(&in, &more) || more > f->nodes[k].executions - from[k]))
				err = -EBADMSG;
			v->before[(i + 1) * n + k] = from[k] + (uint32_t)more;
		}
		free(bytes);
		if (err)
			return err;
	}
	return 0;
}

int wet_values_open(const struct wet_file *f, struct wet_values **out)
{
	struct wet_values *v = calloc(1, sizeof(*v));
	size_t len = 0;
	*out = NULL;
	if (!v)
		return -ENOMEM;
	v->file = f;
	v->open = f->n_again;
	int err = f->n_again ? read_stream(f, f->again_first, (size_t)AGAIN_CODE_MAX * VALUE_PAGE,
					   &v->code, &len)
			     : -EBADMSG;
	if (!err && len != (uint64_t)f->n_code * VALUE_PAGE)
		err = -EBADMSG;
	err = err ? err : read_counts(v);
	if (!err) {
		v->again = again_new(f->again, f->n_again, f->code, v->code, f->n_code);
		err = v->again ? 0 : -ENOMEM;
	}
	if (err)
		wet_values_free(v);
	else
		*out = v;
	return err;
}

void wet_values_free(struct wet_values *v)
{
	if (!v)
		return;
	again_free(v->again);
	free(v->code);
	free(v->before);
	free(v->first);
	free(v);
}

/* Puts how many values node @k has at each of its timestamps in block @i. */
static int mark_node(struct wet_values *v, uint32_t i, uint32_t k, uint64_t paths)
{
	const struct wet_file *f = v->file;
	const uint32_t *at = v->before + (uint64_t)i * f->n_nodes + k;
	uint64_t n = at[f->n_nodes] - *at, time;
	struct wet_cursor *c = NULL;
	int err = n ? wet_file_stream(f, f->nodes[k].times, &c) : 0;
	if (!err && n && !wet_cursor_seek(c, *at))
		err = -EBADMSG;
	for (; n && !err; n--) {
		uint64_t path = 0;
		if (!wet_cursor_next(c, &time) || time <= f->again[i].paths ||
		    (path = time - f->again[i].paths - 1) >= paths || v->first[path + 1])
			err = -EBADMSG;
		else /* the number of its values, + 1: 0 says that no node has this path yet */
			v->first[path + 1] = f->nodes[k].n_values + 1;
	}
	wet_cursor_free(c);
	return err;
}

static int open_block(struct wet_values *v, uint32_t i)
{
	const struct wet_file *f = v->file;
	uint64_t end = i + 1 < f->n_again ? f->again[i + 1].paths : f->totals.paths;
	uint64_t paths = end - f->again[i].paths;
	v->open = f->n_again;
	if (paths > AGAIN_INSNS_MAX)
		return -EBADMSG;
	if (paths + 1 > v->room) {
		free(v->first);
		v->first = malloc((paths + 1) * sizeof(*v->first));
		v->room = v->first ? paths + 1 : 0;
	}
	if (!v->first)
		return -ENOMEM;
	memset(v->first, 0, (paths + 1) * sizeof(*v->first));
	int err = again_results(v->again, i, &v->results);
	for (uint32_t k = 0; k < f->n_nodes && !err; k++)
		err = mark_node(v, i, k, paths);
	uint64_t results = 0;
	for (uint64_t p = 1; p <= paths && !err; p++) {
		if (!v->first[p] || (results += v->first[p] - 1) > f->again[i].n_results)
			err = -EBADMSG;
		v->first[p] = (uint32_t)results;
	}
	if (!err && results != f->again[i].n_results)
		err = -EBADMSG;
	if (!err)
		v->open = i;
	return err;
}

int wet_values_at(struct wet_values *v, uint64_t time, uint32_t value, uint64_t *out)
{
	const struct wet_file *f = v->file;
	uint32_t i = v->open;
	if (!time || time > f->totals.paths)
		return -EBADMSG;
	if (i == f->n_again || time <= f->again[i].paths ||
	    (i + 1 < f->n_again && time > f->again[i + 1].paths)) {
		i = (uint32_t)SEARCH_FIRST_NOT(0, f->n_again, k, f->again[k].paths < time);
		int err = i ? open_block(v, --i) : -EBADMSG;
		if (err)
			return err;
	}
	uint64_t path = time - f->again[i].paths - 1;
	if (value >= v->first[path + 1] - v->first[path])
		return -EBADMSG;
	*out = v->results[v->first[path] + value];
	return 0;
}
