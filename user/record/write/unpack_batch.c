// SPDX-License-Identifier: LGPL-2.1-or-later
/* unpack_batch.c: what a task's probes have sent: batches of records, each a witness or a part of
 * the next one, or a change in what is known of the task. */
#include "user/record/write/unpack_impl.h"
#include "user/file/text_span.h"
#include "user/stack/attach_stack.h"
#include "user/stack/clean_stack.h"

/* So far below its CFA a frame may have bp point. */
enum { FRAME_BELOW = 1 << 20 };

/* The state of reading one batch. */
struct reading {
	const struct generation *generation;
	uint64_t time_ns, cfa_high;
	uint64_t lane_ns; /* of the next RECORD_LANE */
	uint64_t ret, target;
	uint64_t goroutine; /* 0: not told */
	uint64_t values[PUGMARK_EVENT_VALUES_MAX];
	uint8_t n_values;
	bool has_ret, has_target;
	uint32_t serial;
	pid_t pid;
	bool lane_begins; /* the last RECORD_LANE_FROM was one */
};

uint32_t unpack_code(const struct unpacker *u, struct text_span *spans)
{
	const struct generation *g = generations_last(&u->generations);
	const struct task *t = u->task;
	uint32_t n = 0;

	for (uint32_t i = 0; g && i < g->n; i++) {
		uint64_t bias = t->bases[g->first + i];

		if (t->known >> (g->first + i) & 1)
			spans[n++] = (struct text_span){.addr = g->text_addr[i] + bias,
							.end = g->text_end[i] + bias};
	}
	return n;
}

/* What is code of a task. */
struct code_of {
	struct task_code code;
	struct attach_stacks *stacks;
	pid_t pid;
	struct text_span spans[BATCH_MODULES];
	uint32_t n;
};

static bool is_code(const struct task_code *code, uint64_t addr)
{
	const struct code_of *c = (const struct code_of *)code;

	for (uint32_t i = 0; i < c->n; i++)
		if (addr >= c->spans[i].addr && addr < c->spans[i].end)
			return true;
	return c->pid && attach_stacks_is_code(c->stacks, c->pid, addr);
}

void unpack_slim(struct unpacker *u, uint32_t serial, pid_t pid, struct pugmark_witness_event *e)
{
	struct code_of c = {.code = {is_code}, .stacks = u->attach_stacks, .pid = pid};

	if (u->hides)
		c.n = unpack_code(u, c.spans);
	unpack_fail(u, task_stacks_slim(&u->task->stacks, serial, u->hides ? &c.code : NULL,
					&u->words, e));
}

uint64_t unpack_frame(const struct unpacker *u, uint64_t sp, uint64_t bp)
{
	const struct task_code none = {0};

	return !u->hides || task_stacks_may_stay(&none, sp, bp) ? bp : 0;
}

/* The snapshot of a witness: its frame is known, and often bp. */
static void clean_witness(struct unpacker *u, const struct reading *b,
			  const struct pugmark_plan_site *site, struct pugmark_witness_event *e)
{
	struct clean_from from = {.sp = pugmark_event_cfa(e),
				  .below = site->capture & PUGMARK_CAPTURE_BELOW};
	uint64_t i = (pugmark_event_cfa(e) - 8 * (uint64_t)site->bp - e->stack_addr) / 8;

	if (!e->stack || site->cfa_reg == PUGMARK_CFA_UNKNOWN || !b->pid || !unpack_stack_room(u))
		return;
	if (site->bp == PUGMARK_BP_KEPT) {
		from.bp = pugmark_event_bp(e);
		from.bp_known =
			e->flags & PUGMARK_EVENT_HAS_TARGET && site->kind != PUGMARK_WITNESS_TARGET;
	} else if (site->bp != PUGMARK_BP_UNKNOWN && i < e->stack_words) {
		from.bp = e->stack[i];
		from.bp_known = from.bp != PUGMARK_EVENT_STACK_UNKNOWN;
	}
	attach_stacks_clean(u->attach_stacks, b->pid, &from, u->words, e);
}

static void unpack_witness(struct unpacker *u, struct reading *b, const struct batch_record *r)
{
	uint32_t site = r->head & HEAD_SITE_MASK;
	const struct generation *g = b->generation;
	uint32_t slot = generation_slot(g, site), m = g->first + slot;
	const struct recorder_module *mod = &g->modules[slot];
	struct task *t = u->task;

	if (site < g->first_site[slot] || site - g->first_site[slot] >= mod->n_sites)
		return;
	struct pugmark_witness_event e = {
		.kind = PUGMARK_EVENT_WITNESS,
		.module = m,
		.site = site - g->first_site[slot],
		.arm.witness.cfa = b->cfa_high << 32 | r->cfa,
	};
	b->time_ns += r->dt_ns;
	t->time_ns = e.time_ns = b->time_ns;
	if (r->head & HEAD_RET) {
		e.flags |= PUGMARK_EVENT_HAS_RET;
		e.arm.witness.ret =
			b->has_ret ? b->ret
				   : t->bases[m] + mod->sites[e.site].addr + (int64_t)r->ret;
	}
	if (b->has_target) {
		e.flags |= PUGMARK_EVENT_HAS_TARGET;
		e.arm.witness.val = b->target;
	} else {
		e.arm.witness.val = r->head & HEAD_TAKEN ? 1 : 0;
	}
	if (r->head & HEAD_SIGNAL)
		e.flags |= PUGMARK_EVENT_FROM_SIGNAL;
	if (r->head & HEAD_HANDLER)
		e.flags |= PUGMARK_EVENT_IN_HANDLER;
	if (r->head & HEAD_SNAPSHOT) {
		unpack_fail(u, task_stacks_tell(&t->stacks, b->serial++, &u->words, &e));
		clean_witness(u, b, &mod->sites[e.site], &e);
		unpack_slim(u, b->serial - 1, b->pid, &e);
	}
	if (b->has_target && mod->sites[e.site].kind != PUGMARK_WITNESS_TARGET) /* bp */
		e.arm.witness.val = unpack_frame(u, pugmark_event_cfa(&e) - FRAME_BELOW, b->target);
	e.values = b->values;
	e.n_values = b->n_values;
	e.goroutine = b->goroutine;
	unpack_event(u, &e);
	u->witnesses++;
	if (t->area && u->lanes)
		unpack_count_probed(u, slot, e.site);
	last_hits_add(&t->last, m, e.site, e.time_ns);
	b->has_ret = b->has_target = false;
	b->n_values = 0;
	b->goroutine = 0;
}

/* The return addresses of @copy, in as many events as it takes, the outermost first. */
static void add_stack(struct unpacker *u, const struct stack_copy *copy)
{
	struct pugmark_witness_event e = {.kind = PUGMARK_EVENT_ATTACH,
					  .time_ns = u->task->time_ns};
	uint32_t n;

	for (uint32_t end = copy->n_words; end; end -= n) {
		n = end < SNAPSHOT_MAX_WORDS ? end : SNAPSHOT_MAX_WORDS;
		e.stack = copy->words + end - n;
		e.stack_addr = copy->addr + 8 * (uint64_t)(end - n);
		e.stack_words = n;
		unpack_event(u, &e);
	}
}

/* The task ran before: what its stack says, from which its trace begins. */
static void unpack_attach(struct unpacker *u, const struct generation *g, pid_t pid)
{
	struct task *t = u->task;
	uint64_t known = t->known;

	if (t->attached)
		unpack_leave_at_start(u, pid, t->attached);
	bool told = t->attached && g->modules[0].plan &&
		    attach_stacks_reduce(u->attach_stacks, pid, t->attached);

	for (uint32_t i = 0; told && i < g->n; i++)
		if (!(known >> (g->first + i) & 1) &&
		    attach_stacks_bias(u->attach_stacks, &g->modules[i], &t->bases[g->first + i]))
			known |= 1ull << (g->first + i);
	if (known != t->known) {
		unpack_finish(u);
		t->known = known;
		segment_encoder_reset(u->enc, t->bases, t->known);
	}
	if (told)
		add_stack(u, t->attached);
	else
		unpack_plain(u, PUGMARK_EVENT_ATTACH, 0);
	stack_copy_free(t->attached);
	t->attached = NULL;
}

/* When the first witness of @n records was hit, counted from @time_ns. */
static uint64_t next_time(const struct batch_record *r, uint32_t n, uint64_t time_ns)
{
	for (; n--; r++) {
		if (r->head >> HEAD_RECORD_SHIFT == RECORD_TIME)
			time_ns = r->value;
		if (r->head >> HEAD_RECORD_SHIFT == RECORD_WITNESS)
			return time_ns + r->dt_ns;
	}
	return time_ns;
}

/* The task's probes were of @g, which is in use no more: as long as it was, its log is whole. */
static void unpack_pause(struct unpacker *u, const struct generation *g)
{
	struct task *t = u->task;
	uint64_t ended_ns = g->ended_ns;

	if (ended_ns > t->time_ns)
		t->time_ns = ended_ns;
	unpack_plain(u, PUGMARK_EVENT_PAUSE, 0);
	unpack_finish(u);
	t->known = 0;
	t->paused = true;
	segment_encoder_reset(u->enc, t->bases, t->known);
}

void unpack_end_pause(struct task *t, const struct generation *g, uint64_t next_ns)
{
	uint64_t began_ns = g->began_ns;
	bool known = t->paused && began_ns >= t->time_ns && began_ns < next_ns;

	t->time_ns = known ? began_ns : next_ns;
	t->paused = false;
}

static void unpack_record(struct unpacker *u, struct reading *b, const struct batch_record *r)
{
	switch (r->head >> HEAD_RECORD_SHIFT) {
	case RECORD_WITNESS:
		unpack_witness(u, b, r);
		break;
	case RECORD_BASE:
		unpack_base(u, b->generation, r->head & (BATCH_MODULES - 1), r->value);
		break;
	case RECORD_TIME:
		b->time_ns = r->value;
		break;
	case RECORD_CFA:
		b->cfa_high = r->value;
		break;
	case RECORD_RET:
		b->ret = r->value;
		b->has_ret = true;
		break;
	case RECORD_TARGET:
		b->target = r->value;
		b->has_target = true;
		break;
	case RECORD_VALUE:
		if (b->n_values < PUGMARK_EVENT_VALUES_MAX)
			b->values[b->n_values++] = r->value;
		break;
	case RECORD_GOROUTINE:
		b->goroutine = r->value;
		break;
	case RECORD_PAUSE:
		unpack_pause(u, b->generation);
		break;
	case RECORD_LANE_TIME:
		b->lane_ns = r->value;
		break;
	case RECORD_LANE:
	case RECORD_LANE_FROM:
		unpack_lane(u, b->generation, r, b->lane_ns);
		b->lane_begins = r->head >> HEAD_RECORD_SHIFT == RECORD_LANE_FROM;
		break;
	case RECORD_LANE_LOST:
		unpack_lane_lost(u, r, b->lane_begins);
		break;
	case RECORD_FORK:
		unpack_plain(u, PUGMARK_EVENT_FORK, r->value);
		break;
	}
}

void unpack_batch(struct unpacker *u, const struct batch *b, uint32_t bytes)
{
	const struct batch_record *r = (const struct batch_record *)(b + 1);
	uint32_t n = (bytes - sizeof(*b)) / sizeof(*r);

	const struct generation *g = generations_at(&u->generations, b->generation);
	if (!g)
		return;
	struct reading reading = {
		g, b->time_ns, b->cfa_high, b->time_ns, .serial = b->snapshots, .pid = b->pid};

	if (u->task->execs != b->execs)
		attach_stacks_forget(u->attach_stacks, b->pid);
	if (!u->task->n_events && !segment_encoder_count(u->enc))
		attach_stacks_meet(u->attach_stacks, b->pid);
	unpack_note_task(u, b->lost, b->execs);
	if (b->n < n)
		n = b->n;
	for (; n--; r++) {
		if (r->head >> HEAD_RECORD_SHIFT == RECORD_ATTACH) {
			unpack_end_pause(u->task, g, next_time(r + 1, n, reading.time_ns));
			unpack_attach(u, g, b->pid);
		} else {
			unpack_record(u, &reading, r);
		}
	}
}
