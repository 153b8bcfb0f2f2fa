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

/* Whether the call that returns to @addr (a run-time address; 0: none) in the thread at @task was
 * made by such code at @time_ns. For one thread at a time. */
bool made_code_find(struct trace_view *view, uint32_t task, uint64_t addr, uint64_t time_ns,
		    struct made_code *out);
/* As text: "[jit] NAME", "[jit] NAME?" where that is not certain, "[anonymous code]". */
void made_code_print(struct outbuf *out, const struct made_code *code);
/* As members of a JSON object: ,"from":"NAME","from_certain":false or ,"from":null. */
void made_code_json(struct outbuf *out, const struct made_code *code);

#endif
