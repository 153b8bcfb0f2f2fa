// SPDX-License-Identifier: LGPL-2.1-or-later
/* record_notes.c: see record_notes.h. */
#include "user/cmd/record_notes.h"

#include "user/cli/command.h"
#include "user/cli/printable.h"
#include "user/file/packed.h"
#include "user/plan/foreign_functions.h"
#include "user/plan/unknown_code.h"
#include "user/proc/running.h"

#include <fnmatch.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void record_notes_awaited(const struct record_modules_options *o, const struct record_modules *m,
			  bool last)
{
	for (uint32_t i = 0; i < o->n_modules; i++)
		if (m->awaited[i])
			command_say(stderr,
				    last ? "pugmark: no module '" : "pugmark: note: no module '",
				    o->modules[i],
				    last ? "' was ever loaded\n"
					 : "' so far: it is traced from when one is loaded\n");
}

/* Says, before anything is recorded, where no probe can tell what the program does. */
static void warn_unresolved(const struct record_modules *modules, bool quiet)
{
	for (uint32_t i = 0; !quiet && i < modules->n; i++) {
		const struct recorder_module *m = &modules->at[i];
		uint32_t n = m->plan ? pugmark_plan_unknown_code(m->plan) : 0;

		if (!n)
			continue;
		command_say(stderr, "pugmark: ", m->name ? m->name : m->path, ": ");
		fprintf(stderr,
			"at %u place%s of this file nothing can be probed that tells what happens: "
			"where one of them is met, the trace may have a gap (which `pugmark "
			"verify` then names)\n",
			n, n == 1 ? "" : "s");
	}
}

/* Says which functions have a probe on each block, because they are too large to choose for. */
static void tell_whole(const struct record_modules *modules)
{
	for (uint32_t i = 0; i < modules->n; i++) {
		const struct pugmark_plan *p = modules->at[i].plan;
		for (uint32_t f = 0; p && f < p->n_funcs; f++) {
			if (!(p->funcs[f].flags & PUGMARK_PLAN_FUNC_WHOLE))
				continue;
			command_say(stderr, "pugmark: note: ", p->strings + p->funcs[f].name,
				    " is too large to choose for: each of its blocks is probed "
				    "(-N leaves it out)\n");
		}
	}
}

/* What is to be said of a module, or NULL; the caller frees. */
typedef char *words_fn(const struct recorder_module *module, const char *name);

/* Says of each module what @words_of has to say; returns all of that for the recording, or NULL.
 * The caller frees. */
static char *tell_each(const struct record_modules *modules, words_fn *words_of, bool quiet)
{
	char *text = NULL;

	for (uint32_t i = 0; i < modules->n; i++) {
		const struct recorder_module *m = &modules->at[i];
		char *words = words_of(m, m->name ? m->name : m->path), *both;

		if (!words)
			continue;
		if (!quiet)
			command_say(stderr, "pugmark: note: ", words, "\n");
		if (text && asprintf(&both, "%s; %s", text, words) >= 0) {
			free(text);
			text = both;
		}
		if (text)
			free(words);
		else
			text = words;
	}
	return text;
}

/* Of a file that holds a program that only its memory shows. */
static char *packed_words(const struct recorder_module *m, const char *name)
{
	char *words;

	return file_is_packed(m->path) && asprintf(&words, "%s " PACKED_WORDS, name) >= 0 ? words
											  : NULL;
}

#define NUMBERLESS_WORDS                                                                           \
	"was built by no version of Go that is known to keep a goroutine's number at a certain "   \
	"place (1.18 to 1.26), nor does DWARF say where: goroutines have no numbers"

/* Go's runtime is in it; the plan has the names of functions that Go's own table has. */
static bool is_of_go(const struct pugmark_plan *plan)
{
	for (uint32_t f = 0; plan && f < plan->n_funcs; f++)
		if (!strcmp(plan->strings + plan->funcs[f].name, "runtime.copystack"))
			return true;
	return false;
}

/* Of a program whose goroutines have no numbers. */
static char *numberless_words(const struct recorder_module *m, const char *name)
{
	char *words;
	bool tells = !m->goid_at && is_of_go(m->plan);

	return tells && asprintf(&words, "%s " NUMBERLESS_WORDS, name) >= 0 ? words : NULL;
}

/* Of code that nothing tells that it runs. */
static char *unknown_words(const struct recorder_module *m, const char *name)
{
	struct unknown_code u = {0};
	char *words;

	if (m->plan)
		u = unknown_code_of(m->plan);
	return u.n && asprintf(&words, "%s: " UNKNOWN_CODE_WORDS, name, u.n, u.n == 1 ? "" : "s",
			       (unsigned long long)u.bytes, (unsigned long long)u.first) >= 0
		       ? words
		       : NULL;
}

/* Of code that is taken for that of another module. */
static char *foreign_words(const struct recorder_module *m, const char *name)
{
	uint32_t n = m->plan ? foreign_functions_of(m->plan) : 0;
	char *words;

	return n && asprintf(&words, "%s: " FOREIGN_FUNCTIONS_WORDS, name, n) >= 0 ? words : NULL;
}

/* Says which processes are not traced: workers that a process has already. What it forks from now
 * on is. */
static void tell_forked(const struct record_args *a, const struct record_modules *modules)
{
	enum { NAMED = 8 };
	pid_t forked[RECORD_RUNNING_MAX];
	const char *name = modules->targets.at[0].name;
	uint32_t n = running_forked(a->pids, a->options.n_pids, forked, RECORD_RUNNING_MAX);

	if (!n)
		return;
	fprintf(stderr, "pugmark: note: %u process%s forked before %s not traced (", n,
		n == 1 ? " that was" : "es that were", n == 1 ? "is" : "are");
	for (uint32_t i = 0; n <= NAMED && i < n; i++)
		fprintf(stderr, "%s -p %d%s", i ? "" : "add", forked[i],
			i + 1 == n ? ", or take " : "");
	if (running_runs(a->pids[0], name)) {
		fputs("-a ", stderr);
		printable_print(stderr, name, PRINT_SHELL);
		fputs(")\n", stderr);
	} else { /* replaced or deleted */
		fprintf(stderr, "-a /proc/%d/exe)\n", a->pids[0]);
	}
}

/* Says what an earlier recording has taken out, which is not traced; returns that for the
 * recording. The caller frees. */
static char *tell_left_out(const struct record_modules *modules, bool quiet)
{
	char *text = NULL;
	size_t len = 0;
	uint32_t n = 0;
	for (uint32_t i = 0; i < modules->n; i++)
		n += modules->planned[i].n_left_out;
	FILE *f = n ? open_memstream(&text, &len) : NULL;
	if (!f)
		return NULL;
	if (!quiet)
		fprintf(stderr,
			"pugmark: note: %u function%s out from the start, as an earlier recording "
			"has taken %s out (--fresh begins with all; `pugmark verify` names them)\n",
			n, n == 1 ? " is" : "s are", n == 1 ? "it" : "them");
	fprintf(f, "out from the start, since an earlier recording has taken them out:");
	for (uint32_t i = 0, k = 0; i < modules->n; i++)
		if (modules->planned[i].n_left_out)
			fprintf(f, "%s %s", k++ ? ";" : "", modules->planned[i].left_out);
	fclose(f);
	return text;
}

/* Says which traced files' own memory is kept out: by the names that they have in the process. */
static void tell_kept_out(const struct record_args *a, const struct record_modules *modules)
{
	char path[PATH_MAX];

	for (uint32_t i = 0; a->values && a->no_memory && i < modules->n; i++)
		if (realpath(modules->at[i].path, path) && !fnmatch(a->no_memory, path, 0))
			command_say(stderr, "pugmark: note: --no-memory keeps nothing of ", path,
				    ", which is traced: values end where its code begins\n");
}

void record_notes_tell(struct record_args *a, const struct record_modules *modules,
		       char *notes[RECORD_NOTES])
{
	warn_unresolved(modules, a->options.quiet);
	if (!a->options.quiet)
		tell_whole(modules);
	if (!a->options.quiet)
		tell_kept_out(a, modules);
	notes[0] = tell_left_out(modules, a->options.quiet);
	notes[1] = tell_each(modules, packed_words, a->options.quiet);
	notes[2] = tell_each(modules, numberless_words, a->options.quiet);
	notes[3] = tell_each(modules, unknown_words, a->options.quiet);
	notes[4] = tell_each(modules, foreign_words, a->options.quiet);
	if (!a->options.quiet && !a->options.carrier)
		record_notes_awaited(&a->modules, modules, false);
	if (!a->options.quiet && !a->options.no_follow && a->options.n_pids)
		tell_forked(a, modules);
	for (int i = 0; i < RECORD_NOTES; i++)
		a->options.notes[i] = notes[i];
}
