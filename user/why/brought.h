/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* brought.h: bytes that a slice has read from a file, pipe or socket which a write of the same
 * recording has provably brought there (passages.h): where the slice goes on. The bytes of both
 * calls must be equal as well, wherever they are known. */
#ifndef USER_WHY_BROUGHT_H
#define USER_WHY_BROUGHT_H

#include "offline/capture/passages.h"
#include "user/why/fold.h"

enum brought_end {
	BROUGHT_UNTOLD = PASSAGE_KINDS, /* what the writer did there is not known */
	BROUGHT_DIFFER,			/* it wrote other bytes */
	BROUGHT_LEFT_OUT,		/* too many */
	BROUGHT_ENDS
};

/* Bytes of one read that come from one write. */
struct brought_piece {
	uint32_t task; /* who read them: */
	uint64_t order, offset;
	int fd;
	uint64_t at; /* in all that was read of the descriptor */
	struct passage from;
	int writer_fd;
	uint8_t end; /* 0, or why the slice ends there: enum brought_end */
};

struct brought_call;

struct brought {
	struct passages *passages;
	struct brought_piece *pieces; /* of which @done are answered */
	size_t n, room, done;
	struct brought_call *calls; /* whose bytes are known already, by task and order */
	size_t n_calls, room_calls;
	uint64_t followed, ends[BROUGHT_ENDS]; /* in bytes */
	uint32_t one, other; /* tasks of the first PASSAGE_WRITERS or PASSAGE_READERS */
};

/* 0, or -errno. */
int brought_init(struct brought *b, const struct captures *captures,
		 const struct families *families);
void brought_deinit(struct brought *b);
/* Takes what the slice of @task has read: what no write of the recording has brought, or where that
 * is not certain, becomes input of @fold, the rest pieces. 0 or -ENOMEM. */
int brought_take(struct brought *b, uint32_t task, const struct fold_foreigns *read,
		 struct fold *fold);

struct brought_ask {
	/* What @task did, to its end; NULL: not known. */
	const struct dep_build *(*build)(void *ctx, uint32_t task);
	void *build_ctx;
	/* A definition that the slice goes on at. False: out of memory. */
	bool (*start)(void *ctx, uint32_t task, uint32_t def, uint64_t count);
	void *ctx;
};
/* Answers the pieces that are new. 0 or -ENOMEM. */
int brought_answer(struct brought *b, const struct brought_ask *ask);
/* The other way: all reads that got something of the definitions @tainted (a bit each) of @task,
 * which it has written, become pieces. 0 or -ENOMEM. */
int brought_send(struct brought *b, uint32_t task, const struct dep_build *build,
		 const uint64_t *tainted);
/* As brought_answer(): the slice goes on at what was read. */
int brought_answer_onward(struct brought *b, const struct brought_ask *ask);
/* The bytes of pieces that are new are left out; those that lie beside each other become one. */
void brought_finish(struct brought *b);
/* Why a slice ends there, in words. */
const char *brought_why(unsigned end);
/* "a pipe". */
const char *brought_channel(uint8_t channel);
/* Whether it ended nowhere. */
bool brought_whole(const struct brought *b);

#endif
