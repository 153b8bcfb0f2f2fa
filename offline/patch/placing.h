/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* placing.h: which instruction carries each witness of a plan, and what a trampoline may use there.
 *
 *   own    the witness's own instruction has five bytes or more: it becomes (or stays) a call or
 *          jump of its own length
 *   other  another instruction of the same block does; each run through the block passes both
 *   span   several instructions of the block, one behind the other, have five bytes together: they
 *          become one. What lies behind a block that goes nowhere else may be part of that
 *   island one or more have two bytes at least, a call among them or not, and become a jump to idle
 *          bytes near by, which are made a jump as well
 *   edge   the block is entered in one way alone, by falling through the conditional jump before
 *          it: that one is patched, alone or as the end of a span, and tells the event where it is
 *          not taken
 *   room   an island where no bytes are idle: instructions near by move to the trampoline as well,
 *          and leave room for a jump to there and for the island. They tell nothing
 *
 * In the first two cases the start of an instruction stays the start of one and nothing else
 * changes, so whatever jumps to any instruction of the block finds what it looks for. A span needs
 * more: nothing may come to its second instruction or a later one but through the first (span.h).
 */
#ifndef OFFLINE_PATCH_PLACING_H
#define OFFLINE_PATCH_PLACING_H

#include <pugmark/plan.h>

enum { PATCH_BYTES_MAX = 24, PATCH_INSNS_MAX = 8 };

/* What the last of the patched instructions is, which mostly is the only one. */
enum patch_form {
	PATCH_NONE,	/* no instruction can carry it: why is in `reason` */
	PATCH_CALL,	/* call rel32: gets another target */
	PATCH_CALL_IND, /* becomes a call rel32 */
	PATCH_JMP,	/* jmp rel32 */
	PATCH_JMP_IND,	/* jmp through memory */
	PATCH_JCC,	/* conditional jump */
	PATCH_INSN,	/* any other: is executed in the trampoline */
};

enum patch_reason {
	PATCH_CAN,
	PATCH_SHORT,   /* no instruction of the block that could do has five bytes */
	PATCH_READS,   /* it reads what only a probe does: a stack in any case, values */
	PATCH_UNKNOWN, /* the place is in no function that is known whole */
	PATCH_UNFIT,   /* an instruction that cannot be executed elsewhere */
	PATCH_MIXED,   /* is to stay a probe (for tests) */
};
#define N_PATCH_REASONS 6

struct patch_place {
	uint64_t island;     /* ELF address of five bytes that are patched as well; 0: none */
	uint64_t room;	     /* ELF address of instructions that move for it; 0: none do */
	uint64_t addr;	     /* ELF address of the (first) instruction that is patched */
	uint32_t live;	     /* LIVE_ bits: what must be as it was (liveness.h) */
	uint32_t live_after; /* PATCH_JCC: behind it, either way */
	int8_t words;	     /* other: how far the witness's sp is above the one here */
	int32_t cfa_off;     /* frame word + cfa_off: what the event's CFA is (or sp as it is) */
	uint8_t len;	     /* bytes that are patched */
	uint8_t code_len;    /* of these, the instructions */
	uint8_t room_len;    /* bytes of what moves: the island is among them */
	/* offset, in the patched bytes, of the instruction that the event comes before */
	uint8_t event_at;
	uint8_t form;	/* enum patch_form */
	uint8_t reason; /* enum patch_reason */
	bool by_bp;	/* the frame word is bp and not sp */
	bool other;	/* the event is not of the witness's own instruction */
	bool span;	/* several instructions */
	bool edge;	/* PATCH_JCC: only where it is not taken there is an event */
	uint8_t cond;	/* PATCH_JCC */
};

/* Whether the last of what is patched is a call. It becomes a call of the same length, or, where it
 * is too short for that, a jump to an island: then the trampoline pushes the return address. */
static inline bool patch_place_calls(const struct patch_place *p)
{
	return p->form == PATCH_CALL || p->form == PATCH_CALL_IND;
}

struct patch_placing {
	struct patch_place *places; /* one for each site of the plan, heap */
	uint32_t n;
	uint32_t n_own, n_other, n_span, n_island, n_edge, n_room, n_found; /* n_found: all */
	uint32_t n_by_reason[N_PATCH_REASONS];
};

/* Finds places for the @n_sites of a plan for @model. 0 or -ENOMEM; freed with
 * patch_placing_deinit(). */
int patch_placing_find(const struct pugmark_model *model, const struct pugmark_plan_site *sites,
		       uint32_t n_sites, struct patch_placing *out);
void patch_placing_deinit(struct patch_placing *placing);
/* Finds before there is a plan where a patch could carry a witness: *@out has a bool for each
 * instruction of @model; the last one of a block counts with what a witness there reads, the way of
 * a jump or its target. Idle bytes are not counted on: there may not be enough for all. 0 or
 * -ENOMEM; the caller frees. */
int patch_placing_possible(const struct pugmark_model *model, uint8_t **out);
/* "short", "reads", ...: for those who print them. */
const char *patch_reason_name(enum patch_reason reason);

#endif
