// SPDX-License-Identifier: LGPL-2.1-or-later
/* capture_file.c: see capture_file.h. After damage, reading goes on at the next intact header. */
#include "offline/capture/capture_file.h"

#include "offline/base/open_regular.h"
#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

static int add(struct capture_segments *s, const struct segment_header *header, uint64_t off)
{
	if (s->n == s->cap) {
		uint32_t cap = s->cap ? 2 * s->cap : 64;
		struct segment_ref *at = realloc(s->at, cap * sizeof(*at));

		if (!at)
			return -ENOMEM;
		s->at = at;
		s->cap = cap;
	}
	s->at[s->n++] = (struct segment_ref){*header, off};
	return 0;
}

static int compare(const struct segment_header *x, uint8_t kind, uint32_t task, uint64_t first)
{
	if (x->kind != kind)
		return x->kind < kind ? -1 : 1;
	if (x->task != task)
		return x->task < task ? -1 : 1;
	return x->first_event < first ? -1 : x->first_event > first;
}

static int in_order(const void *a, const void *b)
{
	const struct segment_ref *x = a, *y = b;
	int c = compare(&x->header, y->header.kind, y->header.task, y->header.first_event);

	return c ? c : x->off < y->off ? -1 : x->off > y->off;
}

static bool is_sane(const struct segment_header *h, uint64_t left)
{
	return h->raw_bytes <= SEGMENT_MAX_BYTES && h->stored_bytes <= left &&
	       h->version == SEGMENT_VERSION;
}

int capture_segments_open(const char *path, struct capture_segments *out)
{
	struct stat st;
	struct capture_segments s = {.fd = open_regular(path, &st)};
	uint8_t bytes[SEGMENT_HEADER_BYTES];
	struct segment_header h;
	int err = 0;

	if (s.fd < 0)
		return s.fd == -ENXIO ? -EINVAL : s.fd;
	for (uint64_t off = 0, size = st.st_size; !err && off < size;) {
		ssize_t n = pread(s.fd, bytes, sizeof(bytes), off);

		if (n == sizeof(bytes) && !segment_header_read(bytes, &h) &&
		    is_sane(&h, size - off - sizeof(bytes))) {
			err = add(&s, &h, off);
			s.n_whole += h.number == s.n_whole;
			off += sizeof(bytes) + h.stored_bytes;
			continue;
		}
		uint64_t next = segment_find(s.fd, off + 1, size);
		s.damaged_bytes += next - off;
		off = next;
	}
	if (err) {
		capture_segments_deinit(&s);
		return err;
	}
	if (s.n)
		qsort(s.at, s.n, sizeof(*s.at), in_order);
	*out = s;
	return 0;
}

void capture_segments_deinit(struct capture_segments *s)
{
	if (s->fd >= 0)
		close(s->fd);
	free(s->at);
	*s = (struct capture_segments){.fd = -1};
}

static bool is_whole(const struct capture_segments *s, const struct segment_ref *seg)
{
	uint8_t bytes[65536];
	uint64_t off = seg->off + SEGMENT_HEADER_BYTES;
	uint32_t left = seg->header.stored_bytes;
	uLong sum = crc32(0, NULL, 0);

	while (left) {
		ssize_t n = pread(s->fd, bytes, left < sizeof(bytes) ? left : sizeof(bytes), off);

		if (n <= 0)
			return false;
		sum = crc32(sum, bytes, n);
		off += n;
		left -= n;
	}
	return sum == seg->header.crc;
}

uint64_t capture_segments_damaged(const struct capture_segments *s)
{
	uint64_t damaged = s->damaged_bytes;

	for (uint32_t i = 0; i < s->n; i++)
		if (!is_whole(s, &s->at[i]))
			damaged += SEGMENT_HEADER_BYTES + s->at[i].header.stored_bytes;
	return damaged;
}

uint32_t capture_segments_find(const struct capture_segments *s, uint8_t kind, uint32_t task,
			       uint64_t first)
{
	uint32_t low = 0, high = s->n;

	while (low < high) {
		uint32_t mid = low + (high - low) / 2;

		if (compare(&s->at[mid].header, kind, task, first) < 0)
			low = mid + 1;
		else
			high = mid;
	}
	bool is = low < s->n && s->at[low].header.kind == kind && s->at[low].header.task == task;
	return is ? low : s->n;
}

uint32_t capture_segments_holding(const struct capture_segments *s, uint8_t kind, uint32_t task,
				  uint64_t at)
{
	uint32_t low = 0, high = s->n;

	while (low < high) {
		uint32_t mid = low + (high - low) / 2;

		if (compare(&s->at[mid].header, kind, task, at) <= 0)
			low = mid + 1;
		else
			high = mid;
	}
	if (!low)
		return s->n;
	const struct segment_header *h = &s->at[low - 1].header;
	return h->kind == kind && h->task == task ? low - 1 : s->n;
}
