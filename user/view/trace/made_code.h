/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* made_code.h: code that a program has made at run time, and that has called into what is traced:
 * it is in no file, and has the name that the program has given it, if any. */
#ifndef USER_MADE_CODE_H
#define USER_MADE_CODE_H

#include "user/cli/outbuf.h"
#include "user/view/trace/trace_view.h"

struct made_code {
	const char *name; /* as the program says; NULL: it has said nothing */
	bool certain;	  /* else it may have had another name then */
};

/* The number of the name of such code, and whether it is certain, as one number that is not 0; 0:
 * it was not made by such code, or that has no name. */
uint32_t made_code_number(const struct trace_view *view, uint32_t task, uint64_t addr,
			  uint64_t time_ns);
static inline bool made_code_is_certain(uint32_t number)
{
	return number & 1;
}
/* As it is shown; the caller frees it. NULL: no memory. */
char *made_code_shown(const struct trace_view *view, uint32_t number);

/* Whether the call that returns to @addr (a run-time address; 0: none) in the thread at @task was
 * made by such code at @time_ns. For one thread at a time. */
bool made_code_find(struct trace_view *view, uint32_t task, uint64_t addr, uint64_t time_ns,
		    struct made_code *out);
/* As text: "[jit] NAME", "[jit] NAME?" where that is not certain, "[anonymous code]". */
void made_code_print(struct outbuf *out, const struct made_code *code);
/* As members of a JSON object: ,"from":"NAME","from_certain":false or ,"from":null. */
void made_code_json(struct outbuf *out, const struct made_code *code);

#endif
