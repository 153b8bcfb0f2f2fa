// SPDX-License-Identifier: LGPL-2.1-or-later
/* values.c: see values.h. The results of a block come in the order of execution: which of them are
 * whose is told by its paths. */
#include "offline/wet/recompute/values.h"

#include "offline/wet/recompute/block_paths.h"

#include <errno.h>
#include <stdlib.h>

struct wet_values {
	const struct wet_file *file;
	struct again *again;
	uint8_t *code;
	struct block_paths paths;
	uint32_t open; /* block; n_again: none */
	const uint64_t *results;
	uint32_t *first; /* of each path of the block, and behind the last: its first result */
	uint64_t room;
};

int wet_values_open(const struct wet_file *f, struct wet_values **out)
{
	struct wet_values *v = calloc(1, sizeof(*v));
	*out = NULL;
	if (!v)
		return -ENOMEM;
	v->file = f;
	v->open = f->n_again;
	int err = block_paths_code(f, &v->code);
	err = err ? err : block_paths_init(&v->paths, f);
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
	block_paths_deinit(&v->paths);
	free(v->code);
	free(v->first);
	free(v);
}

static int open_block(struct wet_values *v, uint32_t i)
{
	const struct wet_file *f = v->file;
	v->open = f->n_again;
	int err = block_paths_read(&v->paths, i);
	uint64_t results = 0, paths = v->paths.n;
	if (!err && paths + 1 > v->room) {
		free(v->first);
		v->first = malloc((paths + 1) * sizeof(*v->first));
		v->room = v->first ? paths + 1 : 0;
		err = v->first ? 0 : -ENOMEM;
	}
	err = err ? err : again_results(v->again, i, &v->results);
	for (uint64_t p = 0; p < paths && !err; p++) {
		v->first[p] = (uint32_t)results;
		results += f->nodes[v->paths.nodes[p]].n_values;
		err = results > f->again[i].n_results ? -EBADMSG : 0;
	}
	if (err || results != f->again[i].n_results)
		return err ? err : -EBADMSG;
	v->first[paths] = (uint32_t)results;
	v->open = i;
	return 0;
}

int wet_values_at(struct wet_values *v, uint64_t time, uint32_t value, uint64_t *out)
{
	const struct wet_file *f = v->file;
	uint32_t i = v->open;
	if (!time || time > f->totals.paths)
		return -EBADMSG;
	if (i == f->n_again || time <= f->again[i].paths || time > block_paths_before(f, i + 1)) {
		i = block_paths_find(f, time);
		int err = i < f->n_again ? open_block(v, i) : -EBADMSG;
		if (err)
			return err;
	}
	uint64_t path = time - f->again[i].paths - 1;
	if (value >= v->first[path + 1] - v->first[path])
		return -EBADMSG;
	*out = v->results[v->first[path] + value];
	return 0;
}
