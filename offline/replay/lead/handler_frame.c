// SPDX-License-Identifier: LGPL-2.1-or-later
/* handler_frame.c: the frame that a signal handler is given, in which the registers of what it has
 * interrupted are. It may read and change them; rt_sigreturn() takes them from there.
 *
 *   frame: return address | uc_flags uc_link uc_stack | r8 ... flags ... | mask | siginfo | x87,
 * SSE, AVX 0                8                          48                  304    312       456
 *                                                             (arch/x86/include/asm/sigframe.h)
 */
#include "offline/replay/lead/handler_frame.h"

#include "offline/replay/meet/records.h"
#include "offline/replay/records/calls_told.h"
#include "offline/replay/run/run.h"
#include "offline/replay/run/suppose.h"

#include <string.h>

/* Registers are in the order of struct sigcontext: sixteen, ip and flags. */
enum { REGS = 48, N_REGS = 18, IP = 16, FLAGS = 17 };
enum { VECTORS_AT = REGS + 8 * 23 /* a pointer to them */, INFO = 312, VECTORS = 456 };
static const uint8_t frame_regs[16] = {8, 9, 10, 11, 12, 13, 14, 15, 7, 6, 5, 3, 2, 0, 1, 4};

/* Whether the record tells word @i of the frame's registers. */
static bool word_is_told(const struct capture *signal, unsigned i)
{
	return i == IP || signal->known >> (i < IP ? frame_regs[i] : 16) & 1;
}

/* --- vector registers ------------------------------------------------------------------------ */

/* As XSAVE has them in its standard format, up to the upper halves of ymm0 to ymm15. */
enum { FSW_END = 5, ST = 32, ST_BYTES = 10, XMM = 160, HALF = 16, REST = 416, HALVES = 576 };
enum { IMAGE = HALVES + 16 * HALF };
struct image {
	uint8_t bytes[IMAGE], quality[IMAGE];
	unsigned len;
};

static void image_put(struct image *out, unsigned at, const void *bytes, const uint8_t *qualities,
		      uint8_t quality, unsigned len)
{
	memcpy(out->bytes + at, bytes, len);
	if (qualities)
		memcpy(out->quality + at, qualities, len);
	else
		memset(out->quality + at, quality, len);
}

static void image_halves(struct image *out, unsigned at, const struct interrupted *was,
			 unsigned bit, unsigned half)
{
	for (unsigned i = 0; i < 16; i++) {
		bool exact = !(was->known.inexact >> (bit + i) & 1);
		image_put(out, at + HALF * i, was->state.vec[i] + half,
			  exact ? NULL : was->known.vec[i] + half, VALUE_EXACT, HALF);
	}
}

static struct image image_of(const struct value_run *run, const struct interrupted *was)
{
	enum { AVX = 4 };
	const struct value_known *k = &was->known;
	struct image out = {.len = run->xstate & AVX ? IMAGE : HALVES};
	uint8_t x87 = k->inexact >> VALUE_BIT_X87 & 1 ? k->x87 : VALUE_EXACT;
	uint8_t mxcsr = k->inexact >> VALUE_BIT_MXCSR & 1 ? k->mxcsr : VALUE_EXACT;
	uint8_t sticky = k->inexact >> VALUE_BIT_STICKY & 1 ? k->sticky : VALUE_EXACT;
	memset(out.quality, VALUE_UNKNOWN, sizeof(out.quality));
	image_put(&out, 0, was->state.fx, NULL, x87, FSW_END);
	for (unsigned i = 0; i < 8; i++)
		image_put(&out, ST + 16 * i, was->state.fx + ST + 16 * i, NULL, x87, ST_BYTES);
	image_put(&out, VALUE_FX_MXCSR, &was->state.mxcsr, NULL, mxcsr > sticky ? mxcsr : sticky,
		  4);
	image_halves(&out, XMM, was, VALUE_BIT_VEC, 0);
	if (out.len == IMAGE)
		image_halves(&out, HALVES, was, VALUE_BIT_HIGH, HALF);
	return out;
}

/* Whether a handler has changed byte @i. Of an assumed one that is the same it has not: nothing is
 * exact in memory while other threads are awake. */
static bool is_changed(const struct image *was, const struct image *now, unsigned i)
{
	return was->bytes[i] != now->bytes[i] ||
	       (was->quality[i] != now->quality[i] &&
		(was->quality[i] == VALUE_UNKNOWN || now->quality[i] == VALUE_UNKNOWN));
}

/* The worst quality of what was changed from @from to @to; false: nothing was. */
static bool changed(const struct image *was, const struct image *now, unsigned from, unsigned to,
		    uint8_t *quality)
{
	bool any = false;
	*quality = VALUE_EXACT;
	for (unsigned i = from; i < to; i++) {
		any |= is_changed(was, now, i);
		*quality = now->quality[i] > *quality ? now->quality[i] : *quality;
	}
	return any;
}

static void take_half(struct value_machine *m, unsigned row, unsigned half, unsigned bit,
		      const uint8_t *bytes, const uint8_t *quality)
{
	struct value_known *k = value_machine_known(m);
	memcpy(value_machine_state(m)->vec[row] + half, bytes, HALF);
	memcpy(k->vec[row] + half, quality, HALF);
	memset(k->vec_bits[row] + half, 0, HALF);
	bool exact = true;
	for (unsigned b = 0; b < HALF; b++)
		exact &= quality[b] == VALUE_EXACT;
	k->inexact &= ~((uint64_t)1 << (bit + row));
	k->inexact |= (uint64_t)!exact << (bit + row);
}

static void take_halves(struct value_run *run, const struct image *was, const struct image *now,
			unsigned at, unsigned half, unsigned bit)
{
	uint8_t quality;
	for (unsigned i = 0; i < 16; i++, at += HALF)
		if (changed(was, now, at, at + HALF, &quality))
			take_half(run->machine, i, half, bit, now->bytes + at, now->quality + at);
}

static void forget_vectors(struct value_run *run)
{
	value_forget(run->machine,
		     (uint64_t)0xffffffff << VALUE_BIT_VEC | (uint64_t)1 << VALUE_BIT_WIDE |
			     (uint64_t)1 << VALUE_BIT_X87 | (uint64_t)1 << VALUE_BIT_MXCSR |
			     (uint64_t)1 << VALUE_BIT_STICKY,
		     VALUE_UNKNOWN);
}

static void take_control(struct value_run *run, const struct image *was, const struct image *now)
{
	struct value_state *s = value_machine_state(run->machine);
	uint8_t quality, stack;
	if (changed(was, now, VALUE_FX_MXCSR, VALUE_FX_MXCSR + 4, &quality)) {
		uint32_t mxcsr;
		memcpy(&mxcsr, now->bytes + VALUE_FX_MXCSR, sizeof(mxcsr));
		s->mxcsr = mxcsr & VALUE_MXCSR_BITS;
		value_forget(run->machine,
			     (uint64_t)1 << VALUE_BIT_MXCSR | (uint64_t)1 << VALUE_BIT_STICKY,
			     quality);
	}
	bool control = changed(was, now, 0, VALUE_FX_MXCSR, &quality);
	if (changed(was, now, ST, XMM, &stack) || control)
		value_forget(run->machine, (uint64_t)1 << VALUE_BIT_X87, VALUE_UNKNOWN);
}

/* What the handler has made of x87, SSE and AVX registers. Of AVX-512 it is taken to have changed
 * nothing, unless it has put all of them elsewhere. */
static void take_vectors(struct value_run *run, const struct interrupted *of)
{
	struct image was = image_of(run, of), now = was;
	uint64_t at;
	uint8_t quality = VALUE_UNKNOWN;
	value_memory_read(&run->memory, of->frame + VECTORS_AT, &at, sizeof(at), &quality);
	bool there = quality != VALUE_UNKNOWN &&
		     !value_memory_read(&run->memory, at, now.bytes, now.len, NULL) &&
		     !value_memory_read_qualities(&run->memory, at, now.quality, now.len);
	/* Which of them are in use is said there. */
	if (!there || changed(&was, &now, REST, HALVES, &quality)) {
		forget_vectors(run);
		return;
	}
	take_halves(run, &was, &now, XMM, 0, VALUE_BIT_VEC);
	take_halves(run, &was, &now, HALVES, HALF, VALUE_BIT_HIGH);
	take_control(run, &was, &now);
	if (at != of->frame + VECTORS)
		value_forget(run->machine, (uint64_t)1 << VALUE_BIT_WIDE, VALUE_UNKNOWN);
}

/* --- the frame ------------------------------------------------------------------------------- */

static void put_vectors(struct value_run *run, const struct interrupted *was)
{
	const struct image image = image_of(run, was);
	const uint64_t at = was->frame + VECTORS;
	value_memory_write(&run->memory, was->frame + VECTORS_AT, &at, sizeof(at), VALUE_EXACT);
	value_memory_write(&run->memory, at, image.bytes, image.len, VALUE_EXACT);
	value_memory_write_qualities(&run->memory, at, image.quality, image.len);
}

/* Whether the registers were known that the signal has found. */
static bool has_vectors(const struct interrupted *was)
{
	return !was->outside && !was->hidden;
}

void value_frame_fill(struct value_run *run, const struct capture *signal)
{
	const struct interrupted *was = &run->signals[run->n_signals - 1];
	/* A call that was interrupted is made again, or has failed: by what the kernel puts there.
	 */
	bool restarts =
		value_run_hides(signal) || call_told_restarts((int64_t)signal->regs[VALUE_RAX]);
	uint64_t words[N_REGS];
	for (unsigned i = 0; i < 16; i++)
		words[i] = signal->regs[frame_regs[i]];
	words[IP] = signal->ip;
	words[FLAGS] = signal->flags;
	for (unsigned i = 0; i < N_REGS; i++)
		if ((!restarts || (i != 13 && i != IP)) /* rax, ip */ && word_is_told(signal, i))
			value_memory_write(&run->memory, was->frame + REGS + 8 * i, &words[i], 8,
					   VALUE_EXACT);
	value_memory_write(&run->memory, was->frame + INFO, &signal->signal, 4, VALUE_EXACT);
	if (has_vectors(was))
		put_vectors(run, was);
}

/* What the handler has made of the flags that a program may have. */
static void take_flags(struct value_run *run, const struct interrupted *was)
{
	enum { OF_PROGRAM = 0xcd5 }; /* carry, parity, adjust, zero, sign, direction, overflow */
	struct value_state *s = value_machine_state(run->machine);
	uint8_t quality = VALUE_UNKNOWN;
	uint64_t word;
	if (value_memory_read(&run->memory, was->frame + REGS + 8 * FLAGS, &word, 8, &quality) ||
	    (quality != VALUE_UNKNOWN && !((word ^ value_rflags(s)) & OF_PROGRAM)))
		return;
	value_set_rflags(s, word);
	value_forget(run->machine, (uint64_t)1 << VALUE_BIT_FLAGS | (uint64_t)1 << VALUE_BIT_DF,
		     quality);
}

void value_frame_take(struct value_run *run, const struct interrupted *was)
{
	if (!was->frame)
		return;
	for (unsigned i = 0; i < 16; i++) {
		uint8_t quality = VALUE_UNKNOWN;
		uint64_t word, now = value_machine_state(run->machine)->gpr[frame_regs[i]];
		if (!value_memory_read(&run->memory, was->frame + REGS + 8 * i, &word, 8,
				       &quality) &&
		    (quality == VALUE_UNKNOWN ? !was->hidden : word != now))
			value_set_gpr(run->machine, frame_regs[i], word, quality);
	}
	if (has_vectors(was)) {
		take_flags(run, was);
		take_vectors(run, was);
	}
}

void value_frame_take_alone(struct value_run *run, uint64_t frame, const struct capture *c)
{
	value_run_doubt(run);
	value_forget(run->machine, VALUE_BITS_ALL, VALUE_UNKNOWN);
	for (unsigned i = 0; i < 16; i++) {
		uint8_t quality = VALUE_UNKNOWN;
		uint64_t word;
		if (!value_memory_read(&run->memory, frame + REGS + 8 * i, &word, 8, &quality))
			value_set_gpr(run->machine, frame_regs[i], word, quality);
	}
	value_set_gpr(run->machine, VALUE_RSP, c->sp, VALUE_EXACT);
	value_machine_state(run->machine)->rip = c->ip;
}
