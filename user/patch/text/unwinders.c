// SPDX-License-Identifier: LGPL-2.1-or-later
/* unwinders.c: see unwinders.h. */
#include "user/patch/text/unwinders.h"

#include <errno.h>
#include <link.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* glibc 2.35's, which older headers do not have. */
struct debug_extended {
	struct r_debug base;
	uint64_t next;
};
_Static_assert(sizeof(struct debug_extended) <= PATCH_LOCAL_BYTES - PATCH_LOCAL_OBJECTS,
	       "there is room for it");

/* The path of what is mapped there; false: it is not glibc's libc. */
static bool is_libc(pid_t pid, const struct tracee_map *map, char path[80])
{
	char link[512];

	snprintf(path, 80, "/proc/%d/map_files/%llx-%llx", pid, (unsigned long long)map->start,
		 (unsigned long long)map->end);
	ssize_t n = readlink(path, link, sizeof(link) - 1);
	if (n <= 0)
		return false;
	link[n] = 0;
	const char *name = strrchr(link, '/');
	return name && (!strncmp(name, "/libc.so.6", 10) || !strncmp(name, "/libc-2.", 8));
}

/* The address of the pointer that the function at @at jumps by, in one instruction, so that no
 * thread ever holds its value in a register:
 *
 *   [endbr64]
 *   mov  _rtld_global_ro@GOT(%rip), %rax
 *   jmp  *offset(%rax)
 *
 * 0: it is another function. */
static uint64_t jumps_by(const struct tracee *t, uint64_t at)
{
	static const uint8_t endbr64[] = {0xf3, 0x0f, 0x1e, 0xfa};
	uint8_t code[20];
	uint64_t table;
	int32_t disp;

	if (tracee_read(t, at, code, sizeof(code)))
		return 0;
	const uint8_t *p = code + (memcmp(code, endbr64, 4) ? 0 : 4);
	if (memcmp(p, "\x48\x8b\x05", 3) || memcmp(p + 7, "\xff\xa0", 2))
		return 0;
	memcpy(&disp, p + 3, sizeof(disp));
	if (tracee_read(t, at + (p + 7 - code) + disp, &table, sizeof(table)))
		return 0;
	memcpy(&disp, p + 9, sizeof(disp));
	return table + disp;
}

enum { TRIES_MAX = 4 }; /* files that are called as the C library is; each is read whole */

static bool is_executable(const struct tracee_map *maps, int n, uint64_t addr)
{
	for (int i = 0; i < n; i++)
		if (addr - maps[i].start < maps[i].end - maps[i].start)
			return maps[i].executable;
	return false;
}

static void find_pointer(const struct tracee *t, const struct tracee_map *maps, int n,
			 struct unwinders *out)
{
	char path[80];

	for (int i = 0, tries = 0; i < n && tries < TRIES_MAX; i++) {
		if (!maps[i].ino || maps[i].off_file || !is_libc(t->pid, &maps[i], path))
			continue;
		tries++;
		uint64_t function = tracee_symbol(path, "_dl_find_object");
		uint64_t at = function ? jumps_by(t, maps[i].start + function) : 0, was;

		if (!at || tracee_read(t, at, &was, sizeof(was)) || !is_executable(maps, n, was))
			continue;
		out->find = at;
		out->find_was = was;
		return;
	}
}

void unwinders_find(const struct tracee *t, struct unwinders *out)
{
	struct tracee_map *maps;
	struct debug_extended debug;
	int n = tracee_maps(t->pid, &maps);

	*out = (struct unwinders){0};
	if (n < 0)
		return;
	find_pointer(t, maps, n, out);
	free(maps);
	uint64_t at = out->find ? tracee_debug(t->pid) : 0;
	if (!at || tracee_read(t, at, &debug, sizeof(debug)) ||
	    (debug.base.r_version != 1 && debug.base.r_version != 2))
		return;
	memcpy(&out->version_was, &debug, sizeof(out->version_was));
	out->next_was = debug.next;
	out->debug = at;
}

static void add(struct patch_record *record, enum patch_word_kind kind, uint64_t addr, uint64_t was,
		uint64_t now, uint64_t next)
{
	record->words[record->n_words++] = (struct patch_word){
		.kind = kind, .addr = addr, .was = was, .now = now, .next = next};
}

int unwinders_record(const struct unwinders *u, const struct tracee *t, uint64_t find, uint64_t map,
		     uint64_t objects, struct patch_record *record)
{
	struct debug_extended ours = {
		.base = {.r_version = 2, .r_map = (struct link_map *)map, .r_state = RT_CONSISTENT},
		.next = u->next_was};
	uint64_t next = objects + offsetof(struct debug_extended, next);

	if (u->find)
		add(record, PATCH_WORD_PLAIN, u->find, u->find_was, find, 0);
	if (!u->debug || !map)
		return 0;
	add(record, PATCH_WORD_CHAIN, u->debug + offsetof(struct debug_extended, next), u->next_was,
	    objects, next);
	if ((uint32_t)u->version_was == 1)
		add(record, PATCH_WORD_OF_CHAIN, u->debug, u->version_was, u->version_was + 1,
		    next);
	return tracee_write(t, objects, &ours, sizeof(ours));
}

static bool is_code(const struct patch_record *record, uint64_t addr)
{
	for (uint32_t k = 0; k < record->n_regions; k++)
		if (addr - record->regions[k].code < record->regions[k].code_bytes)
			return true;
	return false;
}

/* What the code of @record calls for all other code: as the pointer was. */
static uint64_t find_next(const struct patch_record *record, const struct tracee *t)
{
	uint64_t was = 0;

	if (record->n_regions)
		tracee_read(t,
			    record->regions[record->n_regions - 1].code +
				    offsetof(struct patch_header, find_next),
			    &was, sizeof(was));
	return was;
}

static bool is_word(const struct patch_word *w, const struct unwinders *u,
		    const struct patch_record *record, uint64_t find_was)
{
	uint64_t objects = record->rings - PATCH_LOCAL_BYTES + PATCH_LOCAL_OBJECTS;
	uint64_t off_next = offsetof(struct debug_extended, next);

	switch (w->kind) {
	case PATCH_WORD_PLAIN:
		return u->find && w->addr == u->find && find_was && w->was == find_was &&
		       is_code(record, w->now) && !w->next;
	case PATCH_WORD_CHAIN:
		return u->debug && w->addr == u->debug + off_next && w->now == objects &&
		       w->next == objects + off_next;
	case PATCH_WORD_OF_CHAIN:
		return u->debug && w->addr == u->debug && (uint32_t)w->was == 1 &&
		       w->now == w->was + 1 && w->next == objects + off_next;
	}
	return false;
}

bool unwinders_are(const struct patch_record *record, const struct tracee *t)
{
	uint64_t find_was = find_next(record, t);
	struct unwinders u;

	if (record->n_words)
		unwinders_find(t, &u);
	for (uint32_t i = 0; i < record->n_words; i++)
		if (!is_word(&record->words[i], &u, record, find_was))
			return false;
	return true;
}

void unwinders_write(struct patch_record *record, const struct tracee *t)
{
	for (uint32_t i = 0; i < record->n_words; i++) {
		struct patch_word *w = &record->words[i];
		uint64_t is;

		/* It may be so from before: what leads to the code is to be restored. */
		w->written = !tracee_read(t, w->addr, &is, sizeof(is)) &&
			     (is == w->now ||
			      (is == w->was && !tracee_write(t, w->addr, &w->now, sizeof(w->now))));
	}
}

int unwinders_restore(struct patch_record *record, const struct tracee *t)
{
	int left = 0;

	for (uint32_t i = 0; i < record->n_words; i++) {
		const struct patch_word *w = &record->words[i];
		uint64_t is, next = 0, was = w->was;

		if (!w->written)
			continue;
		if (tracee_read(t, w->addr, &is, sizeof(is)) ||
		    (w->next && tracee_read(t, w->next, &next, sizeof(next))))
			return -EFAULT;
		if (w->kind == PATCH_WORD_CHAIN)
			was = next;
		if (is == was || (w->kind == PATCH_WORD_OF_CHAIN && (next || left)))
			continue;
		left += is != w->now;
		if (is == w->now && tracee_write(t, w->addr, &was, sizeof(was)))
			return -EFAULT;
	}
	return left;
}
