// SPDX-License-Identifier: LGPL-2.1-or-later
/* answer.c: what came of the tries, as text and JSON. */
#include "user/switch/tries.h"

#include "user/cli/printable.h"
#include "user/values/names/value_frames.h"

#include <inttypes.h>
#include <string.h>

enum { NEXT = 3, UNFINISHED = 10 };

static void print_place(const struct why_run *w, const struct candidate *c)
{
	struct value_frame f[VALUE_FRAMES];
	uint32_t n = value_names_frames(w->names, c->ip, f);
	if (f->line) {
		const char *slash = strrchr(f->file, '/');
		printable_print(stdout, slash ? slash + 1 : f->file, PRINT_TEXT);
		printf(":%u ", f->line);
	}
	printable_print(stdout, f->function ? f->function : "?", PRINT_TEXT);
	fputs(n > 1 ? " " : "", stdout);
	value_frames_print(stdout, f, n, n, PRINT_TEXT);
	if (c->jump.library) {
		const char *slash = strrchr(c->jump.library, '/');
		fputs(" of ", stdout);
		printable_print(stdout, slash ? slash + 1 : c->jump.library, PRINT_TEXT);
	}
}

/* The first wrong byte comes later with these turned. */
static void print_closer(const struct tries *t, const struct why_run *w)
{
	for (uint32_t i = 0; i < t->closer.n; i++) {
		const struct critical *k = &t->closer.at[i];
		const struct candidate *f = &t->c->at[k->candidate];
		printf("closer: ");
		print_place(w, f);
		printf(", 0x%" PRIx64 ", time %" PRIu64 " of %" PRIu64 ": %" PRIu64
		       " bytes are right instead of %" PRIu64 "; candidate %zu\n",
		       f->jump.elf, f->jump.time, f->times, k->right, t->o->right,
		       k->candidate + 1);
	}
}

/* In the replay: what came to an end of what is known while it still could be as asked. Those first
 * that have printed most of it. */
static void print_unfinished(const struct tries *t, const struct why_run *w)
{
	const struct candidates *c = t->c;
	if (t->unfinished.n)
		printf("%u end in the replay before the outcome is certain (only a run can tell)\n",
		       t->unfinished.n);
	for (uint32_t i = 0; i < t->unfinished.n && i < UNFINISHED; i++) {
		const struct unfinished *u = &t->unfinished.at[i];
		const struct candidate *f = &c->at[u->candidate];
		fputs("unfinished: ", stdout);
		print_place(w, f);
		printf(", 0x%" PRIx64 ", time %" PRIu64 " of %" PRIu64 ": %" PRIu64
		       " instructions on, %" PRIu64 " bytes right: %s; candidate %zu\n",
		       f->jump.elf, f->jump.time, f->times, u->instructions, u->right, u->why,
		       u->candidate + 1);
	}
}

/* What to ask about these; of libraries nobody can ask by an address. */
static void print_next(const struct tries *t, const struct critical *k, uint32_t n)
{
	bool any = false;
	for (uint32_t i = 0; i < n; i++) {
		const struct turned_jump *j = &t->c->at[k[i].candidate].jump;
		if (j->library)
			continue;
		printf("%s --critical 0x%" PRIx64 ":%" PRIu64, any ? "" : "next: pugmark why DIR",
		       j->elf, j->time);
		any = true;
	}
	if (any)
		puts(" --control");
}

void tries_print_text(const struct tries *t, const struct why_run *w)
{
	const struct candidates *c = t->c;
	fputs("slice of ", stdout);
	printable_print(stdout, w->said, PRINT_TEXT);
	printf(": %zu of %" PRIu64 " executions of conditional jumps are of jumps in it; %" PRIu64
	       " tried",
	       c->in_slice, c->executed, t->done);
	if (t->too_long)
		printf(", %" PRIu64 " of them took too long", t->too_long);
	if (t->unturned)
		printf(", in %" PRIu64 " the jump was not reached again", t->unturned);
	if (c->elsewhere)
		printf("; %" PRIu64 " in what was loaded later left out", c->elsewhere);
	puts(t->found.n ? "" : "\nno critical jump found");
	for (uint32_t i = 0; i < t->found.n; i++) {
		const struct critical *k = &t->found.at[i];
		const struct candidate *f = &c->at[k->candidate];
		printf("critical jump: ");
		print_place(w, f);
		printf(", 0x%" PRIx64 ", time %" PRIu64 " of %" PRIu64
		       ": it was %s; candidate %zu%s",
		       f->jump.elf, f->jump.time, f->times, k->was_taken ? "taken" : "not taken",
		       k->candidate + 1, f->beside ? " (not in the slice)" : "");
		if (f->confidence > 0)
			printf("; right: %.0f %%", 100 * (double)f->confidence);
		putchar('\n');
	}
	if (!t->found.n)
		print_closer(t, w);
	print_unfinished(t, w);
	if (!t->found.n && !t->closer.n)
		return;
	print_next(t, t->found.n ? t->found.at : t->closer.at,
		   t->found.n		? t->found.n
		   : t->closer.n < NEXT ? t->closer.n
					: NEXT);
}

static void print_jump(const struct tries *t, const struct why_run *w, size_t number,
		       uint64_t right, bool was_taken)
{
	const struct candidate *f = &t->c->at[number];
	struct value_frame frames[VALUE_FRAMES];
	uint32_t n = value_names_frames(w->names, f->ip, frames);
	printf("{\"right\":%" PRIu64 ",\"number\":%zu,\"address\":\"0x%" PRIx64
	       "\",\"time\":%" PRIu64 ",\"times\":%" PRIu64 ",\"taken\":%s,\"line\":%u,\"file\":\"",
	       right, number + 1, f->jump.elf, f->jump.time, f->times, was_taken ? "true" : "false",
	       frames->line);
	printable_print(stdout, frames->line ? frames->file : "", PRINT_JSON);
	fputs("\",\"function\":", stdout);
	printable_json(stdout, frames->function);
	fputs(",\"inlined\":", stdout);
	value_frames_json(stdout, frames, n);
	printf(",\"confidence\":%.3f,\"library\":", (double)f->confidence);
	printable_json(stdout, f->jump.library);
}

static void print_critical(const struct tries *t, const struct why_run *w, const struct critical *k)
{
	print_jump(t, w, k->candidate, k->right, k->was_taken);
	putchar('}');
}

void tries_print_json(const struct tries *t, const struct why_run *w)
{
	const struct candidates *c = t->c;
	printf("{\"candidates\":%u,\"in_slice\":%zu,\"executed\":%" PRIu64 ",\"tried\":%" PRIu64
	       ",\"too_long\":%" PRIu64 ",\"unturned\":%" PRIu64 ",\"elsewhere\":%" PRIu64
	       ",\"critical\":",
	       c->n, c->in_slice, c->executed, t->done, t->too_long, t->unturned, c->elsewhere);
	for (uint32_t i = 0; i < t->found.n; i++) {
		fputs(i == 1 ? ",\"others\":[" : i ? "," : "", stdout);
		print_critical(t, w, &t->found.at[i]);
	}
	fputs(t->found.n > 1 ? "]" : t->found.n ? "" : "null", stdout);
	fputs(",\"closer\":[", stdout);
	for (uint32_t i = 0; i < t->closer.n; i++) {
		fputs(i ? "," : "", stdout);
		print_critical(t, w, &t->closer.at[i]);
	}
	fputs("],\"unfinished\":[", stdout);
	for (uint32_t i = 0; i < t->unfinished.n; i++) {
		const struct unfinished *u = &t->unfinished.at[i];
		fputs(i ? "," : "", stdout);
		print_jump(t, w, u->candidate, u->right, u->was_taken);
		printf(",\"instructions\":%" PRIu64 ",\"why\":\"", u->instructions);
		printable_print(stdout, u->why, PRINT_JSON);
		fputs("\"}", stdout);
	}
	puts("]}");
}
