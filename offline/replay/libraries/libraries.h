/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* libraries.h: which memory of an evaluated task is code of libraries that are not traced, and
 * where in it the functions of glibc begin that it has several of, one for each kind of processor:
 * those for strings and memory. They are found by its IFUNC symbols, whose resolvers are asked
 * twice: what they choose, and what they would on a processor that has nothing new. That one is
 * executed, or a model (models.h) does it at once. */
#ifndef OFFLINE_REPLAY_LIBRARIES_LIBRARIES_H
#define OFFLINE_REPLAY_LIBRARIES_LIBRARIES_H

#include "offline/eval/machine.h"

struct library_function {
	uint64_t addr;	  /* run-time */
	const char *name; /* of its model, static; NULL: it has none */
	uint64_t plain;	  /* the variant that is executed instead; 0: this one */
	/* Of both: whether they may write to the stack (stack_use.h); asked for once. */
	enum { STACK_NOT_ASKED, STACK_STAYS, STACK_CHANGES } stack, plain_stack;
	bool compares; /* its result is below, above or 0; which number it is each variant says */
};

struct library_functions {
	struct library_function *at;
	size_t n, room;
};

struct library_range {
	uint64_t start, end;
};

/* Zeroed: none. */
struct value_libraries {
	uint64_t stamp; /* of the mappings that all this is of */
	struct library_range *ranges;
	size_t n_ranges, room_ranges;
	struct library_range *made; /* of no file: code that the program makes */
	size_t n_made, room_made;
	struct library_functions models, vdso; /* the first by address */
	struct library_range vdso_range;
};

/* Tells @m of all code of libraries that is mapped now, and of memory in which the program may make
 * code; cheap where no such mapping has changed. 0 or -ENOMEM. */
int value_libraries_sync(struct value_libraries *libraries, struct value_machine *m);
void value_libraries_deinit(struct value_libraries *libraries);
/* Whether @addr is in one of these two. */
bool value_libraries_has(const struct value_libraries *libraries, uint64_t addr);
/* The function with variants that begins at @addr; NULL: there is none. */
const struct library_function *value_libraries_function(const struct value_libraries *libraries,
							uint64_t addr);
/* True if the code that ran, or (@plain) the variant executed instead, may write to the stack below
 * its return address. The caller then calls value_run_dead_stack(). @m stands at @f. */
bool value_libraries_stack(struct value_libraries *libraries, struct value_machine *m,
			   const struct library_function *f, bool plain);
/* Whether @addr is in the code that the kernel maps for time; and the function's name, or "". */
bool value_libraries_vdso(const struct value_libraries *libraries, uint64_t addr,
			  const char **name);

#endif
