/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* measure_costs.h: measures what a probe costs here, on code of our own, in a child of our own. */
#ifndef USER_MEASURE_COSTS_H
#define USER_MEASURE_COSTS_H

#include <stdbool.h>
#include <stdint.h>

#include <pugmark/diag.h>

/* Instructions by what the kernel does with a probe on them (enum pugmark_probe_class). */
enum cost_insn {
	COST_CALL,
	COST_JMP,
	COST_JCC,
	COST_PUSH,
	COST_NOP,
	COST_RET,
	COST_MOV,
	COST_POP,
	COST_ENDBR,
	COST_INSNS,
};

struct cost_row {
	const char *name;
	bool stepped;
	double empty_ns; /* added by a probe with an empty BPF program */
};

/* Kinds of witness by what the program that records does at it. */
enum cost_kind {
	COST_WITNESS,	    /* a call, with the time */
	COST_WITNESS_PLAIN, /* without */
	COST_WITNESS_RET,   /* a push, with time and return address */
	COST_WITNESS_JCC,   /* a conditional jump, with time and flags */
	COST_WITNESSES,
};

struct cost_witness {
	const char *name;  /* in doctor's table */
	const char *key;   /* in its JSON */
	double added_ns;   /* median of many short rounds */
	double over_empty; /* added_ns as a multiple of what an empty program on the same
			      instruction adds, in alternating rounds: the median, and the quartiles
			    */
	double low, high;
};

struct measured_costs {
	struct cost_row rows[COST_INSNS];
	double emulated_ns, stepped_ns; /* medians of the rows */
	struct cost_witness witnesses[COST_WITNESSES];
};

/* Returns 0, or -errno with @diag filled. Takes about a second. */
int costs_measure(struct measured_costs *costs, struct pugmark_diag *diag);
/* Writes them to probe_costs_path(), by rename. */
int costs_save(const struct measured_costs *costs, struct pugmark_diag *diag);

#endif
