/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* encode_pack_stream.h: what a packed graph consists of, for its writer and its reader: a text, and
 * a stream of tokens. Both are coded by the same functions in both directions: what is passed is
 * written, or replaced by what is read. */
#ifndef OFFLINE_ENCODE_PACK_STREAM_H
#define OFFLINE_ENCODE_PACK_STREAM_H

#include "offline/base/vec.h"
#include "offline/encode/encode_pack_coder.h"

enum pack_kind {
	PACK_END, /* of a node's callees, or of a root */
	PACK_NEW, /* a call of a node that comes for the first time: its callees follow */
	PACK_OLD, /* of one that was there before */
};

/* A token of the stream. */
struct pack_token {
	uint32_t kind;
	uint32_t what;	/* PACK_NEW: its symbol; PACK_OLD: its number, in the order of coming */
	uint32_t count; /* how often in a row */
	uint32_t end;	/* PACK_NEW: the token that closes it */
};

#define PACK_MAGIC "PUGPACK\1"
enum { PACK_LAST = 4 };

/* The header: magic, u32 CRC-32 of all behind that, u32 0, and struct pack_counts. Bytes: */
enum {
	PACK_CRC_AT = 8,
	PACK_SUMMED_AT = 12, /* from here to the end of the file */
	PACK_COUNTS_AT = 16,
	PACK_HEADER_BYTES = 48,
};

/* One byte of an arithmetic coder can hold many tokens, or characters, but not any number: more
 * than this many a byte means that the counts are damaged. */
enum { PACK_TOKENS_PER_BYTE = 65536, PACK_TEXT_PER_BYTE = 4096 };

struct pack_counts {
	uint32_t tokens; /* different ones, PACK_END included */
	uint32_t names, sequences, text_bytes;
	uint64_t stream; /* tokens in it */
	uint64_t calls;
};

struct pack_stream {
	struct pack_coder *coder;
	VEC(struct pack_token) tokens; /* by number: in the order of coming; 0 is PACK_END */
	VEC(uint32_t) past;	       /* the stream so far */
	VEC(uint32_t) parents;	       /* tokens of the nodes that are open */
	int32_t *last[PACK_LAST];      /* by hash of the last few tokens: what came after them */
	uint32_t match_at, match_len;  /* where in the past the same tokens came; 0: nowhere */
	uint32_t width;		       /* bits of a token's number */
	uint32_t n_names, n_nodes;     /* seen so far */
};

/* @coder is the caller's. 0 or -ENOMEM. */
int pack_stream_init(struct pack_stream *stream, struct pack_coder *coder,
		     const struct pack_counts *counts);
void pack_stream_deinit(struct pack_stream *stream);
/* The next token: @number of it, which is tokens.n where it is @token, a new one. 0, -ENOMEM, or
 * -EBADMSG where what is read makes no sense. */
int pack_stream_token(struct pack_stream *stream, uint32_t *number, struct pack_token *token);
/* @text, @len bytes. */
void pack_text(struct pack_coder *coder, uint8_t *text, uint32_t len);

#endif
