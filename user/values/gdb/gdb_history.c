// SPDX-License-Identifier: LGPL-2.1-or-later
/* gdb_history.c: executes with a trace and looks through it for what gdb waits for. A breakpoint is
 * hit before its instruction; a watched place, going forward, behind the instruction that touched
 * it, and going back before it: that is where the old value stands. */
#include "user/values/gdb/gdb_history.h"

#include "offline/eval/insn/string_ranges.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCKS = 1 << 16, ADDRESSES = 1 << 18, RESULTS = 1 << 19 };
/* How much is executed before it is looked through. */
#define CHUNK 1000000

int gdb_history_init(struct gdb_history *h)
{
	memset(h, 0, sizeof(*h));
	return value_trace_init(&h->trace, BLOCKS, ADDRESSES, RESULTS) ? 0 : -ENOMEM;
}

void gdb_history_deinit(struct gdb_history *h)
{
	value_trace_deinit(&h->trace);
	free(h->watches);
	memset(h, 0, sizeof(*h));
}

int gdb_history_watch(struct gdb_history *h, unsigned kind, uint64_t addr, uint64_t len)
{
	struct gdb_watch *more = realloc(h->watches, (h->n_watches + 1) * sizeof(*more));
	if (!more)
		return -ENOMEM;
	h->watches = more;
	more[h->n_watches++] = (struct gdb_watch){kind, addr, len};
	return 0;
}

int gdb_history_unwatch(struct gdb_history *h, unsigned kind, uint64_t addr, uint64_t len)
{
	for (size_t i = 0; i < h->n_watches; i++) {
		const struct gdb_watch *w = &h->watches[i];
		if (w->kind != kind || w->addr != addr || w->len != len)
			continue;
		h->watches[i] = h->watches[--h->n_watches];
		break;
	}
	return 0;
}

/* One executed instruction, and where it lies. */
struct executed {
	const struct value_insn *insn;
	const uint64_t *addrs;
	uint64_t count; /* instructions before it */
	bool down;	/* the direction flag */
};

static bool is_touched_by(const struct gdb_watch *w, const struct value_range *r)
{
	bool wanted = w->kind == 2 ? r->write : w->kind == 3 ? r->read : true;
	return wanted && r->addr < w->addr + w->len && w->addr < r->addr + r->len;
}

static bool touches(const struct gdb_watch *w, const struct executed *e)
{
	const struct value_insn *insn = e->insn;
	struct value_range ranges[2];
	unsigned n = 0;
	if (insn->kind == VALUE_INSN_STRING)
		n = value_string_ranges(insn, e->addrs, e->down, ranges);
	else
		for (; n < insn->n_mem; n++)
			ranges[n] = (struct value_range){.addr = e->addrs[n],
							 .len = insn->mem[n].len,
							 .read = insn->mem[n].read,
							 .write = insn->mem[n].write};
	for (unsigned i = 0; i < n; i++)
		if (is_touched_by(w, &ranges[i]))
			return true;
	return false;
}

static bool look_at_breakpoints(const struct gdb_history *h, const struct executed *e,
				struct gdb_hit *hit)
{
	for (size_t i = 0; i < h->n_watches; i++) {
		const struct gdb_watch *w = &h->watches[i];
		if (w->kind >= 2 || w->addr != e->insn->ip)
			continue;
		*hit = (struct gdb_hit){.why = GDB_HIT_BREAK, .count = e->count};
		return true;
	}
	return false;
}

static bool look_at_watches(const struct gdb_history *h, const struct executed *e, bool forward,
			    struct gdb_hit *hit)
{
	for (size_t i = 0; i < h->n_watches; i++) {
		const struct gdb_watch *w = &h->watches[i];
		if (w->kind < 2 || !touches(w, e))
			continue;
		*hit = (struct gdb_hit){.why = GDB_HIT_WATCH,
					.kind = w->kind,
					.addr = w->addr,
					.count = forward ? e->count + 1 : e->count};
		return true;
	}
	return false;
}

/* True: it was a hit, which is in @hit. A breakpoint, where it counts, is hit before the
 * instruction: going forward it comes before the places that the instruction touches; going back
 * both are hit at the same moment, and the watched place says more. */
static bool look(const struct gdb_history *h, const struct executed *e, bool breaks, bool forward,
		 struct gdb_hit *hit)
{
	if (!forward && look_at_watches(h, e, forward, hit))
		return true;
	if (breaks && look_at_breakpoints(h, e, hit))
		return true;
	return forward && look_at_watches(h, e, forward, hit);
}

/* Watched places may be touched by any block. */
static bool may_be_in(const struct gdb_history *h, const struct value_block *block)
{
	const struct value_insn *last = &block->insns[block->n_insns - 1];
	for (size_t i = 0; i < h->n_watches; i++) {
		const struct gdb_watch *w = &h->watches[i];
		if (w->kind >= 2 || (w->addr >= block->ip && w->addr <= last->ip))
			return true;
	}
	return false;
}

/* Looks through the trace, whose first instruction is the @count-th. Of hits at instruction @from
 * or later the first, or the last. Breakpoints of the instruction that gdb stands at do not count.
 */
static bool search(struct gdb_history *h, uint64_t count, uint64_t from, bool forward,
		   struct gdb_hit *hit)
{
	const struct value_machine *m = value_run_machine(h->run);
	const uint64_t *addrs = h->trace.addresses, *end = addrs + h->trace.n_addresses;
	bool found = false, down = h->down;
	for (size_t b = 0; b < h->trace.n_blocks; b++) {
		const struct value_block *block = value_machine_block(m, h->trace.blocks[b]);
		if (!may_be_in(h, block)) { /* then nobody wants addresses */
			count += block->n_insns;
			continue;
		}
		for (unsigned i = 0; i < block->n_insns; i++, count++) {
			const struct executed e = {&block->insns[i], addrs, count, down};
			if (e.insn->n_addresses > end - addrs)
				return found; /* the last block was left in its middle */
			if (look(h, &e, count >= from, forward, hit)) {
				found = true;
				if (forward)
					return true;
			}
			addrs += e.insn->n_addresses;
			down = value_insn_down(e.insn, down);
		}
	}
	return found;
}

/* Whether anything waits for what a trace tells: without one a run is several times as fast. gdb
 * has breakpoints of its own in the linker, whose code is none that is counted. */
static bool wants_trace(const struct gdb_history *h)
{
	const struct value_machine *m = value_run_machine(h->run);
	for (size_t i = 0; i < h->n_watches; i++)
		if (h->watches[i].kind >= 2 ||
		    value_machine_has_code(m, h->watches[i].addr, VALUE_SIDE_TRACED))
			return true;
	return false;
}

/* Executes up to instruction @until, with a trace where something waits for it. */
static enum value_replay_stop execute(struct gdb_history *h, uint64_t until)
{
	h->trace.n_blocks = h->trace.n_addresses = h->trace.n_results = 0;
	h->down = value_machine_state(value_run_machine(h->run))->df;
	return value_run_forward(h->run, until, wants_trace(h) ? &h->trace : NULL);
}

/* Executes from where the run is to @to, or to the end; of a search back the last hit counts, else
 * the first. Returns why it stopped: LIMIT and TRACE_FULL, it may go on from there. */
static enum value_replay_stop scan(struct gdb_history *h, struct gdb_search *s, uint64_t to,
				   bool *found)
{
	for (;;) {
		uint64_t count = value_run_count(h->run);
		uint64_t until = to - count < CHUNK ? to : count + CHUNK;
		enum value_replay_stop stop = execute(h, until);
		h->executed += value_run_count(h->run) - count;
		*found |= search(h, count, s->from, !s->back, &s->hit);
		bool on = stop == VALUE_REPLAY_TRACE_FULL || stop == VALUE_REPLAY_LIMIT;
		if ((*found && !s->back) || !on || value_run_count(h->run) >= to)
			return stop;
	}
}

/* A run that has no others is alone at all times. */
static void note_moment(const struct gdb_history *h, struct gdb_search *s)
{
	if (!value_run_when(h->run, &s->begins, &s->ends)) {
		s->begins = 0;
		s->ends = UINT64_MAX;
	}
}

static bool seek(struct gdb_history *h, uint64_t count)
{
	return value_run_seek(h->run, count) != VALUE_REPLAY_NO_MEMORY &&
	       value_run_count(h->run) == count;
}

static struct gdb_hit failed(const struct gdb_history *h)
{
	return (struct gdb_hit){.why = GDB_HIT_FAILED, .count = value_run_count(h->run)};
}

static void end_failed(struct gdb_history *h, struct gdb_search *s)
{
	s->hit = failed(h);
	s->at = s->hit.count;
	s->over = true;
	note_moment(h, s);
}

static void end_at(struct gdb_history *h, struct gdb_search *s)
{
	if (!seek(h, s->hit.count)) {
		end_failed(h, s);
		return;
	}
	s->at = s->hit.count;
	s->over = true;
	note_moment(h, s);
}

void gdb_search_begin(struct gdb_history *h, struct gdb_search *s, bool back, bool here)
{
	uint64_t now = value_run_count(h->run);
	*s = (struct gdb_search){.back = back, .at = now, .from = back ? 0 : here ? now : now + 1};
	note_moment(h, s);
}

static void go_forward(struct gdb_history *h, struct gdb_search *s)
{
	bool found = false;
	enum value_replay_stop stop = VALUE_REPLAY_NO_MEMORY;
	if (seek(h, s->at))
		stop = scan(h, s, s->at + CHUNK, &found);
	if (stop == VALUE_REPLAY_NO_MEMORY) {
		end_failed(h, s);
		return;
	}
	bool on = stop == VALUE_REPLAY_TRACE_FULL || stop == VALUE_REPLAY_LIMIT;
	s->at = value_run_count(h->run);
	if (!found && !on)
		s->hit = (struct gdb_hit){.why = GDB_HIT_END, .count = s->at};
	if (found || !on)
		end_at(h, s);
	else
		note_moment(h, s);
}

/* What is near is looked through first; then from snapshot to snapshot, where nothing is executed
 * twice. */
static void go_back(struct gdb_history *h, struct gdb_search *s)
{
	enum { NEAR = 100000 };
	bool found = false;
	uint64_t snapshot = value_run_snapshot_before(h->run, s->at);
	uint64_t near = s->at > NEAR ? s->at - NEAR : 0;
	uint64_t begin = s->near_done || snapshot > near ? snapshot : near;
	s->near_done = true;
	if (s->at) {
		bool there = seek(h, begin);
		note_moment(h, s);
		if (!there || scan(h, s, s->at, &found) == VALUE_REPLAY_NO_MEMORY) {
			end_failed(h, s);
			return;
		}
		s->at = begin;
	}
	if (!found && !s->at)
		s->hit = (struct gdb_hit){.why = GDB_HIT_BEGIN};
	if (found || !s->at)
		end_at(h, s);
}

void gdb_search_go_on(struct gdb_history *h, struct gdb_search *s)
{
	if (s->back)
		go_back(h, s);
	else
		go_forward(h, s);
	if (h->progress)
		h->progress(h->progress_ctx, h->executed);
}

/* Executes one instruction. True: it has touched a watched place, which is in @hit. */
static bool execute_one(struct gdb_history *h, uint64_t now, bool forward,
			enum value_replay_stop *stop, struct gdb_hit *hit)
{
	*stop = execute(h, now + 1);
	return search(h, now, UINT64_MAX, forward, hit);
}

void gdb_history_step(struct gdb_history *h, struct gdb_hit *hit)
{
	enum value_replay_stop stop;
	bool found = execute_one(h, value_run_count(h->run), true, &stop, hit);
	if (stop == VALUE_REPLAY_NO_MEMORY)
		*hit = failed(h);
	if (found || stop == VALUE_REPLAY_NO_MEMORY)
		return;
	hit->why = stop == VALUE_REPLAY_LIMIT ? GDB_HIT_STEP : GDB_HIT_END;
	hit->count = value_run_count(h->run);
}

void gdb_history_step_back(struct gdb_history *h, struct gdb_hit *hit)
{
	uint64_t now = value_run_count(h->run);
	enum value_replay_stop stop = VALUE_REPLAY_NO_MEMORY;
	*hit = (struct gdb_hit){.why = now ? GDB_HIT_STEP : GDB_HIT_BEGIN};
	if (!now)
		return;
	if (seek(h, now - 1))
		execute_one(h, now - 1, false, &stop, hit);
	if (stop == VALUE_REPLAY_NO_MEMORY || !seek(h, now - 1)) {
		*hit = failed(h);
		return;
	}
	hit->count = now - 1;
}
