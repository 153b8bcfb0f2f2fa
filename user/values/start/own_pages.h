/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* own_pages.h: the pages of a stopped process that are its own: what its mappings do not say by
 * themselves. By /proc/PID/pagemap and mem (Documentation/admin-guide/mm/pagemap.rst). */
#ifndef USER_OWN_PAGES_H
#define USER_OWN_PAGES_H

#include "offline/base/varint.h"
#include "user/values/write/capture_writer.h"
#include "user/values/start/process_maps.h"

struct page_run {
	uint64_t addr, bytes;
};

/* All zeros: none. */
struct own_pages {
	struct bytes read;	 /* runs of pages: struct page_run, then they */
	struct page_run *unread; /* of pages that could not be read, by address */
	uint32_t n_unread;
};

/* Reads those of the mapping @m by the open files @mem and @pagemap of the process. False: out of
 * memory. */
bool own_pages_read(struct own_pages *pages, int mem, int pagemap, const struct process_map *m);
/* Writes those that were read, and forgets them. */
void own_pages_write(struct own_pages *pages, struct capture_writer *writer);
void own_pages_deinit(struct own_pages *pages);

#endif
