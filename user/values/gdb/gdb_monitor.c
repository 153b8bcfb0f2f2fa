// SPDX-License-Identifier: LGPL-2.1-or-later
/* gdb_monitor.c: see gdb_monitor.h. Commands are rows of a table. */
#include "user/values/gdb/gdb_monitor.h"

#include "user/values/gdb/gdb_packets.h"
#include "user/values/gdb/gdb_state.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static const char *const words[] = {"exact", "assumed", "not known"};

/* --- registers ------------------------------------------------------------------------------- */

static const char *const general[] = {"rax", "rcx", "rdx", "rbx", "rsp", "rbp", "rsi", "rdi",
				      "r8",  "r9",  "r10", "r11", "r12", "r13", "r14", "r15"};

/* All of them are as good as the branch that led here. */
static uint8_t quality_of(const struct value_machine *m, uint64_t bits)
{
	uint8_t quality = value_quality(m, bits);

	return !quality && value_machine_memory((struct value_machine *)m)->on_supposition
		       ? VALUE_ASSUMED
		       : quality;
}

static const struct {
	const char *name;
	uint64_t bits;
} groups[] = {
	{"flags", (uint64_t)1 << VALUE_BIT_FLAGS},
	{"x87", (uint64_t)1 << VALUE_BIT_X87},
	{"vectors", ((uint64_t)0xffff << VALUE_BIT_VEC) | (uint64_t)0xffff << VALUE_BIT_HIGH},
};

/* @x87: with that group. */
static unsigned list_registers(const struct value_machine *m, uint8_t quality, bool x87, FILE *out)
{
	unsigned n = 0;

	for (unsigned i = 0; i < 16; i++)
		if (quality_of(m, (uint64_t)1 << i) == quality)
			fprintf(out, "%s%s", n++ ? ", " : "", general[i]);
	for (size_t i = 0; i < sizeof(groups) / sizeof(*groups); i++)
		if (quality_of(m, groups[i].bits) == quality && (x87 || groups[i].name[0] != 'x'))
			fprintf(out, "%s%s", n++ ? ", " : "", groups[i].name);
	return n;
}

unsigned gdb_monitor_assumed(const struct value_machine *m, char *out, size_t room)
{
	FILE *text = fmemopen(out, room, "w");
	unsigned n = text ? list_registers(m, VALUE_ASSUMED, false, text) : 0;

	*out = n ? *out : '\0';
	if (text)
		fclose(text);
	out[room - 1] = '\0';
	return n;
}

static void tell_registers(const struct gdb_place *place, FILE *out)
{
	if (!place->own) {
		fputs("nothing is known of this thread\n", out);
		return;
	}
	fprintf(out, "registers of task %" PRIu32 ", which gdb has asked for last:\n", place->task);
	for (unsigned q = 0; q < sizeof(words) / sizeof(*words); q++) {
		fprintf(out, "%s: ", words[q]);
		if (!list_registers(value_run_machine(place->own), q, true, out))
			fputs("none", out);
		fputc('\n', out);
	}
}

/* --- memory ---------------------------------------------------------------------------------- */

static void tell_memory(const struct gdb_place *place, uint64_t addr, uint64_t len, FILE *out)
{
	enum { MOST = 1 << 20 };
	uint8_t bytes[GDB_READ_MAX], quality[GDB_READ_MAX];
	uint64_t from = addr, end;
	uint8_t last = 0;

	if (__builtin_add_overflow(addr, len < MOST ? len : MOST, &end))
		end = UINT64_MAX;
	for (uint64_t at = addr, n; at < end; at += n) {
		n = end - at < GDB_READ_MAX ? end - at : GDB_READ_MAX;
		gdb_state_read(place->moved, place->own, at, n, bytes, quality);
		for (uint64_t i = 0; i < n; i++) {
			if (at + i > addr && quality[i] != last) {
				fprintf(out, "0x%" PRIx64 ", %" PRIu64 " bytes: %s\n", from,
					at + i - from, words[last]);
				from = at + i;
			}
			last = quality[i] < VALUE_UNKNOWN ? quality[i] : VALUE_UNKNOWN;
		}
	}
	fprintf(out, "0x%" PRIx64 ", %" PRIu64 " bytes: %s\n", from, end - from, words[last]);
	if (len > MOST)
		fprintf(out, "(no more than %d bytes are looked at)\n", MOST);
}

/* --- commands -------------------------------------------------------------------------------- */

static void exactness(const struct gdb_place *place, const char *rest, FILE *out)
{
	char *end;

	if (!*rest) {
		tell_registers(place, out);
		return;
	}
	uint64_t addr = strtoull(rest, &end, 0), len = 8;
	bool ok = end != rest;
	rest = end + strspn(end, " ,");
	if (*rest)
		len = strtoull(rest, &end, 0);
	ok = ok && !end[strspn(end, " ")] && len;
	if (ok)
		tell_memory(place, addr, len, out);
	else
		fputs("exactness wants numbers, ADDRESS and LENGTH: gdb computes them in\n"
		      "  eval \"monitor exactness %lu %lu\", &VARIABLE, sizeof(VARIABLE)\n",
		      out);
}

static void where(const struct gdb_place *place, const char *rest, FILE *out)
{
	(void)rest;
	if (!place->own) {
		fputs("nothing is known of this thread\n", out);
		return;
	}
	const struct value_gap *gap = value_run_gap(place->own);
	uint64_t count = value_run_count(place->own);

	fprintf(out, "task %" PRIu32 ", behind %" PRIu64 " of its instructions\n", place->task,
		count);
	if (value_machine_memory(value_run_machine(place->own))->on_supposition)
		fputs("a branch on something assumed has led here: all is assumed until a record "
		      "agrees\n",
		      out);
	if (*gap->text && gap->count == count)
		fprintf(out, "values end here: %s\n", gap->text);
}

static void help(const struct gdb_place *place, const char *rest, FILE *out);

static const struct {
	const char *name, *says;
	void (*answer)(const struct gdb_place *place, const char *rest, FILE *out);
} commands[] = {
	{"exactness", "which registers are exact, assumed, not known; ADDRESS LENGTH: which bytes",
	 exactness},
	{"where", "how far the thread has come, and whether a branch on something assumed led here",
	 where},
	{"help", "this", help},
};

static void help(const struct gdb_place *place, const char *rest, FILE *out)
{
	(void)place, (void)rest;
	for (size_t i = 0; i < sizeof(commands) / sizeof(*commands); i++)
		fprintf(out, "monitor %-10s %s\n", commands[i].name, commands[i].says);
}

void gdb_monitor_answer(const struct gdb_place *place, const char *command, FILE *out)
{
	command += strspn(command, " ");
	size_t len = strcspn(command, " ");

	for (size_t i = 0; i < sizeof(commands) / sizeof(*commands); i++)
		if (len == strlen(commands[i].name) && !strncmp(command, commands[i].name, len)) {
			commands[i].answer(place, command + len + strspn(command + len, " "), out);
			return;
		}
	fputs("there is:\n", out);
	help(place, "", out);
}
