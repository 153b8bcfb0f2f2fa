// SPDX-License-Identifier: LGPL-2.1-or-later
/* block_paths.c: see block_paths.h. */
#include "offline/wet/recompute/block_paths.h"

#include "offline/base/search.h"
#include "offline/wet/file/again_put.h"
#include "offline/wet/streams/flow.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static int read_stream(const struct wet_file *f, uint32_t stream, size_t most, uint8_t **out,
		       size_t *len)
{
	int err;
	*out = again_take_bytes(f->bytes + f->streams[stream],
				f->streams[stream + 1] - f->streams[stream], most, len, &err);
	return err;
}

/* How often each node was executed before each block, and in all. */
static int read_counts(struct block_paths *v)
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
		int err = read_stream(f, f->again_first + AGAIN_EXECUTIONS + AGAIN_STREAMS * i,
				      10 * n, &bytes, &len);
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

int block_paths_code(const struct wet_file *f, uint8_t **out)
{
	size_t len = 0;
	int err = f->n_again ? read_stream(f, f->again_first, (size_t)AGAIN_CODE_MAX * VALUE_PAGE,
					   out, &len)
			     : -EBADMSG;
	return !err && len != (uint64_t)f->n_code * VALUE_PAGE ? -EBADMSG : err;
}

int block_paths_init(struct block_paths *p, const struct wet_file *f)
{
	*p = (struct block_paths){.file = f, .open = f->n_again};
	p->codec = codec_new();
	p->counts = calloc(f->n_nodes + (size_t)1, sizeof(*p->counts));
	return p->codec && p->counts ? read_counts(p) : -ENOMEM;
}

void block_paths_deinit(struct block_paths *p)
{
	codec_free(p->codec);
	free(p->before);
	free(p->nodes);
	free(p->counts);
	*p = (struct block_paths){0};
}

/* Whether each node is there as often as block @i is said to have it. */
static bool is_as_counted(struct block_paths *p, uint32_t i)
{
	uint32_t n_nodes = p->file->n_nodes;
	memset(p->counts, 0, n_nodes * sizeof(*p->counts));
	for (uint64_t path = 0; path < p->n; path++)
		p->counts[p->nodes[path]]++;
	for (uint32_t k = 0; k < n_nodes; k++)
		if (p->counts[k] !=
		    block_paths_executions(p, i + 1, k) - block_paths_executions(p, i, k))
			return false;
	return true;
}

int block_paths_read(struct block_paths *p, uint32_t i)
{
	const struct wet_file *f = p->file;
	uint64_t n = block_paths_before(f, i + 1) - f->again[i].paths;
	uint32_t stream = f->again_first + AGAIN_PATHS + AGAIN_STREAMS * i;
	if (p->open == i)
		return 0;
	if (n > AGAIN_INSNS_MAX)
		return -EBADMSG;
	p->open = f->n_again;
	p->n = 0;
	if (n + 1 > p->room) {
		free(p->nodes);
		p->nodes = malloc((n + 1) * sizeof(*p->nodes));
		p->room = p->nodes ? n + 1 : 0;
	}
	if (!p->nodes)
		return -ENOMEM;
	int err =
		wet_flow_read(p->codec, f->bytes + f->streams[stream],
			      f->streams[stream + 1] - f->streams[stream], f->n_nodes, n, p->nodes);
	if (err)
		return err;
	p->n = n;
	if (!is_as_counted(p, i))
		return -EBADMSG;
	p->open = i;
	return 0;
}

uint32_t block_paths_find(const struct wet_file *f, uint64_t time)
{
	uint32_t i;
	if (!time || time > f->totals.paths)
		return f->n_again;
	i = (uint32_t)SEARCH_FIRST_NOT(0, f->n_again, k, f->again[k].paths < time);
	return i ? i - 1 : f->n_again;
}
