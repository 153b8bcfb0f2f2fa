// SPDX-License-Identifier: LGPL-2.1-or-later
/* streams.c: what was read and written of each file descriptor. Bytes that the kernel has read are
 * definitions of their own; stdio hands them on in their order. */
#include "offline/dep/build_impl.h"

#include <stdlib.h>

enum { FILE_FILENO = 0x70 }; /* offset in a FILE of glibc, x86-64 */

int dep_file_fd(struct dep_build *b, uint64_t addr)
{
	int32_t fd;
	uint8_t quality = VALUE_UNKNOWN;
	if (value_memory_read(b->memory, addr + FILE_FILENO, &fd, sizeof(fd), &quality) ||
	    quality == VALUE_UNKNOWN)
		return -1;
	return fd;
}

/* --- input ----------------------------------------------------------------------------------- */

/* System calls whose written ranges are bytes of the descriptor in their first argument. */
static bool is_input(uint32_t nr, bool *positioned)
{
	enum { READ = 0, PREAD = 17, READV = 19, RECVFROM = 45, RECVMSG = 47, PREADV = 295 };
	*positioned = nr == PREAD || nr == PREADV;
	return nr == READ || nr == READV || nr == RECVFROM || nr == RECVMSG || *positioned;
}

static void keep_input(struct dep_build *b, struct dep_stream *s, uint64_t offset, uint64_t len,
		       uint32_t def)
{
	if (s->n_inputs == s->room_inputs) {
		size_t room = 2 * s->room_inputs + 16;
		struct dep_input *inputs = realloc(s->inputs, room * sizeof(*inputs));
		if (!inputs) {
			b->no_memory = true;
			return;
		}
		s->inputs = inputs;
		s->room_inputs = room;
	}
	s->inputs[s->n_inputs++] = (struct dep_input){offset, len, def};
}

/* The first range of @c that holds what was read: a message's own description comes before. */
static uint32_t first_range(const struct capture *c)
{
	enum { RECVMSG = 47 };
	uint32_t i = c->n_ranges;
	uint64_t left = c->result > 0 ? (uint64_t)c->result : 0;
	if (c->nr != RECVMSG)
		return 0;
	while (i && left) {
		uint64_t len = c->ranges[--i].len;
		left -= len < left ? len : left;
	}
	return i;
}

void dep_stream_kernel(struct dep_build *b, const struct capture *c)
{
	enum { RECVFROM = 45 };
	bool positioned;
	bool input = is_input(c->nr, &positioned);
	struct dep_stream *s = input ? dep_stream(b, (int64_t)c->args[0]) : NULL;
	bool inside = value_machine_side_now(b->machine) == VALUE_SIDE_TRACED &&
		      value_machine_is_code(b->machine, value_machine_state(b->machine)->rip);
	dep_moved_output(b, c, inside);
	if (!c->n_ranges && !inside)
		return;
	uint64_t offset = s ? positioned ? c->args[3] : s->read : 0;
	struct dep_event *e =
		dep_add_event(b, &(struct dep_event){
					 .kind = DEP_KERNEL,
					 .flags = DEP_READS_KNOWN | (s ? DEP_INPUT : 0) |
						  (inside ? DEP_SETS_RAX : 0),
					 .ip = inside ? value_machine_state(b->machine)->rip : 0,
					 .fd = s ? (int32_t)c->args[0] : -1,
					 .offset = offset,
					 .order = c->order,
					 .id = c->nr,
				 });
	uint32_t first = s ? first_range(c) : c->n_ranges;
	uint32_t end = s && c->nr == RECVFROM && c->n_ranges ? 1 : c->n_ranges;
	uint64_t before = offset;
	/* What was read comes first, so that its definitions are bytes from the offset on. */
	for (uint32_t i = first; e && i < end; i++) {
		const struct capture_range *r = &c->ranges[i];
		uint32_t def = dep_more_defs(b, e, r->len);
		for (uint32_t k = 0; k < r->len && !b->no_memory; k++)
			shadow_set(&b->shadow, r->addr + k, 1, def + k);
		keep_input(b, s, offset, r->len, def);
		offset += r->len;
	}
	if (e && offset > before)
		dep_moved_input(b, c, first, e, offset - before);
	for (uint32_t i = 0; e && i < c->n_ranges; i++)
		if (i < first || i >= end)
			shadow_set(&b->shadow, c->ranges[i].addr, c->ranges[i].len,
				   dep_more_defs(b, e, 1));
	if (s && !positioned)
		s->read = offset;
}

/* The definition of byte @offset of what was read last of it; 0: it was not read. */
static uint32_t input_def(const struct dep_stream *s, uint64_t offset)
{
	for (size_t i = s->n_inputs; i-- > 0;)
		if (offset >= s->inputs[i].offset &&
		    offset - s->inputs[i].offset < s->inputs[i].len)
			return s->inputs[i].def + (uint32_t)(offset - s->inputs[i].offset);
	return 0;
}

void dep_stream_consume(struct dep_build *b, int fd, uint64_t n, struct dep_words *to)
{
	struct dep_stream *s = dep_stream(b, fd);
	for (uint64_t i = 0; i < n; i++)
		dep_words_push(b, to, s ? input_def(s, s->consumed + i) : 0);
	if (s)
		s->consumed += n;
}

/* --- output ---------------------------------------------------------------------------------- */

static void keep_text(struct dep_build *b, struct dep_stream *s, const uint8_t *bytes, uint64_t n)
{
	if (s->n_text + n > s->room_text) {
		size_t room = 2 * s->room_text + n + 256;
		uint8_t *text = realloc(s->text, room);
		if (!text) {
			b->no_memory = true;
			return;
		}
		s->text = text;
		s->room_text = room;
	}
	if (bytes)
		memcpy(s->text + s->n_text, bytes, n);
	else
		memset(s->text + s->n_text, 0, n);
	s->n_text += n;
}

void dep_stream_output(struct dep_build *b, struct dep_event *e, int fd, const uint32_t *defs,
		       const uint8_t *bytes, uint64_t n)
{
	struct dep_stream *s = dep_stream(b, fd);
	struct dep_trace *t = &b->trace;
	if (!s || !n)
		return;
	e->flags |= DEP_OUTPUT;
	e->fd = fd;
	e->offset = s->written;
	e->first_run = t->n_runs;
	for (uint64_t i = 0; i < n; i++) {
		struct dep_run *last = e->n_runs ? &t->runs[t->n_runs - 1] : NULL;
		if (last && last->def == defs[i]) {
			last->len++;
			continue;
		}
		if (t->n_runs == t->room_runs) {
			uint64_t room = 2 * t->room_runs + 256;
			struct dep_run *runs = realloc(t->runs, room * sizeof(*runs));
			if (!runs) {
				b->no_memory = true;
				return;
			}
			t->runs = runs;
			t->room_runs = room;
		}
		t->runs[t->n_runs++] = (struct dep_run){defs[i], 1};
		e->n_runs++;
	}
	keep_text(b, s, bytes, n);
	s->written += n;
}

const uint8_t *dep_build_output(const struct dep_build *b, int fd, size_t *len)
{
	const struct dep_stream *s = fd >= 0 && fd < DEP_FDS ? &b->streams[fd] : NULL;
	*len = s ? s->n_text : 0;
	return s ? s->text : NULL;
}

bool dep_build_output_is_sure(const struct dep_build *b, int fd)
{
	return fd < 0 || fd >= DEP_FDS || !b->streams[fd].unsure;
}

void dep_streams_deinit(struct dep_build *b)
{
	for (int i = 0; i < DEP_FDS; i++) {
		free(b->streams[i].inputs);
		free(b->streams[i].text);
		free(b->streams[i].given);
	}
}
