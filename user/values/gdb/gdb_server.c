// SPDX-License-Identifier: LGPL-2.1-or-later
/* gdb_server.c: packets of the remote protocol (gdb's manual, appendix E) to moves of a replay.
 * Nothing can be written: memory and registers are what they were.
 *
 * A register that is not known is "x" to gdb: <unavailable>. Of memory the protocol has no such
 * word, but for trace frames, and gdb moves nothing while it looks at one. So what has known and
 * unknown bytes is given with zeros for these, and a note says which they are; but a read that may
 * be of one number (8 bytes at most), or that is wholly unknown, is an error. gdb's cache of the
 * stack reads lines of 64 bytes, and where a line fails, what it really wants: a line with unknown
 * bytes is an error, unless the very same is wanted next. */
#include "user/values/gdb/gdb_server.h"
#include "user/values/gdb/gdb_monitor.h"
#include "user/values/gdb/gdb_notes.h"
#include "user/values/gdb/gdb_state.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LINE = 64, NUMBER = 8 };

struct server {
	struct gdb_packets packets;
	struct gdb_threads *threads;
	struct gdb_thread *shown;     /* whose registers gdb asks for */
	struct gdb_thread *continued; /* that alone is to move; NULL: all */
	struct gdb_notes notes;
	const struct gdb_program *program;
	char *description;
	struct gdb_piece refused; /* the line that the last packet asked for */
	bool greeted;
};

#define put(s, ...) gdb_packets_put(&(s)->packets, __VA_ARGS__)

/* --- state ----------------------------------------------------------------------------------- */

static bool may_be_read(struct server *s, uint64_t addr, uint64_t len, size_t n_unknown)
{
	bool again = s->refused.addr == addr && s->refused.len == len;
	s->refused = (struct gdb_piece){0};
	if (!n_unknown)
		return true;
	if (n_unknown == len || len <= NUMBER)
		return false;
	if (len == LINE && addr % LINE == 0 && !again) {
		s->refused = (struct gdb_piece){addr, len};
		return false;
	}
	return true;
}

static void put_memory(struct server *s)
{
	uint64_t addr, len;
	uint8_t bytes[GDB_READ_MAX], quality[GDB_READ_MAX];
	if (sscanf(s->packets.text, "m%" SCNx64 ",%" SCNx64, &addr, &len) != 2 || !len) {
		put(s, "E01");
		return;
	}
	len = len < GDB_READ_MAX ? len : GDB_READ_MAX;
	gdb_state_read(s->threads->at[s->threads->moved].run, gdb_threads_run(s->threads, s->shown),
		       addr, len, bytes, quality);
	size_t n_unknown = 0;
	for (uint64_t i = 0; i < len; i++)
		n_unknown += quality[i] == VALUE_UNKNOWN;
	if (!may_be_read(s, addr, len, n_unknown)) {
		put(s, "E0e");
		return;
	}
	gdb_notes_unknown(&s->notes, addr, len, bytes, quality);
	gdb_notes_assumed(&s->notes, addr, len, quality);
	gdb_packets_put_bytes(&s->packets, bytes, len, true);
}

static void put_registers(struct server *s)
{
	s->threads->failed = false;
	struct value_run *run = gdb_threads_run(s->threads, s->shown);

	if (s->threads->failed) {
		put(s, "E0c");
		return;
	}
	gdb_state_put_registers(&s->packets, run);
	gdb_notes_registers(&s->notes, run);
}

/* --- threads --------------------------------------------------------------------------------- */

static void put_threads(struct server *s)
{
	const struct gdb_threads *t = s->threads;
	char lead = 'm';
	for (size_t i = 0; i < t->n; i++) {
		if (!gdb_threads_is_there(t, &t->at[i]))
			continue;
		put(s, "%c%" PRIx32, lead, t->at[i].task);
		lead = ',';
	}
}

static void put_thread_info(struct server *s, const char *id)
{
	const struct gdb_thread *thread = gdb_threads_find(s->threads, strtoul(id, NULL, 16));
	char text[64];
	if (!thread) {
		put(s, "E01");
		return;
	}
	int n = snprintf(text, sizeof(text), "%s, tid %d", thread->name, thread->tid);
	gdb_packets_put_bytes(&s->packets, text, n, true);
}

/* "Hg", "Hc" and a number; 0: any, -1: all. */
static void choose_thread(struct server *s)
{
	long id = strtol(s->packets.text + 2, NULL, 16);
	struct gdb_thread *thread = id > 0 ? gdb_threads_find(s->threads, id) : NULL;
	if (id > 0 && !thread) {
		put(s, "E01");
		return;
	}
	if (s->packets.text[1] == 'c')
		s->continued = thread;
	else if (thread)
		s->shown = thread;
	put(s, "OK");
}

static void put_alive(struct server *s)
{
	const struct gdb_thread *thread =
		gdb_threads_find(s->threads, strtoul(s->packets.text + 1, NULL, 16));
	put(s, thread && gdb_threads_is_there(s->threads, thread) ? "OK" : "E01");
}

/* --- moves ----------------------------------------------------------------------------------- */

static void put_stop(struct server *s, const struct gdb_hit *hit)
{
	static const char *const watches[] = {"watch", "rwatch", "awatch"};
	if (hit->why == GDB_HIT_FAILED) {
		put(s, "E.memory is out, or no replay leads there");
		return;
	}
	put(s, "T05");
	if (hit->why == GDB_HIT_WATCH)
		put(s, "%s:%" PRIx64 ";", watches[hit->kind - 2], hit->addr);
	else if (hit->why == GDB_HIT_BEGIN || hit->why == GDB_HIT_END)
		put(s, "replaylog:%s;", hit->why == GDB_HIT_BEGIN ? "begin" : "end");
	put(s, "thread:%" PRIx32 ";", s->threads->at[s->threads->moved].task);
}

static void move(struct server *s, struct gdb_thread *thread, enum gdb_move how, bool alone)
{
	struct gdb_hit hit;
	gdb_notes_progress(&s->notes, &s->threads->history);
	gdb_threads_move(s->threads, thread, how, alone, &hit);
	s->shown = &s->threads->at[s->threads->moved];
	gdb_notes_moved(&s->notes, how == GDB_STEP || how == GDB_STEP_BACK);
	put_stop(s, &hit);
}

/* By "Hc" and the older packets, which are all that gdb has for going back. */
static void move_chosen(struct server *s, enum gdb_move how)
{
	move(s, s->continued ? s->continued : s->shown, how, s->continued);
}

/* "vCont;ACTION[:THREAD]...": the first action that fits a thread is its own. One thread steps at
 * most; it moves alone where no action is everybody's. */
static void move_by_actions(struct server *s)
{
	struct gdb_thread *named = NULL;
	bool steps = false, all = false;
	for (char *a = strchr(s->packets.text, ';'); a; a = strchr(a + 1, ';')) {
		size_t len = strcspn(a + 1, ";");
		const char *colon = memchr(a + 1, ':', len);
		long id = colon ? strtol(colon + 1, NULL, 16) : -1;
		bool step = a[1] == 's' || a[1] == 'S';
		struct gdb_thread *thread = id > 0 ? gdb_threads_find(s->threads, id) : NULL;
		all |= id <= 0;
		if (!named || (step && !steps))
			named = thread ? thread : step ? s->shown : named;
		steps |= step;
	}
	move(s, named ? named : s->shown, steps ? GDB_STEP : GDB_FORWARD, !all);
}

static void breakpoint(struct server *s)
{
	unsigned kind;
	uint64_t addr, len;
	const char *t = s->packets.text;
	struct gdb_history *h = &s->threads->history;
	if (sscanf(t + 1, "%u,%" SCNx64 ",%" SCNx64, &kind, &addr, &len) != 3 || kind > 4)
		return;
	int err = t[0] == 'Z' ? gdb_history_watch(h, kind, addr, len)
			      : gdb_history_unwatch(h, kind, addr, len);
	put(s, err ? "E0c" : "OK");
}

/* --- packets --------------------------------------------------------------------------------- */

static void put_supported(struct server *s, const char *rest)
{
	(void)rest;
	put(s,
	    "PacketSize=%x;ReverseStep+;ReverseContinue+;qXfer:auxv:read+;"
	    "qXfer:exec-file:read+;qXfer:features:read+;vContSupported+",
	    GDB_READ_MAX);
}

static void put_description(struct server *s, const char *window)
{
	gdb_packets_put_part(&s->packets, s->description, strlen(s->description), window);
}

static void put_exec(struct server *s, const char *rest)
{
	const char *window = strchr(rest, ':');
	gdb_packets_put_part(&s->packets, s->program->path, strlen(s->program->path),
			     window ? window + 1 : "");
}

static void put_auxv(struct server *s, const char *window)
{
	enum { ENTRY = 9 };
	const uint64_t auxv[4] = {ENTRY, s->program->entry, 0, 0};
	gdb_packets_put_part(&s->packets, (const char *)auxv, sizeof(auxv), window);
}

/* Whether a struct link_map is the program's: its name is empty. */
static bool is_of_program(struct server *s, struct value_run *run, uint64_t link_map)
{
	enum { L_NAME = 8 };
	struct value_run *moved = s->threads->at[s->threads->moved].run;
	uint8_t bytes[8], quality[8], end, known;
	uint64_t name;

	gdb_state_read(moved, run, link_map + L_NAME, sizeof(bytes), bytes, quality);
	for (size_t i = 0; i < sizeof(quality); i++)
		if (quality[i] >= VALUE_UNKNOWN)
			return false;
	memcpy(&name, bytes, sizeof(name));
	gdb_state_read(moved, run, name, 1, &end, &known);
	return known < VALUE_UNKNOWN && !end;
}

/* THREAD,OFFSET,LINK_MAP: where a thread has a variable of its own. That of a library has no place
 * that is known. */
static void put_thread_local(struct server *s, const char *rest)
{
	uint64_t id, offset, link_map;
	struct gdb_thread *thread = NULL;

	if (sscanf(rest, "%" SCNx64 ",%" SCNx64 ",%" SCNx64, &id, &offset, &link_map) == 3 &&
	    id <= UINT32_MAX)
		thread = gdb_threads_find(s->threads, (uint32_t)id);
	struct value_run *run = thread ? gdb_threads_run(s->threads, thread) : NULL;
	if (!run || !s->program->has_block || !is_of_program(s, run, link_map))
		put(s, "E01");
	else
		put(s, "%" PRIx64,
		    value_machine_state(value_run_machine(run))->gpr[VALUE_FS] -
			    s->program->block_offset + offset);
}

static void put_current(struct server *s, const char *rest)
{
	(void)rest;
	put(s, "QC%" PRIx32, s->shown->task);
}

static void put_first_threads(struct server *s, const char *rest)
{
	(void)rest;
	put_threads(s);
}

static void put_no_more(struct server *s, const char *rest)
{
	(void)rest;
	put(s, "l");
}

/* "monitor COMMAND", in hexadecimal; so is the answer. */
static void put_monitor(struct server *s, const char *hex)
{
	const struct gdb_place place = {s->threads->at[s->threads->moved].run,
					gdb_threads_run(s->threads, s->shown), s->shown->task};
	char command[256], *text = NULL;
	size_t len;

	gdb_packets_text(hex, command, sizeof(command));
	FILE *out = open_memstream(&text, &len);
	if (!out) {
		put(s, "E0c");
		return;
	}
	gdb_monitor_answer(&place, command, out);
	fclose(out);
	gdb_packets_put_output(&s->packets, text, len);
	free(text);
}

static void put_attached(struct server *s, const char *rest)
{
	(void)rest;
	put(s, "1");
}

static void put_moves(struct server *s, const char *rest)
{
	(void)rest;
	put(s, "vCont;c;C;s;S");
}

static void move_several(struct server *s, const char *rest)
{
	(void)rest;
	move_by_actions(s);
}

static const struct {
	const char *begin;
	void (*answer)(struct server *s, const char *rest);
} queries[] = {
	{"qSupported", put_supported},
	{"qXfer:features:read:target.xml:", put_description},
	{"qXfer:exec-file:read:", put_exec},
	{"qXfer:auxv:read::", put_auxv},
	{"qfThreadInfo", put_first_threads},
	{"qsThreadInfo", put_no_more},
	{"qThreadExtraInfo,", put_thread_info},
	{"qGetTLSAddr:", put_thread_local},
	{"qAttached", put_attached},
	{"qRcmd,", put_monitor},
	{"qC", put_current},
	{"vCont?", put_moves},
	{"vCont;", move_several},
};

/* The empty reply to what is not among them: not supported. */
static void query(struct server *s)
{
	const char *t = s->packets.text;
	for (size_t i = 0; i < sizeof(queries) / sizeof(*queries); i++) {
		size_t n = strlen(queries[i].begin);
		if (strncmp(t, queries[i].begin, n) != 0 ||
		    (!strcmp(queries[i].begin, "qC") && t[n]))
			continue;
		queries[i].answer(s, t + n);
		return;
	}
}

/* False: gdb has let go. */
static bool answer(struct server *s)
{
	const struct gdb_hit here = {.why = GDB_HIT_STEP};
	const char *t = s->packets.text;
	switch (t[0]) {
	case '?':
		put_stop(s, &here);
		break;
	case 'g':
		put_registers(s);
		break;
	case 'm':
		put_memory(s);
		break;
	case 'q':
	case 'v':
		query(s);
		break;
	case 'Z':
	case 'z':
		breakpoint(s);
		break;
	case 's':
		move_chosen(s, GDB_STEP);
		break;
	case 'c':
		move_chosen(s, GDB_FORWARD);
		break;
	case 'b':
		move_chosen(s, t[1] == 's' ? GDB_STEP_BACK : GDB_BACK);
		break;
	case 'H':
		choose_thread(s);
		break;
	case 'T':
		put_alive(s);
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
		gdb_notes_unchanged(&s->notes);
		put(s, "E1e"); /* EROFS */
		break;
	default:
		break; /* the empty reply: not supported */
	}
	return true;
}

/* gdb begins a session with this once, and says it again where the answer takes it too long, as the
 * opening of a recording may: the second one wants no answer. */
static bool is_greeting_again(struct server *s)
{
	bool greeting = !strncmp(s->packets.text, "qSupported", 10);
	bool again = greeting && s->greeted;
	s->greeted |= greeting;
	return again;
}

int gdb_serve(struct gdb_threads *threads, int in, int out, int notes,
	      const struct gdb_program *program)
{
	struct server *s = calloc(1, sizeof(*s));
	char *description = gdb_state_description();
	if (!s || !description) {
		free(s);
		free(description);
		return -ENOMEM;
	}
	s->packets.in = in;
	s->packets.out = out;
	s->notes.out = notes;
	s->threads = threads;
	s->shown = &threads->at[threads->moved];
	s->program = program;
	s->description = description;
	int err = 0;
	bool goes_on = true;
	while (goes_on && gdb_packets_receive(&s->packets)) {
		if (is_greeting_again(s))
			continue;
		goes_on = answer(s);
		err = gdb_packets_flush(&s->packets);
		if (!goes_on && !err && s->packets.text[0] == 'D')
			gdb_packets_wait(&s->packets);
		goes_on = goes_on && !err;
	}
	free(description);
	free(s);
	return err == -EPIPE ? 0 : err;
}
