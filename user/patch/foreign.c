// SPDX-License-Identifier: LGPL-2.1-or-later
/* foreign.c: see foreign.h. The first byte of each witness is looked at here. A breakpoint at a
 * later byte of a patch is found when the patch is written: an instruction whose bytes are not
 * those of the file is not patched (text/patches.c). */
#include "user/patch/foreign.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { PAGE = 4096, BREAKPOINT = 0xcc };

/* Page by page; a page that cannot be read, as the file ends before it, is zeroes. */
static void read_pages(const struct tracee *t, uint64_t addr, uint8_t *to, uint64_t bytes)
{
	for (uint64_t i = 0; i < bytes; i += PAGE)
		if (tracee_read(t, addr + i, to + i, PAGE))
			memset(to + i, 0, PAGE);
}

static int look_in(const struct tracee *t, const struct tracee_map *map,
		   const struct patch_module *module, uint32_t n_sites, bool *sites)
{
	uint64_t bias = map->start - map->off_file + module->span.off_file - module->span.addr;
	uint64_t bytes = map->end - map->start;
	uint8_t *text = malloc(bytes);

	if (!text)
		return -ENOMEM;
	if (tracee_read(t, map->start, text, bytes))
		read_pages(t, map->start, text, bytes);
	for (uint32_t i = 0; i < n_sites; i++) {
		uint64_t own = module->sites[i].addr, at = own + bias - map->start;

		if (at < bytes && text[at] == BREAKPOINT &&
		    module->text[own - module->span.addr] != BREAKPOINT)
			sites[i] = true;
	}
	free(text);
	return 0;
}

int foreign_find(pid_t pid, const struct patch_module *modules, uint32_t n_modules, bool *sites)
{
	struct tracee t = {.mem_fd = -1};
	struct tracee_map *maps = NULL;
	int err = 0, n = tracee_open(&t, pid) ? 0 : tracee_maps(pid, &maps);

	for (int i = 0; !err && i < n; i++) {
		for (uint32_t m = 0; !err && m < n_modules && maps[i].executable; m++)
			if (modules[m].ino && maps[i].dev == modules[m].dev &&
			    maps[i].ino == modules[m].ino)
				err = look_in(&t, &maps[i], &modules[m], modules[m].placing.n,
					      sites + modules[m].first_site);
	}
	free(maps);
	tracee_close(&t);
	return err;
}

uint32_t foreign_leave(struct area *area, const bool *sites)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < area->record->n_entries; i++) {
		struct patch_entry *e = &area->record->entries[i];

		if (e->kind != PATCH_ENTRY_WITNESS || !sites[e->site])
			continue;
		e->left = 1;
		n++;
	}
	return n;
}
