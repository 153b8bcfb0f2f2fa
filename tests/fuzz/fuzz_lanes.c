// SPDX-License-Identifier: LGPL-2.1-or-later
/* fuzz_lanes.c: any bytes as what a process does to the lanes that it notes its system calls in:
 * heads, tails, owners, counts and notes are overwritten between the steps of the recorder that
 * takes them in. What becomes a record lies within the lane and is a call of a stub; each step
 * ends; nothing is taken twice for want of an end. */
#include "tests/fuzz/must.h"

#include "offline/capture/call_area.h"
#include "user/values/write/call_notes.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { PAGE = 4096, SITES = 3, LANE = 1, STEP_BYTES = 12, STEPS_MOST = 400 };
#define LANES_BYTES (PAGE + ((uint64_t)CALL_LANES << CALL_LANE_SHIFT))

static struct call_site sites[SITES] = {{.number = 0}, {.number = CALL_SITE_ANY}, {.number = 257}};

struct step {
	uint8_t what, slot;
	uint16_t number;
	uint64_t value;
};

/* The recorder takes notes up to @until. */
static void take(struct call_notes *notes, uint64_t until, int told)
{
	struct capture c;
	struct capture_range range;
	uint64_t clocks;
	enum call_notes_next next;

	for (uint32_t n = 0;
	     (next = call_notes_next(notes, LANE, until, told, &c, &range, &clocks)); n++) {
		MUST(n <= 2 * CALL_NOTES);
		if (next == CALL_NOTES_LOST) {
			MUST(c.lost);
			continue;
		}
		MUST(c.nr == 0 || c.nr == 257);
		MUST(c.order <= CAPTURE_NEVER && c.time_ns <= 1000 + STEPS_MOST);
		if (!c.n_ranges || range.unread)
			continue;
		volatile uint8_t sum = 0; /* they are there */
		for (uint32_t i = 0; i < range.len; i += PAGE)
			sum += range.bytes[i];
		sum += range.bytes[range.len - 1];
		MUST(range.len <= CALL_RANGE_MOST);
	}
}

static void put(uint8_t *lane, const struct step *s)
{
	struct call_lane *head = (struct call_lane *)lane;
	uint8_t *note = lane + CALL_NOTES_OFF + ((uint64_t)s->number << CALL_NOTE_SHIFT);

	if (s->what & 1)
		((__u64 *)head)[s->slot % (sizeof(*head) / 8)] = s->value;
	else
		memcpy(note + s->slot % (sizeof(struct call_note) / 8) * 8, &s->value, 8);
}

static void step(struct call_notes *notes, uint8_t *lane, const struct step *s, uint64_t now_ns)
{
	enum { WHAT = 8 };

	switch (s->what % WHAT) {
	case 0:
		call_notes_look(notes, now_ns);
		take(notes, call_notes_seen(notes, LANE), 0);
		break;
	case 2:
		take(notes, s->value, 1 + s->slot % 2);
		break;
	case 4:
		call_notes_lost(notes, LANE);
		call_notes_claim(notes, LANE, s->value);
		call_notes_doubts(notes, LANE, s->number, s->value);
		MUST(call_notes_entered(notes, LANE) < CAPTURE_NEVER);
		break;
	default:
		put(lane, s);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct call_patches patches = {.n = SITES, .sites = sites, .code_fd = -1};
	struct step s;

	patches.lanes_fd = memfd_create("lanes", MFD_CLOEXEC);
	MUST(patches.lanes_fd >= 0 && !ftruncate(patches.lanes_fd, (off_t)LANES_BYTES));
	uint8_t *memory = mmap(NULL, LANES_BYTES, PROT_READ | PROT_WRITE,
			       MAP_SHARED | MAP_NORESERVE, patches.lanes_fd, 0);
	struct call_notes *notes = call_notes_open(&patches);
	MUST(memory != MAP_FAILED && notes);
	call_notes_bind(notes, LANE, 1, 1);
	for (size_t i = 0; i < STEPS_MOST && (i + 1) * STEP_BYTES <= size; i++) {
		memcpy(&s.what, data + i * STEP_BYTES, 1);
		memcpy(&s.slot, data + i * STEP_BYTES + 1, 1);
		memcpy(&s.number, data + i * STEP_BYTES + 2, 2);
		memcpy(&s.value, data + i * STEP_BYTES + 4, 8);
		step(notes, memory + PAGE + ((uint64_t)LANE << CALL_LANE_SHIFT), &s, 1000 + i);
	}
	call_notes_close(notes);
	munmap(memory, LANES_BYTES);
	close(patches.lanes_fd);
	return 0;
}
