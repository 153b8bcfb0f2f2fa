// SPDX-License-Identifier: LGPL-2.1-or-later
/* value_watch.c: by the addresses of a trace. What functions outside and the kernel have written is
 * seen by the bytes, which are compared where control comes back. */
#include "user/values/show/value_watch.h"

#include "offline/base/vec.h"
#include "offline/eval/string_ranges.h"
#include "user/cli/printable.h"
#include "user/values/show/value_texts.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCKS = 1 << 15, VALUES = 1 << 20, WATCH_MAX = 64 };

struct access {
	uint64_t count, ip;
	bool write;
	char by[48]; /* who outside; "": the instruction */
	uint8_t bytes[WATCH_MAX];
};

struct watch {
	struct value_run *run;
	uint64_t addr, len, limit, total;
	uint64_t count;
	VEC(struct access) seen;
	uint8_t last[WATCH_MAX];
	struct value_trace trace;
	size_t done, done_addresses; /* of the trace: what was looked at */
	bool down;		     /* the direction flag, there */
	int err;
};

static int read_range(struct value_names *names, const char *text, uint64_t *addr, uint64_t *len,
		      struct pugmark_diag *diag)
{
	char *end;

	*len = 8;
	if (!strncmp(text, "0x", 2)) {
		*addr = strtoull(text, &end, 16);
		if (*end == ':')
			*len = strtoull(end + 1, &end, 0);
		if (!*end && *len && *len <= WATCH_MAX)
			return 0;
		return pugmark_diag_set(
			diag, -EINVAL, text, PUGMARK_NO_OFFSET,
			"--watch wants 0xADDRESS, with :LENGTH up to %d, or a variable", WATCH_MAX);
	}
	if (!value_names_variable(names, text, addr, len))
		return pugmark_diag_set(diag, -ENOENT, text, PUGMARK_NO_OFFSET,
					"no such variable in the symbols of what was traced");
	*len = !*len ? 8 : *len < WATCH_MAX ? *len : WATCH_MAX;
	return 0;
}

static void note(struct watch *w, uint64_t count, uint64_t ip, bool write, const char *by)
{
	w->total++;
	if (w->seen.n == w->limit || w->err)
		return;
	struct access a = {.count = count, .ip = ip, .write = write};
	snprintf(a.by, sizeof(a.by), "%s", by);
	if (!VEC_PUSH(&w->seen, a))
		w->err = -ENOMEM;
}

static bool overlaps(const struct watch *w, uint64_t addr, uint64_t len)
{
	return addr < w->addr + w->len && w->addr < addr + len;
}

/* The addresses of one instruction, from @at on. */
static void take_insn(struct watch *w, const struct value_insn *insn, const uint64_t *at,
		      uint64_t count)
{
	if (insn->kind == VALUE_INSN_STRING) {
		struct value_range ranges[2];
		unsigned n = value_string_ranges(insn, at, w->down, ranges);

		for (unsigned i = 0; i < n; i++)
			if (overlaps(w, ranges[i].addr, ranges[i].len))
				note(w, count, insn->ip, ranges[i].write, "");
		return;
	}
	for (int i = 0; i < insn->n_mem && i < insn->n_addresses; i++) {
		const struct value_place *p = &insn->mem[i];

		if (!overlaps(w, at[i], p->len))
			continue;
		if (p->read)
			note(w, count, insn->ip, false, "");
		if (p->write)
			note(w, count, insn->ip, true, "");
	}
}

static void take_trace(struct watch *w)
{
	const struct value_trace *t = &w->trace;

	for (; w->done < t->n_blocks; w->done++) {
		const struct value_block *b =
			value_machine_block(value_run_machine(w->run), t->blocks[w->done]);

		for (uint16_t k = 0; k < b->n_insns; k++) {
			const struct value_insn *insn = &b->insns[k];

			if (w->done_addresses + insn->n_addresses > t->n_addresses)
				return; /* the last block was left in its middle */
			if (insn->n_addresses)
				take_insn(w, insn, t->addresses + w->done_addresses, w->count + k);
			w->done_addresses += insn->n_addresses;
			w->down = value_insn_down(insn, w->down);
		}
		w->count += b->n_insns;
	}
}

static bool look(struct watch *w, uint8_t *out)
{
	memset(out, 0, WATCH_MAX);
	return !value_memory_read(value_machine_memory(value_run_machine(w->run)), w->addr, out,
				  w->len, NULL);
}

static void crossing(void *ctx, struct value_run *run, enum value_crossing what,
		     const struct capture *capture, const char *import)
{
	struct watch *w = ctx;
	uint8_t now[WATCH_MAX];

	take_trace(w);
	w->count = value_run_count(run); /* some instructions are in no trace */
	w->down = value_machine_state(value_run_machine(run))->df;
	look(w, now);
	if (what != VALUE_CROSSING_CALL && memcmp(now, w->last, w->len))
		note(w, value_run_count(run), capture ? capture->ip : 0, true,
		     what == VALUE_CROSSING_KERNEL ? "the kernel"
		     : import			   ? import
						   : "outside");
	memcpy(w->last, now, w->len);
}

static int collect(struct watch *w)
{
	struct value_trace *t = &w->trace;
	*t = (struct value_trace){
		.blocks = malloc(BLOCKS * sizeof(*t->blocks)),
		.addresses = malloc(VALUES * sizeof(*t->addresses)),
		.results = malloc(VALUES * sizeof(*t->results)),
		.max_blocks = BLOCKS,
		.max_addresses = VALUES,
		.max_results = VALUES,
	};
	enum value_replay_stop stop = VALUE_REPLAY_TRACE_FULL;

	if (!t->blocks || !t->addresses || !t->results)
		w->err = -ENOMEM;
	look(w, w->last);
	value_run_crossings(w->run, crossing, w);
	while (!w->err && stop == VALUE_REPLAY_TRACE_FULL) {
		w->count = value_run_count(w->run);
		w->down = value_machine_state(value_run_machine(w->run))->df;
		t->n_blocks = t->n_addresses = t->n_results = w->done = w->done_addresses = 0;
		stop = value_run_forward(w->run, UINT64_MAX / 4, t);
		take_trace(w);
	}
	value_run_crossings(w->run, NULL, NULL);
	free(t->blocks);
	free(t->addresses);
	free(t->results);
	if (stop == VALUE_REPLAY_NO_MEMORY)
		w->err = -ENOMEM;
	return stop;
}

static int by_count(const void *a, const void *b)
{
	const struct access *x = a, *y = b;

	if (x->count != y->count)
		return x->count < y->count ? -1 : 1;
	return x->write - y->write;
}

static void print_bytes(const struct watch *w)
{
	uint8_t bytes[WATCH_MAX], quality = VALUE_EXACT;

	if (value_memory_read(value_machine_memory(value_run_machine(w->run)), w->addr, bytes,
			      w->len, &quality)) {
		putchar('?');
		return;
	}
	for (uint64_t i = 0; i < w->len; i++)
		printf("%02x", bytes[i]);
	if (quality)
		putchar(quality == VALUE_ASSUMED ? '~' : '?');
}

static void print_access(const struct watch *w, const struct value_names *names, uint32_t task,
			 const struct access *a, bool json, bool first)
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
	print_bytes(w);
	fputs(json ? "\"}" : "\n", stdout);
}

int value_watch_print(struct value_replay *replay, struct value_names *names, uint32_t task,
		      const struct values_options *o, bool *first, bool *partial,
		      struct pugmark_diag *diag)
{
	struct watch w = {.limit = o->limit};
	int err = read_range(names, o->watch, &w.addr, &w.len, diag);

	if (!err)
		err = value_run_new(replay, task, &w.run, diag);
	if (err)
		return value_text_no_run(task, err, diag, partial);
	int stop = collect(&w);
	*partial |= stop == VALUE_REPLAY_GAP;
	if (!w.err && value_run_seek(w.run, 0) != VALUE_REPLAY_LIMIT)
		w.err = -EIO;
	if (w.seen.n)
		qsort(w.seen.at, w.seen.n, sizeof(*w.seen.at), by_count);
	for (uint64_t i = 0; !w.err && i < w.seen.n; i++) {
		/* What a write leaves is there behind it. */
		uint64_t to = w.seen.at[i].count + (w.seen.at[i].write && !*w.seen.at[i].by);

		if (to > value_run_count(w.run))
			value_run_forward(w.run, to, NULL);
		else if (to < value_run_count(w.run))
			value_run_seek(w.run, to);
		print_access(&w, names, task, &w.seen.at[i], o->json, *first);
		*first = false;
	}
	if (!w.err)
		value_text_more(task, w.total - w.seen.n, o->json, first);
	VEC_FREE(&w.seen);
	value_run_free(w.run);
	return w.err ? pugmark_diag_set(diag, w.err, o->dir, PUGMARK_NO_OFFSET, "%s",
					strerror(-w.err))
		     : 0;
}
