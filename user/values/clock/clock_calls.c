// SPDX-License-Identifier: LGPL-2.1-or-later
/* clock_calls.c: see clock_calls.h. What is written to the image is private to the process. */
#include "user/values/clock/clock_calls.h"

#include "user/file/maps_lines.h"
#include "user/patch/process/filters.h"
#include "user/patch/process/frames.h"
#include "user/patch/process/tracee_call.h"
#include "user/values/clock/clock_code.h"
#include "user/values/clock/clock_image.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/user.h>
#include <unistd.h>

enum { PAGE = 4096, JUMP_BYTES = 5, JUMP = 0xe9, HWCAP2_FSGSBASE_BIT = 2 };

#define REACH (1ull << 30)
#define USER_END 0x7ffffffff000ull
#define MARGIN (64ull << 20) /* left free below what may grow downwards */

struct range {
	uint64_t from, to;
};

/* Where process @pid has the image: *@out; 0: nowhere. 0 or -errno. */
static int find_image(pid_t pid, uint64_t *out)
{
	struct maps_lines lines;
	struct maps_line line;
	uint64_t found = 0;
	int err = maps_lines_open(&lines, pid);

	if (err)
		return err;
	while (maps_lines_next(&lines, &line))
		if (!line.inode && !strcmp(line.name, "[vdso]"))
			found = line.start;
	maps_lines_close(&lines);
	*out = found;
	return 0;
}

static uint64_t image_of(pid_t pid)
{
	uint64_t image = 0;

	return find_image(pid, &image) ? 0 : image;
}

/* Above the image, where code reaches it and nothing is mapped; 0: nowhere. */
static uint64_t find_room(const struct tracee_map *maps, int n, uint64_t image)
{
	for (int i = 0; i < n; i++) {
		uint64_t from = maps[i].end + PAGE;
		uint64_t to = i + 1 < n && maps[i + 1].start < USER_END ? maps[i + 1].start - MARGIN
									: USER_END;

		if (maps[i].start >= image && from < image + REACH && to > from &&
		    to - from > CLOCK_BYTES + PAGE)
			return from;
	}
	return 0;
}

static bool is_within(const struct range *ranges, int n_ranges, uint64_t addr)
{
	for (int i = 0; i < n_ranges; i++)
		if (addr >= ranges[i].from && addr < ranges[i].to)
			return true;
	return false;
}

struct held {
	const struct range *ranges;
	int n_ranges;
	bool held;
};

static void note_frame(void *ctx, uint64_t ip)
{
	struct held *h = ctx;

	h->held |= is_within(h->ranges, h->n_ranges, ip);
}

/* Whether a thread stands in one of the ranges, or a signal has interrupted it there. What stands
 * in the area is nowhere else: it calls nothing but the copy of the image. */
static bool is_held(const struct tracee *t, const pid_t *tids, uint32_t n,
		    const struct range *ranges, int n_ranges)
{
	struct held h = {.ranges = ranges, .n_ranges = n_ranges};
	struct tracee_map *maps = NULL;
	int n_maps = tracee_ranges(t->pid, &maps);

	for (uint32_t i = 0; n_maps > 0 && !h.held && i < n; i++) {
		struct user_regs_struct regs;

		if (!ptrace(PTRACE_GETREGS, tids[i], NULL, &regs)) {
			note_frame(&h, regs.rip);
			frames_each(t, maps, n_maps, regs.rsp, note_frame, &h);
		}
	}
	free(maps);
	return h.held || n_maps <= 0;
}

/* A filter may know nothing of the calls that are made in the name of the process. */
static bool are_filtered(const pid_t *tids, uint32_t n)
{
	bool filtered = false;

	for (uint32_t i = 0; i < n; i++)
		filtered |= filters_has(tids[i]);
	return filtered;
}

static int64_t call(const struct tracee *t, long number, uint64_t a, uint64_t b, uint64_t c,
		    uint64_t flags)
{
	int64_t result;
	int err = tracee_syscall(t, number, (uint64_t[]){a, b, c, flags, (uint64_t)-1, 0}, &result);

	return err ? err : result;
}

static int give_area(const struct tracee *t, const struct clock_image *image, uint64_t base,
		     uint64_t area)
{
	uint8_t *bytes = calloc(1, CLOCK_SLOTS);
	size_t len = (size_t)(clock_code_end - clock_code);

	if (!bytes)
		return -ENOMEM;
	int err = clock_image_move(image, base, area, bytes) && len <= CLOCK_SLOTS - CLOCK_CODE - 4
			  ? 0
			  : -ENOENT;
	int32_t recorder = getpid();
	memcpy(bytes + CLOCK_CODE, clock_code, len);
	memcpy(bytes + CLOCK_SLOTS - sizeof(recorder), &recorder, sizeof(recorder));
	for (int f = 0; f < CLOCK_FUNCTIONS; f++) {
		uint64_t to = area + image->functions[f];
		memcpy(bytes + CLOCK_CODE + clock_code_places[f].calls, &to, sizeof(to));
	}
	int64_t got = err ? err
			  : call(t, SYS_mmap, area, CLOCK_BYTES, PROT_READ | PROT_WRITE,
				 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE);
	err = got < 0 ? (int)got : (uint64_t)got != area ? -ENOMEM : 0;
	if (!err) {
		err = tracee_write(t, area, bytes, CLOCK_SLOTS);
		if (!err)
			err = (int)call(t, SYS_mprotect, area, CLOCK_SLOTS, PROT_READ | PROT_EXEC,
					0);
		if (err)
			call(t, SYS_munmap, area, CLOCK_BYTES, 0, 0);
	}
	free(bytes);
	return err;
}

static void jump_of(uint64_t from, uint64_t to, uint8_t jump[JUMP_BYTES])
{
	int32_t by = (int32_t)(to - from - JUMP_BYTES);

	jump[0] = JUMP;
	memcpy(jump + 1, &by, sizeof(by));
}

static int write_functions(const struct tracee *t, const struct clock_image *image,
			   const struct clock_calls *calls, bool jumps)
{
	int err = 0;

	for (int f = 0; !err && f < CLOCK_FUNCTIONS; f++) {
		uint64_t at = calls->image + image->functions[f];
		uint8_t jump[JUMP_BYTES];

		if (!image->functions[f])
			continue;
		jump_of(at, calls->area + CLOCK_CODE + clock_code_places[f].begin, jump);
		err = tracee_write(t, at, jumps ? jump : image->bytes + image->functions[f],
				   JUMP_BYTES);
	}
	return err;
}

/* The process has the image that this one has; *@jumps: but for the beginnings of functions, as a
 * recorder that was killed has left them. */
static bool has_same_image(const struct tracee *t, const struct clock_image *image, uint64_t base,
			   bool *jumps)
{
	uint8_t bytes[CLOCK_CODE];

	*jumps = false;
	if (tracee_read(t, base, bytes, image->len))
		return false;
	for (int f = 0; f < CLOCK_FUNCTIONS; f++) {
		uint32_t at = image->functions[f];

		if (!at || bytes[at] != JUMP || image->bytes[at] == JUMP)
			continue;
		*jumps = true;
		memcpy(bytes + at, image->bytes + at, JUMP_BYTES);
	}
	return !memcmp(bytes, image->bytes, image->len);
}

/* The area that the jumps of the image lead to, whatever is there; 0: it cannot be read. */
static uint64_t area_of_jumps(const struct tracee *t, const struct clock_image *image,
			      uint64_t base)
{
	uint64_t at = base + image->functions[CLOCK_GETTIME];
	int32_t by;

	if (tracee_read(t, at + 1, &by, sizeof(by)))
		return 0;
	return at + JUMP_BYTES + by - clock_code_places[CLOCK_GETTIME].begin - CLOCK_CODE;
}

/* Whether the recorder that has placed the jumps is there: its number stands at the end of the
 * code. */
static bool others_record(const struct tracee *t, const struct clock_image *image, uint64_t base)
{
	uint64_t area = area_of_jumps(t, image, base);
	int32_t recorder;

	if (!area ||
	    tracee_read(t, area + CLOCK_SLOTS - sizeof(recorder), &recorder, sizeof(recorder)))
		return true;
	return recorder <= 0 || !kill(recorder, 0) || errno != ESRCH;
}

/* Whether the code in the area is what this build places, so that nothing else lies there. */
static bool is_ours(const struct tracee *t, uint64_t area)
{
	uint8_t bytes[CLOCK_SLOTS - CLOCK_CODE];
	size_t len = (size_t)(clock_code_end - clock_code);

	if (!area || len > sizeof(bytes) || tracee_read(t, area + CLOCK_CODE, bytes, len))
		return false;
	for (int f = 0; f < CLOCK_FUNCTIONS; f++)
		memset(bytes + clock_code_places[f].calls, 0, sizeof(uint64_t));
	return !memcmp(bytes, clock_code, len);
}

/* What no thread may stand in while the jumps are written. */
static int jump_ranges(const struct clock_image *image, uint64_t base,
		       struct range out[CLOCK_FUNCTIONS])
{
	int n = 0;

	for (int f = 0; f < CLOCK_FUNCTIONS; f++)
		if (image->functions[f])
			out[n++] = (struct range){base + image->functions[f] + 1,
						  base + image->functions[f] + JUMP_BYTES};
	return n;
}

static int place(const struct tracee *t, const struct clock_image *image, const pid_t *tids,
		 uint32_t n, struct clock_calls *c)
{
	struct range jumps[CLOCK_FUNCTIONS];
	struct tracee_map *maps = NULL;
	int n_maps, n_jumps = jump_ranges(image, c->image, jumps);
	bool left;

	if (!has_same_image(t, image, c->image, &left))
		return -ENOENT;
	if (left && others_record(t, image, c->image))
		return -EBUSY;
	if (is_held(t, tids, n, jumps, n_jumps))
		return -EBUSY;
	n_maps = tracee_ranges(t->pid, &maps);
	c->area = n_maps > 0 ? find_room(maps, n_maps, c->image) : 0;
	free(maps);
	int err = c->area ? give_area(t, image, c->image, c->area) : -ENOMEM;
	if (err)
		return err;
	err = write_functions(t, image, c, true);
	if (err) {
		write_functions(t, image, c, false);
		call(t, SYS_munmap, c->area, CLOCK_BYTES, 0, 0);
	}
	return err;
}

void clock_calls_clear(pid_t pid, const pid_t *tids, uint32_t n)
{
	struct clock_calls c = {.image = image_of(pid)};
	struct clock_image image;
	struct tracee t;
	bool left;

	if (!c.image || !n || !clock_image_own(&image) || tracee_open(&t, pid))
		return;
	if (has_same_image(&t, &image, c.image, &left) && left &&
	    !others_record(&t, &image, c.image))
		c.area = area_of_jumps(&t, &image, c.image);
	bool ours = is_ours(&t, c.area);
	tracee_close(&t);
	if (ours)
		clock_calls_remove(&c, pid, tids, n);
}

int clock_calls_place(pid_t pid, const pid_t *tids, uint32_t n, struct clock_calls *out)
{
	struct clock_calls c = {.image = image_of(pid)};
	struct clock_image image;
	struct tracee t;

	*out = (struct clock_calls){0};
	if (!(getauxval(AT_HWCAP2) & HWCAP2_FSGSBASE_BIT))
		return -ENOSYS;
	if (!c.image || !n || !clock_image_own(&image))
		return -ENOENT;
	if (are_filtered(tids, n))
		return -EPERM;
	int err = tracee_open(&t, pid);
	if (err)
		return err;
	t.pid = tids[0];
	err = place(&t, &image, tids, n, &c);
	tracee_close(&t);
	if (!err)
		*out = c;
	return err;
}

bool clock_calls_in(const struct clock_calls *calls, uint64_t ip)
{
	return calls->area && ip - calls->area < CLOCK_SLOTS;
}

bool clock_calls_in_copy(const struct clock_calls *calls, uint64_t ip)
{
	return calls->area && ip - calls->area < CLOCK_CODE;
}

bool clock_calls_over(const struct clock_calls *calls, uint64_t ip)
{
	uint64_t off = ip - calls->area - CLOCK_CODE;

	for (int f = 0; calls->area && f < CLOCK_FUNCTIONS; f++) {
		const struct clock_code_place *p = &clock_code_places[f];

		if (off >= p->noted && off < p->noted_end)
			return true;
	}
	return false;
}

int clock_calls_has(const struct clock_calls *calls, pid_t pid)
{
	struct clock_image image;
	struct tracee t;
	uint8_t jump[JUMP_BYTES], bytes[JUMP_BYTES];
	uint64_t there = 0;
	int err = calls->area && clock_image_own(&image) ? find_image(pid, &there) : 0;

	if (err || !there || there != calls->image)
		return err;
	err = tracee_open(&t, pid);
	if (err)
		return err;
	uint64_t at = calls->image + image.functions[CLOCK_GETTIME];
	jump_of(at, calls->area + CLOCK_CODE + clock_code_places[CLOCK_GETTIME].begin, jump);
	err = tracee_read(&t, at, bytes, sizeof(bytes));
	tracee_close(&t);
	return err ? err : !memcmp(jump, bytes, sizeof(jump));
}

int clock_calls_remove(const struct clock_calls *calls, pid_t pid, const pid_t *tids, uint32_t n)
{
	const struct range area = {calls->area, calls->area + CLOCK_BYTES};
	struct clock_image image;
	struct tracee t;
	int err = clock_image_own(&image) ? tracee_open(&t, pid) : -ENOENT;

	if (err)
		return err;
	t.pid = tids[0];
	err = write_functions(&t, &image, calls, false);
	if (!err && is_held(&t, tids, n, &area, 1))
		err = -EBUSY;
	t.pid = filters_without(tids, n);
	if (!err && !t.pid)
		err = -EPERM;
	if (!err)
		err = (int)call(&t, SYS_munmap, calls->area, CLOCK_BYTES, 0, 0);
	tracee_close(&t);
	return err;
}
