// SPDX-License-Identifier: LGPL-2.1-or-later
/* again_put.c: see again_put.h. */
#include "offline/wet/file/again_put.h"

#include "offline/base/codec.h"

#include <errno.h>

bool again_put_bytes(const void *bytes, size_t len, struct bytes *to)
{
	struct codec *codec = codec_new();
	uint8_t kind = CODEC_STORED, *packed = malloc(codec_bound(len));
	bool fine = codec && packed;
	if (fine) {
		size_t n = codec_compress(codec, bytes, len, packed, &kind);
		bytes_put(to, &kind, 1);
		bytes_put_varint(to, len);
		bytes_put(to, packed, n);
	}
	free(packed);
	codec_free(codec);
	return fine && !to->failed;
}

uint8_t *again_take_bytes(const uint8_t *bytes, size_t len, size_t most, size_t *out_len, int *err)
{
	struct cursor in = {bytes, bytes + len};
	uint64_t n = 0;
	uint8_t kind;
	*err = cursor_byte(&in, &kind) && cursor_varint(&in, &n) && n <= most ? 0 : -EBADMSG;
	uint8_t *out = *err ? NULL : malloc(n + 1);
	struct codec *codec = out ? codec_new() : NULL;
	if (!*err)
		*err = codec ? codec_expand(codec, kind, in.at, (size_t)(in.end - in.at), out, n)
			     : -ENOMEM;
	codec_free(codec);
	if (!*err) {
		*out_len = n;
		return out;
	}
	free(out);
	return NULL;
}

int again_put(const struct wet_graph *graph, const struct noted *noted,
	      int (*put)(void *ctx, enum again_part part, const uint8_t *bytes, size_t len),
	      void *ctx)
{
	struct bytes to = {0};
	const struct bytes *executions;
	uint32_t n_cuts, n_unforeseen, n_flows;
	const struct unforeseen_block *unforeseen = wet_graph_unforeseen(graph, &n_unforeseen);
	const struct bytes *flows = wet_graph_flows(graph, &n_flows);
	const struct wet_cut *cuts = wet_graph_cuts(graph, &n_cuts, &executions);
	bool fine = again_put_bytes(noted->pages, (size_t)noted->n_pages * VALUE_PAGE, &to);
	int err = fine ? put(ctx, AGAIN_CODE, to.data, to.len) : -ENOMEM;
	for (uint32_t i = 0; i < noted->n && !err; i++) {
		size_t from = cuts[i + 1].executions;
		size_t end = i + 2 < n_cuts ? cuts[i + 2].executions : executions->len;
		err = put(ctx, AGAIN_BLOCK, noted->blocks[i].at, noted->blocks[i].len);
		to.len = 0;
		if (!err && !again_put_bytes(executions->data + from, end - from, &to))
			err = -ENOMEM;
		err = err ? err : put(ctx, AGAIN_EXECUTIONS, to.data, to.len);
		err = err ? err : put(ctx, AGAIN_PATHS, flows[i].data, flows[i].len);
		err = err ? err : put(ctx, AGAIN_UNFORESEEN, unforeseen[i].at, unforeseen[i].len);
	}
	bytes_deinit(&to);
	return err;
}
