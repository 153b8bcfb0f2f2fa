/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* passages.h: which write has brought the bytes that a read got, through a file, a pipe or a stream
 * socket that the recording has both ends of. By where in the channel: of TCP its sequence numbers
 * say it, of a file its offsets, and pipes and Unix streams are counted from when they were made.
 * What is not certain by that is not told:
 *
 *   order   10     11     12     13     14
 *   task 1  write()              = 5
 *   task 2         write()  = 3             read() = 8     which of the two came first?
 */
#ifndef OFFLINE_CAPTURE_PASSAGES_H
#define OFFLINE_CAPTURE_PASSAGES_H

#include "offline/capture/channels.h"
#include "offline/capture/families.h"

enum passage_kind {
	PASSAGE_NONE, /* no call of the recording has written there: it is input */
	PASSAGE_FROM,
	PASSAGE_WRITERS, /* @one and @other wrote at the same time */
	PASSAGE_READERS, /* they read, or one read while the other wrote, at the same time */
	PASSAGE_EARLIER, /* the channel was there before the recording, or was made by others */
	PASSAGE_OTHERS,	 /* others may have an end of it, or have changed the file meanwhile */
	PASSAGE_INSIDE,	 /* the bytes were moved in the kernel (splice(), sendfile()) */
	PASSAGE_KINDS
};

struct passage {
	uint8_t kind, channel; /* enum passage_kind, channel_kind */
	uint32_t task;	       /* PASSAGE_FROM: who wrote, */
	uint64_t order;	       /* the record of the call, */
	uint64_t offset;       /* and which of its bytes was the first */
	uint32_t one, other;
	uint64_t bytes; /* of which this holds, in a row */
};

struct passages;

/* @families: of the recording, borrowed only here. 0, or -errno. */
int passages_new(const struct captures *captures, const struct families *families,
		 struct passages **out);
/* The same of @n notes by order, which it takes: also where it fails it frees them. */
int passages_of(struct channel_note *notes, size_t n, const struct families *families,
		struct passages **out);
void passages_free(struct passages *passages);
/* Of up to @n bytes (at least 1) that the call of record @order of @task has read, from its byte
 * @offset on: where the first of them come from. */
struct passage passages_back(const struct passages *passages, uint32_t task, uint64_t order,
			     uint64_t offset, uint64_t n);

/* @p->offset: of the write, where the bytes that went to byte @offset of the read of record @order
 * of @task begin. */
typedef void passage_fn(void *ctx, uint32_t task, uint64_t order, uint64_t offset,
			const struct passage *p);
/* Tells of all reads that may have got bytes of that write of @task: those that have, and
 * (@p->kind not PASSAGE_FROM) those of its channel of which that is not certain. */
void passages_on(const struct passages *passages, uint32_t task, uint64_t order, passage_fn *fn,
		 void *ctx);

#endif
