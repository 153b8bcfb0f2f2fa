/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* unwind.h: the return addresses on a copy of a thread's stack, found with the call frame
 * information of whatever modules its process has mapped, traced or not. */
#ifndef USER_UNWIND_H
#define USER_UNWIND_H

#include "user/kernel/record_options.h"

/* A thread as a probe found it: registers by their DWARF number, and the stack from sp upwards. */
struct unwind_thread {
	uint64_t ip;
	uint64_t regs[16];
	uint64_t addr; /* of words[0] */
	const uint64_t *words;
	uint32_t n_words;
};

struct unwinder;

/* How to get from a place in a frame to the frame above. */
struct frame_rule {
	uint64_t ip;
	int32_t cfa_off, bp_off; /* bp_off: of where the caller's bp is, from the CFA */
	int8_t ret_reg;		 /* the register that holds the return address, -1: memory does */
	uint8_t cfa_reg;	 /* FRAME_NONE: not by these rules */
	uint8_t bp;		 /* enum frame_bp */
	bool signal;		 /* the kernel has made it, and interrupted what is above */
};
enum { FRAME_NONE, FRAME_SP, FRAME_BP };
enum frame_bp { BP_KEPT, BP_SAVED, BP_UNKNOWN };

/* What copies of files may take together, in bytes: whoever runs what is traced chooses what his
 * process maps. A process takes at most a quarter of it; frames in files for which none is left
 * have no information. */
struct unwind_room {
	uint64_t bytes;
};

/* Looks at what process @pid has mapped now. @room outlives it. Returns 0, or -errno (-ESRCH: it
 * has ended). */
int unwinder_new(pid_t pid, struct unwind_room *room, struct unwinder **out);
void unwinder_free(struct unwinder *unwinder);
/* Opens the files of all modules now (else each when it is met): the process may end. */
void unwinder_hold(struct unwinder *unwinder);
/* Whether both have the same code mapped at the same places, as forked processes do. */
bool unwinder_alike(const struct unwinder *a, const struct unwinder *b);
/* The process that it is of. */
pid_t unwinder_pid(const struct unwinder *unwinder);
/* Where @module is mapped: run-time address minus ELF address; false: it is not. */
bool unwinder_bias(const struct unwinder *unwinder, const struct recorder_module *module,
		   uint64_t *bias);
/* Whether @addr is mapped as code. */
bool unwinder_is_code(const struct unwinder *unwinder, uint64_t addr);
/* The rule at @ip, which is an instruction in the frame. Each is looked up once. */
const struct frame_rule *unwinder_rule(struct unwinder *unwinder, uint64_t ip);
/* The indices in @thread->words of the return addresses, innermost first, at most @max in @slots.
 * Returns how many; *@complete: the outermost frame was reached. */
uint32_t unwinder_slots(struct unwinder *unwinder, const struct unwind_thread *thread,
			uint32_t *slots, uint32_t max, bool *complete);
/* Whether the last walk came to an address where nothing was mapped when the process was read. */
bool unwinder_missed_code(const struct unwinder *unwinder);

#endif
