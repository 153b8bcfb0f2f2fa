// SPDX-License-Identifier: LGPL-2.1-or-later
/* running.c: jumps turned in runs of the program, as many side by side as is asked for. */
#include "user/switch/tries.h"

#include <errno.h>
#include <poll.h>

enum { JOBS = 64 };

struct job {
	struct private_run run;
	size_t candidate;
	bool used;
};

static int start(struct tries *t, struct job *jobs, struct pugmark_diag *diag)
{
	for (unsigned i = 0; i < t->o->jobs; i++) {
		struct job *j = &jobs[i];
		if (j->used || t->next >= t->c->n || t->next >= t->until || t->next >= t->o->tries)
			continue;
		if (t->is_useless && t->is_useless(t->ctx, t->next)) {
			t->until = t->next;
			break;
		}
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

int tries_by_running(struct tries *t, struct pugmark_diag *diag)
{
	struct job jobs[JOBS] = {0};
	int err = 0;
	t->until = t->c->n;
	while (!err) {
		struct pollfd polls[JOBS];
		unsigned n = 0;
		err = start(t, jobs, diag);
		for (unsigned i = 0; i < JOBS; i++) {
			polls[i] = (struct pollfd){-1, POLLIN, 0};
			/* What comes behind a find in the order is of no use any more. */
			if (jobs[i].used && jobs[i].candidate > t->until) {
				private_run_close(&jobs[i].run);
				jobs[i].used = false;
			}
			if (jobs[i].used)
				polls[i].fd = jobs[i].run.pipe;
			n += jobs[i].used;
		}
		if (err || !n)
			break;
		if (t->stop && *t->stop) {
			err = pugmark_diag_set(diag, -EINTR, t->o->command.argv[0],
					       PUGMARK_NO_OFFSET, "stopped by a signal");
			break;
		}
		if (poll(polls, JOBS, -1) < 0 && errno != EINTR)
			err = -errno;
		for (unsigned i = 0; !err && i < JOBS; i++)
			if (polls[i].fd >= 0 && polls[i].revents)
				err = take(t, &jobs[i], diag);
	}
	for (unsigned i = 0; i < JOBS; i++)
		if (jobs[i].used)
			private_run_close(&jobs[i].run);
	return err;
}

/* --- as it was ------------------------------------------------------------------------------- */

/* The program as it is has to fail; where it prints something else than it should, that tells what
 * is wrong. */
int run_as_it_is(struct switch_options *o, struct pugmark_diag *diag)
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
