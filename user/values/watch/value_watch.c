// SPDX-License-Identifier: LGPL-2.1-or-later
/* value_watch.c: see value_watch.h. Of a path through pointers each pointer is watched first, by a
 * run of its own: what it held, from when to when, says where the next part of the path was. */
#include "user/values/watch/value_watch.h"

#include "user/cli/printable.h"
#include "user/values/dwarf/value_registers.h"
#include "user/values/names/value_texts.h"
#include "user/values/types/value_types.h"
#include "user/values/watch/watch_run.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Of one pointer; what is kept of each takes about a hundred bytes. */
enum { POINTER_WRITES_MAX = 1 << 20 };

/* Back to the start, with accesses in their order. */
static void rewind_run(struct watch_run *w)
{
	if (!w->found.err && value_run_seek(w->run, 0) != VALUE_REPLAY_LIMIT)
		w->found.err = -EIO;
	watch_found_sort(&w->found);
}

/* When what an access has done can be read. */
static uint64_t moment_of(const struct watch_access *a)
{
	return a->count + (a->write && !*a->by);
}

/* --- pointers ----------------------------------------------------------------------------------
 */

static bool leads_to_the_same(const struct watch_span *a, const struct watch_span *b)
{
	return a->quality == b->quality && (a->quality >= VALUE_UNKNOWN || a->addr == b->addr);
}

/* Of spans that lead to the same the first is enough. */
static int put_span(struct watch_spans *out, const struct watch_span *s)
{
	if (out->n && leads_to_the_same(&out->at[out->n - 1], s))
		return 0;
	return VEC_PUSH(out, *s) ? 0 : -ENOMEM;
}

/* Reads the pointer at @place, and notes that from now on it leads to @off bytes behind that. */
static int add_span(struct value_run *run, const struct watch_place *place, uint64_t off,
		    struct watch_spans *out)
{
	struct watch_span s = {.from = value_run_count(run), .quality = place->quality};

	if (s.quality < VALUE_UNKNOWN) {
		uint8_t quality = VALUE_EXACT;

		if (value_memory_read(value_machine_memory(value_run_machine(run)), place->addr,
				      &s.addr, sizeof(s.addr), &quality))
			quality = VALUE_UNKNOWN;
		s.quality = quality > s.quality ? quality : s.quality;
		/* Nothing is where a null pointer leads. */
		s.quality = s.addr ? s.quality : VALUE_UNKNOWN;
		s.addr += off;
	}
	return put_span(out, &s);
}

/* Where the next part of the path is, by what the pointer held that @w has watched, before
 * instruction @end. */
static int follow_pointer(struct watch_run *w, uint64_t end, struct watch_spans *out)
{
	const struct watch_spans *own = w->spans;
	struct watch_place place = {.quality = own ? VALUE_UNKNOWN : VALUE_EXACT};
	uint32_t span = 0, i = 0;
	uint64_t off;
	int err = 0;

	value_watched_next(w->found.what, &off);
	if (!own)
		place = w->fixed.place;
	for (uint64_t at = 0; !err && at < end;) {
		uint64_t next = UINT64_MAX;

		for (; own && span < own->n && own->at[span].from <= at; span++)
			place = (struct watch_place){.addr = own->at[span].addr,
						     .quality = own->at[span].quality};
		for (; i < w->found.seen.n && moment_of(&w->found.seen.at[i]) <= at; i++)
			if (!own)
				place = w->found.seen.at[i].place;
		err = value_run_go(w->run, at);
		if (!err)
			err = add_span(w->run, &place, off, out);
		if (own && span < own->n)
			next = own->at[span].from;
		if (i < w->found.seen.n && moment_of(&w->found.seen.at[i]) < next)
			next = moment_of(&w->found.seen.at[i]);
		at = next;
	}
	return err;
}

/* Before which instruction all writes of a pointer are in @f, of a task of @n. */
static uint64_t all_seen_before(const struct watch_found *f, uint64_t n)
{
	return f->total > f->seen.n && f->seen.n ? f->seen.at[f->seen.n - 1].count : n;
}

/* From pointer to pointer, until what is watched is the end of the path. From instruction *@until
 * on nobody knows where a pointer leads that was written too often. */
static int follow_pointers(struct watch_run *w, struct watch_spans *spans, uint64_t *until)
{
	while (!w->found.err && w->found.what->points) {
		struct watch_spans next = {0};
		struct watch_run pass = {.run = w->run,
					 .spans = w->spans,
					 .found = {.what = w->found.what,
						   .writes_alone = true,
						   .limit = POINTER_WRITES_MAX}};

		watch_run_collect(&pass);
		uint64_t n = value_run_count(w->run) + 1;
		rewind_run(&pass);
		uint64_t end = all_seen_before(&pass.found, n);
		w->found.err = pass.found.err ? pass.found.err : follow_pointer(&pass, end, &next);
		if (!w->found.err && end < n) {
			*until = end < *until ? end : *until;
			w->found.err = put_span(
				&next, &(struct watch_span){.from = end, .quality = VALUE_UNKNOWN});
		}
		watch_run_deinit(&pass);
		VEC_FREE(spans);
		*spans = next;
		w->spans = spans;
		if (!w->found.err && value_run_seek(w->run, 0) != VALUE_REPLAY_LIMIT)
			w->found.err = -EIO;
	}
	return w->found.err;
}

/* --- printing ----------------------------------------------------------------------------------
 */

static void print_bytes(struct watch_run *w, const struct watch_access *a, bool json)
{
	enum { SHOWN = 64 };
	uint8_t bytes[SHOWN], quality;
	uint64_t len = watch_found_length(&w->found, &a->place), shown = len < SHOWN ? len : SHOWN;
	const struct value_registers registers = {.m = value_run_machine(w->run)};
	const struct value_part *part = a->place.call
						? &w->found.what->locals.at[a->place.local].part
					: w->found.what->typed ? &w->found.what->part
							       : NULL;
	struct value_part p = part ? *part : (struct value_part){0};
	struct value_memory *memory = value_machine_memory(registers.m);

	p.value = (struct value_bytes){.place = VALUE_IN_MEMORY,
				       .addr = a->place.addr - p.off,
				       .at_quality = a->place.quality};
	if (a->place.reg)
		value_registers_read(&registers, a->place.reg - 1, &p.value);
	quality = value_bytes_read(&p.value, memory, p.off, bytes, shown);
	if (quality >= VALUE_UNKNOWN)
		putchar('?');
	for (uint64_t i = 0; quality < VALUE_UNKNOWN && i < shown; i++)
		printf("%02x", bytes[i]);
	if (quality < VALUE_UNKNOWN)
		fputs(len > shown ? "..." : "", stdout);
	if (quality == VALUE_ASSUMED)
		putchar('~');
	if (json)
		putchar('"');
	if (part) {
		fputs(json ? ",\"value\":" : " = ", stdout);
		value_part_print(stdout, &p, memory, json ? VALUE_AS_JSON : VALUE_AS_TEXT);
	}
}

/* Where it was, if that is not always the same, or not the same for all tasks. */
static void print_place(const struct watch_run *w, const struct watch_place *p, bool json)
{
	static const char names[][4] = {"rax", "rdx", "rcx", "rbx", "rsi", "rdi", "rbp", "rsp",
					"r8",  "r9",  "r10", "r11", "r12", "r13", "r14", "r15"};

	if (!w->spans && w->found.what->kind == WATCHED_MEMORY)
		return;
	fputs(json ? ",\"place\":\"" : " in ", stdout);
	if (!p->reg)
		printf("0x%" PRIx64 "%s", p->addr, p->quality ? "~" : "");
	else if (p->reg - 1 < DWARF_GENERAL)
		fputs(names[p->reg - 1], stdout);
	else
		printf("xmm%u", p->reg - 1 - DWARF_XMM0);
	fputs(json ? "\"" : "", stdout);
	if (p->call)
		printf(json ? ",\"call\":%u" : ", call %u", p->call);
}

/* As print_bytes(), of what was there when outside wrote it. */
static void print_bytes_then(struct watch_run *w, const struct watch_access *a, bool json)
{
	struct value_memory *memory = value_machine_memory(value_run_machine(w->run));
	uint64_t len = watch_found_length(&w->found, &a->place);

	if (!a->bytes) {
		print_bytes(w, a, json);
		return;
	}
	struct value_snapshot now = value_memory_snapshot(memory);

	value_memory_write(memory, a->place.addr, a->bytes, len, VALUE_EXACT);
	value_memory_write_qualities(memory, a->place.addr, a->bytes + len, len);
	print_bytes(w, a, json);
	value_memory_restore(memory, &now);
	value_memory_forget(memory, &now);
}

static void print_access(struct watch_run *w, const struct value_names *names, uint32_t task,
			 const struct watch_access *a, bool json, bool first)
{
	uint32_t module;
	uint64_t elf = 0;
	const char *function = value_names_at(names, a->ip, &module, &elf);
	const char *who = *a->by ? a->by : function ? function : "?";

	printf(json ? "%s{\"task\":%u,\"at\":%" PRIu64 ",\"kind\":\"%s\",\"by\":\""
		    : "%s%u %" PRIu64 " %s ",
	       json && !first ? ",\n" : "", task, a->count, a->write ? "write" : "read");
	printable_print(stdout, who, json ? PRINT_JSON : PRINT_TEXT);
	printf(json ? "\",\"address\":\"%" PRIx64 "\",\"bytes\":\"" : " 0x%" PRIx64 " ", elf);
	print_bytes_then(w, a, json);
	print_place(w, &a->place, json);
	fputs(json ? "}" : "\n", stdout);
}

/* Where what was asked for could not be seen. */
static void tell_unseen(const struct watch_run *w, uint32_t task, const char *text, uint64_t until)
{
	uint64_t unknown = 0;
	bool nowhere =
		!w->mapped && !w->found.total && w->found.what->kind == WATCHED_MEMORY && !w->spans;

	for (uint32_t i = 0; w->spans && i < w->spans->n; i++)
		unknown += w->spans->at[i].quality >= VALUE_UNKNOWN;
	if (w->locals.apart) {
		fprintf(stderr, "pugmark: task %u: ", task);
		printable_print(stderr, text, PRINT_TEXT);
		fprintf(stderr,
			": %" PRIu64 " instructions of its function are not looked at, in calls "
			"that were open when the recording began or are on another stack\n",
			w->locals.apart);
	}
	if (!w->locals.nowhere && !unknown && !nowhere)
		return;
	fprintf(stderr, "pugmark: task %u: ", task);
	printable_print(stderr, text, PRINT_TEXT);
	if (nowhere)
		fputs(": nothing was mapped there at any time that is known\n", stderr);
	else if (w->locals.nowhere)
		fprintf(stderr,
			" was in no register and no memory of its own at %" PRIu64
			" of the %" PRIu64 " instructions where it can be named\n",
			w->locals.nowhere, w->locals.visible);
	else if (until != UINT64_MAX)
		fprintf(stderr,
			": a pointer on the way was written more than %d times: nothing is seen "
			"from instruction %" PRIu64 " on\n",
			POINTER_WRITES_MAX, until);
	else
		fprintf(stderr,
			": a pointer on the way was null or not known in %" PRIu64 " of %u spans\n",
			unknown, w->spans->n);
}

int value_watch_print(struct value_replay *replay, struct value_names *names, uint32_t task,
		      const struct values_options *o, bool *first, bool *partial,
		      struct pugmark_diag *diag)
{
	struct value_watched what;
	struct watch_spans spans = {0};
	struct watch_run w = {.found = {.limit = o->limit, .what = &what}};
	uint64_t until = UINT64_MAX;
	int err = value_watched_find(names, o->watch, &what, diag);

	if (err)
		return err;
	err = value_run_new(replay, task, &w.run, diag);
	if (err) {
		value_watched_deinit(&what);
		return value_text_no_run(task, err, diag, partial);
	}
	if (!follow_pointers(&w, &spans, &until)) {
		int stop = watch_run_collect(&w);

		*partial |= stop == VALUE_REPLAY_GAP || until != UINT64_MAX;
	}
	rewind_run(&w);
	for (uint32_t i = 0; !w.found.err && i < w.found.seen.n; i++) {
		w.found.err = value_run_go(w.run, moment_of(&w.found.seen.at[i]));
		if (w.found.err)
			break;
		print_access(&w, names, task, &w.found.seen.at[i], o->json, *first);
		*first = false;
	}
	if (!w.found.err)
		value_text_more(task, w.found.total - w.found.seen.n, o->json, first);
	if (!w.found.err)
		tell_unseen(&w, task, o->watch, until);
	watch_run_deinit(&w);
	VEC_FREE(&spans);
	value_watched_deinit(&what);
	value_run_free(w.run);
	return w.found.err ? pugmark_diag_set(diag, w.found.err, o->dir, PUGMARK_NO_OFFSET, "%s",
					      strerror(-w.found.err))
			   : 0;
}
