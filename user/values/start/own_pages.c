// SPDX-License-Identifier: LGPL-2.1-or-later
/* own_pages.c: see own_pages.h. */
#include "user/values/start/own_pages.h"

#include "offline/capture/capture_code.h"

#include <linux/fs.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum { PAGE = 4096 };

#define PAGE_PRESENT (1ull << 63)
#define PAGE_SWAPPED (1ull << 62)
#define PAGE_OF_FILE (1ull << 61) /* or shared */

#ifndef PAGEMAP_SCAN /* linux/fs.h, since Linux 6.7 */
struct page_region {
	uint64_t start, end, categories;
};
struct pm_scan_arg {
	uint64_t size, flags, start, end, walk_end, vec, vec_len, max_pages;
	uint64_t category_inverted, category_mask, category_anyof_mask, return_mask;
};
#define PAGEMAP_SCAN _IOWR('f', 16, struct pm_scan_arg)
#define PAGE_IS_PRESENT (1 << 3)
#define PAGE_IS_SWAPPED (1 << 4)
#endif

/* Whether page @entry of pagemap is not what the mapping says by itself. */
static bool is_own(uint64_t entry, const struct process_map *m)
{
	if (!(entry & (PAGE_PRESENT | PAGE_SWAPPED)))
		return false;
	return m->shared || !m->inode || !(entry & PAGE_OF_FILE);
}

/* The @n pages at @addr are the process's own, and nobody can read them. */
static void note_unread(struct own_pages *p, uint64_t addr, uint64_t n)
{
	struct page_run *last = p->n_unread ? &p->unread[p->n_unread - 1] : NULL;

	if (last && last->addr + last->bytes == addr) {
		last->bytes += n * PAGE;
		return;
	}
	struct page_run *unread = realloc(p->unread, (p->n_unread + 1) * sizeof(*unread));
	if (!unread) {
		p->read.failed = true;
		return;
	}
	p->unread = unread;
	unread[p->n_unread++] = (struct page_run){addr, n * PAGE};
}

/* Reads pages in a row, of which some may be unreadable: a guard, or a device's. Behind such a one
 * ever more are given up without a look, as the process stands still meanwhile. */
static void read_run(struct own_pages *p, int mem, uint64_t addr, uint32_t n)
{
	uint32_t given_up = 1;

	while (n && bytes_reserve(&p->read, sizeof(struct page_run) + (uint64_t)n * PAGE)) {
		ssize_t got = pread(mem, p->read.data + p->read.len + sizeof(struct page_run),
				    (uint64_t)n * PAGE, addr);
		uint32_t whole = got > 0 ? got / PAGE : 0;
		struct page_run run = {addr, (uint64_t)whole * PAGE};

		if (whole) {
			bytes_put(&p->read, &run, sizeof(run));
			p->read.len += run.bytes;
		}
		addr += run.bytes;
		n -= whole;
		if (!n)
			break;
		given_up = whole ? 1 : given_up < n ? given_up : n;
		note_unread(p, addr, given_up);
		addr += (uint64_t)given_up * PAGE;
		n -= given_up;
		given_up *= 2;
	}
}

/* From @addr on the first page that is there, before @end: of what a process has reserved most is
 * not. A kernel before Linux 6.7 cannot say. */
static uint64_t next_present(int pagemap, uint64_t addr, uint64_t end)
{
	struct page_region found;
	struct pm_scan_arg scan = {
		.size = sizeof(scan),
		.start = addr,
		.end = end,
		.vec = (uintptr_t)&found,
		.vec_len = 1,
		.max_pages = 1,
		.category_anyof_mask = PAGE_IS_PRESENT | PAGE_IS_SWAPPED,
		.return_mask = PAGE_IS_PRESENT | PAGE_IS_SWAPPED,
	};
	int n = ioctl(pagemap, PAGEMAP_SCAN, &scan);

	return n < 0 ? addr : n ? found.start : end;
}

bool own_pages_read(struct own_pages *p, int mem, int pagemap, const struct process_map *m)
{
	uint64_t entries[CAPTURE_PAGES];
	uint64_t end = m->end;

	for (uint64_t addr = m->start; (addr = next_present(pagemap, addr, end)) < end;) {
		uint64_t want =
			(end - addr) / PAGE < CAPTURE_PAGES ? (end - addr) / PAGE : CAPTURE_PAGES;
		ssize_t n = pread(pagemap, entries, want * 8, addr / PAGE * 8) / 8;

		if (n <= 0) {
			note_unread(p, addr, (end - addr) / PAGE);
			break;
		}
		for (ssize_t i = 0, k; i < n; i = k + 1) {
			for (k = i; k < n && is_own(entries[k], m);)
				k++;
			read_run(p, mem, addr + i * PAGE, k - i);
		}
		addr += n * PAGE;
	}
	return !p->read.failed;
}

void own_pages_write(struct own_pages *p, struct capture_writer *writer)
{
	for (size_t at = 0; at < p->read.len;) {
		struct page_run run;

		memcpy(&run, p->read.data + at, sizeof(run));
		capture_writer_pages(writer, run.addr, p->read.data + at + sizeof(run), run.bytes);
		at += sizeof(run) + run.bytes;
	}
	bytes_deinit(&p->read);
}

void own_pages_deinit(struct own_pages *p)
{
	bytes_deinit(&p->read);
	free(p->unread);
}
