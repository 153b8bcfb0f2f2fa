// SPDX-License-Identifier: LGPL-2.1-or-later
/* torn.c: a function that a model does at once (models.h), in whose midst its thread has lost the
 * processor. Whether that was in this call its own code tells, executed to there for a look. If it
 * was, all of the model is done behind it; but
 * - what it writes is assumed while the others are executed, as they may have seen a part of it;
 * - and stays so if what they have done changes what it writes or returns, as it has read a part
 *   before. If it does not, it is as exact as it would have been before they were executed.
 * The model itself is right whatever the code has used that is not followed here (AVX-512). */
#include "offline/replay/meet/torn.h"

#include "offline/replay/libraries/libraries.h"
#include "offline/replay/libraries/residue.h"
#include "offline/replay/meet/agrees.h"
#include "offline/replay/meet/moment.h"
#include "offline/replay/meet/records.h"
#include "offline/replay/models/models.h"
#include "offline/replay/run/run.h"
#include "offline/replay/run/standing.h"
#include "offline/replay/run/suppose.h"
#include "offline/replay/run/together.h"

#include <errno.h>
#include <string.h>

enum { RANGES = 8, LOOK_INSNS = 1 << 20 };

/* Whether the signal that comes next, or the loss of the processor, may have found the task in this
 * call of the function that begins at rip, or in what it jumps to nearby: none of those that there
 * are models of changes a register that calls keep. Of a signal, its own code has to be executed
 * then, to where that was. */
bool value_run_may_be_in(struct value_run *run, const struct capture *c)
{
	enum { NEARBY = 4096, FRAME = 1024 };
	static const uint8_t kept[] = {VALUE_RBX, VALUE_RBP, 12, 13, 14, 15};
	const struct value_state *s = value_machine_state(run->machine);
	if (!c || (c->kind != CAPTURE_SIGNAL && c->kind != CAPTURE_SWITCH) ||
	    c->ip - s->rip + NEARBY >= 2 * NEARBY || s->gpr[VALUE_RSP] - c->sp >= FRAME)
		return false;
	for (unsigned i = 0; i < sizeof(kept); i++)
		if (c->known >> kept[i] & 1 && !value_quality(run->machine, 1ull << kept[i]) &&
		    s->gpr[kept[i]] != c->regs[kept[i]])
			return false;
	return true;
}

struct written {
	struct {
		uint64_t addr, len;
	} at[RANGES];
	unsigned n;
	bool more;
	value_wrote_fn *inner;
	void *inner_ctx;
};

/* Of a copy of what is not all exact it is told twice: the bytes, then what they are worth. */
static void note_written(void *ctx, uint64_t addr, uint64_t len)
{
	struct written *w = ctx;
	bool again = w->n && w->at[w->n - 1].addr == addr && w->at[w->n - 1].len == len;
	if (!again && w->n == RANGES)
		w->more = true;
	else if (!again && len) {
		w->at[w->n].addr = addr;
		w->at[w->n++].len = len;
	}
	if (w->inner)
		w->inner(w->inner_ctx, addr, len);
}

static int do_model(struct value_run *run, const char *name, struct written *w)
{
	struct value_memory *mem = &run->memory;
	*w = (struct written){.inner = mem->wrote, .inner_ctx = mem->wrote_ctx};
	mem->wrote = note_written;
	mem->wrote_ctx = w;
	int err = import_model(name, run->machine);
	mem->wrote = w->inner;
	mem->wrote_ctx = w->inner_ctx;
	return err;
}

/* Of what the model has written, and returned. *@quality: the worst of it. */
static uint64_t hash_of(struct value_run *run, const struct written *w, uint8_t *quality)
{
	uint64_t h = capture_hash_step(0, value_machine_state(run->machine)->gpr[VALUE_RAX]);
	for (unsigned i = 0; i < w->n; i++) {
		h = capture_hash_step(capture_hash_step(h, w->at[i].addr), w->at[i].len);
		for (uint64_t at = 0, part; at < w->at[i].len; at += part) {
			uint8_t bytes[VALUE_PAGE], worth = VALUE_EXACT;
			part = w->at[i].len - at < sizeof(bytes) ? w->at[i].len - at
								 : sizeof(bytes);
			if (value_memory_read(&run->memory, w->at[i].addr + at, bytes, part,
					      &worth))
				return 0;
			*quality = worth > *quality ? worth : *quality;
			for (uint64_t k = 0; k < part; k++)
				h = capture_hash_step(h, bytes[k]);
		}
	}
	return h;
}

/* A part of what it copies may lie where it writes (memmove()), and has been doubted for that. */
static void trust(struct value_run *run, const struct written *w)
{
	for (unsigned i = 0; i < w->n; i++)
		value_memory_set_quality(&run->memory, w->at[i].addr, w->at[i].len, VALUE_EXACT);
}

static void doubt(struct value_run *run, const struct written *w)
{
	if (w->more)
		value_memory_assume_all(&run->memory);
	for (unsigned i = 0; i < w->n; i++)
		value_memory_limit_quality(&run->memory, w->at[i].addr, w->at[i].len,
					   VALUE_ASSUMED);
}

/* 1: this call was left by the processor where @c says; 0: it was not; else that cannot be told. It
 * returns to an address that nothing else has; that is no more than assumed, so that the record's
 * sum of the stack is not compared with it. */
static int look(struct value_run *run, const struct capture *c)
{
	struct value_machine *m = run->machine;
	const struct value_state *s = value_machine_state(m);
	const uint64_t nowhere = 0;
	uint64_t end = value_machine_count(m) + LOOK_INSNS;
	const uint16_t known = value_run_told_there(run, c) & 0xffff;
	if (value_memory_write(&run->memory, s->gpr[VALUE_RSP], &nowhere, sizeof(nowhere),
			       VALUE_ASSUMED) ||
	    value_machine_expect(m, c->ip, c->regs, known))
		return -ENOMEM;
	for (;;) {
		if (s->rip == c->ip && value_run_agrees_there(run, c))
			return 1;
		enum value_stop stop = value_machine_run(m, end, NULL);
		if (stop == VALUE_STOP_OUTSIDE && s->rip == nowhere)
			return 0;
		if (stop != VALUE_STOP_PLACE)
			return -EAGAIN;
	}
}

/* As the function returns that a model has done. False: nobody knows where to. */
static bool go_behind(struct value_run *run)
{
	struct value_state *s = value_machine_state(run->machine);
	uint8_t quality = VALUE_EXACT;
	uint64_t to;
	if (value_memory_read(&run->memory, s->gpr[VALUE_RSP], &to, sizeof(to), &quality) ||
	    quality)
		return false;
	s->gpr[VALUE_RSP] += sizeof(to);
	s->rip = to;
	return true;
}

/* Whether this call may have been where @c says: not all that is in registers there can be had from
 * what it was called with, whatever it has read. */
static bool may_come_by(struct value_run *run, const struct capture *c)
{
	struct value_machine *m = run->machine;
	struct residue_call call;
	struct residue_moment there = {
		.ip = c->ip, .known = 1 << VALUE_RSP | (value_run_told_there(run, c) & 0xffff)};
	memcpy(there.regs, c->regs, sizeof(there.regs));
	there.regs[VALUE_RSP] = c->sp;
	value_residue_begin(&call, m, value_machine_state(m)->rip);
	if (!run->walker)
		run->walker = value_residue_walker_new(&run->memory);
	return !run->walker || value_residue_may_come_by(run->walker, &call, &there);
}

/* Whether no later call, up to where the task asks the kernel for something, or the time, may be
 * the one: then it was this one, of which its own code could not tell. */
static bool is_the_only_one(struct value_run *run, const struct capture *c, const char *name)
{
	struct value_machine *m = run->machine;
	const struct value_state *s = value_machine_state(m);
	uint64_t end = value_machine_count(m) + LOOK_INSNS;
	if (import_model(name, m) || !go_behind(run) || value_machine_expect(m, 0, NULL, 0))
		return false;
	for (;;) {
		enum value_stop stop = value_machine_run(m, end, NULL);
		enum value_side side = value_machine_side_now(m);
		enum value_side other =
			side == VALUE_SIDE_TRACED ? VALUE_SIDE_LIBRARY : VALUE_SIDE_TRACED;
		const char *clock;
		if (stop == VALUE_STOP_SYSCALL ||
		    (stop == VALUE_STOP_OUTSIDE &&
		     value_libraries_vdso(&run->libraries, s->rip, &clock)))
			return true;
		if (stop == VALUE_STOP_OUTSIDE && value_machine_has_code(m, s->rip, other)) {
			value_machine_side(m, other);
			continue;
		}
		if (stop != VALUE_STOP_PLACE || value_machine_supposed(m) ||
		    (value_run_may_be_in(run, c) && may_come_by(run, c)))
			return false;
		const struct library_function *f =
			value_libraries_function(&run->libraries, s->rip);
		if (f && f->name && !import_model(f->name, m) && !go_behind(run))
			return false;
	}
}

enum value_torn value_run_torn(struct value_run *run, const char *name)
{
	const struct capture *c = value_run_record(run);
	struct written w;
	struct value_moment before;
	value_moment_keep(run, &before);
	int found = look(run, c);
	value_moment_go_back(run, &before);
	if (found < 0 && !may_come_by(run, c))
		found = 0;
	if (found < 0) {
		value_moment_keep(run, &before);
		found = is_the_only_one(run, c, name) ? 1 : found;
		value_moment_go_back(run, &before);
	}
	if (found <= 0) {
		value_machine_met(run->machine);
		return found ? VALUE_TORN_UNSURE : VALUE_TORN_NOT;
	}
	value_moment_keep(run, &before);
	int err = do_model(run, name, &w);
	uint8_t quality = w.more ? VALUE_ASSUMED : VALUE_EXACT;
	uint64_t hash = err ? 0 : hash_of(run, &w, &quality);
	value_moment_go_back(run, &before);
	if (err) {
		value_machine_met(run->machine);
		return VALUE_TORN_UNSURE;
	}
	doubt(run, &w);
	uint64_t sp = value_machine_state(run->machine)->gpr[VALUE_RSP];
	if (run->torn.sp ==
	    sp) /* once more: the first part was read before the others were first */
		run->torn.changed |= run->torn.hash != hash;
	else
		run->torn = (struct torn_call){.sp = sp,
					       .hash = hash,
					       .doubt = run->memory.doubt,
					       .exact = hash && !quality};
	run->next++;
	if (value_run_hides(c)) {
		value_threads_part(run);
		value_run_suppose(run);
	}
	value_run_agreed(run, c);
	value_run_ranges(run, c);
	if (c->order >= CAPTURE_NEVER)
		run->ended = VALUE_REPLAY_END;
	return VALUE_TORN_HERE;
}

int value_run_model(struct value_run *run, const char *name)
{
	struct written w;
	uint64_t sp = value_machine_state(run->machine)->gpr[VALUE_RSP];
	if (!run->torn.sp || run->torn.sp != sp)
		return import_model(name, run->machine);
	int err = do_model(run, name, &w);
	uint8_t quality = VALUE_EXACT;
	if (!err && (run->torn.changed || hash_of(run, &w, &quality) != run->torn.hash)) {
		doubt(run, &w);
		value_doubt(run->machine, (uint64_t)1 << VALUE_RAX);
	} else if (!err && run->torn.exact && run->torn.doubt == run->memory.doubt) {
		trust(run, &w);
	}
	run->torn = (struct torn_call){0};
	return err;
}
