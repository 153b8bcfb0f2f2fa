// SPDX-License-Identifier: LGPL-2.1-or-later
/* mappings.c: see mappings.h. A dummy event on each processor has a ring of records, of which only
 * those of the type PERF_RECORD_MMAP2 are used (perf_event_open(2)). */
#include "user/kernel/mappings.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { RING_PAGES = 64 }; /* a power of two */

struct mapping_ring {
	int fd;
	struct perf_event_mmap_page *head; /* the ring lies behind it, on pages of its own */
};

struct mappings {
	struct mapping_ring *rings;
	uint32_t n;
	int epoll_fd;
	size_t page_bytes;
};

/* A record of the type PERF_RECORD_MMAP2. */
struct mmap_record {
	struct perf_event_header header;
	uint32_t pid, tid;
	uint64_t addr, len, pgoff;
	uint32_t major, minor;
	uint64_t ino, ino_generation;
	uint32_t prot, flags;
	char file[];
};

static int ring_open(struct mappings *m, int cpu)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_SW_DUMMY,
		.mmap = 1,
		.mmap2 = 1,
		.watermark = 1,
		.wakeup_watermark = 1,
	};
	struct mapping_ring *ring = &m->rings[m->n];
	struct epoll_event event = {.events = EPOLLIN};
	ring->fd = syscall(SYS_perf_event_open, &attr, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);
	if (ring->fd < 0)
		return errno == ENODEV ? 0 : -errno; /* that processor is off */
	ring->head = mmap(NULL, (1 + RING_PAGES) * m->page_bytes, PROT_READ | PROT_WRITE,
			  MAP_SHARED, ring->fd, 0);
	if (ring->head == MAP_FAILED) {
		int err = -errno;
		close(ring->fd);
		return err;
	}
	m->n++;
	return epoll_ctl(m->epoll_fd, EPOLL_CTL_ADD, ring->fd, &event) ? -errno : 0;
}

int mappings_open(struct mappings **out)
{
	struct mappings *m = calloc(1, sizeof(*m));
	long n_cpus = sysconf(_SC_NPROCESSORS_CONF);
	if (!m)
		return -ENOMEM;
	m->page_bytes = sysconf(_SC_PAGESIZE);
	m->rings = calloc(n_cpus > 0 ? n_cpus : 1, sizeof(*m->rings));
	m->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	int err = m->epoll_fd < 0 ? -errno : m->rings ? 0 : -ENOMEM;
	for (long cpu = 0; !err && cpu < n_cpus; cpu++)
		err = ring_open(m, cpu);
	if (!err && !m->n)
		err = -ENODEV;
	if (err)
		mappings_free(m);
	else
		*out = m;
	return err;
}

void mappings_free(struct mappings *m)
{
	if (!m)
		return;
	for (uint32_t i = 0; i < m->n; i++) {
		munmap(m->rings[i].head, (1 + RING_PAGES) * m->page_bytes);
		close(m->rings[i].fd);
	}
	if (m->epoll_fd >= 0)
		close(m->epoll_fd);
	free(m->rings);
	free(m);
}

int mappings_fd(const struct mappings *m)
{
	return m->epoll_fd;
}

/* Copies @bytes bytes from position @at of the ring, also across its end. */
static void ring_read(const struct mappings *m, const struct mapping_ring *ring, uint64_t at,
		      void *to, size_t bytes)
{
	size_t room = RING_PAGES * m->page_bytes, off = at & (room - 1);
	const uint8_t *data = (const uint8_t *)ring->head + m->page_bytes;
	size_t first = bytes < room - off ? bytes : room - off;
	memcpy(to, data + off, first);
	memcpy((uint8_t *)to + first, data, bytes - first);
}

/* Reads the record of this length at @at; false: it is of no use here. */
static bool read_record(const struct mappings *m, const struct mapping_ring *ring, uint64_t at,
			const struct perf_event_header *header, struct mapping *out)
{
	struct mmap_record r;
	if (header->type == PERF_RECORD_LOST) {
		*out = (struct mapping){0};
		return true;
	}
	if (header->type != PERF_RECORD_MMAP2 || header->size <= sizeof(r))
		return false;
	ring_read(m, ring, at, &r, sizeof(r));
	size_t len = header->size - sizeof(r);
	if (len > sizeof(out->file))
		return false;
	out->pid = r.pid;
	out->addr = r.addr;
	out->len = r.len;
	out->ino = r.ino;
	ring_read(m, ring, at + sizeof(r), out->file, len);
	out->file[len - 1] = 0;
	return out->file[0] == '/';
}

bool mappings_next(struct mappings *m, struct mapping *out)
{
	for (uint32_t i = 0; i < m->n; i++) {
		struct mapping_ring *ring = &m->rings[i];
		uint64_t head = __atomic_load_n(&ring->head->data_head, __ATOMIC_ACQUIRE);
		uint64_t tail = ring->head->data_tail;
		bool found = false;
		while (!found && head - tail >= sizeof(struct perf_event_header)) {
			struct perf_event_header header;
			ring_read(m, ring, tail, &header, sizeof(header));
			if (header.size < sizeof(header) || header.size > head - tail)
				header.size = head - tail; /* cannot be */
			found = read_record(m, ring, tail, &header, out);
			tail += header.size;
		}
		__atomic_store_n(&ring->head->data_tail, tail, __ATOMIC_RELEASE);
		if (found)
			return true;
	}
	return false;
}
