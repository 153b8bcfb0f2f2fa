// SPDX-License-Identifier: LGPL-2.1-or-later
/* patches.c: see patches.h. The text is read and written by pages, in one go for each. */
#include "user/patch/text/patches.h"

#include "offline/base/search.h"
#include "user/patch/text/unwinders.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { PAGE = 4096, BREAKPOINT = 0xcc };

/* The text of a region as the process has it, and which pages of it are to be written. */
struct text_copy {
	uint64_t addr; /* of bytes[0]: at a page */
	uint8_t *bytes;
	bool *dirty;
	uint64_t n_pages;
};

/* A bit a byte of the text, for each region. */
struct patches_midst {
	const struct patch_record *record;
	uint8_t *bits[64];
};

static int copy_text(const struct tracee *t, const struct patch_region *r, struct text_copy *copy)
{
	uint64_t start = r->text_from & ~(uint64_t)(PAGE - 1);

	*copy = (struct text_copy){.addr = start,
				   .n_pages = (r->text_to - start + PAGE - 1) / PAGE};
	copy->bytes = malloc(copy->n_pages * PAGE);
	copy->dirty = calloc(copy->n_pages, 1);
	int err = copy->bytes && copy->dirty ? 0 : -ENOMEM;
	if (err || !tracee_read(t, start, copy->bytes, copy->n_pages * PAGE))
		return err;
	/* Between executable segments there may be nothing. */
	for (uint64_t i = 0; i < copy->n_pages; i++)
		if (tracee_read(t, start + i * PAGE, copy->bytes + i * PAGE, PAGE))
			memset(copy->bytes + i * PAGE, 0, PAGE);
	return 0;
}

static int write_text(const struct tracee *t, struct text_copy *copy, int err)
{
	for (uint64_t i = 0; !err && i < copy->n_pages; i++)
		if (copy->dirty[i])
			err = tracee_write(t, copy->addr + i * PAGE, copy->bytes + i * PAGE, PAGE);
	free(copy->bytes);
	free(copy->dirty);
	return err;
}

/* Whether the bytes of @e are @old, of which that at @probed may be a breakpoint of ours. */
static bool is_as(const struct text_copy *copy, const struct patch_entry *e, const uint8_t *old,
		  uint8_t probed)
{
	const uint8_t *at = copy->bytes + (e->addr - copy->addr);

	for (uint8_t i = 0; i < e->len; i++)
		if (at[i] != old[i] && (i != probed || at[i] != BREAKPOINT))
			return false;
	return true;
}

static void put(struct text_copy *copy, uint64_t addr, const uint8_t *bytes, uint8_t len)
{
	memcpy(copy->bytes + (addr - copy->addr), bytes, len);
	copy->dirty[(addr - copy->addr) / PAGE] = true;
	copy->dirty[(addr + len - 1 - copy->addr) / PAGE] = true;
}

static bool has_island(const struct patch_region *r, const struct patch_entry *entries, uint32_t i)
{
	return i + 1 < r->first + r->n && entries[i + 1].kind == PATCH_ENTRY_ISLAND;
}

static bool write_entry(struct text_copy *copy, struct patch_entry *e, bool island)
{
	if (e->left || !is_as(copy, e, e->was, e->probe_at) ||
	    (island && !is_as(copy, e + 1, e[1].was, PATCH_NO_PROBE)))
		return false;
	put(copy, e->addr, e->now, e->len);
	if (island)
		put(copy, e[1].addr, e[1].now, e[1].len);
	/* The probe goes: the event has another carrier. */
	if (e->probe_at == PATCH_NO_PROBE && copy->bytes[e->own - copy->addr] == BREAKPOINT)
		put(copy, e->own, &e->own_was, 1);
	return true;
}

int patches_write(struct patch_record *record, const struct tracee *t)
{
	int n = 0;

	unwinders_write(record, t); /* before somebody comes where they lead */
	for (uint32_t k = 0; k < record->n_regions; k++) {
		const struct patch_region *r = &record->regions[k];
		struct patch_entry *entries = record->entries;
		struct text_copy copy;
		int err = copy_text(t, r, &copy);

		for (uint32_t i = r->first; !err && i < r->first + r->n; i++) {
			if (entries[i].kind != PATCH_ENTRY_WITNESS)
				continue;
			bool island = has_island(r, entries, i);
			entries[i].written = write_entry(&copy, &entries[i], island);
			n += entries[i].written;
			if (island)
				entries[i + 1].written = entries[i].written;
		}
		err = write_text(t, &copy, err);
		if (err)
			return err;
	}
	return n;
}

int patches_restore(struct patch_record *record, const struct tracee *t)
{
	int n = 0;

	for (uint32_t k = 0; k < record->n_regions; k++) {
		const struct patch_region *r = &record->regions[k];
		struct text_copy copy;
		bool stays = false; /* what jumps to the island that comes next */
		int err = copy_text(t, r, &copy);

		for (uint32_t i = r->first; !err && i < r->first + r->n; i++) {
			const struct patch_entry *e = &record->entries[i];

			stays = stays && e->kind == PATCH_ENTRY_ISLAND;
			if (!e->written || stays)
				continue;
			if (is_as(&copy, e, e->now, PATCH_NO_PROBE)) {
				put(&copy, e->addr, e->was, e->len);
			} else if (!is_as(&copy, e, e->was, e->probe_at)) {
				/* Somebody has changed it. (It is as it was where a recorder was
				 * killed behind this.) */
				stays = e->kind == PATCH_ENTRY_WITNESS;
				continue;
			}
			n += e->kind == PATCH_ENTRY_WITNESS;
		}
		err = write_text(t, &copy, err);
		if (err)
			return err;
	}
	return n;
}

static int by_address(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

struct patches_islands *patches_islands_new(const struct patch_record *record)
{
	struct patches_islands *islands =
		malloc(sizeof(*islands) + record->n_entries * sizeof(islands->at[0]));

	if (!islands)
		return NULL;
	islands->n = 0;
	for (uint32_t i = 0; i < record->n_entries; i++)
		if (record->entries[i].kind == PATCH_ENTRY_ISLAND && record->entries[i].written)
			islands->at[islands->n++] = record->entries[i].told;
	qsort(islands->at, islands->n, sizeof(islands->at[0]), by_address);
	return islands;
}

bool patches_islands_has(const struct patches_islands *islands, uint64_t ip)
{
	uint32_t i = SEARCH_FIRST_NOT(0u, islands->n, k, islands->at[k] < ip);

	return i < islands->n && islands->at[i] == ip;
}

void patches_keep_island(struct patch_record *record, uint64_t ip)
{
	for (uint32_t i = 0; i < record->n_entries; i++)
		if (record->entries[i].kind == PATCH_ENTRY_ISLAND && record->entries[i].told == ip)
			record->entries[i].written = 0;
}

void patches_keep_none(struct patch_record *record)
{
	for (uint32_t i = 1; i < record->n_entries; i++)
		if (record->entries[i].kind == PATCH_ENTRY_ISLAND)
			record->entries[i].written = record->entries[i - 1].written;
}

/* What @ip may not be in: from *@low up to, but without, *@high. Idle bytes it is never in. */
static void midst_of(const struct patch_entry *e, uint64_t *low, uint64_t *high)
{
	if (e->kind == PATCH_ENTRY_ISLAND) {
		*low = e->addr + 1;
		*high = e->addr + e->len;
		return;
	}
	uint64_t first = e->addr < e->own ? e->addr : e->own;
	uint64_t last = e->addr + e->len - 1;

	last = last > e->own ? last : e->own;
	last = last > e->told ? last : e->told;
	*low = first + 1;
	*high = last + 1;
}

struct patches_midst *patches_midst_new(const struct patch_record *record)
{
	struct patches_midst *m = calloc(1, sizeof(*m));

	if (!m)
		return NULL;
	m->record = record;
	for (uint32_t k = 0; k < record->n_regions; k++) {
		const struct patch_region *r = &record->regions[k];

		m->bits[k] = calloc((r->text_to - r->text_from) / 8 + 1, 1);
		if (!m->bits[k]) {
			patches_midst_free(m);
			return NULL;
		}
		for (uint32_t i = r->first; i < r->first + r->n; i++) {
			uint64_t low, high;

			midst_of(&record->entries[i], &low, &high);
			for (uint64_t at = low - r->text_from; at < high - r->text_from; at++)
				m->bits[k][at / 8] |= 1 << at % 8;
		}
	}
	return m;
}

void patches_midst_free(struct patches_midst *m)
{
	for (uint32_t k = 0; m && k < 64; k++)
		free(m->bits[k]);
	free(m);
}

bool patches_midst_has(const struct patches_midst *m, uint64_t ip)
{
	for (uint32_t k = 0; k < m->record->n_regions; k++) {
		const struct patch_region *r = &m->record->regions[k];
		uint64_t at = ip - r->text_from;

		if (at < r->text_to - r->text_from)
			return m->bits[k][at / 8] >> at % 8 & 1;
	}
	return false;
}

void patches_leave(struct patch_record *record, uint64_t ip)
{
	for (uint32_t i = 0; i < record->n_entries; i++) {
		struct patch_entry *e = &record->entries[i];
		uint64_t low, high;

		midst_of(e, &low, &high);
		if (ip >= low && ip < high) /* an island goes with what jumps to it, before it */
			e[e->kind == PATCH_ENTRY_ISLAND ? -1 : 0].left = 1;
	}
}
