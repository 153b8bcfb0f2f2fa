// SPDX-License-Identifier: LGPL-2.1-or-later
/* Random forms of the instructions that the evaluator computes, mostly SSE to AVX2, BMI, FMA, MMX,
 * x87 and AVX-512, on random states: all registers, flags, MXCSR, x87 and memory are what the
 * processor itself makes of the same state. Then, with bytes of which some are not known: what is
 * called exact is the same whatever those are. SEED and FORMS choose others than the default. */
#include "offline/eval/machine.h"
#include "tests/support/processor.h"
#include "tests/support/random_forms.h"

#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <cmocka.h>

#define CODE ((uint64_t)0x400000)
enum {
	SLOT = RANDOM_FORM_BYTES,
	DATA_BYTES = 64,
	STATES = 4,
	TURNS = 6,
	SHOWN = 20,
	CODE_PAGES = 8192
};
enum { X87_WORDS = 6, X87_AT = 32, MXCSR_AT = 24, SSE_AT = 160, AVX_AT = 576 };

struct form {
	uint8_t bytes[SLOT];
	uint8_t len;
	uint64_t ip;
	const struct value_insn *insn;
};

static struct processor *processor;
static struct value_memory memory;
static struct value_machine *machine;
static uint8_t *data; /* of both: rbx points there */
static struct form *forms;
static unsigned n_forms, n_wrong, n_faults;
static uint64_t seed;

static unsigned rows; /* of value_state.vec, that this processor has */

/* Byte @b of a row in the XSAVE area. */
static uint8_t *of_row(struct processor_state *s, unsigned row, unsigned b)
{
	const struct processor_wide wide = processor_wide(processor);
	if (row < VALUE_TOPS)
		return s->xsave + (b < 16 ? SSE_AT + b : AVX_AT + b - 16) + 16 * row;
	if (row < VALUE_MORE)
		return s->xsave + wide.tops + VALUE_ROW * (row - VALUE_TOPS) + b;
	if (row >= VALUE_MASKS)
		return s->xsave + wide.masks + VALUE_ROW * (row - VALUE_MASKS) + b;
	bool top = row >= VALUE_MORE_TOPS;
	row -= top ? VALUE_MORE_TOPS : VALUE_MORE;
	return s->xsave + wide.more + (size_t)2 * VALUE_ROW * row + (top ? VALUE_ROW : 0) + b;
}

/* What a row has. */
static void bytes_of(const struct value_state *v, unsigned row, uint8_t out[VALUE_ROW])
{
	memcpy(out, v->vec[row], VALUE_ROW);
	if (value_has_no_top(v, row))
		memset(out, 0, VALUE_ROW);
}

static uint32_t any(void)
{
	return random_form_next(&seed);
}

static unsigned below(unsigned n)
{
	return any() % n;
}

/* --- forms ----------------------------------------------------------------------------------- */

static void make_forms(unsigned want)
{
	forms = calloc(want, sizeof(*forms));
	assert_non_null(forms);
	/* Each at an address of its own, as translations are kept by address. */
	for (uint64_t ip = CODE; n_forms < want; ip += SLOT) {
		struct form *f = &forms[n_forms];
		assert_true(ip < CODE + (uint64_t)CODE_PAGES * VALUE_PAGE);
		random_form(&seed, f->bytes);
		assert_int_equal(value_memory_write(&memory, ip, f->bytes, SLOT, VALUE_EXACT), 0);
		f->insn = value_machine_insn(machine, ip);
		f->ip = ip;
		f->len = f->insn ? f->insn->len : 0;
		n_forms += random_form_is_fit(f->insn, DATA_BYTES);
	}
}

/* --- states ---------------------------------------------------------------------------------- */

static uint64_t number(void)
{
	static const uint64_t telling[] = {
		0,
		1,
		UINT64_MAX,
		0x8000000000000000,
		0x3ff8000000000000,
		0xbff0000000000001,
		0x7ff0000000000000,
		0xfff8000000000001,
		0x7ff0000000000001,
		0x000fffffffffffff,
		0x0000000000000003,
		0x7fefffffffffffff,
		0x3f8000003fc00000,
		0x7f800000ff800001,
		0x0000000180000000,
		0x7f7fffff00800000,
		0x41dfffffffe00000,
		0x43e0000000000000,
		0x4f0000005f000000,
		0x4330000000000001,
	};
	uint64_t wide = (uint64_t)any() << 32 | any();
	switch (below(4)) {
	case 0:
		return telling[below(sizeof(telling) / sizeof(*telling))];
	case 1: /* doubles and floats of usual size */
		return (wide & 0x800fffffffffffff) | (uint64_t)(1023 - 40 + below(80)) << 52;
	case 2:
		return (wide & 0x807fffff807fffff) | (uint64_t)(127 - 20 + below(40)) << 55 |
		       (uint64_t)(127 - 20 + below(40)) << 23;
	default:
		return wide;
	}
}

static void choose_x87(uint8_t *xsave)
{
	uint16_t control = 0x37f & ~0xc00, status = below(8) << 11;
	static const uint16_t precision[] = {0x000, 0x200, 0x300};
	control = 0x7f | precision[below(3)] | below(4) << 10;
	memset(xsave, 0, MXCSR_AT);
	memcpy(xsave, &control, 2);
	memcpy(xsave + 2, &status, 2);
	xsave[4] = below(3) ? 0xff : any();
	for (int i = 0; i < 8; i++) {
		uint64_t bits = number();
		double v;
		memcpy(&v, &bits, sizeof(v));
		long double wide = v;
		memset(xsave + X87_AT + 16 * i, 0, 16);
		memcpy(xsave + X87_AT + 16 * i, &wide, 10);
	}
}

static void choose_state(struct processor_state *s)
{
	for (int i = 0; i < 16; i++)
		s->gpr[i] = number();
	s->gpr[VALUE_RBX] = (uint64_t)(uintptr_t)data;
	s->gpr[VALUE_RSP] = 0;
	s->rflags = (any() & 0x8d5) | 0x202;
	memset(s->xsave, 0, sizeof(s->xsave));
	choose_x87(s->xsave);
	uint32_t mxcsr = 0x1f80 | below(4) << 13 | (any() & 0x803f & (below(2) ? 0xffff : 0)) |
			 (below(4) ? 0 : 0x40);
	memcpy(s->xsave + MXCSR_AT, &mxcsr, 4);
	for (unsigned i = 0; i < rows; i++)
		for (unsigned b = 0; b < VALUE_ROW; b += 8) {
			uint64_t n = number();
			memcpy(of_row(s, i, b), &n, 8);
		}
	for (int i = 0; i < DATA_BYTES / 8; i++) {
		uint64_t n = number();
		memcpy(data + 8 * i, &n, 8);
	}
}

/* The evaluator begins with the same, all exact. */
static void take_state(struct processor_state *s)
{
	struct value_state *v = value_machine_state(machine);
	memcpy(v->gpr, s->gpr, sizeof(s->gpr));
	value_set_rflags(v, s->rflags);
	memcpy(v->fx, s->xsave, X87_WORDS);
	memcpy(v->fx + X87_AT, s->xsave + X87_AT, 128);
	memcpy(&v->mxcsr, s->xsave + MXCSR_AT, 4);
	v->no_tops = 0;
	for (unsigned i = 0; i < rows; i++)
		for (unsigned b = 0; b < VALUE_ROW; b++)
			v->vec[i][b] = *of_row(s, i, b);
	value_machine_known(machine)->inexact = 0;
	assert_int_equal(
		value_memory_write(&memory, s->gpr[VALUE_RBX], data, DATA_BYTES, VALUE_EXACT), 0);
}

/* False: it would fault (a division). */
static bool step(const struct form *f)
{
	value_machine_state(machine)->rip = f->ip;
	enum value_stop stop = value_machine_run(machine, value_machine_count(machine) + 1, NULL);
	assert_true(stop == VALUE_STOP_LIMIT || stop == VALUE_STOP_FAULT);
	return stop == VALUE_STOP_LIMIT;
}

static void wrong(const struct form *f, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
static void wrong(const struct form *f, const char *format, ...)
{
	va_list args;
	if (n_wrong++ >= SHOWN)
		return;
	printf("wrong: %-12s", ZydisMnemonicGetString(f->insn->mnemonic));
	for (int i = 0; i < f->len; i++)
		printf("%02x", f->bytes[i]);
	printf(": ");
	va_start(args, format);
	vprintf(format, args);
	va_end(args);
	putchar('\n');
}

/* --- against the processor ------------------------------------------------------------------- */

static void compare(const struct form *f, struct processor_state *truth)
{
	const struct value_state *v = value_machine_state(machine);
	struct value_state open = {.flags = f->insn->undefined};
	uint64_t differ =
		(value_rflags(v) ^ truth->rflags) & 0xcd5 & ~(value_rflags(&open) & 0x8d5);
	uint32_t mxcsr;
	uint8_t bytes[DATA_BYTES];
	for (unsigned i = 0; i < 16; i++)
		if (i != VALUE_RSP && v->gpr[i] != truth->gpr[i])
			wrong(f, "register %u: %" PRIx64 ", is %" PRIx64, i, v->gpr[i],
			      truth->gpr[i]);
	if (differ)
		wrong(f, "flags: %" PRIx64 ", is %" PRIx64, value_rflags(v), truth->rflags);
	memcpy(&mxcsr, truth->xsave + MXCSR_AT, 4);
	if (mxcsr != v->mxcsr)
		wrong(f, "mxcsr: %x, is %x", v->mxcsr, mxcsr);
	for (unsigned i = 0; i < rows; i++) {
		uint8_t row[VALUE_ROW];
		bool same = true;
		bytes_of(v, i, row);
		for (unsigned b = 0; b < VALUE_ROW; b++)
			same &= row[b] == *of_row(truth, i, b);
		if (!same)
			wrong(f, "row %u of vector registers", i);
	}
	if (memcmp(v->fx, truth->xsave, X87_WORDS - 1))
		wrong(f, "x87: %02x%02x %02x%02x %02x, is %02x%02x %02x%02x %02x", v->fx[1],
		      v->fx[0], v->fx[3], v->fx[2], v->fx[4], truth->xsave[1], truth->xsave[0],
		      truth->xsave[3], truth->xsave[2], truth->xsave[4]);
	for (unsigned i = 0; i < 8; i++)
		if (memcmp(v->fx + X87_AT + 16 * i, truth->xsave + X87_AT + 16 * i, 10))
			wrong(f, "x87: stack register %u", i);
	assert_int_equal(
		value_memory_read(&memory, truth->gpr[VALUE_RBX], bytes, sizeof(bytes), NULL), 0);
	if (memcmp(bytes, data, sizeof(bytes)))
		wrong(f, "memory");
	/* Of an instruction that faults with these exceptions nothing would be known. */
	if (value_machine_known(machine)->inexact)
		wrong(f, "not exact: %" PRIx64, value_machine_known(machine)->inexact);
}

static void each_form_does_what_the_processor_does(void **state)
{
	struct processor_state *s = processor_state(processor);
	bool said[ZYDIS_MNEMONIC_MAX_VALUE + 1] = {false};
	unsigned mnemonics = 0, compared = 0;
	(void)state;
	for (unsigned i = 0; i < n_forms; i++) {
		const struct form *f = &forms[i];
		for (int k = 0; k < STATES; k++) {
			choose_state(s);
			take_state(s);
			bool here = step(f), there = processor_run(processor, f->bytes, f->len);
			if (here != there)
				wrong(f, "%s here, %s there", here ? "done" : "a fault",
				      there ? "done" : "a fault");
			else if (here)
				compare(f, s);
			compared += here && there;
			n_faults += !there;
		}
		mnemonics += !said[f->insn->mnemonic];
		said[f->insn->mnemonic] = true;
	}
	printf("%u forms of %u mnemonics, %u states, %u faults, %u wrong\n", n_forms, mnemonics,
	       compared, n_faults, n_wrong);
	assert_int_equal(n_wrong, 0);
	assert_true(compared > n_forms);
}

/* --- what is called exact --------------------------------------------------------------------- */

/* How well each byte is known, and which bits are of those that are not. */
struct qualities {
	uint8_t gpr[16][8], vec[VALUE_ROWS][VALUE_ROW], data[DATA_BYTES];
	uint8_t gpr_bits[16][8], vec_bits[VALUE_ROWS][VALUE_ROW], data_bits[DATA_BYTES];
	uint8_t flags, x87, mxcsr, sticky;
};

struct outcome {
	struct value_state state;
	struct value_known known;
	uint8_t data[DATA_BYTES], bits[DATA_BYTES];
};

static uint8_t sometimes(void)
{
	return below(3) ? VALUE_EXACT : VALUE_ASSUMED + below(2);
}

static void choose_bytes(uint8_t *q, uint8_t *bits, unsigned n)
{
	bool some = below(2), partly = below(2);
	for (unsigned i = 0; i < n; i++) {
		q[i] = some ? sometimes() : VALUE_EXACT;
		bits[i] = partly ? any() : 0;
	}
}

static void choose_qualities(struct qualities *q)
{
	memset(q, 0, sizeof(*q));
	for (int i = 0; i < 16; i++) {
		if (i != VALUE_RBX && i != VALUE_RSP)
			choose_bytes(q->gpr[i], q->gpr_bits[i], 8);
	}
	for (unsigned i = 0; i < rows; i++)
		choose_bytes(q->vec[i], q->vec_bits[i], VALUE_ROW);
	memset(q->vec_bits[VALUE_VECS], 0, sizeof(q->vec_bits) - VALUE_VECS * VALUE_ROW);
	choose_bytes(q->data, q->data_bits, DATA_BYTES);
	q->flags = sometimes();
	q->x87 = sometimes();
	q->mxcsr = below(4) ? VALUE_EXACT : VALUE_UNKNOWN;
	q->sticky = sometimes();
}

static bool any_inexact(const uint8_t *q, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		if (q[i])
			return true;
	return false;
}

static void take_qualities(const struct qualities *q)
{
	struct value_known *k = value_machine_known(machine);
	k->inexact = 0;
	for (unsigned i = 0; i < 16; i++) {
		memcpy(k->gpr[i], q->gpr[i], 8);
		k->inexact |= (uint64_t)any_inexact(q->gpr[i], 8) << i;
		k->inexact |= (uint64_t)any_inexact(q->vec[i], 16) << (VALUE_BIT_VEC + i);
		k->inexact |= (uint64_t)any_inexact(q->vec[i] + 16, 16) << (VALUE_BIT_HIGH + i);
	}
	memcpy(k->vec, q->vec, sizeof(k->vec));
	memcpy(k->gpr_bits, q->gpr_bits, sizeof(k->gpr_bits));
	memcpy(k->vec_bits, q->vec_bits, sizeof(k->vec_bits));
	k->inexact |=
		(uint64_t)any_inexact(q->vec[VALUE_VECS], (VALUE_ROWS - VALUE_VECS) * VALUE_ROW)
		<< VALUE_BIT_WIDE;
	k->flags = q->flags;
	k->flags_exact = 0;
	k->x87 = q->x87;
	k->mxcsr = q->mxcsr;
	k->sticky = q->sticky;
	k->inexact |= (uint64_t) !!q->flags << VALUE_BIT_FLAGS;
	k->inexact |= (uint64_t) !!q->x87 << VALUE_BIT_X87;
	k->inexact |= (uint64_t) !!q->mxcsr << VALUE_BIT_MXCSR;
	k->inexact |= (uint64_t) !!q->sticky << VALUE_BIT_STICKY;
	assert_int_equal(value_memory_write_qualities(&memory, (uint64_t)(uintptr_t)data, q->data,
						      DATA_BYTES),
			 0);
	value_memory_write_bits(&memory, (uint64_t)(uintptr_t)data, q->data_bits, DATA_BYTES);
}

static uint8_t another(uint8_t byte, uint8_t bits)
{
	return (byte & bits) | (any() & ~bits);
}

/* Others in the place of all that is not exact. */
static void change(struct processor_state *s, const struct qualities *q)
{
	uint32_t mxcsr, other = 0x1f80 | below(4) << 13 | (any() & 0x807f);
	const uint32_t sticky = 0x3f;
	for (int i = 0; i < 16; i++) {
		for (int b = 0; b < 8; b++)
			if (q->gpr[i][b]) {
				uint8_t *byte = (uint8_t *)&s->gpr[i] + b;
				*byte = another(*byte, q->gpr_bits[i][b]);
			}
	}
	for (unsigned i = 0; i < rows; i++)
		for (unsigned b = 0; b < VALUE_ROW; b++)
			if (q->vec[i][b])
				*of_row(s, i, b) = another(*of_row(s, i, b), q->vec_bits[i][b]);
	for (int b = 0; b < DATA_BYTES; b++)
		if (q->data[b])
			data[b] = another(data[b], q->data_bits[b]);
	if (q->flags)
		s->rflags = (any() & 0x8d5) | 0x202;
	memcpy(&mxcsr, s->xsave + MXCSR_AT, 4);
	mxcsr = (q->mxcsr ? other & ~sticky : mxcsr & ~sticky) |
		((q->sticky ? other : mxcsr) & sticky);
	if (q->x87)
		choose_x87(s->xsave);
	memcpy(s->xsave + MXCSR_AT, &mxcsr, 4);
}

static void keep(struct outcome *out)
{
	const uint64_t at = (uint64_t)(uintptr_t)data;
	out->state = *value_machine_state(machine);
	out->known = *value_machine_known(machine);
	assert_int_equal(value_memory_read(&memory, at, out->data, DATA_BYTES, NULL), 0);
	assert_int_equal(value_memory_read_bits(&memory, at, out->bits, DATA_BYTES), 0);
}

static bool exact(const struct outcome *o, unsigned bit, const uint8_t *q)
{
	return !(o->known.inexact >> bit & 1) || !*q;
}

/* The bits of a byte that are. */
static uint8_t exact_bits(const struct outcome *o, unsigned bit, const uint8_t *q, uint8_t bits)
{
	return exact(o, bit, q) ? 0xff : bits;
}

static void agree(const struct form *f, const struct outcome *a, const struct outcome *b)
{
	const struct value_state *x = &a->state, *y = &b->state;
	struct value_state open = {.flags = f->insn->undefined};
	uint64_t differ =
		(value_rflags(x) ^ value_rflags(y)) & 0xcd5 & ~(value_rflags(&open) & 0x8d5);
	for (unsigned i = 0; i < 16; i++) {
		for (unsigned k = 0; k < 8; k++)
			if ((x->gpr[i] ^ y->gpr[i]) >> 8 * k &
			    exact_bits(a, i, &a->known.gpr[i][k], a->known.gpr_bits[i][k]))
				wrong(f, "byte %u of register %u is called exact", k, i);
	}
	for (unsigned i = 0; i < rows; i++) {
		uint8_t of_x[VALUE_ROW], of_y[VALUE_ROW];
		bytes_of(x, i, of_x);
		bytes_of(y, i, of_y);
		for (unsigned k = 0; k < VALUE_ROW; k++) {
			unsigned bit = i >= VALUE_VECS ? VALUE_BIT_WIDE
				       : k < 16	       ? VALUE_BIT_VEC + i
						       : VALUE_BIT_HIGH + i;
			uint8_t bits = i < VALUE_VECS ? a->known.vec_bits[i][k] : 0;
			bits = value_has_no_top(x, i)
				       ? 0xff
				       : exact_bits(a, bit, &a->known.vec[i][k], bits);
			if ((of_x[k] ^ of_y[k]) & bits)
				wrong(f, "byte %u of row %u is called exact", k, i);
		}
	}
	for (unsigned k = 0; k < DATA_BYTES; k++)
		if ((a->data[k] ^ b->data[k]) & a->bits[k])
			wrong(f, "byte %u of memory is called exact", k);
	open.flags = a->known.flags_exact;
	if (!exact(a, VALUE_BIT_FLAGS, &a->known.flags))
		differ &= value_rflags(&open) & 0x8d5;
	if (differ)
		wrong(f, "flags are called exact: %" PRIx64 ", %" PRIx64, value_rflags(x),
		      value_rflags(y));
	if (exact(a, VALUE_BIT_X87, &a->known.x87) &&
	    (memcmp(x->fx, y->fx, X87_WORDS - 1) || memcmp(x->fx + X87_AT, y->fx + X87_AT, 128)))
		wrong(f, "x87 is called exact");
	if (exact(a, VALUE_BIT_MXCSR, &a->known.mxcsr) &&
	    exact(a, VALUE_BIT_STICKY, &a->known.sticky) && x->mxcsr != y->mxcsr)
		wrong(f, "mxcsr is called exact: %x, %x", x->mxcsr, y->mxcsr);
}

static void what_is_called_exact_does_not_depend_on_what_is_not(void **state)
{
	struct processor_state *s = processor_state(processor);
	struct outcome first, second;
	struct qualities q;
	unsigned compared = 0, before = n_wrong;
	(void)state;
	for (unsigned i = 0; i < n_forms; i++)
		for (int k = 0; k < TURNS; k++) {
			choose_state(s);
			choose_qualities(&q);
			take_state(s);
			take_qualities(&q);
			if (!step(&forms[i]))
				continue;
			keep(&first);
			change(s, &q);
			take_state(s);
			if (!step(&forms[i]))
				continue;
			keep(&second);
			agree(&forms[i], &first, &second);
			compared++;
		}
	printf("%u pairs of states, %u wrong\n", compared, n_wrong - before);
	assert_int_equal(n_wrong - before, 0);
	assert_true(compared > n_forms);
}

static int set_up(void **state)
{
	const char *by = getenv("SEED"), *want = getenv("FORMS");
	struct value_region text = {
		.start = CODE, .end = CODE + (uint64_t)CODE_PAGES * VALUE_PAGE, .prot = 7};
	(void)state;
	processor = processor_new();
	if (!processor) {
		printf("SKIP: this processor has no AVX2\n");
		return 0;
	}
	rows = processor_wide(processor).there ? VALUE_ROWS : VALUE_VECS;
	seed = by ? strtoull(by, NULL, 0) : 20261123;
	printf("seed %" PRIu64 "\n", seed);
	data = mmap(NULL, VALUE_PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_true(data != MAP_FAILED);
	struct value_region page = {.start = (uint64_t)(uintptr_t)data,
				    .end = (uint64_t)(uintptr_t)data + VALUE_PAGE,
				    .prot = 3};
	assert_int_equal(value_memory_init(&memory, NULL, NULL), 0);
	assert_int_equal(value_memory_map(&memory, &text), 0);
	assert_int_equal(value_memory_map(&memory, &page), 0);
	machine = value_machine_new(&memory);
	assert_non_null(machine);
	assert_int_equal(value_machine_code(machine, text.start, text.end), 0);
	make_forms(want ? strtoul(want, NULL, 0) : 10000);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	if (!processor)
		return 0;
	value_machine_free(machine);
	value_memory_deinit(&memory);
	munmap(data, VALUE_PAGE);
	processor_free(processor);
	free(forms);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_form_does_what_the_processor_does),
		cmocka_unit_test(what_is_called_exact_does_not_depend_on_what_is_not),
	};
	return cmocka_run_group_tests(tests, set_up, tear_down);
}
