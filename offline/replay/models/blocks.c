// SPDX-License-Identifier: LGPL-2.1-or-later
/* blocks.c: see blocks.h. The lengths are those of the moment that the replay has come furthest to;
 * what an earlier realloc() has moved is kept by its record, for a replay that went back. */
#include "offline/replay/models/blocks.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { UNKNOWN_LENGTH = 0, LONGEST = 1 << 30 };

static size_t slot_of(const struct value_numbers *t, uint64_t key)
{
	size_t i = key * 0x9e3779b97f4a7c15 >> 17 & (t->room - 1);
	while (t->keys[i] && t->keys[i] != key)
		i = (i + 1) & (t->room - 1);
	return i;
}

static uint64_t get(const struct value_numbers *t, uint64_t key)
{
	return t->room ? t->values[slot_of(t, key)] : 0;
}

static int set(struct value_numbers *t, uint64_t key, uint64_t value)
{
	if (2 * (t->n + 1) > t->room) {
		struct value_numbers more = {.room = t->room ? 2 * t->room : 1024};
		more.keys = calloc(more.room, sizeof(*more.keys));
		more.values = calloc(more.room, sizeof(*more.values));
		if (!more.keys || !more.values) {
			free(more.keys);
			free(more.values);
			return -ENOMEM;
		}
		for (size_t i = 0; i < t->room; i++)
			if (t->keys[i]) {
				size_t k = slot_of(&more, t->keys[i]);
				more.keys[k] = t->keys[i];
				more.values[k] = t->values[i];
			}
		more.n = t->n;
		free(t->keys);
		free(t->values);
		*t = more;
	}
	size_t i = slot_of(t, key);
	t->n += !t->keys[i];
	t->keys[i] = key;
	t->values[i] = value;
	return 0;
}

/* @len bytes with their qualities. Of what was not mapped nothing is known. */
static int move(struct value_memory *memory, uint64_t to, uint64_t from, size_t len, uint8_t least)
{
	uint8_t bytes[1024], quality[1024];
	for (size_t done = 0; done < len; done += sizeof(bytes)) {
		size_t part = len - done < sizeof(bytes) ? len - done : sizeof(bytes);
		if (value_memory_read(memory, from + done, bytes, part, NULL) ||
		    value_memory_read_qualities(memory, from + done, quality, part))
			memset(quality, VALUE_UNKNOWN, part);
		for (size_t i = 0; i < part; i++)
			quality[i] = quality[i] > least ? quality[i] : least;
		int err = value_memory_write(memory, to + done, bytes, part, VALUE_EXACT);
		err = err ? err : value_memory_write_qualities(memory, to + done, quality, part);
		if (err == -ENOMEM)
			return err;
	}
	return 0;
}

static int zero(struct value_memory *memory, uint64_t to, size_t len)
{
	static const uint8_t zeros[1024];
	for (size_t done = 0; done < len; done += sizeof(zeros)) {
		size_t part = len - done < sizeof(zeros) ? len - done : sizeof(zeros);
		if (value_memory_write(memory, to + done, zeros, part, VALUE_EXACT) == -ENOMEM)
			return -ENOMEM;
	}
	return 0;
}

static int forget(struct value_memory *memory, uint64_t addr, size_t len)
{
	int err = value_memory_set_quality(memory, addr, len, VALUE_UNKNOWN);
	return err == -ENOMEM ? err : 0;
}

static int reallocated(struct value_memory *memory, uint64_t from, uint64_t to, uint64_t len,
		       uint64_t old)
{
	if (!from)
		return forget(memory, to, len);
	/* made before the recording, by a function not in the list below, or longer than LONGEST */
	if (old == UNKNOWN_LENGTH)
		return from == to ? 0 : move(memory, to, from, len, VALUE_ASSUMED);
	uint64_t moved = old < len ? old : len;
	int err = from == to ? 0 : move(memory, to, from, moved, VALUE_EXACT);
	return err || len <= moved ? err : forget(memory, to + moved, len - moved);
}

int value_blocks_tell(struct value_blocks *b, struct value_memory *memory, const char *import,
		      const uint64_t args[2], uint64_t result, uint64_t record)
{
	bool makes = !strcmp(import, "malloc") || !strcmp(import, "calloc") ||
		     !strcmp(import, "realloc") || !strcmp(import, "memalign") ||
		     !strcmp(import, "aligned_alloc") || !strncmp(import, "_Znwm", 5) ||
		     !strncmp(import, "_Znam", 5);
	if (!makes || !result)
		return 0;
	bool clears = import[0] == 'c', again = import[0] == 'r';
	bool aligned = import[0] == 'a' || !strcmp(import, "memalign");
	uint64_t len = clears ? args[0] * args[1] : again || aligned ? args[1] : args[0];
	if (len > LONGEST)
		return 0;
	uint64_t old = again ? get(&b->lengths, args[0]) : 0;
	if (record < b->seen) {
		old = get(&b->moved, record);
	} else {
		b->seen = record + 1;
		int err = set(&b->lengths, result, len);
		err = err || !again ? err : set(&b->moved, record, old);
		if (err)
			return err;
	}
	if (again)
		return reallocated(memory, args[0], result, len, old);
	return clears ? zero(memory, result, len) : forget(memory, result, len);
}

void value_blocks_deinit(struct value_blocks *b)
{
	free(b->lengths.keys);
	free(b->lengths.values);
	free(b->moved.keys);
	free(b->moved.values);
	memset(b, 0, sizeof(*b));
}
