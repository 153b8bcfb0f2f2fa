// SPDX-License-Identifier: LGPL-2.1-or-later
/* switch.c: see switch.h. As many tries side by side as there are processors; the answer is the
 * first candidate in order that does it, whichever try ends first; or (all) each that does it. */
#include "user/switch/switch.h"

#include "offline/base/vec.h"
#include "user/cli/printable.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

enum { JOBS = 64, CLOSER = 10, NEXT = 3 };

struct job {
	struct private_run run;
	size_t candidate;
	bool used;
};

/* A candidate that does it. */
struct critical {
	size_t candidate;
	uint64_t right;	    /* bytes that were printed rightly, of one that only comes closer */
	unsigned same_ways; /* of the candidate */
	bool was_taken;
};

struct tries {
	const struct switch_options *o;
	const struct candidates *c;
	struct job jobs[JOBS];
	size_t next, until; /* candidates: the next one, and those before which are of use */
	VEC(struct critical) found;
	VEC(struct critical) closer; /* more bytes are right than without it */
	uint64_t done, too_long, unturned;
};

static int start(struct tries *t, struct pugmark_diag *diag)
{
	for (unsigned i = 0; i < t->o->jobs; i++) {
		struct job *j = &t->jobs[i];
		if (j->used || t->next >= t->c->n || t->next >= t->until || t->next >= t->o->tries)
			continue;
		j->candidate = t->next++;
		int err = private_run_start(&t->o->command, &t->c->at[j->candidate].jump, &j->run,
					    diag);
		if (err)
			return err;
		j->used = true;
	}
	return 0;
}

static int judge(struct tries *t, const struct job *j, const struct private_result *r)
{
	struct critical k = {j->candidate, 0, t->c->at[j->candidate].same_ways, r->was_taken};
	if (outcome_holds(t->o->outcome, &j->run, r)) {
		t->until = t->o->all ? t->until : j->candidate;
		return VEC_PUSH(&t->found, k) ? 0 : -ENOMEM;
	}
	if (!outcome_right(t->o->outcome, &j->run, &k.right) || k.right <= t->o->right)
		return 0;
	return VEC_PUSH(&t->closer, k) ? 0 : -ENOMEM;
}

static int take(struct tries *t, struct job *j, struct pugmark_diag *diag)
{
	struct private_result r;
	int err = 0;
	private_run_wait(&j->run, &r);
	t->done++;
	t->too_long += r.end == PRIVATE_TOO_LONG;
	t->unturned += r.end == PRIVATE_UNTURNED;
	if (r.end == PRIVATE_FAILED)
		err = pugmark_diag_set(diag, -ECHILD, t->o->command.argv[0], PUGMARK_NO_OFFSET,
				       "%s", r.why);
	else if (r.end == PRIVATE_ENDED && j->candidate < t->until)
		err = judge(t, j, &r);
	private_run_close(&j->run);
	j->used = false;
	return err;
}

static int by_candidate(const void *a, const void *b)
{
	const struct critical *x = a, *y = b;
	return x->candidate < y->candidate ? -1 : x->candidate > y->candidate;
}

static int by_right(const void *a, const void *b)
{
	const struct critical *x = a, *y = b;
	if (x->same_ways != y->same_ways)
		return x->same_ways < y->same_ways ? -1 : 1;
	return x->right > y->right ? -1 : x->right < y->right ? 1 : by_candidate(a, b);
}

/* Those that come closest first, each jump once. */
static void sort_closer(struct tries *t)
{
	uint32_t n = 0;
	if (t->closer.n)
		qsort(t->closer.at, t->closer.n, sizeof(*t->closer.at), by_right);
	for (uint32_t i = 0; i < t->closer.n && n < CLOSER; i++) {
		uint32_t k = 0;
		while (k < n && t->c->at[t->closer.at[k].candidate].ip !=
					t->c->at[t->closer.at[i].candidate].ip)
			k++;
		if (k == n)
			t->closer.at[n++] = t->closer.at[i];
	}
	t->closer.n = n;
}

static int try_all(struct tries *t, struct pugmark_diag *diag)
{
	int err = 0;
	t->until = t->c->n;
	while (!err) {
		struct pollfd polls[JOBS];
		unsigned n = 0;
		err = start(t, diag);
		for (unsigned i = 0; i < JOBS; i++) {
			polls[i] = (struct pollfd){-1, POLLIN, 0};
			/* What comes behind a find in the order is of no use any more. */
			if (t->jobs[i].used && t->jobs[i].candidate > t->until) {
				private_run_close(&t->jobs[i].run);
				t->jobs[i].used = false;
			}
			if (t->jobs[i].used)
				polls[i].fd = t->jobs[i].run.pipe;
			n += t->jobs[i].used;
		}
		if (err || !n)
			break;
		if (poll(polls, JOBS, -1) < 0 && errno != EINTR)
			err = -errno;
		for (unsigned i = 0; !err && i < JOBS; i++)
			if (polls[i].fd >= 0 && polls[i].revents)
				err = take(t, &t->jobs[i], diag);
	}
	for (unsigned i = 0; i < JOBS; i++)
		if (t->jobs[i].used)
			private_run_close(&t->jobs[i].run);
	if (t->found.n)
		qsort(t->found.at, t->found.n, sizeof(*t->found.at), by_candidate);
	sort_closer(t);
	if (t->found.n && !t->o->all)
		t->found.n = 1;
	return err;
}

/* --- as it was ------------------------------------------------------------------------------- */

/* The program as it is has to fail; where it prints something else than it should, that tells what
 * is wrong. */
static int run_as_it_is(struct switch_options *o, struct pugmark_diag *diag)
{
	struct private_run run;
	struct private_result r;
	int err = private_run_start(&o->command, NULL, &run, diag);
	if (err)
		return err;
	private_run_wait(&run, &r);
	if (r.end == PRIVATE_FAILED)
		err = pugmark_diag_set(diag, -ECHILD, o->command.argv[0], PUGMARK_NO_OFFSET, "%s",
				       r.why);
	else if (outcome_holds(o->outcome, &run, &r))
		err = pugmark_diag_set(diag, -EEXIST, o->command.argv[0], PUGMARK_NO_OFFSET,
				       "the outcome is as asked without any jump turned");
	else if (!o->asked && outcome_wrong_at(o->outcome, &run, &o->why.offset)) {
		o->why.what = WHY_WRITE;
		o->why.fd = 1;
		o->why.len = 1;
	}
	outcome_right(o->outcome, &run, &o->right);
	private_run_close(&run);
	return err;
}

/* --- what came of it ------------------------------------------------------------------------- */

static void print_place(const struct why_run *w, const struct candidate *c)
{
	const char *file = NULL;
	uint32_t module, line = value_names_line(w->names, c->ip, &file);
	uint64_t elf;
	const char *function = value_names_at(w->names, c->ip, &module, &elf);
	if (line) {
		const char *slash = strrchr(file, '/');
		printable_print(stdout, slash ? slash + 1 : file, PRINT_TEXT);
		printf(":%u ", line);
	}
	printable_print(stdout, function ? function : "?", PRINT_TEXT);
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

static void print_text(const struct tries *t, const struct why_run *w)
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
		printf("; %" PRIu64 " in libraries left out", c->elsewhere);
	puts(t->found.n ? "" : "\nno critical jump found");
	for (uint32_t i = 0; i < t->found.n; i++) {
		const struct critical *k = &t->found.at[i];
		const struct candidate *f = &c->at[k->candidate];
		printf("critical jump: ");
		print_place(w, f);
		printf(", 0x%" PRIx64 ", time %" PRIu64 " of %" PRIu64
		       ": it was %s; candidate %zu%s\n",
		       f->jump.elf, f->jump.time, f->times, k->was_taken ? "taken" : "not taken",
		       k->candidate + 1, f->beside ? " (not in the slice)" : "");
	}
	if (!t->found.n)
		print_closer(t, w);
	if (!t->found.n && !t->closer.n)
		return;
	fputs("next: pugmark why DIR", stdout);
	const struct critical *k = t->found.n ? t->found.at : t->closer.at;
	for (uint32_t i = 0; i < (t->found.n ? t->found.n : NEXT) && i < t->found.n + t->closer.n;
	     i++) {
		const struct turned_jump *j = &c->at[k[i].candidate].jump;
		printf(" --critical 0x%" PRIx64 ":%" PRIu64, j->elf, j->time);
	}
	puts(" --control");
}

static void print_critical(const struct tries *t, const struct why_run *w, const struct critical *k)
{
	const struct candidate *f = &t->c->at[k->candidate];
	const char *file = NULL;
	uint32_t line = value_names_line(w->names, f->ip, &file);
	printf("{\"right\":%" PRIu64 ",\"number\":%zu,\"address\":\"0x%" PRIx64
	       "\",\"time\":%" PRIu64 ",\"times\":%" PRIu64 ",\"taken\":%s,\"line\":%u,\"file\":\"",
	       k->right, k->candidate + 1, f->jump.elf, f->jump.time, f->times,
	       k->was_taken ? "true" : "false", line);
	printable_print(stdout, line ? file : "", PRINT_JSON);
	fputs("\"}", stdout);
}

static void print_json(const struct tries *t, const struct why_run *w)
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
	puts("]}");
}

int switch_print(struct switch_options *o, struct pugmark_diag *diag)
{
	struct why_run w = {0};
	struct candidates c = {0};
	struct tries *t = calloc(1, sizeof(*t));
	int err = t ? run_as_it_is(o, diag) : -ENOMEM;
	if (t && !err)
		err = why_run_init(&w, &o->why, diag);
	if (t && !err)
		err = candidates_find(&w, &o->why, o->beside, o->order, &c, diag);
	if (t && !err) {
		t->o = o;
		t->c = &c;
		err = try_all(t, diag);
	}
	if (!err)
		(o->json ? print_json : print_text)(t, &w);
	bool found = !err && t->found.n;
	if (t)
		VEC_FREE(&t->found);
	if (t)
		VEC_FREE(&t->closer);
	candidates_deinit(&c);
	why_run_deinit(&w);
	free(t);
	return err ? err : !found;
}
