/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* value_names.h: names of run-time addresses of a recording with values, and the addresses of
 * places that a user names. */
#ifndef USER_VALUE_NAMES_H
#define USER_VALUE_NAMES_H

#include "offline/capture/captures.h"
#include "user/values/vars/value_vars.h"

struct value_names;

int value_names_open(const char *dir, const struct captures *captures, struct value_names **out,
		     struct pugmark_diag *diag);
void value_names_free(struct value_names *names);
/* The function that the run-time address @addr lies in, demangled and without parameters, as far as
 * is known; NULL. *@module, *@elf: of which module, and its ELF address. */
const char *value_names_at(const struct value_names *names, uint64_t addr, uint32_t *module,
			   uint64_t *elf);
/* The same by its linker name, which no other function has. */
const char *value_names_symbol(const struct value_names *names, uint64_t addr);
/* Whether @addr is where a function begins. */
bool value_names_is_entry(const struct value_names *names, uint64_t addr);
/* The line of source at that run-time address, and its file as DWARF names it; 0: not known. */
uint32_t value_names_line(struct value_names *names, uint64_t addr, const char **file);
/* The frames of an instruction, the innermost first: of the function that its line is of, then of
 * each that this one was inlined into. The last one is of the function that value_names_at() says.
 */
struct value_frame {
	const char *function; /* NULL: not known */
	const char *file;     /* NULL: not known, and the line is 0 */
	uint32_t line;	      /* the instruction's; of all but the first frame that of the call */
};
enum { VALUE_FRAMES = 64 };
/* Those at that run-time address: how many, at least 1. Of more than VALUE_FRAMES the ones before
 * the last are left out. Strings are borrowed from @names. */
uint32_t value_names_frames(struct value_names *names, uint64_t addr,
			    struct value_frame out[VALUE_FRAMES]);
/* The module's file, if it is still what was traced; NULL. Modules count from 0. */
const char *value_names_file(const struct value_names *names, uint32_t module);
/* What of the recording is damaged or cut. */
struct value_damage {
	bool captures; /* captures: they end before the recorder did; captures_ended() */
	bool meta;     /* meta.json: names and files */
	bool events;   /* events: which tasks there are, and of which processes */
	bool disk;     /* the recorder stopped where the disk was full */
};
struct value_damage value_names_damage(const struct value_names *names);
/* Says on standard error which files are gone or are not what was traced: values are still known,
 * as the recording has their code, but no lines, types and variables. */
void value_names_tell_stale(const struct value_names *names);
/* The ELF addresses between which the module's code lies. */
bool value_names_text(const struct value_names *names, uint32_t module, uint64_t *from,
		      uint64_t *to);
uint32_t value_names_modules(const struct value_names *names);
/* The variables of that module, or NULL. */
struct value_vars *value_names_vars(struct value_names *names, uint32_t module);
/* The same; NULL as well where @elf is in no function that the module's DWARF describes. */
struct value_vars *value_names_vars_at(struct value_names *names, uint32_t module, uint64_t elf);
/* The run-time addresses of @place: a function (demangle_means(): of all that are called so),
 * FILE:LINE, or an ELF address 0x... of the first module; sorted. The caller frees *@out. -ENOENT
 * with @diag filled: there is none. */
int value_names_find(struct value_names *names, const char *place, uint64_t **out, uint32_t *n,
		     struct pugmark_diag *diag);
/* Says on standard error where what value_names_find() has found is inlined, and DWARF does not
 * say where it is entered. */
void value_names_tell_entries(const struct value_names *names, const char *place);
/* Those of all functions. 0 or -ENOMEM. */
int value_names_entries(struct value_names *names, uint64_t **out, uint32_t *n);
/* The run-time address and size of the global variable @name, by symbols; of a thread-local one
 * (*@thread) the address counts from the thread pointer (FS base). */
bool value_names_variable(struct value_names *names, const char *name, uint64_t *addr,
			  uint64_t *size, bool *thread);
/* The run-time address of the module's ELF address 0. */
bool value_names_bias(const struct value_names *names, uint32_t module, uint64_t *bias);
/* value_thread_block() of the module's file. */
bool value_names_thread_block(const struct value_names *names, uint32_t module, uint64_t *below);

#endif
