/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* plan_check.h: proves from the tables of a finished plan, and nothing else, that the log of any
 * run parses in one way only. It knows neither how the plan was chosen nor the parser: it is an
 * independent reading of docs/theory.md, and shares no code with either. */
#ifndef OFFLINE_PLAN_CHECK_H
#define OFFLINE_PLAN_CHECK_H

#include <pugmark/plan.h>

enum plan_fault_kind {
	FAULT_TABLES, /* the tables contradict themselves, or a probe does not read what it must;
			 `text` says what */
	FAULT_SILENT, /* node and other can both be taken to the function's end in silence */
	FAULT_EVENT,  /* an event of `site` can begin both node and other */
	FAULT_FOLLOW, /* an event of `site` that comes after the call `node` may as well be one
			 inside of what was called */
	FAULT_JUMP,   /* `func` may be entered from outside, and a jump of it to the entry at `site`
			 looks the same as if it had returned and its caller had called that function
		       */
	FAULT_LOOP,   /* `node` can run again and again in silence */
	FAULT_RECURSION, /* `func` can call itself, or something that does, before anything shows */
	FAULT_STOP,	 /* `node` never returns, and no probe says that it was reached: where a
			    thread stopped, or was unwound from, is not in the log */
};

struct plan_fault {
	enum plan_fault_kind kind;
	uint32_t func;
	uint32_t node, other; /* or PUGMARK_NONE */
	uint32_t decision;    /* FAULT_SILENT, FAULT_EVENT: between the two */
	uint32_t site;	      /* or PUGMARK_NONE */
	const char *text;     /* static, or NULL */
	bool told; /* the plan itself says that nothing tells here: no fault of the plan */
};

struct plan_check_counts {
	uint64_t decisions; /* between two alternatives or more */
	uint64_t calls;	    /* after which events were compared with what is inside */
	uint64_t facts;	    /* in all sets, in the end: what an event can be, and where */
	uint64_t faults;
	uint64_t told; /* no faults, since the plan itself names the place as unresolved */
};

typedef void plan_fault_sink(void *ctx, const struct plan_fault *fault);

/* Reports every fault of @plan (which pugmark_plan_open() accepted) to @sink, which may be NULL; no
 * fault is the proof. Returns 0, or -ENOMEM. */
int plan_check(const struct pugmark_plan *plan, plan_fault_sink *sink, void *ctx,
	       struct plan_check_counts *counts);

#endif
