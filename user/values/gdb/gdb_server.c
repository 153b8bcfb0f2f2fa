// SPDX-License-Identifier: LGPL-2.1-or-later
/* gdb_server.c: packets of the remote protocol (gdb's manual, appendix E) to moves of a replay.
 * Nothing can be written: memory and registers are what they were. A byte that is not known is an
 * error to gdb, and a register "x": gdb says <unavailable>.
 *
 * To continue is to execute with a trace and to look at what was executed: a breakpoint's address,
 * a watched place written or read. Backwards the same is done from snapshot to snapshot, the last
 * hit counting. */
#include "user/values/gdb/gdb_server.h"
#include "user/values/gdb/gdb_history.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PACKET = 16384, READ_MAX = 4096 };

struct server {
	struct value_run *run;
	struct gdb_history history;
	int in, out;
	const char *exec;
	uint64_t entry;
	char text[PACKET]; /* of the packet that came */
	char reply[2 * PACKET];
	size_t n_reply;
	uint8_t buffer[4096];
	size_t at, have;
};

/* --- packets --------------------------------------------------------------------------------- */

static int get_byte(struct server *s)
{
	if (s->at == s->have) {
		ssize_t n = read(s->in, s->buffer, sizeof(s->buffer));
		if (n <= 0)
			return -1;
		s->at = 0;
		s->have = n;
	}
	return s->buffer[s->at++];
}

static int send_all(struct server *s, const char *bytes, size_t n)
{
	for (size_t done = 0; done < n;) {
		ssize_t k = write(s->out, bytes + done, n - done);
		if (k < 0)
			return -errno;
		done += k;
	}
	return 0;
}

/* The next packet's text. False: gdb is gone. */
static bool receive(struct server *s)
{
	for (;;) {
		int c = get_byte(s);
		if (c < 0)
			return false;
		if (c != '$')
			continue; /* acknowledgements, and an interrupt: nothing runs meanwhile */
		size_t n = 0;
		while ((c = get_byte(s)) >= 0 && c != '#')
			if (n < sizeof(s->text) - 1)
				s->text[n++] = c;
		if (c < 0 || get_byte(s) < 0 || get_byte(s) < 0)
			return false;
		s->text[n] = 0;
		return !send_all(s, "+", 1);
	}
}

static void put(struct server *s, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void put(struct server *s, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	int n = vsnprintf(s->reply + s->n_reply, sizeof(s->reply) - s->n_reply, format, args);
	va_end(args);
	s->n_reply += n;
	if (s->n_reply >= sizeof(s->reply))
		s->n_reply = sizeof(s->reply) - 1;
}

static int flush(struct server *s)
{
	uint8_t sum = 0;
	char end[4];
	for (size_t i = 0; i < s->n_reply; i++)
		sum += (uint8_t)s->reply[i];
	int err = send_all(s, "$", 1);
	err = err ? err : send_all(s, s->reply, s->n_reply);
	snprintf(end, sizeof(end), "#%02x", sum);
	s->n_reply = 0;
	return err ? err : send_all(s, end, 3);
}

/* --- state ----------------------------------------------------------------------------------- */

static void put_bytes(struct server *s, const void *bytes, size_t n, bool known)
{
	for (size_t i = 0; i < n; i++)
		if (known)
			put(s, "%02x", ((const uint8_t *)bytes)[i]);
		else
			put(s, "xx");
}

/* All registers in the order of gdb's own description of amd64. */
static void put_registers(struct server *s)
{
	static const uint8_t order[16] = {VALUE_RAX, VALUE_RBX, VALUE_RCX, VALUE_RDX,
					  VALUE_RSI, VALUE_RDI, VALUE_RBP, VALUE_RSP,
					  8,	     9,		10,	   11,
					  12,	     13,	14,	   15};
	struct value_machine *m = value_run_machine(s->run);
	const struct value_state *state = value_machine_state(m);
	for (int i = 0; i < 16; i++)
		put_bytes(s, &state->gpr[order[i]], 8,
			  value_quality(m, (uint64_t)1 << order[i]) != VALUE_UNKNOWN);
	put_bytes(s, &state->rip, 8, true);
	uint32_t flags = value_rflags(state), segments[6] = {0x33, 0x2b, 0, 0, 0, 0};
	put_bytes(s, &flags, 4, value_quality(m, (uint64_t)1 << VALUE_BIT_FLAGS) != VALUE_UNKNOWN);
	put_bytes(s, segments, sizeof(segments), true);
	bool x87 = value_quality(m, (uint64_t)1 << VALUE_BIT_X87) != VALUE_UNKNOWN;
	for (int i = 0; i < 8; i++)
		put_bytes(s, state->fx + 32 + 16 * i, 10, x87);
	uint32_t control[8] = {state->fx[0] | state->fx[1] << 8, state->fx[2] | state->fx[3] << 8};
	put_bytes(s, control, sizeof(control), x87);
	for (int i = 0; i < 16; i++)
		put_bytes(s, state->vec[i], 16,
			  value_quality(m, (uint64_t)1 << (VALUE_BIT_VEC + i)) != VALUE_UNKNOWN);
	put_bytes(s, &state->mxcsr, 4, true);
}

static void put_memory(struct server *s)
{
	uint64_t addr, len;
	uint8_t bytes[READ_MAX], quality[READ_MAX];
	struct value_memory *mem = value_machine_memory(value_run_machine(s->run));
	if (sscanf(s->text, "m%" SCNx64 ",%" SCNx64, &addr, &len) != 2 || !len) {
		put(s, "E01");
		return;
	}
	len = len < READ_MAX ? len : READ_MAX;
	size_t n = 0;
	while (n < len && !value_memory_read(mem, addr + n, bytes + n, 1, quality) &&
	       *quality != VALUE_UNKNOWN)
		n++;
	if (!n)
		put(s, "E0e");
	put_bytes(s, bytes, n, true);
}

static void put_stop(struct server *s, const struct gdb_hit *hit)
{
	static const char *const watches[] = {"watch", "rwatch", "awatch"};
	switch (hit->why) {
	case GDB_HIT_WATCH:
		put(s, "T05%s:%" PRIx64 ";thread:1;", watches[hit->kind - 2], hit->addr);
		break;
	case GDB_HIT_BEGIN:
		put(s, "T05replaylog:begin;thread:1;");
		break;
	case GDB_HIT_END:
		put(s, "T05replaylog:end;thread:1;");
		break;
	default:
		put(s, "T05thread:1;");
	}
}

/* The part of @text that gdb asks for with "OFFSET,LENGTH". */
static void put_part(struct server *s, const char *text, size_t size, const char *window)
{
	uint64_t off = 0, len = 0;
	sscanf(window, "%" SCNx64 ",%" SCNx64, &off, &len);
	if (off >= size) {
		put(s, "l");
		return;
	}
	size_t n = size - off < len ? size - off : len;
	put(s, off + n == size ? "l" : "m");
	for (size_t i = 0; i < n; i++) {
		char c = text[off + i];
		if (strchr("#$}*", c) && s->n_reply < sizeof(s->reply) - 2) { /* NUL as well */
			if (c) {
				s->reply[s->n_reply++] = '}';
				c ^= 0x20;
			}
		}
		if (s->n_reply < sizeof(s->reply) - 1)
			s->reply[s->n_reply++] = c;
	}
}

static void query(struct server *s)
{
	const char *t = s->text;
	if (!strncmp(t, "qSupported", 10))
		put(s,
		    "PacketSize=%x;ReverseStep+;ReverseContinue+;qXfer:auxv:read+;"
		    "qXfer:exec-file:read+;qXfer:features:read+",
		    READ_MAX);
	else if (!strncmp(t, "qXfer:features:read:target.xml:", 31)) {
		const char xml[] = "<?xml version=\"1.0\"?><target version=\"1.0\">"
				   "<architecture>i386:x86-64</architecture>"
				   "<osabi>GNU/Linux</osabi></target>";
		put_part(s, xml, strlen(xml), t + 31);
	} else if (!strncmp(t, "qXfer:exec-file:read:", 21)) {
		const char *window = strchr(t + 21, ':');
		put_part(s, s->exec, strlen(s->exec), window ? window + 1 : "");
	} else if (!strncmp(t, "qXfer:auxv:read::", 17)) {
		enum { ENTRY = 9 };
		const uint64_t auxv[4] = {ENTRY, s->entry, 0, 0};
		put_part(s, (const char *)auxv, sizeof(auxv), t + 17);
	} else if (!strcmp(t, "qC"))
		put(s, "QC1");
	else if (!strcmp(t, "qfThreadInfo"))
		put(s, "m1");
	else if (!strcmp(t, "qsThreadInfo"))
		put(s, "l");
	else if (!strncmp(t, "qAttached", 9))
		put(s, "1");
}

static void breakpoint(struct server *s)
{
	unsigned kind;
	uint64_t addr, len;
	if (sscanf(s->text + 1, "%u,%" SCNx64 ",%" SCNx64, &kind, &addr, &len) != 3 || kind > 4)
		return;
	int err = s->text[0] == 'Z' ? gdb_history_watch(&s->history, kind, addr, len)
				    : gdb_history_unwatch(&s->history, kind, addr, len);
	put(s, err ? "E0c" : "OK");
}

/* False: gdb has let go. */
static bool answer(struct server *s)
{
	struct gdb_hit hit = {.why = GDB_HIT_STEP};
	switch (s->text[0]) {
	case '?':
		put_stop(s, &hit);
		break;
	case 'g':
		put_registers(s);
		break;
	case 'm':
		put_memory(s);
		break;
	case 'q':
		query(s);
		break;
	case 'Z':
	case 'z':
		breakpoint(s);
		break;
	case 's':
		gdb_history_step(&s->history, &hit);
		put_stop(s, &hit);
		break;
	case 'c':
		gdb_history_forward(&s->history, &hit);
		put_stop(s, &hit);
		break;
	case 'b':
		if (s->text[1] == 's')
			gdb_history_step_back(&s->history, &hit);
		else
			gdb_history_back(&s->history, &hit);
		put_stop(s, &hit);
		break;
	case 'H':
	case 'T':
		put(s, "OK");
		break;
	case 'D':
		put(s, "OK");
		return false;
	case 'k':
		return false;
	case 'G':
	case 'M':
	case 'P':
	case 'X':
		put(s, "E1e"); /* EROFS: what was recorded cannot be changed */
		break;
	default:
		break; /* the empty reply: not supported */
	}
	return true;
}

int gdb_serve(struct value_run *run, int in, int out, const char *exec, uint64_t entry)
{
	struct server *s = calloc(1, sizeof(*s));
	if (!s)
		return -ENOMEM;
	s->run = run;
	s->in = in;
	s->out = out;
	s->exec = exec;
	s->entry = entry;
	int err = gdb_history_init(&s->history, run);
	bool goes_on = !err;
	while (goes_on && receive(s)) {
		goes_on = answer(s);
		err = flush(s);
		goes_on = goes_on && !err;
	}
	gdb_history_deinit(&s->history);
	free(s);
	return err == -EPIPE ? 0 : err;
}
