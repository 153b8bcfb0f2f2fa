// SPDX-License-Identifier: LGPL-2.1-or-later
/* build.c: follows the trace of a replay block by block, with who wrote each byte last. What
 * crosses the boundary comes between blocks. */
#include "offline/dep/build_impl.h"
#include "offline/dep/flows.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCKS = 1 << 15, VALUES = 1 << 18, SYS_RT_SIGRETURN = 15 };

static inline uint32_t load_word(struct dep_build *b, uint64_t addr, uint64_t len)
{
	uint64_t off = addr % SHADOW_PAGE;
	if (off + len > SHADOW_PAGE || b->others)
		return dep_load_several(b, addr, len);
	const uint32_t *at = shadow_find(&b->shadow, addr / SHADOW_PAGE, false) + off;
	bool same = len == 8   ? shadow_same_8(at)
		    : len == 4 ? shadow_same_4(at)
			       : shadow_same(at, len);
	return same && (*at || !b->trace.n_born) ? *at : dep_load_several(b, addr, len);
}

/* --- blocks ---------------------------------------------------------------------------------- */

static const struct dep_block *block_of(struct dep_build *b, uint32_t number)
{
	struct dep_trace *t = &b->trace;
	if (number >= t->n_blocks) {
		uint32_t n = 2 * number + 1024;
		struct dep_block **blocks = realloc(t->blocks, n * sizeof(*blocks));
		if (!blocks)
			return NULL;
		memset(blocks + t->n_blocks, 0, (n - t->n_blocks) * sizeof(*blocks));
		t->blocks = blocks;
		t->n_blocks = n;
	}
	if (!t->blocks[number])
		t->blocks[number] = dep_block_new(value_machine_block(b->machine, number));
	return t->blocks[number];
}

/* A string instruction at @count: @at is where it writes, where it reads, how many turns. */
static void take_string(struct dep_build *b, const struct value_insn *insn, const uint64_t at[3],
			uint64_t count)
{
	uint64_t size = insn->n_mem ? insn->mem[0].len : 1, len = at[2] * size;
	uint64_t back = b->down && len ? len - size : 0;
	bool reads = false, writes = false;
	struct dep_words bytes = {0};
	for (int i = 0; i < insn->n_mem; i++) {
		reads |= insn->mem[i].read;
		writes |= insn->mem[i].write;
	}
	dep_words_push(b, &b->trace.strings, (uint32_t)b->trace.n_events);
	struct dep_event e = {.ip = insn->ip, .kind = DEP_STRING, .flags = DEP_READS_KNOWN};
	struct dep_event *kept = dep_keep_event(b, &e);
	if (!kept)
		return;
	kept->count = count;
	if (reads && writes) {
		/* Byte by byte from the first to the last: what overlaps is copied again. */
		for (uint64_t i = 0; i < at[2] && !b->no_memory; i++) {
			uint64_t off = b->down ? (uint64_t)0 - i * size : i * size;
			bytes.n = 0;
			dep_note_bytes(b, &bytes, at[1] + off, size);
			dep_copy_defs(b, kept, at[0] + off, bytes.at, size);
		}
	} else if (writes) {
		shadow_set(&b->shadow, at[0] - back, len, dep_more_defs(b, kept, 1));
	} else {
		for (int i = 0; i < insn->n_mem; i++)
			dep_note_reads(b, &b->trace.sources,
				       at[insn->mem[i].base == VALUE_RDI ? 0 : 1] - back, len);
		kept->n_reads = b->trace.sources.n - kept->first_read;
	}
	free(bytes.at);
}

static void take_access(struct dep_build *b, const struct dep_access *a, const uint64_t *addresses)
{
	uint64_t addr = addresses[a->address];
	if (!a->store) {
		dep_words_push(b, &b->trace.loads, load_word(b, addr, a->len));
		return;
	}
	uint32_t def = dep_new_defs(b, 1);
	uint64_t off = addr % SHADOW_PAGE;
	if (off + a->len > SHADOW_PAGE) {
		shadow_set(&b->shadow, addr, a->len, def);
		return;
	}
	uint32_t *at = shadow_find(&b->shadow, addr / SHADOW_PAGE, true) + off;
	if (a->len == 8)
		shadow_fill_8(at, def);
	else
		for (unsigned i = 0; i < a->len; i++)
			at[i] = def;
}

/* A block with string instructions, or with one that turns the direction. */
static void take_slowly(struct dep_build *b, const struct dep_block *d, const uint64_t *addresses)
{
	unsigned address = 0, access = 0;
	for (unsigned i = 0; i < d->n_insns; i++) {
		const struct dep_insn *insn = &d->insns[i];
		b->down = insn->direction ? insn->direction < 0 : b->down;
		if (insn->string)
			take_string(b, &d->block->insns[i], addresses + address,
				    b->trace.count + i);
		for (int k = 0; k < insn->n_loads + insn->n_stores; k++)
			take_access(b, &d->accesses[access++], addresses);
		address += insn->n_addresses;
	}
}

/* What lies before the blocks that are taken next: others may have written, or still do. */
static void meet_others(struct dep_build *b)
{
	unsigned met = value_run_met(b->run);
	b->crowded = met & VALUE_MET_DURING;
	if (!met)
		return;
	struct dep_event *e = dep_add_event(b, &(struct dep_event){.kind = DEP_OTHERS, .fd = -1});
	if (e)
		b->others = dep_more_defs(b, e, 1);
}

/* What is taken next was executed before record @to. */
static void note_span(struct dep_build *b, uint64_t to)
{
	struct dep_trace *t = &b->trace;
	struct dep_span *last = t->n_spans ? &t->spans[t->n_spans - 1] : NULL;
	if (last && last->from == b->from && last->to == to)
		return;
	if (t->n_spans == t->room_spans) {
		uint64_t room = 2 * t->room_spans + 64;
		struct dep_span *spans = large_realloc(t->spans, room * sizeof(*spans));
		if (!spans) {
			b->no_memory = true;
			return;
		}
		t->spans = spans;
		t->room_spans = room;
	}
	t->spans[t->n_spans++] = (struct dep_span){t->count, b->from, to};
}

static void take_trace(struct dep_build *b)
{
	const struct value_trace *vt = &b->vt;
	meet_others(b);
	for (; b->done < vt->n_blocks && !b->no_memory; b->done++) {
		uint32_t number = vt->blocks[b->done];
		const struct dep_block *d = number < b->trace.n_blocks && b->trace.blocks[number]
						    ? b->trace.blocks[number]
						    : block_of(b, number);
		if (!d) {
			b->no_memory = true;
			return;
		}
		const uint64_t *addresses = vt->addresses + b->done_addresses;
		struct dep_mark before = {.item = b->trace.items.n,
					  .count = b->trace.count,
					  .load = b->trace.loads.n,
					  .def = b->trace.n_defs,
					  .string = b->trace.strings.n};
		dep_add_item(b, number);
		if (d->slow)
			take_slowly(b, d, addresses);
		else
			for (unsigned i = 0; i < d->n_accesses; i++)
				take_access(b, &d->accesses[i], addresses);
		if (b->watch)
			b->watch(b->watch_ctx, &b->trace, &before, d, NULL, addresses,
				 vt->results + b->done_results);
		b->done_addresses += d->n_addresses;
		b->done_results += d->n_results;
		b->trace.count += d->n_insns;
	}
}

static void catch_up(struct dep_build *b)
{
	uint64_t from, to;
	if (b->done == b->vt.n_blocks)
		return;
	if (value_run_when(b->run, &from, &to))
		note_span(b, to);
	take_trace(b);
}

/* --- crossings ------------------------------------------------------------------------------- */

static void take_signal(struct dep_build *b, const struct capture *c)
{
	struct dep_signal *signals = realloc(b->signals, (b->n_signals + 1) * sizeof(*signals));
	if (!signals) {
		b->no_memory = true;
		return;
	}
	b->signals = signals;
	b->signals[b->n_signals++] = (struct dep_signal){c->number, ++b->next_id};
	dep_add_event(b, &(struct dep_event){.kind = DEP_SIGNAL, .id = b->next_id});
}

static void take_ranges(struct dep_build *b, struct dep_event *e, const struct capture *c)
{
	for (uint32_t i = 0; e && i < c->n_ranges; i++)
		shadow_set(&b->shadow, c->ranges[i].addr, c->ranges[i].len, dep_more_defs(b, e, 1));
}

/* A handler returns; it need not be the last that began. */
static void take_signal_end(struct dep_build *b, const struct value_run *run,
			    const struct capture *c)
{
	uint64_t number;
	bool known = value_run_returns_from(run, c, &number);
	size_t i = known ? b->n_signals : 0;
	while (i && b->signals[i - 1].number != number)
		i--;
	if (!i)
		return;
	dep_add_event(b, &(struct dep_event){.kind = DEP_SIGNAL_END, .id = b->signals[i - 1].id});
	memmove(&b->signals[i - 1], &b->signals[i], (b->n_signals - i) * sizeof(*b->signals));
	b->n_signals--;
}

static void take_kernel(struct dep_build *b, const struct value_run *run, const struct capture *c)
{
	if (c->nr == SYS_RT_SIGRETURN && b->n_signals) {
		take_signal_end(b, run, c);
		return;
	}
	dep_born_fork(b, c);
	dep_stream_kernel(b, c);
}

/* Whether control was in traced code already: a record of an entry's place is met on the way. */
static bool was_inside(const struct dep_build *b)
{
	const struct dep_trace *t = &b->trace;
	uint32_t item = t->items.n ? t->items.at[t->items.n - 1] : DEP_ITEM_EVENT;
	if (!t->items.n)
		return false;
	if (item & DEP_ITEM_EVENT) {
		uint8_t kind = t->events[item & ~DEP_ITEM_EVENT].kind;
		return kind == DEP_ENTER || kind == DEP_BOUND || kind == DEP_CALL;
	}
	uint8_t last = t->blocks[item]->last_kind;
	return last == VALUE_INSN_PLAIN || last == VALUE_INSN_STRING || last == VALUE_INSN_JCC ||
	       last == VALUE_INSN_JUMP;
}

static void enter(struct dep_build *b, const struct capture *c)
{
	if ((c && was_inside(b)) || dep_call_bound(b))
		return;
	if (b->n_calls && !b->calls[b->n_calls - 1].spans) {
		struct dep_pending *p = &b->calls[b->n_calls - 1];
		p->spans = true;
		p->id = ++b->next_id;
		dep_add_event(b, &(struct dep_event){.kind = DEP_LEFT, .id = p->id, .ip = p->ret});
	}
	struct dep_event e = {.kind = DEP_ENTER, .ip = c ? c->ip : 0};
	struct dep_event *kept = dep_add_event(b, &e);
	if (c)
		take_ranges(b, kept, c);
}

static void crossing(void *ctx, struct value_run *run, enum value_crossing what,
		     const struct capture *c, const char *import)
{
	struct dep_build *b = ctx;
	uint64_t from, to;
	bool threads = value_run_when(run, &from, &to);
	if (threads && c)
		to = (c->kind == CAPTURE_KERNEL || c->kind == CAPTURE_SWITCH) && c->entered
			     ? c->entered
			     : c->order;
	if (threads)
		note_span(b, to);
	take_trace(b);
	b->from = threads ? from : 0;
	b->trace.count = value_run_count(run); /* some instructions are in no trace */
	switch (what) {
	case VALUE_CROSSING_CALL:
		dep_call_begins(b, import);
		break;
	case VALUE_CROSSING_RESULT:
		dep_call_ends(b, c);
		break;
	case VALUE_CROSSING_ENTER:
		enter(b, c);
		break;
	case VALUE_CROSSING_KERNEL:
		take_kernel(b, run, c);
		break;
	case VALUE_CROSSING_SIGNAL:
		take_signal(b, c);
		break;
	case VALUE_CROSSING_SWITCH:
		break;
	}
	dep_written_ask(b);
}

/* --- the builder ----------------------------------------------------------------------------- */

int dep_build_new(struct value_run *run, struct dep_build **out)
{
	struct dep_build *b = calloc(1, sizeof(*b));
	if (!b)
		return -ENOMEM;
	uint64_t to;
	b->run = run;
	b->catch_up = catch_up;
	value_run_when(run, &b->from, &to);
	b->machine = value_run_machine(run);
	b->memory = value_machine_memory(b->machine);
	b->vt = (struct value_trace){
		.blocks = malloc(BLOCKS * sizeof(*b->vt.blocks)),
		.addresses = malloc(VALUES * sizeof(*b->vt.addresses)),
		.results = malloc(VALUES * sizeof(*b->vt.results)),
		.max_blocks = BLOCKS,
		.max_addresses = VALUES,
		.max_results = VALUES,
	};
	struct pugmark_diag diag;
	if (imports_open(NULL, &b->imports, &diag) || !shadow_init(&b->shadow) || !b->vt.blocks ||
	    !b->vt.addresses || !b->vt.results) {
		dep_build_free(b);
		return -ENOMEM;
	}
	dep_born_begin(b);
	value_run_crossings(run, crossing, b);
	*out = b;
	return 0;
}

void dep_build_free(struct dep_build *b)
{
	if (!b)
		return;
	struct dep_trace *t = &b->trace;
	struct dep_words *words[] = {&t->items, &t->loads, &t->many, &t->sources, &t->strings};
	value_run_crossings(b->run, NULL, NULL);
	value_run_library_writes(b->run, NULL, NULL);
	for (unsigned i = 0; i < sizeof(words) / sizeof(*words); i++)
		free(words[i]->at);
	for (uint32_t i = 0; i < t->n_blocks; i++)
		free(t->blocks[i]);
	free(t->blocks);
	free(t->events);
	free(t->runs);
	free(t->moved);
	free(t->moved_runs);
	free(t->bytes);
	free(t->born);
	free(t->forks);
	free(t->marks);
	free(t->spans);
	free(t->foreign);
	free(b->vt.blocks);
	free(b->vt.addresses);
	free(b->vt.results);
	free(b->signals);
	dep_calls_deinit(b);
	imports_free(b->imports);
	dep_streams_deinit(b);
	shadow_deinit(&b->shadow);
	free(b);
}

enum value_replay_stop dep_build_forward(struct dep_build *b, uint64_t until)
{
	enum value_replay_stop stop = VALUE_REPLAY_TRACE_FULL;
	uint64_t from, to;
	while (stop == VALUE_REPLAY_TRACE_FULL && !b->no_memory) {
		b->vt.n_blocks = b->vt.n_addresses = b->vt.n_results = 0;
		b->done = b->done_addresses = b->done_results = 0;
		stop = value_run_forward(b->run, until, &b->vt);
		if (value_run_when(b->run, &from, &to))
			note_span(b, to);
		take_trace(b);
		if (b->pause)
			b->pause(b->pause_ctx, b);
	}
	b->trace.count = value_run_count(b->run);
	return b->no_memory || b->shadow.no_memory ? VALUE_REPLAY_NO_MEMORY : stop;
}

void dep_build_watch(struct dep_build *b, dep_watch_fn *fn, void *ctx)
{
	b->watch = fn;
	b->watch_ctx = ctx;
}

void dep_build_pauses(struct dep_build *b, void (*fn)(void *ctx, struct dep_build *build),
		      void *ctx)
{
	b->pause = fn;
	b->pause_ctx = ctx;
}

/* Definitions are found page by page. */
struct living {
	struct dep_words *to;
	bool no_memory;
};

static void add_page(void *ctx, uint64_t number, const uint32_t *defs)
{
	struct living *l = ctx;
	uint32_t before = 0;
	(void)number;
	if (l->no_memory || !dep_words_room(l->to, SHADOW_PAGE)) {
		l->no_memory = true;
		return;
	}
	for (unsigned i = 0; i < SHADOW_PAGE; before = defs[i++])
		if (defs[i] != before)
			l->to->at[l->to->n++] = defs[i];
}

bool dep_build_live(const struct dep_build *b, struct dep_words *to)
{
	struct living l = {.to = to};
	shadow_each(&b->shadow, add_page, &l);
	return !l.no_memory;
}

/* The last item stays, with its event: what comes next is understood by it (was_inside()). */
void dep_build_forget(struct dep_build *b)
{
	struct dep_trace *t = &b->trace;
	uint32_t item = t->items.n ? t->items.at[t->items.n - 1] : 0;
	t->loads.n = t->many.n = t->strings.n = t->sources.n = 0;
	t->n_events = t->n_runs = t->n_moved = t->n_moved_runs = t->n_bytes = t->n_foreign = 0;
	for (int fd = 0; fd < DEP_FDS; fd++)
		b->streams[fd].n_given = 0;
	if (!t->items.n)
		return;
	if (item & DEP_ITEM_EVENT) {
		t->events[0] = t->events[item & ~DEP_ITEM_EVENT];
		t->n_events = 1;
		item = DEP_ITEM_EVENT;
	}
	t->items.at[0] = item;
	t->items.n = 1;
}

const struct dep_trace *dep_build_trace(const struct dep_build *b)
{
	return &b->trace;
}

uint32_t dep_build_def(struct dep_build *b, uint64_t addr)
{
	return dep_def_at(b, addr);
}

void dep_build_theirs(struct dep_build *b, bool (*theirs)(void *ctx, uint64_t addr), void *ctx)
{
	b->theirs = theirs;
	b->theirs_ctx = ctx;
}

void dep_build_written(const struct dep_build *b,
		       void (*fn)(void *ctx, uint64_t number, const uint32_t *defs), void *ctx)
{
	shadow_each(&b->shadow, fn, ctx);
}

uint32_t dep_build_own_def(struct dep_build *b, uint64_t addr)
{
	return shadow_get(&b->shadow, addr);
}

bool dep_build_open_call(const struct dep_build *b, struct dep_units *units, const uint32_t **defs,
			 uint64_t *n)
{
	if (!b->n_calls)
		return false;
	const struct dep_pending *p = &b->calls[b->n_calls - 1];
	const struct dep_flow *f = p->name ? dep_flow_find(p->name) : NULL;
	struct dep_event e = {.kind = DEP_CALL, .regs = p->regs};
	/* What becomes of the block that is given back is nothing that a slice needs else. */
	if (f && f->kind == FLOW_GIVE)
		e.regs |= 1u << f->from;
	*units = dep_event_reads(&e);
	*defs = p->reads.at;
	*n = p->reads.n;
	return true;
}
