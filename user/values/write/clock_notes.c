// SPDX-License-Identifier: LGPL-2.1-or-later
/* clock_notes.c: see clock_notes.h. Many are read at once. One that the process has written over
 * meanwhile has another number in it (clock_record()). */
#include "user/values/write/clock_notes.h"

#include <stdbool.h>
#include <stdlib.h>
#include <sys/uio.h>

enum { READ_AT_ONCE = 512 };

struct clock_notes {
	pid_t pid;
	uint64_t slot;
	uint64_t first, n; /* of the entries here */
	struct clock_entry entries[READ_AT_ONCE];
};

struct clock_notes *clock_notes_new(void)
{
	return calloc(1, sizeof(struct clock_notes));
}

void clock_notes_free(struct clock_notes *notes)
{
	free(notes);
}

void clock_notes_of(struct clock_notes *notes, pid_t pid, uint64_t slots, uint64_t owner)
{
	uint64_t slot = slots + clock_slot_of(owner) - CLOCK_SLOTS;

	if (notes->pid == pid && notes->slot == slot)
		return;
	notes->pid = pid;
	notes->slot = slot;
	notes->n = 0;
}

static bool read_its(const struct clock_notes *n, uint64_t at, void *to, size_t len)
{
	struct iovec local = {to, len}, remote = {(void *)at, len};

	return process_vm_readv(n->pid, &local, 1, &remote, 1, 0) == (ssize_t)len;
}

const struct clock_entry *clock_notes_at(struct clock_notes *notes, uint64_t index)
{
	struct clock_slot slot;

	if (index - notes->first < notes->n)
		return &notes->entries[index - notes->first];
	notes->n = 0;
	if (!read_its(notes, notes->slot, &slot, sizeof(slot)) || slot.n <= index)
		return NULL;
	uint64_t n = slot.n - index, in_ring = CLOCK_ENTRIES - index % CLOCK_ENTRIES;
	n = n < in_ring ? n : in_ring;
	n = n < READ_AT_ONCE ? n : READ_AT_ONCE;
	uint64_t at = notes->slot + sizeof(slot) + index % CLOCK_ENTRIES * sizeof(*notes->entries);
	if (!read_its(notes, at, notes->entries, n * sizeof(*notes->entries)))
		return NULL;
	notes->first = index;
	notes->n = n;
	return notes->entries;
}
