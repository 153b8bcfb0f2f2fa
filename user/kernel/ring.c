// SPDX-License-Identifier: LGPL-2.1-or-later
/* ring.c: see ring.h. The map's first page holds the position up to which was read, and belongs to
 * the reader; the second page, the position up to which was written; the ring follows. */
#include "user/kernel/ring.h"

#include "bpf/protocol.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <linux/bpf.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#define RECORD_MAX ((size_t)1 << 20) /* more than any record is long */
_Static_assert(sizeof(struct batch) + BATCH_RECORDS * sizeof(struct batch_record) < RECORD_MAX &&
		       sizeof(struct attach_stack) < RECORD_MAX &&
		       sizeof(struct deep_stack) < RECORD_MAX &&
		       sizeof(struct snapshot) < RECORD_MAX,
	       "each lies in one piece");

struct ring_reader {
	ring_record_fn record;
	void *context;
	unsigned long *read, *written; /* each on its page */
	char *pages, *ring;	       /* from the page of @written on */
	size_t size, mapped, page;
};

static bool map_pages(struct ring_reader *r, int fd)
{
	size_t again = r->size < RECORD_MAX ? r->size : RECORD_MAX;
	void *read = mmap(NULL, r->page, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (read == MAP_FAILED)
		return false;
	r->read = read;
	r->mapped = r->page + r->size + again;
	char *all = mmap(NULL, r->mapped, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (all == MAP_FAILED)
		return false;
	r->pages = all;
	r->ring = all + r->page;
	off_t page = (off_t)r->page;
	int flags = MAP_SHARED | MAP_FIXED;
	return mmap(all, r->page + r->size, PROT_READ, flags, fd, page) != MAP_FAILED &&
	       mmap(r->ring + r->size, again, PROT_READ, flags, fd, 2 * page) != MAP_FAILED;
}

struct ring_reader *ring_open(int map_fd, ring_record_fn record, void *context)
{
	struct bpf_map_info info = {0};
	uint32_t len = sizeof(info);
	if (bpf_map_get_info_by_fd(map_fd, &info, &len))
		return NULL;
	struct ring_reader *r = calloc(1, sizeof(*r));
	if (!r)
		return NULL;
	*r = (struct ring_reader){
		.record = record,
		.context = context,
		.size = info.max_entries,
		.page = (size_t)sysconf(_SC_PAGESIZE),
	};
	if (!map_pages(r, map_fd)) {
		int err = errno;
		ring_close(r);
		errno = err;
		return NULL;
	}
	r->written = (unsigned long *)r->pages;
	return r;
}

void ring_close(struct ring_reader *ring)
{
	if (!ring)
		return;
	if (ring->read)
		munmap(ring->read, ring->page);
	if (ring->pages)
		munmap(ring->pages, ring->mapped);
	free(ring);
}

unsigned long ring_written(const struct ring_reader *ring)
{
	return __atomic_load_n(ring->written, __ATOMIC_ACQUIRE);
}

unsigned long ring_read(const struct ring_reader *ring)
{
	return __atomic_load_n(ring->read, __ATOMIC_ACQUIRE);
}

size_t ring_size(const struct ring_reader *ring)
{
	return ring->size;
}

bool ring_is_empty(const struct ring_reader *ring)
{
	return ring_written(ring) == ring_read(ring);
}

/* A record's header is its length, with two flags, and a word of the kernel's; each record begins
 * at a multiple of 8. Reading ends at a record that is still being written. */
int ring_consume(struct ring_reader *ring)
{
	unsigned long at = ring_read(ring), end;
	int stop = 0;
	while (!stop && at < (end = ring_written(ring)))
		while (!stop && at < end) {
			char *header = ring->ring + (at & (ring->size - 1));
			uint32_t len = __atomic_load_n((uint32_t *)header, __ATOMIC_ACQUIRE);
			if (len & BPF_RINGBUF_BUSY_BIT)
				return 0;
			uint32_t bytes = len & ~BPF_RINGBUF_DISCARD_BIT;
			if (bytes > RECORD_MAX || bytes + BPF_RINGBUF_HDR_SZ > end - at) {
				__atomic_store_n(ring->read, end, __ATOMIC_RELEASE);
				return -EBADMSG;
			}
			if (!(len & BPF_RINGBUF_DISCARD_BIT))
				stop = ring->record(ring->context, header + BPF_RINGBUF_HDR_SZ,
						    bytes);
			at += (bytes + BPF_RINGBUF_HDR_SZ + 7) & ~7ul;
			__atomic_store_n(ring->read, at, __ATOMIC_RELEASE);
		}
	return stop;
}
