// SPDX-License-Identifier: LGPL-2.1-or-later
/* again.c: see again.h. Anybody may have written what is read here: the evaluator executes bytes
 * of a file, on memory of its own, and for as many instructions, and turns of string instructions,
 * as a block may have. */
#include "offline/wet/again.h"

#include "offline/base/codec.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { SOURCE = 1, ADDRESSES = 1 << 16, BLOCKS = 1 << 14 };

/* Bytes of all columns of a block together: at most; for each thing that is executed or told; and
 * whatever there is. */
enum { COLUMNS_MAX = 1 << 28, FOR_EACH = 64, ANYHOW = 1 << 16 };

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

struct again_processor *again_processor_new(void)
{
	struct again_processor *p = calloc(1, sizeof(*p));
	if (!p)
		return NULL;
	if (value_memory_init(&p->memory, fill, p)) {
		free(p);
		return NULL;
	}
	p->machine = value_machine_new(&p->memory);
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

/* Eight bytes of what has bytes. */
typedef uint64_t __attribute__((may_alias)) word_t;

/* Words of the state: a range each. Append-only, as files have their numbers. */
enum {
	W_FS = 16, /* behind the general registers */
	W_GS,
	W_RIP,
	W_FLAGS,
	W_MXCSR,
	W_DF,
	W_VEC,
	W_X87 = W_VEC + 4 * VALUE_VECS,
	W_NO_TOPS = W_X87 + VALUE_FX_X87 / 8,
	W_WIDE, /* rows behind the first sixteen */
};
_Static_assert(W_WIDE + 4 * (VALUE_ROWS - VALUE_VECS) == AGAIN_WORDS, "each row has its words");
_Static_assert(sizeof(struct value_state) == 2880,
	       "what is added to the state becomes a word here");

static word_t *word_of(struct value_state *s, unsigned i)
{
	if (i < W_FS)
		return &s->gpr[i];
	if (i < W_RIP)
		return &s->gpr[VALUE_FS + i - W_FS];
	if (i < W_VEC)
		return i == W_RIP ? &s->rip : &s->flags;
	if (i < W_X87)
		return (word_t *)s->vec + (i - W_VEC);
	if (i < W_NO_TOPS)
		return (word_t *)s->fx + (i - W_X87);
	return (word_t *)s->vec[VALUE_VECS] + (i - W_WIDE);
}

uint64_t again_word_get(const struct value_state *s, unsigned i)
{
	return i == W_MXCSR	? s->mxcsr
	       : i == W_DF	? s->df
	       : i == W_NO_TOPS ? s->no_tops
				: *word_of((struct value_state *)s, i);
}

void again_word_set(struct value_state *s, unsigned i, uint64_t v)
{
	if (i == W_MXCSR)
		s->mxcsr = (uint32_t)v;
	else if (i == W_DF)
		s->df = v & 1;
	else if (i == W_NO_TOPS)
		s->no_tops = (uint16_t)v;
	else
		*word_of(s, i) = v;
}

uint64_t again_word_bits(unsigned i)
{
	const uint64_t one = 1;
	if (i < W_FS)
		return one << i;
	if (i < W_FLAGS)
		return 0;
	if (i >= W_NO_TOPS)
		return one << VALUE_BIT_WIDE;
	if (i >= W_X87)
		return one << VALUE_BIT_X87;
	if (i >= W_VEC)
		return one << ((i - W_VEC) % 4 < 2 ? VALUE_BIT_VEC : VALUE_BIT_HIGH)
			   << (i - W_VEC) / 4;
	return i == W_FLAGS ? one << VALUE_BIT_FLAGS
	       : i == W_DF  ? one << VALUE_BIT_DF
			    : one << VALUE_BIT_MXCSR | one << VALUE_BIT_STICKY;
}

unsigned again_words_differ(const struct value_state *a, const struct value_state *b,
			    uint16_t differ[AGAIN_WORDS])
{
	/* Most often what is large is the same. */
	bool vec = memcmp(a->vec, b->vec, sizeof(a->vec)) != 0;
	bool x87 = memcmp(a->fx, b->fx, VALUE_FX_X87) != 0;
	unsigned n = 0;
	for (unsigned i = 0; i < AGAIN_WORDS; i++) {
		if (!vec && i == W_VEC)
			i = W_X87;
		if (!x87 && i == W_X87)
			i = W_NO_TOPS;
		if (!vec && i == W_WIDE)
			break;
		if (again_word_get(a, i) != again_word_get(b, i))
			differ[n++] = (uint16_t)i;
	}
	return n;
}

/* --- columns --------------------------------------------------------------------------------- */

bool again_pack(const struct bytes columns[AGAIN_COLUMNS], struct bytes *to)
{
	struct codec *codec = codec_new();
	for (unsigned i = 0; codec && i < AGAIN_COLUMNS; i++) {
		uint8_t kind = CODEC_STORED, *packed = malloc(codec_bound(columns[i].len));
		size_t len = packed ? codec_compress(codec, columns[i].data, columns[i].len, packed,
						     &kind)
				    : 0;
		to->failed |= !packed || columns[i].failed;
		bytes_put(to, &kind, 1);
		bytes_put_varint(to, columns[i].len);
		bytes_put_varint(to, len);
		bytes_put(to, packed, len);
		free(packed);
	}
	codec_free(codec);
	return codec && !to->failed;
}

bool again_block_fits(const struct again_block *b)
{
	return b->n_results <= AGAIN_RESULTS_MAX && b->n_insns <= AGAIN_INSNS_MAX &&
	       b->n_turns <= AGAIN_TURNS_MAX;
}

bool again_columns_fit(const struct again_block *b, const uint64_t lens[AGAIN_COLUMNS])
{
	uint64_t all = 0, most = ANYHOW + FOR_EACH * (b->n_results + b->n_insns + b->n_turns);
	if (!again_block_fits(b) || lens[AGAIN_TOLD] > 8 * b->n_results)
		return false;
	for (unsigned i = 0; i < AGAIN_COLUMNS; i++) {
		if (lens[i] > COLUMNS_MAX)
			return false;
		all += lens[i];
	}
	return all <= COLUMNS_MAX && all <= most;
}

struct columns {
	uint8_t *bytes[AGAIN_COLUMNS];
	struct cursor in[AGAIN_COLUMNS];
};

static void columns_free(struct columns *c)
{
	for (unsigned i = 0; i < AGAIN_COLUMNS; i++)
		free(c->bytes[i]);
}

/* 0, -EBADMSG, -ENOTSUP or -ENOMEM. */
static int columns_read(struct codec *codec, const struct again_block *b, struct columns *c)
{
	struct cursor in = {b->at, b->at + b->len}, packed[AGAIN_COLUMNS];
	uint8_t kinds[AGAIN_COLUMNS];
	uint64_t lens[AGAIN_COLUMNS];
	*c = (struct columns){0};
	for (unsigned i = 0; i < AGAIN_COLUMNS; i++)
		if (!cursor_byte(&in, &kinds[i]) || !cursor_varint(&in, &lens[i]) ||
		    !cursor_column(&in, &packed[i]))
			return -EBADMSG;
	if (in.at != in.end || !again_columns_fit(b, lens))
		return -EBADMSG;
	for (unsigned i = 0; i < AGAIN_COLUMNS; i++) {
		c->bytes[i] = malloc(lens[i] + 1);
		if (!c->bytes[i])
			return -ENOMEM;
		int err =
			codec_expand(codec, kinds[i], packed[i].at,
				     (size_t)(packed[i].end - packed[i].at), c->bytes[i], lens[i]);
		if (err)
			return err;
		c->in[i] = (struct cursor){c->bytes[i], c->bytes[i] + lens[i]};
	}
	return 0;
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
	a->processor = again_processor_new();
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
		data->at += 8;
	}
	return true;
}

/* The trace's results go where those of the block are. */
static bool empty(void *ctx, struct value_trace *t)
{
	struct again *a = ctx;
	a->n_results += t->n_results;
	t->n_blocks = t->n_addresses = t->n_results = 0;
	t->results = a->results + a->n_results;
	t->max_results = a->room - a->n_results;
	return t->max_results >= 2 * VALUE_BLOCK_INSNS * VALUE_ACCESSES;
}

/* Executes block @i, where the processor is; @traced: its results are wanted. 0 or -errno. */
static int execute(struct again *a, uint32_t i, bool traced)
{
	const struct again_block *b = &a->blocks[i];
	struct columns c;
	uint64_t registers, words, what, left = b->n_insns, place = 0;
	int err = columns_read(a->codec, b, &c);
	struct cursor *steps = &c.in[AGAIN_STEPS];
	a->n_results = 0;
	a->trace.n_results = 0;
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
			struct cursor *told = &c.in[AGAIN_TOLD];
			fine = n <= (uint64_t)(told->end - told->at) / 8 &&
			       (!traced || n <= a->room - a->n_results);
			if (fine && traced) {
				memcpy(a->results + a->n_results, told->at, n * 8);
				a->n_results += n;
				empty(a, &a->trace);
			}
			told->at += fine ? n * 8 : 0;
		}
		err = fine ? 0 : a->processor->memory.exhausted ? -ENOMEM : -EBADMSG;
	}
	columns_free(&c);
	a->here = err ? a->n + 1 : i + 1;
	if (!err && traced &&
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

int again_results(struct again *a, uint32_t i, const uint64_t **results)
{
	int err = 0;
	if (i >= a->n)
		return -EBADMSG;
	if (a->open == i) {
		*results = a->results;
		return 0;
	}
	const struct again_block *b = &a->blocks[i];
	size_t room = b->n_results + 4 * (size_t)VALUE_BLOCK_INSNS * VALUE_ACCESSES;
	if (!again_block_fits(b))
		return -EBADMSG;
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
	err = err ? err : go_before(a, i);
	if (err)
		return err;
	put_moment(a, i);
	err = execute(a, i, true);
	if (err)
		return err;
	a->open = i;
	*results = a->results;
	return 0;
}
