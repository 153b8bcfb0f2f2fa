// SPDX-License-Identifier: LGPL-2.1-or-later
/* unpack.c: turns what the rings said of a task into events, and these into segments. A task's part
 * of a chunk becomes a segment, or several where its load bases change; or it is kept back, and
 * goes on in the next chunk: what repeats itself takes less in one segment than in two. */
#include "user/record/unpack.h"

#include "user/stack/attach_stack.h"
#include "user/stack/clean_stack.h"
#include "user/patch/lanes.h"
#include "user/patch/where.h"
#include "user/record/deaths.h"
#include "user/record/generations.h"
#include "user/file/text_span.h"
#include "user/stack/task_stacks.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* What must be remembered of a task from one batch to the next. */
struct task {
	uint64_t bases[SEGMENT_MAX_MODULES]; /* load bias */
	uint64_t known;
	uint64_t lost;
	uint64_t n_events;
	uint64_t time_ns;
	uint32_t execs;
	struct task_stacks stacks;
	struct stack_copy *attached;  /* until the event that it is of */
	bool paused;		      /* and not attached since */
	uint32_t area, lane;	      /* what its patched instructions write to; 0: none */
	uint64_t lane_pos, lane_lost; /* up to where that was read, and was told to be lost */
	struct last_hits last;
};

struct unpacker {
	unpack_write write;
	unpack_died died; /* NULL: nobody asks */
	void *ctx;
	struct recording_totals *totals;
	int err; /* the first */
	struct generations generations;

	struct task **tasks;
	uint32_t cap_tasks;
	struct segment_encoder *enc;
	uint32_t witnesses; /* in the encoder */
	struct kept {
		struct segment_encoder *enc;
		struct task *task; /* NULL: nothing is kept */
		uint32_t number, witnesses;
	} kept;
	uint64_t *words; /* a snapshot with what lies above it */
	struct attach_stacks *attach_stacks;
	struct lanes *lanes;

	uint32_t number; /* of the task that is unpacked, until unpacker_end() */
	struct task *task;
	bool ended;
};

static void fail(struct unpacker *u, int err)
{
	if (err && !u->err)
		u->err = err;
}

static void task_free(struct task *t)
{
	if (!t)
		return;
	task_stacks_deinit(&t->stacks);
	stack_copy_free(t->attached);
	free(t);
}

void unpacker_free(struct unpacker *u)
{
	if (!u)
		return;
	for (uint32_t i = 0; i < u->cap_tasks; i++)
		task_free(u->tasks[i]);
	free(u->tasks);
	free(u->words);
	attach_stacks_free(u->attach_stacks);
	segment_encoder_free(u->enc);
	segment_encoder_free(u->kept.enc);
	free(u);
}

int unpacker_new(const struct recorder_options *options, struct recording_totals *totals,
		 unpack_write write, void *ctx, struct unpacker **out)
{
	struct unpacker *u = calloc(1, sizeof(*u));

	if (!u)
		return -ENOMEM;
	u->write = write;
	u->ctx = ctx;
	u->totals = totals;
	u->enc = segment_encoder_new(options->time_unit_ns);
	u->kept.enc = segment_encoder_new(options->time_unit_ns);
	int err = u->enc && u->kept.enc ? attach_stacks_new(options, &u->attach_stacks) : -ENOMEM;
	if (err)
		unpacker_free(u);
	else
		*out = u;
	return err;
}

void unpacker_deaths(struct unpacker *u, unpack_died died)
{
	u->died = died;
}

int unpacker_change(struct unpacker *u, const struct recorder_options *options,
		    const struct text_span *spans, uint32_t *first)
{
	return generations_add(&u->generations, options, spans, first);
}

void unpacker_lanes(struct unpacker *u, struct lanes *lanes)
{
	u->lanes = lanes;
}

void unpacker_began(struct unpacker *u, uint64_t time_ns)
{
	generations_began(&u->generations, time_ns);
}

void unpacker_ended(struct unpacker *u, uint64_t time_ns)
{
	generations_ended(&u->generations, time_ns);
}

static void finish_events(struct unpacker *u)
{
	struct task *t = u->task;
	struct segment_header header = {.task = u->number, .first_event = t->n_events};

	if (segment_encoder_count(u->enc)) {
		const uint8_t *payload = segment_encoder_finish(u->enc, &header);

		fail(u, payload ? u->write(u->ctx, &header, payload) : -ENOMEM);
		t->n_events += header.n;
		atomic_fetch_add(u->err ? &u->totals->lost : &u->totals->events, u->witnesses);
		u->witnesses = 0;
	}
	segment_encoder_reset(u->enc, t->bases, t->known);
}

static void add_event(struct unpacker *u, const struct pugmark_witness_event *event)
{
	int err = segment_encoder_add(u->enc, event);

	if (err == -ENOSPC) {
		finish_events(u);
		err = segment_encoder_add(u->enc, event);
	}
	fail(u, err);
}

/* @value: of PUGMARK_EVENT_LOST how many, of PUGMARK_EVENT_FORK the child. */
static void add_plain(struct unpacker *u, enum pugmark_event_kind kind, uint64_t value)
{
	struct pugmark_witness_event event = {
		.kind = kind, .time_ns = u->task->time_ns, .lost = value, .val = value};

	add_event(u, &event);
}

static void note_lost(struct unpacker *u, uint64_t lost)
{
	if (!lost)
		return;
	add_plain(u, PUGMARK_EVENT_LOST, lost);
	atomic_fetch_add(&u->totals->lost, lost);
}

/* What a record says of the task as a whole: losses, and programs that it went through. */
static void note_task(struct unpacker *u, uint64_t lost, uint32_t execs)
{
	struct task *t = u->task;

	if (lost > t->lost) {
		add_plain(u, PUGMARK_EVENT_LOST, lost - t->lost);
		atomic_fetch_add(&u->totals->lost, lost - t->lost);
		t->lost = lost;
	}
	for (; t->execs != execs; t->execs++) {
		add_plain(u, PUGMARK_EVENT_EXEC, 0);
		t->known = 0;
	}
}

/* The state of reading one batch. */
struct reading {
	const struct generation *generation;
	uint64_t time_ns, cfa_high;
	uint64_t ret, target;
	uint64_t values[PUGMARK_EVENT_VALUES_MAX];
	uint8_t n_values;
	bool has_ret, has_target;
	uint32_t serial;
	pid_t pid;
	bool lane_begins; /* the last RECORD_LANE_FROM was one */
};

/* Room for the words of a stack. */
static uint64_t *stack_room(struct unpacker *u)
{
	if (!u->words)
		u->words = malloc(DEEP_WORDS * sizeof(*u->words));
	return u->words;
}

/* The snapshot of a witness: its frame is known, and often bp. */
static void clean_witness(struct unpacker *u, const struct reading *b,
			  const struct pugmark_plan_site *site, struct pugmark_witness_event *e)
{
	struct clean_from from = {.sp = e->cfa};
	uint64_t i = (e->cfa - 8 * (uint64_t)site->bp - e->stack_addr) / 8;

	if (!e->stack || site->cfa_reg == PUGMARK_CFA_UNKNOWN || !b->pid || !stack_room(u))
		return;
	if (site->bp == PUGMARK_BP_KEPT) {
		from.bp = e->val;
		from.bp_known =
			e->flags & PUGMARK_EVENT_HAS_TARGET && site->kind != PUGMARK_WITNESS_TARGET;
	} else if (site->bp != PUGMARK_BP_UNKNOWN && i < e->stack_words) {
		from.bp = e->stack[i];
		from.bp_known = from.bp != PUGMARK_EVENT_STACK_UNKNOWN;
	}
	attach_stacks_clean(u->attach_stacks, b->pid, &from, u->words, e);
}

/* A probe's event, in a process of which instructions are patched. */
static void count_probed(struct unpacker *u, const struct lanes_image *image, uint32_t module,
			 uint32_t site)
{
	enum patch_reason reason = image->modules[module].placing.n > site
					   ? image->modules[module].placing.places[site].reason
					   : PATCH_UNKNOWN;

	atomic_fetch_add(&u->totals->probed[reason], 1);
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
		.cfa = b->cfa_high << 32 | r->cfa,
	};
	b->time_ns += r->dt_ns;
	t->time_ns = e.time_ns = b->time_ns;
	if (r->head & HEAD_RET) {
		e.flags |= PUGMARK_EVENT_HAS_RET;
		e.ret = b->has_ret ? b->ret
				   : t->bases[m] + mod->sites[e.site].addr + (int64_t)r->ret;
	}
	if (b->has_target) {
		e.flags |= PUGMARK_EVENT_HAS_TARGET;
		e.val = b->target;
	} else {
		e.val = r->head & HEAD_TAKEN ? 1 : 0;
	}
	if (r->head & HEAD_SIGNAL)
		e.flags |= PUGMARK_EVENT_FROM_SIGNAL;
	if (r->head & HEAD_SNAPSHOT) {
		fail(u, task_stacks_tell(&t->stacks, b->serial++, &u->words, &e));
		clean_witness(u, b, &mod->sites[e.site], &e);
		fail(u, task_stacks_slim(&t->stacks, b->serial - 1, &u->words, &e));
	}
	e.values = b->values;
	e.n_values = b->n_values;
	add_event(u, &e);
	u->witnesses++;
	if (t->area && u->lanes)
		count_probed(u, lanes_image(u->lanes, t->area), slot, e.site);
	last_hits_add(&t->last, m, e.site, e.time_ns);
	b->has_ret = b->has_target = false;
	b->n_values = 0;
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
		add_event(u, &e);
	}
}

/* What the task is patched by. It may not have told an event of that yet. */
static const struct lanes_image *image_of(const struct unpacker *u, int32_t pid, uint64_t time_ns,
					  uint64_t ip)
{
	const struct lanes_image *image = u->lanes ? lanes_image(u->lanes, u->task->area) : NULL;

	for (uint32_t i = 1; u->lanes && !image && (image = lanes_image(u->lanes, i)); i++) {
		if (patch_is_code(image->area, ip) ||
		    (pid && image->area->pid == pid && time_ns >= image->area->record->patched_ns))
			return image;
		image = NULL;
	}
	return image;
}

/* A stack from which a trace begins, of a thread that is in a trampoline, is as where that was
 * entered. */
static void leave_at_start(const struct unpacker *u, pid_t pid, struct stack_copy *copy)
{
	const struct lanes_image *image = image_of(u, pid, 0, copy->ip);
	struct patch_thread thread = {copy->ip, copy->regs[7], copy->words, copy->addr,
				      copy->n_words};

	if (!image || !patch_where(image->area, image->modules, &thread))
		return;
	copy->ip = thread.ip;
	copy->regs[7] = thread.sp;
}

/* The task ran before: what its stack says, from which its trace begins. */
static void unpack_attach(struct unpacker *u, const struct generation *g, pid_t pid)
{
	struct task *t = u->task;
	uint64_t known = t->known;

	if (t->attached)
		leave_at_start(u, pid, t->attached);
	bool told = t->attached && g->modules[0].plan &&
		    attach_stacks_reduce(u->attach_stacks, pid, t->attached);

	for (uint32_t i = 0; told && i < g->n; i++)
		if (!(known >> (g->first + i) & 1) &&
		    attach_stacks_bias(u->attach_stacks, &g->modules[i], &t->bases[g->first + i]))
			known |= 1ull << (g->first + i);
	if (known != t->known) {
		finish_events(u);
		t->known = known;
		segment_encoder_reset(u->enc, t->bases, t->known);
	}
	if (told)
		add_stack(u, t->attached);
	else
		add_plain(u, PUGMARK_EVENT_ATTACH, 0);
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

/* The module of @slot has been mapped somewhere. */
static void unpack_base(struct unpacker *u, const struct generation *g, uint32_t slot,
			uint64_t addr)
{
	struct task *t = u->task;
	uint32_t m = g->first + slot;
	uint64_t bias = addr - g->text_addr[slot];

	if (t->known >> m & 1 && t->bases[m] == bias)
		return;
	finish_events(u);
	t->bases[m] = bias;
	t->known |= 1ull << m;
	segment_encoder_reset(u->enc, t->bases, t->known);
}

/* The task's probes were of @g, which is in use no more: as long as it was, its log is whole. */
static void unpack_pause(struct unpacker *u, const struct generation *g)
{
	struct task *t = u->task;
	uint64_t ended_ns = g->ended_ns;

	if (ended_ns > t->time_ns)
		t->time_ns = ended_ns;
	add_plain(u, PUGMARK_EVENT_PAUSE, 0);
	finish_events(u);
	t->known = 0;
	t->paused = true;
	segment_encoder_reset(u->enc, t->bases, t->known);
}

/* The task is seen again from when its probes are those of @g, and no later than @next_ns. */
static void end_pause(struct task *t, const struct generation *g, uint64_t next_ns)
{
	uint64_t began_ns = g->began_ns;
	bool known = t->paused && began_ns >= t->time_ns && began_ns < next_ns;

	t->time_ns = known ? began_ns : next_ns;
	t->paused = false;
}

/* What a record of a lane is read by. */
struct lane_reading {
	struct unpacker *u;
	const struct generation *generation;
	const struct lanes_image *image;
};

/* A patched instruction's event. */
static void unpack_lane_record(void *ctx, uint32_t head, uint64_t frame, uint64_t ret,
			       uint64_t target)
{
	struct lane_reading *r = ctx;
	const struct generation *g = r->generation;
	uint32_t site = head & PATCH_HEAD_SITE, slot = generation_slot(g, site);
	struct unpacker *u = r->u;
	struct task *t = u->task;

	if (site >= r->image->n_sites || site < g->first_site[slot] ||
	    site - g->first_site[slot] >= g->modules[slot].n_sites)
		return;
	if (!(t->known >> (g->first + slot) & 1))
		unpack_base(u, g, slot, r->image->bases[slot]);
	struct pugmark_witness_event e = {
		.kind = PUGMARK_EVENT_WITNESS,
		.module = g->first + slot,
		.site = site - g->first_site[slot],
		.time_ns = t->time_ns,
		.cfa = frame + r->image->frame_add[site],
		.ret = ret,
		.val = head & PATCH_HEAD_TARGET	 ? target
		       : head & PATCH_HEAD_TAKEN ? 1
						 : 0,
		.flags = (head & PATCH_HEAD_RET ? PUGMARK_EVENT_HAS_RET : 0) |
			 (head & PATCH_HEAD_TARGET ? PUGMARK_EVENT_HAS_TARGET : 0),
	};
	add_event(u, &e);
	u->witnesses++;
	last_hits_add(&t->last, e.module, e.site, e.time_ns);
}

/* What of the task's lane comes before what follows in the batch. */
static void unpack_lane(struct unpacker *u, const struct generation *g,
			const struct batch_record *r)
{
	uint32_t lane = r->head & HEAD_SITE_MASK;
	struct task *t = u->task;
	struct lane_reading reading = {u, g, u->lanes ? lanes_image(u->lanes, r->dt_ns) : NULL};
	uint64_t lost = 0;

	if (!reading.image)
		return;
	if (t->area != r->dt_ns || t->lane != lane)
		t->lane_pos = t->lane_lost = 0;
	t->area = r->dt_ns;
	t->lane = lane;
	if (r->head >> HEAD_RECORD_SHIFT == RECORD_LANE) {
		fail(u, lanes_take(u->lanes, t->area, lane, t->lane_pos, r->value,
				   unpack_lane_record, &reading, &lost));
		note_lost(u, lost);
	}
	t->lane_pos = r->value;
}

static void unpack_lane_lost(struct unpacker *u, const struct batch_record *r, bool first)
{
	struct task *t = u->task;

	if (!first && r->value > t->lane_lost)
		note_lost(u, r->value - t->lane_lost);
	t->lane_lost = r->value;
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
	case RECORD_PAUSE:
		unpack_pause(u, b->generation);
		break;
	case RECORD_LANE:
	case RECORD_LANE_FROM:
		unpack_lane(u, b->generation, r);
		b->lane_begins = r->head >> HEAD_RECORD_SHIFT == RECORD_LANE_FROM;
		break;
	case RECORD_LANE_LOST:
		unpack_lane_lost(u, r, b->lane_begins);
		break;
	case RECORD_FORK:
		add_plain(u, PUGMARK_EVENT_FORK, r->value);
		break;
	}
}

static void unpack_batch(struct unpacker *u, const struct batch *b, uint32_t bytes)
{
	const struct batch_record *r = (const struct batch_record *)(b + 1);
	uint32_t n = (bytes - sizeof(*b)) / sizeof(*r);

	const struct generation *g = generations_at(&u->generations, b->generation);
	if (!g)
		return;
	struct reading reading = {g, b->time_ns, b->cfa_high, .serial = b->snapshots,
				  .pid = b->pid};

	if (u->task->execs != b->execs)
		attach_stacks_forget(u->attach_stacks, b->pid);
	note_task(u, b->lost, b->execs);
	if (b->n < n)
		n = b->n;
	for (; n--; r++) {
		if (r->head >> HEAD_RECORD_SHIFT == RECORD_ATTACH) {
			end_pause(u->task, g, next_time(r + 1, n, reading.time_ns));
			unpack_attach(u, g, b->pid);
		} else {
			unpack_record(u, &reading, r);
		}
	}
}

/* Where the innermost call of a traced module has its return address, if the signal finds the task
 * in code that is not traced: unwound while its process is there. */
static uint64_t caller_of(struct unpacker *u, const struct signal_note *n,
			  const struct pugmark_witness_event *e)
{
	const struct task *t = u->task;
	const struct generation *g = generations_last(&u->generations);
	struct text_span spans[BATCH_MODULES];
	uint32_t n_spans = 0;

	for (uint32_t i = 0; i < g->n; i++) {
		uint64_t bias = t->bases[g->first + i];

		if (!(t->known >> (g->first + i) & 1))
			continue;
		spans[n_spans++] =
			(struct text_span){g->text_addr[i] + bias, g->text_end[i] + bias};
		if (n->ip - spans[n_spans - 1].addr <
		    spans[n_spans - 1].end - spans[n_spans - 1].addr)
			return 0;
	}
	return n_spans && n->pid ? attach_stacks_caller(u->attach_stacks, n, e, spans, n_spans) : 0;
}

/* A thread that is in a trampoline is, to all that look at it, where that was entered. */
static void leave_trampoline(const struct unpacker *u, int32_t pid, uint64_t time_ns, uint64_t *ip,
			     uint64_t *sp, struct pugmark_witness_event *e)
{
	const struct lanes_image *image = image_of(u, pid, time_ns, *ip);
	struct patch_thread thread = {*ip, *sp, NULL, 0, 0};

	if (e && e->stack) {
		thread.words = e->stack;
		thread.addr = e->stack_addr;
		thread.n_words = e->stack_words;
	}
	if (!image || !patch_where(image->area, image->modules, &thread))
		return;
	*ip = thread.ip;
	*sp = thread.sp;
	uint64_t below = (thread.sp - thread.addr) / 8;
	if (thread.words && thread.sp > thread.addr && below < thread.n_words) {
		e->stack += below;
		e->stack_addr += 8 * below;
		e->stack_words -= below;
	}
}

static void unpack_signal(struct unpacker *u, const struct signal_note *sent, uint32_t bytes)
{
	if (bytes != sizeof(*sent) || !generations_last(&u->generations))
		return;
	struct signal_note at = *sent, *n = &at;
	struct pugmark_witness_event e = {.kind = PUGMARK_EVENT_SIGNAL};
	uint64_t ip, sp;

	if (n->has_snapshot)
		fail(u, task_stacks_tell(&u->task->stacks, n->snapshot, &u->words, &e));
	ip = n->ip;
	sp = n->regs[7];
	leave_trampoline(u, n->pid, n->time_ns, &ip, &sp, &e);
	n->ip = ip;
	n->regs[7] = sp;
	uint64_t returning =
		n->handler && n->pid ? attach_stacks_returning(u->attach_stacks, n) : 0;
	if (returning) /* as if it had: the stack, on which vfork's child ran, does not tell */
		n->ip = returning;
	note_task(u, n->lost, n->execs);
	u->task->time_ns = n->time_ns;
	e.time_ns = n->time_ns;
	e.cfa = n->regs[7];
	e.ret = n->ip;
	e.val = n->handler;
	e.signal = (struct pugmark_signal_event){
		.bp = n->regs[6], .alt = n->alt, .alt_bytes = n->alt_bytes};
	if (e.stack)
		e.signal.caller = caller_of(u, n, &e);
	if (e.stack && n->pid && stack_room(u)) {
		struct clean_from from = {n->ip, n->regs[7], n->regs[6], true};

		attach_stacks_clean(u->attach_stacks, n->pid, &from, u->words, &e);
	}
	if (n->has_snapshot)
		fail(u, task_stacks_slim(&u->task->stacks, n->snapshot, &u->words, &e));
	add_event(u, &e);
}

/* The thread was stopped while its program ran on: what its lane had by then. */
static void unpack_lane_end(struct unpacker *u, int32_t tid)
{
	const struct generation *g = generations_last(&u->generations);
	struct batch_record r;
	uint32_t area, lane;
	uint64_t pos, lost;

	if (!u->lanes || !g || !lanes_end(u->lanes, tid, &area, &lane, &pos, &lost))
		return;
	r = (struct batch_record){.head = (uint32_t)RECORD_LANE << HEAD_RECORD_SHIFT | lane,
				  .dt_ns = area};
	r.value = pos;
	unpack_lane(u, g, &r);
	r.value = lost;
	unpack_lane_lost(u, &r, false);
}

/* In which module the task's address @ip is. UINT32_MAX: in none that is traced. */
static uint32_t module_at(const struct unpacker *u, uint64_t ip)
{
	const struct generation *g = generations_last(&u->generations);

	for (uint32_t i = 0; g && i < g->n; i++) {
		uint64_t addr = ip - u->task->bases[g->first + i];

		if (u->task->known >> (g->first + i) & 1 && addr >= g->text_addr[i] &&
		    addr < g->text_end[i])
			return g->first + i;
	}
	return UINT32_MAX;
}

static void unpack_death(struct unpacker *u, const struct process_record *r)
{
	struct death death = {.exit = r, .hits = &u->task->last, .ip = r->fault.ip};
	uint64_t sp = 0;

	leave_trampoline(u, r->pid, r->time_ns, &death.ip, &sp, NULL);
	death.module = module_at(u, death.ip);
	if (death.module != UINT32_MAX)
		death.addr = death.ip - u->task->bases[death.module];
	fail(u, u->died(u->ctx, &death, &u->generations));
}

static void unpack_process(struct unpacker *u, const struct process_record *r)
{
	if (r->kind != PROCESS_EXIT && r->kind != PROCESS_STOP)
		return;
	note_task(u, r->lost, r->execs);
	unpack_lane_end(u, r->tid); /* it may have been stopped, and have ended then */
	const struct generation *g = generations_last(&u->generations);
	if (u->task->paused && g && !g->ended_ns && g->began_ns) { /* it has done nothing since */
		end_pause(u->task, g, r->time_ns);
		add_plain(u, PUGMARK_EVENT_ATTACH, 0);
	}
	struct pugmark_witness_event e = {
		.kind = r->kind == PROCESS_EXIT ? PUGMARK_EVENT_END : PUGMARK_EVENT_STOP,
		.time_ns = r->time_ns,
		.cfa = r->sp,
		.ret = r->ip,
		.val = r->stopped,
	};
	leave_trampoline(u, r->pid, r->time_ns, &e.ret, &e.cfa, NULL);
	add_event(u, &e);
	if (u->died && r->kind == PROCESS_EXIT && death_is(r))
		unpack_death(u, r);
}

static struct task *task_get(struct unpacker *u, uint32_t number)
{
	if (number >= u->cap_tasks) {
		uint32_t cap = u->cap_tasks ? u->cap_tasks : 64;

		while (cap <= number)
			cap *= 2;
		struct task **tasks = realloc(u->tasks, cap * sizeof(*tasks));
		if (!tasks)
			return NULL;
		memset(tasks + u->cap_tasks, 0, (cap - u->cap_tasks) * sizeof(*tasks));
		u->tasks = tasks;
		u->cap_tasks = cap;
	}
	if (!u->tasks[number]) {
		u->tasks[number] = calloc(1, sizeof(struct task));
		atomic_fetch_add(&u->totals->tasks, 1);
	}
	return u->tasks[number];
}

/* What is kept becomes what is unpacked, and the other way round. */
static void exchange_kept(struct unpacker *u)
{
	struct kept was = {u->enc, u->task, u->number, u->witnesses};

	u->enc = u->kept.enc;
	u->task = u->kept.task;
	u->number = u->kept.number;
	u->witnesses = u->kept.witnesses;
	u->kept = was;
}

int unpacker_begin(struct unpacker *u, uint32_t number)
{
	u->ended = false;
	u->task = NULL;
	if (u->kept.task && u->kept.number == number) {
		exchange_kept(u);
		return 0;
	}
	u->number = number;
	u->task = task_get(u, number);
	if (u->task)
		segment_encoder_reset(u->enc, u->task->bases, u->task->known);
	else
		fail(u, -ENOMEM);
	return u->task ? 0 : u->err;
}

void unpacker_add(struct unpacker *u, const void *data, uint32_t bytes)
{
	uint32_t kind = *(const uint32_t *)data;
	struct task *t = u->task;

	if (kind == RING_BATCH)
		unpack_batch(u, data, bytes);
	else if (kind == RING_SNAPSHOT)
		fail(u, task_stacks_snapshot(&t->stacks, data, bytes));
	else if (kind == RING_DEEP)
		fail(u, task_stacks_deep(&t->stacks, data, bytes));
	else if (kind == RING_SIGNAL)
		unpack_signal(u, data, bytes);
	else if (kind == RING_ATTACH)
		fail(u, stack_copy_add(&t->attached, data, bytes));
	else
		unpack_process(u, data);
	u->ended |= kind == PROCESS_EXIT || kind == PROCESS_STOP;
}

int unpacker_end(struct unpacker *u, bool keep)
{
	if (keep && !u->ended) {
		exchange_kept(u);
		if (u->task) /* another one */
			finish_events(u);
		u->task = NULL;
		return u->err;
	}
	finish_events(u);
	if (u->ended) {
		task_free(u->task);
		u->tasks[u->number] = NULL;
	}
	u->task = NULL;
	return u->err;
}

int unpacker_settle(struct unpacker *u)
{
	if (!u->kept.task)
		return u->err;
	exchange_kept(u);
	return unpacker_end(u, false);
}

bool unpacker_keeps(const struct unpacker *u)
{
	return u->kept.task;
}
