/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* bindings.h: what a plan assumes of the processes that it is used on, so that a recorder has to
 * check it: that the module's calls by way of the linker end in the module itself where the plan
 * says so, and that the programs which enter a library are those that it was planned for. */
#ifndef USER_BINDINGS_H
#define USER_BINDINGS_H

#include "user/file/text_span.h"

#include "bpf/protocol.h"
#include <pugmark/plan.h>

struct bindings {
	struct bound_slot *at;
	uint32_t n;
	/* Not every exported function shows at its entry: only those that the known programs call,
	 * and what these need. */
	bool by_known_programs;
};

/* Reads from the file @path, which @plan is of, the slots of the imports whose calls the plan takes
 * to be of a function of the same file. Returns 0 and @out, to be freed with bindings_deinit(), or
 * -errno with @diag filled (-ESTALE: such an import is not in the file). */
int bindings_read(const char *path, const struct pugmark_plan *plan, const struct text_span *span,
		  struct bindings *out, struct pugmark_diag *diag);
void bindings_deinit(struct bindings *bindings);

#endif
