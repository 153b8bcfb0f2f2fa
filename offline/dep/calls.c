// SPDX-License-Identifier: LGPL-2.1-or-later
/* calls.c: imported functions. What a call reads is noted when it begins, because the kernel may
 * write the same memory before it is over; what it writes gets its definitions at its end. */
#include "offline/dep/build_impl.h"
#include "offline/dep/flows.h"

#include <stdlib.h>

enum { STRING_MAX = 1 << 20 };

/* --- lengths --------------------------------------------------------------------------------- */

/* Bytes to the zero byte, with it; at most @max. */
static uint64_t string_len(struct dep_build *b, uint64_t addr, uint64_t max)
{
	for (uint64_t n = 0; n < max; n++) {
		char c;
		if (value_memory_read(b->memory, addr + n, &c, 1, NULL))
			return n;
		if (!c)
			return n + 1;
	}
	return max;
}

static uint64_t length(struct dep_build *b, const struct dep_pending *p, uint8_t kind,
		       uint64_t addr, int64_t result)
{
	switch (kind) {
	case LEN_ARG0:
	case LEN_ARG1:
	case LEN_ARG2:
	case LEN_ARG3:
		return p->args[kind - LEN_ARG0];
	case LEN_STRING:
		return string_len(b, addr, STRING_MAX);
	case LEN_STRING_ARG2:
		return string_len(b, addr, p->args[2] < STRING_MAX ? p->args[2] : STRING_MAX);
	case LEN_PRODUCT01:
		return p->args[0] * p->args[1];
	case LEN_PRODUCT12:
		return p->args[1] * p->args[2];
	case LEN_RESULT:
		return result > 0 ? (uint64_t)result : 0;
	case LEN_RESULT_ARG1:
		return result > 0 ? (uint64_t)result * p->args[1] : 0;
	case LEN_REGEX:
		return 64;
	case LEN_RESULT_STRING:
		return result ? string_len(b, (uint64_t)result, STRING_MAX) - 1 : 0;
	default:
		return 0;
	}
}

/* --- heap ------------------------------------------------------------------------------------ */

static size_t heap_slot(const uint64_t *addr, size_t room, uint64_t key)
{
	size_t i = key * 0x9e3779b97f4a7c15 >> 32 & (room - 1);
	while (addr[i] && addr[i] != key)
		i = (i + 1) & (room - 1);
	return i;
}

static uint64_t heap_len(const struct dep_heap *h, uint64_t addr)
{
	return h->room && addr ? h->len[heap_slot(h->addr, h->room, addr)] : 0;
}

static void heap_keep(struct dep_build *b, uint64_t addr, uint64_t len)
{
	struct dep_heap *h = &b->heap;
	if (!addr)
		return;
	if (2 * (h->n + 1) > h->room) {
		size_t room = h->room ? 2 * h->room : 1024;
		struct dep_heap more = {calloc(room, 8), calloc(room, 8), h->n, room};
		if (!more.addr || !more.len) {
			free(more.addr);
			free(more.len);
			b->no_memory = true;
			return;
		}
		for (size_t i = 0; i < h->room; i++)
			if (h->addr[i]) {
				size_t to = heap_slot(more.addr, room, h->addr[i]);
				more.addr[to] = h->addr[i];
				more.len[to] = h->len[i];
			}
		free(h->addr);
		free(h->len);
		*h = more;
	}
	size_t i = heap_slot(h->addr, h->room, addr);
	h->n += !h->addr[i];
	h->addr[i] = addr;
	h->len[i] = len;
}

/* --- a call begins --------------------------------------------------------------------------- */

static struct dep_pending *push(struct dep_build *b)
{
	if (b->n_calls == b->room_calls) {
		size_t room = b->room_calls ? 2 * b->room_calls : 16;
		struct dep_pending *calls = realloc(b->calls, room * sizeof(*calls));
		if (!calls) {
			b->no_memory = true;
			return NULL;
		}
		memset(calls + b->room_calls, 0, (room - b->room_calls) * sizeof(*calls));
		b->calls = calls;
		b->room_calls = room;
	}
	struct dep_pending *p = &b->calls[b->n_calls++];
	struct dep_words reads = p->reads, copied = p->copied;
	struct dep_text text = {.at = p->text.at, .room = p->text.room};
	reads.n = copied.n = 0;
	*p = (struct dep_pending){.reads = reads, .copied = copied, .text = text};
	return p;
}

static void begin_flow(struct dep_build *b, struct dep_pending *p, const struct dep_flow *f)
{
	p->known = true;
	p->regs = f->regs | (uint32_t)f->vecs << 8;
	for (int i = 0; i < 2; i++)
		if (f->look[i].len) {
			uint64_t at = p->args[f->look[i].arg];
			dep_note_reads(b, &p->reads, at, length(b, p, f->look[i].len, at, 0));
		}
	uint64_t from = p->args[f->from];
	switch (f->kind) {
	case FLOW_COPY:
	case FLOW_APPEND:
	case FLOW_WRITE:
		dep_note_bytes(b, &p->copied, from, length(b, p, f->len, from, 0));
		break;
	case FLOW_GATHER:
		if (f->len)
			dep_gather(b, p, from, length(b, p, f->len, 0, 0));
		else
			dep_gather_message(b, p, from);
		break;
	case FLOW_MAKE:
		dep_note_bytes(b, &p->copied, from, string_len(b, from, STRING_MAX));
		break;
	case FLOW_MOVE: {
		uint64_t old = heap_len(&b->heap, from), len = length(b, p, f->len, 0, 0);
		dep_note_bytes(b, &p->copied, from, old < len ? old : len);
		break;
	}
	case FLOW_PRINT:
		dep_format_reads(b, p, f->from, f->list);
		break;
	case FLOW_SCAN:
		dep_format_scans(b, p, f->from, f->list);
		break;
	case FLOW_PUT:
		p->regs |= 1u << f->from;
		break;
	default:
		break;
	}
}

void dep_call_begins(struct dep_build *b, const char *name)
{
	const struct value_state *s = value_machine_state(b->machine);
	struct dep_pending *p = push(b);
	if (!p)
		return;
	p->name = name;
	p->sp = s->gpr[VALUE_RSP];
	dep_read_return(b, p);
	for (unsigned i = 0; i < DEP_ARGS; i++)
		p->args[i] = s->gpr[dep_args[i]];
	const struct dep_flow *flow = name ? dep_flow_find(name) : NULL;
	if (flow)
		begin_flow(b, p, flow);
}

/* --- a call is over -------------------------------------------------------------------------- */

static int stream_fd(struct dep_build *b, const struct dep_pending *p, uint8_t stream)
{
	switch (stream) {
	case TO_FD0:
		return (int)p->args[0];
	case TO_STDOUT:
		return 1;
	case TO_STDIN:
		return 0;
	case TO_FILE0:
	case TO_FILE1:
	case TO_FILE2:
	case TO_FILE3:
		return dep_file_fd(b, p->args[stream - TO_FILE0]);
	default:
		return -1;
	}
}

/* A text that the event itself has made. */
static void print_text(struct dep_build *b, struct dep_event *e, const struct dep_pending *p,
		       const struct dep_flow *f, int64_t result, bool told)
{
	uint64_t n = result > 0 && result < STRING_MAX ? (uint64_t)result : 0;
	struct dep_stream *s = dep_stream(b, stream_fd(b, p, f->stream));
	if (!told && p->text.known)
		n = p->text.n;
	if (!told && s)
		s->unsure |= p->assumed || !p->text.known;
	uint32_t def = dep_more_defs(b, e, 1);
	uint32_t *defs = malloc((n + 1) * sizeof(*defs));
	for (uint64_t i = 0; defs && i < n; i++)
		defs[i] = def;
	if (!defs)
		b->no_memory = true;
	else
		dep_stream_output(b, e, stream_fd(b, p, f->stream), defs,
				  p->text.known && p->text.n == n ? (uint8_t *)p->text.at : NULL,
				  n);
	free(defs);
}

static void write_bytes(struct dep_build *b, struct dep_event *e, struct dep_pending *p,
			const struct dep_flow *f, int64_t result, bool told)
{
	uint64_t n = p->copied.n;
	if (f->len == LEN_STRING && n)
		n--;			   /* the zero byte stays */
	bool counts = f->stream == TO_FD0; /* write() says how many */
	if (told && counts && (result < 0 || (uint64_t)result < n))
		n = result < 0 ? 0 : (uint64_t)result;
	bool line = f->stream == TO_STDOUT;
	uint8_t *bytes = malloc(n + 1);
	if (!bytes) {
		b->no_memory = true;
		return;
	}
	if (f->kind == FLOW_GATHER && p->text.n >= n)
		memcpy(bytes, p->text.at, n);
	else if (f->kind == FLOW_GATHER ||
		 value_memory_read(b->memory, p->args[f->from], bytes, n, NULL))
		memset(bytes, 0, n);
	if (line) { /* puts() adds one */
		bytes[n] = '\n';
		p->copied.n = n;
		dep_words_push(b, &p->copied, dep_more_defs(b, e, 1));
		n++;
	}
	if (!b->no_memory)
		dep_stream_output(b, e, stream_fd(b, p, f->stream), p->copied.at, bytes, n);
	free(bytes);
}

static void put_character(struct dep_build *b, struct dep_event *e, const struct dep_pending *p,
			  const struct dep_flow *f)
{
	uint8_t c = p->args[f->from];
	uint32_t def = dep_more_defs(b, e, 1);
	dep_stream_output(b, e, stream_fd(b, p, f->stream), &def, &c, 1);
}

static void read_bytes(struct dep_build *b, struct dep_event *e, const struct dep_pending *p,
		       const struct dep_flow *f, int64_t result)
{
	uint64_t to = p->args[f->to], n = length(b, p, f->len, to, result);
	struct dep_words bytes = {0};
	if (f->len == LEN_RESULT) /* getline(): the argument points to the pointer */
		value_memory_read(b->memory, to, &to, 8, NULL);
	dep_stream_consume(b, stream_fd(b, p, f->stream), n, &bytes);
	dep_copy_defs(b, e, to, bytes.at, bytes.n);
	if (n && (f->len == LEN_RESULT || f->len == LEN_RESULT_STRING))
		shadow_set(&b->shadow, to + n, 1, 0); /* the zero byte comes from nothing */
	free(bytes.at);
}

static void move_stream(struct dep_build *b, const struct dep_pending *p, const struct dep_flow *f,
			int64_t result)
{
	enum { SEEK_FROM_START, SEEK_FROM_HERE };
	struct dep_stream *s = dep_stream(b, stream_fd(b, p, f->stream));
	if (!s)
		return;
	if (f->stream == TO_FD0)
		s->read = result >= 0 ? (uint64_t)result : s->read;
	else if (!f->from)
		s->consumed = 0;
	else if (p->args[2] == SEEK_FROM_START)
		s->consumed = p->args[f->from];
	else if (p->args[2] == SEEK_FROM_HERE)
		s->consumed += p->args[f->from];
}

static void open_stream(struct dep_build *b, const struct dep_flow *f, int64_t result)
{
	struct dep_stream *s = dep_stream(b, f->stream == TO_FD0 ? result
					     : result		 ? dep_file_fd(b, (uint64_t)result)
								 : -1);
	if (s)
		s->read = s->consumed = 0;
}

/* Bytes that were appended to a string, without the zero byte. */
static uint64_t appended(struct dep_build *b, const struct dep_pending *p, const struct dep_flow *f)
{
	uint64_t n = p->copied.n;
	char last = 1;
	if (n)
		value_memory_read(b->memory, p->args[f->from] + n - 1, &last, 1, NULL);
	return last ? n : n - 1;
}

/* What a scanf() has put where: as many values as its result says. */
static void take_scanned(struct dep_build *b, struct dep_event *e, const struct dep_pending *p,
			 int64_t result)
{
	int32_t left = (int32_t)result;
	for (uint8_t i = 0; i < p->n_scanned && left >= p->scanned[i].counted; i++) {
		const struct dep_range *r = &p->scanned[i];
		uint64_t len = r->len == DEP_TEXT ? string_len(b, r->addr, STRING_MAX) : r->len;
		left -= r->counted;
		shadow_set(&b->shadow, r->addr, len, dep_more_defs(b, e, 1));
	}
}

/* What goes to a descriptor itself was seen as the system call. */
static void give(struct dep_build *b, const struct dep_event *e, const struct dep_flow *f)
{
	bool itself = f->stream == TO_FD0 && f->kind != FLOW_PRINT;
	uint64_t n = 0;
	for (uint32_t i = 0; e->flags & DEP_OUTPUT && i < e->n_runs; i++)
		n += b->trace.runs[e->first_run + i].len;
	if (n && !itself)
		dep_moved_given(b, e->fd, n);
}

static void end_flow(struct dep_build *b, struct dep_event *e, struct dep_pending *p,
		     const struct dep_flow *f, int64_t result, bool told)
{
	uint64_t to = p->args[f->to];
	switch (f->kind) {
	case FLOW_APPEND:
		to += string_len(b, to, STRING_MAX) - 1;
		to -= appended(b, p, f);
		/* fallthrough */
	case FLOW_COPY:
		dep_copy_defs(b, e, to, p->copied.at, p->copied.n);
		break;
	case FLOW_MAKE:
	case FLOW_MOVE:
		if (result)
			dep_copy_defs(b, e, (uint64_t)result, p->copied.at, p->copied.n);
		if (f->kind == FLOW_MOVE)
			heap_keep(b, (uint64_t)result, length(b, p, f->len, 0, 0));
		break;
	case FLOW_FILL:
		shadow_set(&b->shadow, to, length(b, p, f->len, to, 0), dep_more_defs(b, e, 1));
		break;
	case FLOW_BLOCK:
		heap_keep(b, (uint64_t)result, length(b, p, f->len, 0, 0));
		if (result) /* what a fresh block holds is the library's */
			shadow_set(&b->shadow, (uint64_t)result, length(b, p, f->len, 0, 0),
				   dep_more_defs(b, e, 1));
		break;
	case FLOW_SCAN:
		take_scanned(b, e, p, result);
		break;
	case FLOW_PRINT:
		if (f->stream)
			print_text(b, e, p, f, result, told);
		break;
	case FLOW_WRITE:
	case FLOW_GATHER:
		write_bytes(b, e, p, f, result, told);
		break;
	case FLOW_PUT:
		put_character(b, e, p, f);
		break;
	case FLOW_READ:
		read_bytes(b, e, p, f, result);
		break;
	case FLOW_SEEK:
		move_stream(b, p, f, result);
		break;
	case FLOW_BACK: {
		struct dep_stream *s = dep_stream(b, stream_fd(b, p, f->stream));
		if (s && s->consumed)
			s->consumed--;
		break;
	}
	case FLOW_OPEN:
		open_stream(b, f, result);
		break;
	default:
		break;
	}
}

/* The byte that getc() gives is among what its event reads. */
static void get_character(struct dep_build *b, struct dep_pending *p, const struct dep_flow *f,
			  int64_t result)
{
	if ((int32_t)result >= 0)
		dep_stream_consume(b, stream_fd(b, p, f->stream), 1, &p->reads);
}

void dep_call_ends(struct dep_build *b, const struct capture *c)
{
	const struct value_state *s = value_machine_state(b->machine);
	size_t open = b->n_calls;
	/* What lies above was left by a longjmp. */
	while (b->n_calls && b->calls[b->n_calls - 1].sp + 8 != s->gpr[VALUE_RSP] &&
	       b->calls[b->n_calls - 1].sp < s->gpr[VALUE_RSP])
		b->n_calls--;
	bool landed = !b->n_calls ||
		      (b->n_calls < open && b->calls[b->n_calls - 1].sp + 8 != s->gpr[VALUE_RSP]);
	if (landed && open) { /* at the setjmp, with the registers that it has kept */
		dep_add_event(b, &(struct dep_event){.kind = DEP_ENTER, .fd = -1});
		return;
	}
	if (landed)
		return;
	struct dep_pending *p = &b->calls[--b->n_calls];
	const struct dep_flow *f = p->name ? dep_flow_find(p->name) : NULL;
	int64_t result = (int64_t)s->gpr[VALUE_RAX];
	bool told = c || value_quality(b->machine, (uint64_t)1 << VALUE_RAX) == VALUE_EXACT;
	if (f && f->kind == FLOW_GET)
		get_character(b, p, f, result);
	struct dep_event *e = dep_add_event(
		b, &(struct dep_event){
			   .kind = DEP_CALL,
			   .flags = (p->known ? DEP_READS_KNOWN : 0) | (p->spans ? DEP_SPANS : 0),
			   .id = p->id,
			   .ip = p->ret,
			   .name = p->name,
			   .regs = p->regs,
			   .fd = -1,
		   });
	if (!e)
		return;
	for (uint64_t i = 0; i < p->reads.n; i++)
		dep_words_push(b, &b->trace.sources, p->reads.at[i]);
	e->n_reads = b->trace.sources.n - e->first_read;
	if (f) {
		end_flow(b, e, p, f, result, told);
		give(b, e, f);
	}
	bool told_apart = f && (f->kind == FLOW_READ || f->kind == FLOW_MAKE);
	if (!c && !told_apart && !(f && f->kind == FLOW_COPY))
		dep_written(b, e, p, (uint64_t)result);
	for (uint32_t i = 0; c && !told_apart && i < c->n_ranges; i++)
		shadow_set(&b->shadow, c->ranges[i].addr, c->ranges[i].len, dep_more_defs(b, e, 1));
}

void dep_calls_deinit(struct dep_build *b)
{
	for (size_t i = 0; i < b->room_calls; i++) {
		free(b->calls[i].reads.at);
		free(b->calls[i].copied.at);
		free(b->calls[i].text.at);
	}
	free(b->calls);
	free(b->heap.addr);
	free(b->heap.len);
}
