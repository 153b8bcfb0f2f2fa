// SPDX-License-Identifier: LGPL-2.1-or-later
/* program_maker.h: what the files share that make the program of a binary (program_from_model.c).
 */
#ifndef OFFLINE_PROGRAM_MAKER_H
#define OFFLINE_PROGRAM_MAKER_H

#include "offline/program/program.h"

#include <math.h>

struct maker {
	const struct pugmark_model *model;
	const struct program_options *options;
	struct program *p;
	uint32_t cap_blocks, cap_succs, cap_opaque;
	uint32_t *first_of; /* per block of the model: its block of the program */
	uint32_t *follows;  /* per block of the model: the last that was found to lead to it, plus
			       one; 0: none */
	uint32_t *func_of;  /* per function of the model: its function of the program */
	uint8_t *reads;	    /* per block of the model: what is read where it begins */
	bool *resumed;	    /* per block of the model: a call comes back there that may switch,
			       which only options->switches tells */
	bool *foreign;	    /* per function of the model: see foreign_code.h */
	bool failed;
};

/* ---- program_calls.c ---- */

/* Whether the call at @s goes to its target, and nowhere else. */
bool maker_is_direct(const struct maker *m, const struct pugmark_site *s);
/* Whether the call or jump @site may go on on another stack. */
bool maker_may_switch(const struct maker *m, uint32_t site);
/* Fills @m->resumed. */
void maker_find_resumed(struct maker *m);
/* What @b is as the call at @site. */
void maker_describe_call(const struct maker *m, uint32_t site, struct prog_block *b);

/* ---- program_probes.c: where a block can be probed ---- */

#define MAKER_NO_PROBE ((struct prog_probe){.cost_ns = INFINITY})

struct prog_probe maker_probe(const struct maker *m, const struct pugmark_insn *insn);
/* The cheapest of the block's first @n instructions. */
struct prog_probe maker_cheapest(const struct maker *m, const struct pugmark_block *block,
				 uint32_t n);
/* The cheapest of those at which the frame is known, if there are any: an event that says that a
 * function was entered has to say in which frame. */
struct prog_probe maker_cheapest_in_frame(const struct maker *m, const struct pugmark_block *block,
					  uint32_t n);
/* How many instructions of the block run on the stack that it begins on: those up to and with the
 * first that may leave it. */
uint32_t maker_count_on_stack(const struct maker *m, const struct pugmark_block *block);

/* ---- program_reads.c: values that are asked for ---- */

/* Whether @block of @func ends a call whose end is to show (enum pugmark_plan_reads, TIME). */
bool maker_is_timed_exit(const struct maker *m, uint32_t func, const struct pugmark_block *block);
/* Arguments where functions begin, results where calls return to: in @m->reads. */
void maker_find_reads(struct maker *m);
/* What is read at the call itself: arguments of a callee that has no entry in this module. */
uint8_t maker_reads_at_call(const struct maker *m, uint32_t site);
/* How many of the block's first @n instructions come before @reads is overwritten. */
uint32_t maker_count_intact(const struct maker *m, const struct pugmark_block *block, uint32_t n,
			    uint8_t reads);

/* ---- program_opaque.c: functions that are not modelled, or not traced ---- */

/* Adds what a function calls that is not modelled; where even that is not known, and in foreign
 * code, it may jump anywhere. */
void maker_make_opaque(struct maker *m, uint32_t func);
/* Finds what may be code though it is in no function. Returns 0 or -ENOMEM. */
int maker_find_unknown(struct maker *m);
/* Makes calls of functions that are not traced like those into another module; what is not traced
 * may call any function. Returns 0 or -ENOMEM. */
int maker_settle_opaque(struct maker *m);

#endif
