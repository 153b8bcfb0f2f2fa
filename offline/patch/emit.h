/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* emit.h: the code of one trampoline. What it does, in the order of its instructions:
 *
 *   [push the return address: of a call that was too short to stay one]
 *   the patched instructions before the witness
 *   step over the red zone, save what is live       only where nothing dead can be used
 *   [is the return address one of ours? else: rare]
 *   reserve a record in the ring                     [no room: slow]
 *   write it
 *   restore
 *   the others, and back                             or on to where the last one goes
 *   slow: call the runtime; try again, go on, or: rare
 *   rare: restore, run into the runtime's probe, on to the instruction
 *
 * Behind that, if any make room for an island: these instructions, and back.
 *
 * An event is written before its instruction runs. Nothing but general registers and flags is
 * touched, and memory below the red zone. */
#ifndef OFFLINE_PATCH_EMIT_H
#define OFFLINE_PATCH_EMIT_H

#include "offline/patch/placing.h"

/* From `off` on (up to the next one), a thread in a trampoline is as follows. */
struct patch_state {
	uint32_t off; /* in the code */
	uint32_t place;
	int16_t up;    /* site's stack pointer minus the thread's, in bytes */
	uint8_t at;    /* which of the patched instructions is next, by its offset; or the
			  place's code_len: all are done */
	uint8_t told;  /* the event has been written */
	uint8_t moved; /* they are those that make room for an island */
	uint8_t ended; /* then the instruction's place has been left: it is a jump that was
			  decided, or a call that has pushed its return address */
	/* Registers that are on the stack: the first one 8 bytes below site's sp - below, and so
	 * on. */
	uint8_t below, n_pushed, pushed[3];
};

/* Code as it grows; the caller owns the arrays, and frees them with patch_code_deinit(). */
struct patch_code {
	uint8_t *bytes;
	uint32_t len, cap;
	uint64_t addr;	  /* run-time address of bytes[0] */
	uint64_t runtime; /* of the runtime (runtime.h) */
	struct patch_state *states;
	uint32_t n_states, cap_states;
	bool poison; /* for tests: overwrite what is dead */
	int err;     /* -ENOMEM, once it happened */
};

struct patch_spec {
	const struct patch_place *place;
	uint32_t index;	      /* of the place, for its states */
	const uint8_t *bytes; /* the instructions as they are in the file, place->len of them */
	const uint8_t *room;  /* those that make room for its island, if any do */
	uint64_t addr;	      /* its run-time address */
	uint32_t site;	      /* number of the site over all modules */
	uint8_t probe_at;     /* where a probe of ours is in them, by its offset; 255: nowhere */
	uint8_t capture;      /* enum pugmark_plan_capture */
	/* PUGMARK_CAPTURE_SNAPSHOT: run-time address and length of the module's text, and where a
	 * bit for each byte of it says whether a call of ours returns there. */
	uint64_t text, text_bytes, returns;
};

struct patch_made {
	uint8_t bytes[PATCH_BYTES_MAX]; /* what goes to their place, place->len of them */
	uint8_t island[5];		/* what goes there, if it has one */
	uint8_t room[5];		/* the same of what makes room for it */
	uint32_t off;			/* of the trampoline in the code */
	uint32_t event;			/* where its event begins, behind the instructions before */
	uint64_t target;   /* where the last one jumps to or what it calls, if it says so */
	uint32_t taken;	   /* PATCH_JCC: from here on the code of where it is taken */
	uint32_t tail[2];  /* in the code: where the instruction itself is done; PATCH_JCC: where it
			      is not taken, and where it is */
	int32_t frame_add; /* the event's CFA (or sp) minus the frame word of its record */
};

/* Appends a trampoline to @code. Returns 0, -EINVAL where the instruction cannot be executed
 * elsewhere, -ERANGE where something that it names is too far from there (nothing is appended
 * then), or -ENOMEM. */
int patch_emit(struct patch_code *code, const struct patch_spec *spec, struct patch_made *out);
/* Appends @n bytes at a multiple of @align. Returns their offset, or UINT32_MAX. */
uint32_t patch_code_append(struct patch_code *code, const void *bytes, uint32_t n, uint32_t align);
void patch_code_deinit(struct patch_code *code);
/* The state of a thread at @off, or NULL: none is in a trampoline there. */
const struct patch_state *patch_state_at(const struct patch_code *code, uint32_t off);

#endif
