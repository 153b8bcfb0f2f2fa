// SPDX-License-Identifier: LGPL-2.1-or-later
/* again.c: see again.h. Anybody may have written what is read here: the evaluator executes bytes
 * of a file, on memory of its own, and for as many instructions, and turns of string instructions,
 * as a block may have. */
#include "offline/wet/again/again.h"

#include "offline/wet/streams/columns.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { SOURCE = 1, ADDRESSES = 1 << 16, BLOCKS = 1 << 14, RESULTS = 1 << 16 };

/* Bytes of all columns of a block together: at most; for each thing that is executed or told; and
 * whatever there is. */
enum { BYTES_MAX = 1 << 28, FOR_EACH = 64, ANYHOW = 1 << 16 };

/* --- the processor --------------------------------------------------------------------------- */

static int fill(void *ctx, const struct value_region *region, uint64_t addr, uint8_t *bytes,
		uint8_t *quality)
{
	struct again_processor *p = ctx;
	(void)region, (void)addr, (void)quality;
	if (p->pages >= AGAIN_PAGES_MAX)
		return -ENOMEM;
	p->pages++;
	memset(bytes, 0, VALUE_PAGE);
	return 0;
}

static const struct value_region everything = {.start = VALUE_PAGE,
					       .end = (uint64_t)1 << 47,
					       .source = SOURCE,
					       .prot = VALUE_READ | VALUE_WRITE | VALUE_EXEC};

struct again_processor *again_processor_new(uint64_t translated_max)
{
	struct again_processor *p = calloc(1, sizeof(*p));
	if (!p)
		return NULL;
	if (value_memory_init(&p->memory, fill, p)) {
		free(p);
		return NULL;
	}
	p->machine = value_machine_new(&p->memory);
	if (p->machine)
		value_machine_set_translated_max(p->machine, translated_max);
	if (p->machine && !value_machine_code(p->machine, everything.start, everything.end) &&
	    again_processor_clear(p))
		return p;
	again_processor_free(p);
	return NULL;
}

void again_processor_free(struct again_processor *p)
{
	if (!p)
		return;
	value_machine_free(p->machine);
	value_memory_deinit(&p->memory);
	free(p);
}

bool again_processor_clear(struct again_processor *p)
{
	p->pages = 0;
	p->memory.exhausted = false;
	*value_machine_state(p->machine) = value_state_fresh();
	*value_machine_known(p->machine) = (struct value_known){0};
	return !value_memory_map(&p->memory, &everything);
}

bool again_processor_code(struct again_processor *p, const uint64_t *addrs, const uint8_t *pages,
			  uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		if (value_memory_write(&p->memory, addrs[i], pages + (size_t)i * VALUE_PAGE,
				       VALUE_PAGE, VALUE_EXACT))
			return false;
		p->pages = 0;
	}
	return true;
}

bool again_processor_run(struct again_processor *p, uint64_t n, struct value_trace *trace,
			 again_full_fn *full, void *ctx)
{
	uint64_t until = value_machine_count(p->machine) + n;
	while (value_machine_count(p->machine) < until) {
		uint64_t before = value_machine_count(p->machine);
		enum value_stop stop = value_machine_run(p->machine, until, trace);
		if (p->memory.exhausted)
			return false;
		if (stop == VALUE_STOP_TRACE_FULL && !(full && full(ctx, trace)))
			return false;
		if (stop != VALUE_STOP_TRACE_FULL && value_machine_count(p->machine) == before)
			return false;
	}
	return true;
}

/* --- columns --------------------------------------------------------------------------------- */

bool again_pack(const struct bytes columns[AGAIN_COLUMNS], struct bytes *to)
{
	return columns_pack(columns, AGAIN_COLUMNS, to);
}

bool again_block_fits(const struct again_block *b)
{
	return b->n_results <= AGAIN_RESULTS_MAX && b->n_insns <= AGAIN_INSNS_MAX &&
	       b->n_told <= AGAIN_INSNS_MAX && b->n_turns <= AGAIN_TURNS_MAX;
}

bool again_columns_fit(const struct again_block *b, const uint64_t lens[AGAIN_COLUMNS])
{
	uint64_t all = 0,
		 most = ANYHOW + FOR_EACH * (b->n_results + b->n_insns + b->n_turns + b->n_told);
	if (!again_block_fits(b) || lens[AGAIN_TOLD] > 8 * b->n_results)
		return false;
	for (unsigned i = 0; i < AGAIN_COLUMNS; i++) {
		if (lens[i] > BYTES_MAX)
			return false;
		all += lens[i];
	}
	return all <= BYTES_MAX && all <= most;
}

/* 0, -EBADMSG, -ENOTSUP or -ENOMEM. */
static int read_columns(struct codec *codec, const struct again_block *b, struct columns *c)
{
	uint64_t lens[AGAIN_COLUMNS];
	*c = (struct columns){0};
	if (!columns_lens(b->at, b->len, AGAIN_COLUMNS, lens) || !again_columns_fit(b, lens))
		return -EBADMSG;
	return columns_read(codec, b->at, b->len, AGAIN_COLUMNS, c);
}

/* --- blocks ---------------------------------------------------------------------------------- */

/* A moment between two blocks. */
struct moment {
	struct value_state state;
	struct value_known known;
	struct value_snapshot memory;
	uint64_t pages;
	bool is;
};

struct again {
	const struct again_block *blocks;
	uint32_t n, n_pages;
	const uint64_t *addrs;
	const uint8_t *pages;
	struct again_processor *processor;
	struct codec *codec;
	struct moment *moments; /* before each block, where it was met */
	uint64_t *results;
	size_t n_results, room;
	uint32_t here; /* the processor is before this block; n + 1: nowhere */
	uint32_t open; /* whose results are there; n: none's */
	struct value_trace trace;
	const struct again_watch *watch; /* NULL: nobody */
	uint64_t count;			 /* instructions before those that it was told of last */
	bool refused;			 /* by it */
};

void again_free(struct again *a)
{
	if (!a)
		return;
	for (uint32_t i = 0; a->moments && i <= a->n; i++)
		if (a->moments[i].is)
			value_memory_forget(&a->processor->memory, &a->moments[i].memory);
	free(a->moments);
	again_processor_free(a->processor);
	codec_free(a->codec);
	free(a->results);
	free(a->trace.blocks);
	free(a->trace.addresses);
	free(a);
}

struct again *again_new(const struct again_block *blocks, uint32_t n, const uint64_t *addrs,
			const uint8_t *pages, uint32_t n_pages)
{
	struct again *a = calloc(1, sizeof(*a));
	if (!a)
		return NULL;
	*a = (struct again){.blocks = blocks,
			    .n = n,
			    .addrs = addrs,
			    .pages = pages,
			    .n_pages = n_pages,
			    .here = n + 1,
			    .open = n};
	a->processor = again_processor_new(AGAIN_TRANSLATED_BELIEVED);
	a->codec = codec_new();
	a->moments = calloc(n + (size_t)1, sizeof(*a->moments));
	a->trace.blocks = malloc(BLOCKS * sizeof(*a->trace.blocks));
	a->trace.addresses = malloc(ADDRESSES * sizeof(*a->trace.addresses));
	a->trace.max_blocks = BLOCKS;
	a->trace.max_addresses = ADDRESSES;
	if (a->processor && a->codec && a->moments && a->trace.blocks && a->trace.addresses)
		return a;
	again_free(a);
	return NULL;
}

void again_translate_at_most(struct again *a, uint64_t insns)
{
	value_machine_set_translated_max(a->processor->machine, insns);
}

static bool begin_fresh(struct again *a)
{
	return again_processor_clear(a->processor) &&
	       again_processor_code(a->processor, a->addrs, a->pages, a->n_pages);
}

static void put_moment(struct again *a, uint32_t i)
{
	struct moment *m = &a->moments[i];
	/* Where moments take too much there is none, and more is executed again. */
	if (m->is || a->processor->memory.pages_held > AGAIN_PAGES_MAX)
		return;
	m->state = *value_machine_state(a->processor->machine);
	m->known = *value_machine_known(a->processor->machine);
	m->memory = value_memory_snapshot(&a->processor->memory);
	m->pages = a->processor->pages;
	m->is = true;
}

static void go_to_moment(struct again *a, uint32_t i)
{
	const struct moment *m = &a->moments[i];
	*value_machine_state(a->processor->machine) = m->state;
	*value_machine_known(a->processor->machine) = m->known;
	value_memory_restore(&a->processor->memory, &m->memory);
	a->processor->memory.exhausted = false;
	a->processor->pages = m->pages;
	a->here = i;
}

static bool tell_registers(struct again *a, struct columns *c, uint64_t n)
{
	struct value_state *s = value_machine_state(a->processor->machine);
	for (; n; n--) {
		uint64_t word, difference;
		if (!cursor_varint(&c->in[AGAIN_REGISTERS], &word) || word >= AGAIN_WORDS ||
		    !cursor_varint(&c->in[AGAIN_REGISTERS], &difference))
			return false;
		again_word_set(s, (unsigned)word,
			       again_word_get(s, (unsigned)word) + (uint64_t)unzigzag(difference));
	}
	return true;
}

static bool tell_memory(struct again *a, struct columns *c, uint64_t n, uint64_t *place)
{
	struct cursor *data = &c->in[AGAIN_DATA];
	for (; n; n--) {
		uint64_t difference;
		if (!cursor_varint(&c->in[AGAIN_PLACES], &difference) || data->end - data->at < 8)
			return false;
		*place += (uint64_t)unzigzag(difference);
		if (*place >> 44 ||
		    value_memory_write(&a->processor->memory, *place * 8, data->at, 8, VALUE_EXACT))
			return false;
		if (a->watch)
			a->watch->word(a->watch->ctx, *place);
		data->at += 8;
	}
	return true;
}

/* The trace's results go where those of the block are. */
static bool empty(void *ctx, struct value_trace *t)
{
	struct again *a = ctx;
	uint64_t count = value_machine_count(a->processor->machine);
	if (a->watch && count != a->count && !a->refused)
		a->refused = !a->watch->insns(a->watch->ctx, count - a->count, t->addresses,
					      t->n_addresses);
	a->count = count;
	a->n_results = a->watch ? 0 : a->n_results + t->n_results;
	t->n_blocks = t->n_addresses = t->n_results = 0;
	t->results = a->results + a->n_results;
	t->max_results = a->room - a->n_results;
	return !a->refused && t->max_results >= 2 * VALUE_BLOCK_INSNS * VALUE_ACCESSES;
}

/* A step of @n results that are told. */
static bool take_told(struct again *a, struct columns *c, uint64_t n, uint64_t *left, bool traced,
		      bool *anew)
{
	struct cursor *told = &c->in[AGAIN_TOLD];
	uint64_t insns = 0;
	if (!cursor_varint(&c->in[AGAIN_STEPS], &insns) || insns >> 1 > *left ||
	    n > (uint64_t)(told->end - told->at) / 8)
		return false;
	*anew = insns & 1;
	*left -= insns >> 1;
	const uint8_t *at = told->at;
	told->at += n * 8;
	if (a->watch)
		return a->watch->insns(a->watch->ctx, insns >> 1, NULL, 0);
	if (!traced)
		return true;
	if (n > a->room - a->n_results)
		return false;
	memcpy(a->results + a->n_results, at, n * 8);
	a->n_results += n;
	empty(a, &a->trace);
	return true;
}

/* Why the processor did not go on. */
static int why_not(const struct again *a)
{
	return a->processor->memory.exhausted		      ? -ENOMEM
	       : value_machine_is_full(a->processor->machine) ? -E2BIG
							      : -EBADMSG;
}

/* Executes block @i, where the processor is; @traced: its results are wanted. 0 or -errno. */
static int execute(struct again *a, uint32_t i, bool traced)
{
	const struct again_block *b = &a->blocks[i];
	struct columns c;
	uint64_t registers, words, what, left = b->n_insns, told_left = b->n_told, place = 0;
	unsigned n_anew = 0; /* one at most: it costs much */
	int err = read_columns(a->codec, b, &c);
	struct cursor *steps = &c.in[AGAIN_STEPS];
	a->n_results = 0;
	a->trace.n_blocks = a->trace.n_addresses = a->trace.n_results = 0;
	a->count = value_machine_count(a->processor->machine);
	a->refused = false;
	value_machine_set_turns(a->processor->machine, b->n_turns);
	if (!err && traced)
		empty(a, &a->trace);
	while (!err && steps->at < steps->end) {
		bool fine = cursor_varint(steps, &registers) && cursor_varint(steps, &words) &&
			    cursor_varint(steps, &what) && tell_registers(a, &c, registers) &&
			    tell_memory(a, &c, words, &place);
		uint64_t n = what >> 1;
		if (fine && !(what & 1)) {
			fine = n <= left &&
			       again_processor_run(a->processor, n, traced ? &a->trace : NULL,
						   empty, a);
			left -= n;
			if (traced)
				empty(a, &a->trace);
		} else if (fine) {
			bool anew = false;
			fine = take_told(a, &c, n, &told_left, traced, &anew) &&
			       (!anew || (!n_anew++ && begin_fresh(a)));
		}
		fine = fine && !a->refused;
		err = fine ? 0 : why_not(a);
	}
	columns_free(&c);
	a->here = err ? a->n + 1 : i + 1;
	if (!err && traced && !a->watch &&
	    (a->n_results != b->n_results || again_sum(0, a->results, b->n_results) != b->sum))
		err = -EBADMSG;
	return err;
}

/* Before block @i. */
static int go_before(struct again *a, uint32_t i)
{
	uint32_t from = i, first = i - i % AGAIN_FRESH;
	int err = 0;
	if (a->here == i)
		return 0;
	while (from > first && !a->moments[from].is)
		from--;
	if (a->moments[from].is)
		go_to_moment(a, from);
	else if (begin_fresh(a))
		a->here = from;
	else
		return -ENOMEM;
	while (!err && a->here < i) {
		put_moment(a, a->here);
		err = execute(a, a->here, false);
	}
	return err;
}

/* Executes block @i, whose results, or what a watcher is told of in turn, take so much. */
static int open_block(struct again *a, uint32_t i, size_t n_results)
{
	int err = 0;
	size_t room = n_results + 4 * (size_t)VALUE_BLOCK_INSNS * VALUE_ACCESSES;
	const struct again_watch *watch = a->watch;
	a->open = a->n;
	if (room > a->room) {
		free(a->results);
		a->results = malloc(room * sizeof(*a->results));
		a->room = a->results ? room : 0;
		err = a->results ? 0 : -ENOMEM;
	}
	/* A block that begins anew does not go on from the one before. */
	if (!err && i % AGAIN_FRESH == 0 && a->here == i)
		a->here = a->n + 1;
	a->watch = NULL;
	err = err ? err : go_before(a, i);
	a->watch = watch;
	if (err)
		return err;
	put_moment(a, i);
	return execute(a, i, true);
}

int again_results(struct again *a, uint32_t i, const uint64_t **results)
{
	if (i >= a->n || !again_block_fits(&a->blocks[i]))
		return -EBADMSG;
	int err = a->open == i ? 0 : open_block(a, i, a->blocks[i].n_results);
	if (err)
		return err;
	a->open = i;
	*results = a->results;
	return 0;
}

int again_watched(struct again *a, uint32_t i, const struct again_watch *watch)
{
	if (i >= a->n || !again_block_fits(&a->blocks[i]))
		return -EBADMSG;
	a->watch = watch;
	int err = open_block(a, i, RESULTS);
	a->watch = NULL;
	return err;
}

int again_insn(struct again *a, uint64_t ip, const struct value_insn **out)
{
	/* Somewhere it has to have begun, for its code to be there. */
	if (a->here > a->n) {
		if (!begin_fresh(a))
			return -ENOMEM;
		a->here = 0;
		a->open = a->n;
	}
	*out = value_machine_insn(a->processor->machine, ip);
	return *out ? 0 : why_not(a);
}
