/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* channels.h: what is recorded of the system calls that move bytes through files, pipes and stream
 * sockets, beside their records: through which one, and where in it (docs/recording-format.md,
 * "Channels"). passages.h tells by it which write brought the bytes that were read. */
#ifndef OFFLINE_CAPTURE_CHANNELS_H
#define OFFLINE_CAPTURE_CHANNELS_H

#include "offline/base/varint.h"
#include "offline/capture/capture_ring.h"
#include "offline/capture/captures.h"

/* Append-only: recordings outlive us. */
enum channel_what {
	CHANNEL_READ = 1,
	CHANNEL_WRITE = 2,
	CHANNEL_MADE = 3,   /* the pipe or socket is new */
	CHANNEL_CUT = 4,    /* the file has another length, or has lost bytes */
	CHANNEL_FORKED = 5, /* a task has begun another one, which may have all of its descriptors
			     */
	CHANNEL_UNTOLD = 6, /* a call that may move bytes of any channel, or hand on an end of it */
	CHANNEL_MISSED = 7, /* notes of the task are missing here */
};

enum channel_flag {
	CHANNEL_STAYS = 1,  /* CHANNEL_READ: what is read stays there (MSG_PEEK) */
	CHANNEL_INSIDE = 2, /* the bytes were in no memory of the process: splice() */
};

struct channel_note {
	uint8_t what, kind, flags; /* enum channel_what, channel_kind, channel_flag */
	uint32_t task;		   /* not in the payload, whose segment has it */
	uint64_t order, entered;   /* as those of the call's record */
	uint64_t bytes;		   /* that were moved; CHANNEL_FORKED: none */
	uint64_t device, end, peer;
	uint64_t position;	/* of the first byte; of TCP modulo 2^32 */
	uint64_t before, after; /* when the file was changed last, as the call began and ended */
};

/* What the record @c and the ring's words make of it; up to two notes. Returns how many. */
uint32_t channel_notes_of(const struct capture *c, const struct capture_channel *channel,
			  struct channel_note out[2]);

/* Adds @note to a payload, of which @last is the one before (zeroed at first). */
void channel_note_put(struct bytes *payload, const struct channel_note *last,
		      const struct channel_note *note);
/* False: it is damaged. */
bool channel_note_get(struct cursor *payload, const struct channel_note *last,
		      struct channel_note *out);

/* All of the recording, by order; the caller frees. 0, or -errno. */
int captures_channels(const struct captures *captures, struct channel_note **out, size_t *n);

#endif
