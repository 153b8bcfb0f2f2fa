// SPDX-License-Identifier: LGPL-2.1-or-later
/* replayed.c: jumps turned in the replay of the recording (offline/replay/turn.h): no program is
 * run. What was printed until then, in the recording up to the jump and by the turned run behind
 * it, is judged as the output of a run is. */
#include "user/switch/tries.h"

#include "offline/replay/turn.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { SNAPSHOTS = 100, LEAST_APART = 20000, MORE_INSNS = 20000000 };

/* Bytes that were printed, and how many there were behind each instruction that they came after. */
struct printed_piece {
	uint64_t count, end;
	uint64_t record;
};
struct printed {
	VEC(uint8_t) bytes;
	VEC(struct printed_piece) pieces;
};

struct recorded {
	struct printed by[2]; /* descriptors 1 and 2 */
	struct value_run *run;
	uint64_t count, record;
	bool no_room, blurred;
};

static bool add_bytes(void *ctx, int fd, const uint8_t *bytes, size_t len)
{
	struct recorded *r = ctx;
	struct printed *p = &r->by[fd - 1];
	struct printed_piece piece = {r->count, p->bytes.n + len, r->record};
	if (len > UINT32_MAX - p->bytes.n || !VEC_RESERVE(&p->bytes, (uint32_t)len) ||
	    !VEC_PUSH(&p->pieces, piece)) {
		r->no_room = true;
		return false;
	}
	memcpy(p->bytes.at + p->bytes.n, bytes, len);
	p->bytes.n += len;
	return true;
}

static void on_crossing(void *ctx, struct value_run *run, enum value_crossing what,
			const struct capture *c, const char *import)
{
	struct recorded *r = ctx;
	(void)import;
	if (what != VALUE_CROSSING_KERNEL || !c)
		return;
	r->count = value_run_count(run);
	r->record = c->number;
	r->blurred |= !value_run_written(run, c, add_bytes, r);
}

static void recorded_deinit(struct recorded *r)
{
	for (int i = 0; i < 2; i++) {
		VEC_FREE(&r->by[i].bytes);
		VEC_FREE(&r->by[i].pieces);
	}
}

/* The whole recording once, from its start. */
static int go_through(struct value_run *run, struct recorded *r, enum value_replay_stop *stop,
		      const char *dir, struct pugmark_diag *diag)
{
	*r = (struct recorded){.run = run};
	value_run_crossings(run, on_crossing, r);
	*stop = value_run_forward(run, UINT64_MAX / 4, NULL);
	value_run_crossings(run, NULL, NULL);
	return *stop == VALUE_REPLAY_NO_MEMORY || r->no_room
		       ? pugmark_diag_set(diag, -ENOMEM, dir, PUGMARK_NO_OFFSET, "out of memory")
	       : r->blurred ? pugmark_diag_set(diag, -ENODATA, dir, PUGMARK_NO_OFFSET,
					       "not all that the program has printed is known "
					       "(without --replay the program is run)")
			    : 0;
}

/* --- outputs as files, for those who judge them ---------------------------------------------- */

static bool put(int fd, const uint8_t *bytes, size_t len)
{
	while (len) {
		ssize_t n = write(fd, bytes, len);
		if (n <= 0)
			return false;
		bytes += n;
		len -= n;
	}
	return true;
}

static bool outputs_open(struct private_run *files)
{
	*files = (struct private_run){-1, -1, memfd_create("out", MFD_CLOEXEC),
				      memfd_create("err", MFD_CLOEXEC), ""};
	return files->out >= 0 && files->err >= 0;
}

/* Empty, then what was printed before instruction @count. */
static bool outputs_begin(const struct private_run *files, const struct recorded *r, uint64_t count)
{
	bool fine = true;
	for (int i = 0; i < 2; i++) {
		const struct printed *p = &r->by[i];
		uint64_t len = 0;
		int fd = i ? files->err : files->out;
		for (uint32_t k = 0; k < p->pieces.n && p->pieces.at[k].count <= count; k++)
			len = p->pieces.at[k].end;
		fine &= !ftruncate(fd, 0) && !lseek(fd, 0, SEEK_SET) && put(fd, p->bytes.at, len);
	}
	return fine;
}

static bool on_written(void *ctx, int fd, const uint8_t *bytes, size_t len)
{
	const struct private_run *files = ctx;
	return put(fd == 1 ? files->out : files->err, bytes, len);
}

/* --- as it was ------------------------------------------------------------------------------- */

/* How the task ended, at whose end @run is, as wait() has it. */
static int status_of(struct value_run *run)
{
	const struct value_state *s = value_machine_state(value_run_machine(run));
	uint64_t nr = s->gpr[VALUE_RAX];
	uint8_t bytes[2] = {0};
	bool call = !value_memory_read(value_machine_memory(value_run_machine(run)), s->rip - 2,
				       bytes, 2, NULL) &&
		    bytes[0] == 0x0f && bytes[1] == 0x05;
	return call && (nr == SYS_exit_group || nr == SYS_exit)
		       ? (int)(s->gpr[VALUE_RDI] & 0xff) << 8
		       : SIGSEGV;
}

static int take_as_it_was(struct switch_options *o, struct value_run *run, struct recorded *r,
			  struct pugmark_diag *diag)
{
	enum value_replay_stop stop;
	struct private_run files;
	struct private_result result = {.end = PRIVATE_ENDED};
	int err = go_through(run, r, &stop, o->why.dir, diag);
	if (err)
		return err;
	if (!outputs_open(&files) || !outputs_begin(&files, r, UINT64_MAX))
		err = pugmark_diag_set(diag, -ENOMEM, o->why.dir, PUGMARK_NO_OFFSET,
				       "out of memory");
	result.status = stop == VALUE_REPLAY_END ? status_of(run) : 0;
	if (!err && stop == VALUE_REPLAY_END && outcome_holds(o->outcome, &files, &result))
		err = pugmark_diag_set(diag, -EEXIST, o->why.dir, PUGMARK_NO_OFFSET,
				       "the outcome was as asked without any jump turned");
	else if (!err && !o->asked && outcome_wrong_at(o->outcome, &files, &o->why.offset)) {
		o->why.what = WHY_WRITE;
		o->why.fd = 1;
		o->why.len = 1;
	}
	if (!err)
		outcome_right(o->outcome, &files, &o->right);
	private_run_close(&files);
	return err;
}

int replay_as_it_is(struct switch_options *o, struct pugmark_diag *diag)
{
	struct value_replay *replay = NULL;
	struct value_run *run = NULL;
	struct recorded r = {0};
	uint32_t n = 0;
	int err = value_replay_open(o->why.dir, &replay, diag);
	const uint32_t *tasks = err ? NULL : captures_tasks(value_replay_captures(replay), &n);
	if (!err && !n)
		err = pugmark_diag_set(diag, -ENOENT, o->why.dir, PUGMARK_NO_OFFSET,
				       "no task has values (record with --level values)");
	if (!err)
		o->why.task = o->why.task ? o->why.task : tasks[0];
	err = err ? err : value_run_new(replay, o->why.task, &run, diag);
	err = err ? err : take_as_it_was(o, run, &r, diag);
	recorded_deinit(&r);
	value_run_free(run);
	value_replay_free(replay);
	return err;
}

/* --- turned ---------------------------------------------------------------------------------- */

static int judge(struct tries *t, const struct private_run *files,
		 const struct value_turned *turned)
{
	size_t i = t->next - 1;
	struct critical k = {i, 0, t->c->at[i].same_ways, turned->was_taken};
	struct private_result result = {
		.end = PRIVATE_ENDED,
		.status = turned->end == VALUE_TURNED_EXIT ? turned->status << 8 : turned->status};
	bool ended = turned->end == VALUE_TURNED_EXIT || turned->end == VALUE_TURNED_CRASH;
	if (ended && outcome_holds(t->o->outcome, files, &result)) {
		t->until = t->o->all ? t->until : i;
		return VEC_PUSH(&t->found, k) ? 0 : -ENOMEM;
	}
	bool closer = outcome_right(t->o->outcome, files, &k.right) && k.right > t->o->right;
	if (!ended && outcome_may(t->o->outcome, files)) {
		struct unfinished u = {i, k.right, turned->instructions, turned->was_taken, ""};
		snprintf(u.why, sizeof(u.why), "%s",
			 turned->end == VALUE_TURNED_LIMIT ? "it goes on for too long"
							   : turned->text);
		if (!VEC_PUSH(&t->unfinished, u))
			return -ENOMEM;
	}
	return !closer || VEC_PUSH(&t->closer, k) ? 0 : -ENOMEM;
}

static int turn_one(struct tries *t, struct recorded *r, const struct private_run *files,
		    uint64_t most)
{
	const struct candidate *c = &t->c->at[t->next++];
	struct value_turned turned;
	enum value_replay_stop stop = value_run_seek(r->run, c->count);
	if (stop == VALUE_REPLAY_NO_MEMORY || !outputs_begin(files, r, c->count))
		return -ENOMEM;
	if (stop != VALUE_REPLAY_LIMIT)
		return -ENODATA;
	int err = value_run_turn(r->run, most, on_written, (void *)files, &turned);
	t->done++;
	t->too_long += turned.end == VALUE_TURNED_LIMIT;
	return err ? err : judge(t, files, &turned);
}

int tries_in_replay(struct tries *t, struct why_run *w, struct pugmark_diag *diag)
{
	struct recorded r = {0};
	struct private_run files;
	struct value_run *run = NULL;
	enum value_replay_stop stop;
	int err = value_run_new(w->replay, w->task, &run, diag);
	if (err)
		return err;
	uint64_t total = dep_build_trace(w->build)->count, apart = total / SNAPSHOTS;
	value_run_snapshot_every(run, apart > LEAST_APART ? apart : LEAST_APART);
	err = go_through(run, &r, &stop, t->o->why.dir, diag);
	uint64_t most = 2 * value_run_count(run) + MORE_INSNS;
	if (!outputs_open(&files))
		err = -ENOMEM;
	t->until = t->c->n;
	while (!err && t->next < t->until && t->next < t->o->tries)
		err = turn_one(t, &r, &files, most);
	private_run_close(&files);
	recorded_deinit(&r);
	value_run_free(run);
	if (err && !diag->text[0])
		pugmark_diag_set(diag, err, t->o->why.dir, PUGMARK_NO_OFFSET,
				 "cannot be replayed: %s", strerror(-err));
	return err;
}
