// SPDX-License-Identifier: LGPL-2.1-or-later
/* capture_notes.c: see capture_notes.h. */
#include "user/values/write/capture_notes.h"

#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>

/* How many words are looked at whatever the record says of them. */
static uint32_t words_of(uint32_t kind)
{
	static const uint8_t words[] = {
		[RING_CAPTURE_ENTER] = 17,
		[RING_CAPTURE_RESULT] = 4,
		[RING_CAPTURE_KERNEL] = 8,
		[RING_CAPTURE_SIGNAL] = SIGNAL_WORDS,
		[RING_CAPTURE_INSN] = 5,
		[RING_CAPTURE_END] = 17,
		[RING_CAPTURE_SWITCH] = SWITCH_WORDS,
	};

	return kind < sizeof(words) ? words[kind] : 0;
}

/* Whether all that is looked at lies in the @len bytes of the ring. */
static bool is_whole(const struct capture_note *n, size_t len)
{
	const size_t head = offsetof(struct capture_note, words);

	return len >= head && n->n_words >= words_of(n->kind) &&
	       (len - head) / sizeof(*n->words) >= n->n_words;
}

const struct capture_note *capture_note_whole(const void *record, size_t len,
					      struct capture_note *cut)
{
	if (is_whole(record, len))
		return record;
	memset(cut, 0, sizeof(*cut));
	memcpy(cut, record, len < sizeof(*cut) ? len : sizeof(*cut));
	return cut;
}

bool capture_bytes_whole(const struct capture_bytes *r, size_t len)
{
	const size_t head = offsetof(struct capture_bytes, data);

	return len >= head && (r->unread || r->len <= len - head);
}

/* The address that a record tells. Code that we have placed beside the vDSO (clock_calls.h) stands
 * for the vDSO: of a task in there the vDSO's first byte is told. Where a signal or a switch finds
 * the task after the record of its call, before it has returned, the second byte is told. */
static uint64_t ip_told(const struct capture_note *n, const struct clock_calls *calls, bool asked)
{
	bool found = n->kind == RING_CAPTURE_SIGNAL || n->kind == RING_CAPTURE_SWITCH;
	bool over = found && (asked || clock_calls_over(calls, n->ip));

	return clock_calls_in(calls, n->ip) ? calls->image + over : n->ip;
}

static void decode_registers(const struct capture_note *n, struct capture *c)
{
	memcpy(c->regs, n->words, sizeof(c->regs));
	c->flags = n->words[16];
	c->known = CAPTURE_ALL_KNOWN;
}

/* But for ip and sp. */
static void hide_registers(struct capture *c)
{
	memset(c->regs, 0, sizeof(c->regs));
	c->flags = 0;
	c->known = 0;
	c->place = CAPTURE_NONE;
}

/* Behind the @words that its kind has. */
static void decode_surroundings(const struct capture_note *n, uint32_t words, struct capture *c)
{
	if (n->n_words < words + SURROUNDINGS_SUMS)
		return;
	memcpy(c->surroundings, n->words + words, sizeof(c->surroundings));
	c->n_surroundings = SURROUNDINGS;
}

static void decode_kind(const struct capture_note *n, struct capture *c)
{
	switch (n->kind) {
	case RING_CAPTURE_ENTER:
		decode_registers(n, c);
		break;
	case RING_CAPTURE_END: /* in that call it executes nothing */
		decode_registers(n, c);
		c->order = n->n_words > 17 && n->words[17] ? n->words[17] : c->order;
		break;
	case RING_CAPTURE_SIGNAL:
		decode_registers(n, c);
		if (n->place == CAPTURE_HIDDEN_PLACE)
			hide_registers(c);
		c->signal = n->words[17];
		c->handler = n->words[18];
		decode_surroundings(n, SIGNAL_WORDS, c);
		break;
	case RING_CAPTURE_SWITCH:
		decode_registers(n, c);
		c->trapped = n->words[17];
		decode_surroundings(n, SWITCH_WORDS, c);
		c->entered = n->order;
		break;
	case RING_CAPTURE_RESULT:
		c->regs[0] = n->words[0];
		c->regs[2] = n->words[1];
		c->known = n->words[3] & (1 << 0 | 1 << 2);
		c->hash = n->words[2];
		break;
	case RING_CAPTURE_INSN:
		memcpy(c->regs, n->words, 4 * sizeof(*c->regs));
		c->flags = n->words[4];
		break;
	case RING_CAPTURE_KERNEL:
		c->nr = n->words[0];
		c->result = (int64_t)n->words[1];
		memcpy(c->args, n->words + 2, sizeof(c->args));
		c->entered = n->n_words > 10 ? n->words[10] : 0;
		if (n->n_words > 8 && n->words[8] && c->nr != SYS_mmap)
			c->map_file = CAPTURE_UNKNOWN; /* memory_file.h */
		break;
	}
}

void capture_note_decode(const struct capture_note *n, const struct clock_calls *calls, bool asked,
			 struct capture *out)
{
	out->kind = n->kind;
	out->has_hash = false;
	out->hash = 0;
	out->known = 0;
	out->place = n->place;
	out->map_file = CAPTURE_NONE;
	out->entered = 0;
	out->n_surroundings = 0;
	out->order = n->order;
	out->time_ns = n->time_ns;
	out->ip = ip_told(n, calls, asked);
	out->sp = n->sp;
	decode_kind(n, out);
}

uint32_t capture_note_channels(const struct capture_note *n, const struct capture *c,
			       struct channel_note out[2])
{
	struct capture_channel channel;
	bool told = n->n_words >= CHANNEL_WORDS + sizeof(channel) / sizeof(*n->words);

	if (told)
		memcpy(&channel, n->words + CHANNEL_WORDS, sizeof(channel));
	return channel_notes_of(c, told ? &channel : NULL, out);
}

/* As stat() tells the number that the kernel has for it. */
static dev_t device_of(uint64_t number)
{
	return makedev(number >> 20, number & 0xfffff);
}

bool capture_note_mapped(const struct capture_note *n, const struct capture *c,
			 struct mapped_file *out)
{
	if (c->nr != SYS_mmap || c->args[3] & MAP_ANONYMOUS ||
	    (c->result <= 0 && c->result >= -4095))
		return false;
	*out = (struct mapped_file){
		.pid = n->pid,
		.addr = (uint64_t)c->result,
		.len = c->args[1],
		.off = c->args[5],
		.time_ns = n->time_ns,
		.inode = n->n_words > 8 ? n->words[8] : 0,
		.size = n->n_words > 9 ? n->words[9] : 0,
		.device = n->n_words == CHANNEL_WORDS + 1 ? device_of(n->words[CHANNEL_WORDS]) : 0};
	return true;
}
