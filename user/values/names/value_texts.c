// SPDX-License-Identifier: LGPL-2.1-or-later
/* value_texts.c: see value_texts.h. */
#include "user/values/names/value_texts.h"

#include "user/cli/printable.h"

#include <errno.h>
#include <inttypes.h>

static void print_number(FILE *out, struct value_machine *m, unsigned reg)
{
	uint8_t quality = value_quality(m, 1ull << reg);

	if (quality == VALUE_UNKNOWN)
		fputc('?', out);
	else
		fprintf(out, "0x%" PRIx64 "%s", value_machine_state(m)->gpr[reg],
			quality ? "~" : "");
}

/* The arguments by the ABI, where nothing names them. */
static void print_arguments(FILE *out, struct value_machine *m)
{
	static const uint8_t regs[] = {VALUE_RDI, VALUE_RSI, VALUE_RDX};
	static const char *const names[] = {"rdi", "rsi", "rdx"};

	for (int i = 0; i < 3; i++) {
		fprintf(out, "%s%s=", i ? ", " : "", names[i]);
		print_number(out, m, regs[i]);
	}
}

void value_text_arguments(FILE *out, struct value_vars *vars, uint64_t elf, uint64_t bias,
			  bool entry, struct value_machine *m)
{
	uint32_t n =
		vars ? value_vars_print(vars, out, elf, bias, entry ? VARS_ARGUMENTS : VARS_ALL, m)
		     : 0;
	if (!n && entry && !vars)
		print_arguments(out, m);
}

bool value_text_result(FILE *out, struct value_vars *vars, uint64_t elf, struct value_machine *m)
{
	bool known = false, returns = true;

	if (vars)
		returns = value_vars_result(vars, out, elf, m, VALUE_AS_TEXT, &known);
	if (!known)
		print_number(out, m, VALUE_RAX);
	return returns;
}

void value_text_gap(uint32_t task, uint64_t count, const struct value_gap *gap, bool json,
		    bool *first)
{
	if (json) {
		printf("%s{\"task\":%" PRIu32 ",\"at\":%" PRIu64 ",\"gap\":", *first ? "" : ",\n",
		       task, count);
		printable_json(stdout, gap->text);
		putchar('}');
	} else {
		printf("task %" PRIu32 ": a gap after %" PRIu64 " instructions: ", task, count);
		printable_print(stdout, gap->text, PRINT_TEXT);
		putchar('\n');
	}
	*first = false;
}

void value_text_more(uint32_t task, uint64_t more, bool json, bool *first)
{
	if (!more)
		return;
	if (json)
		printf("%s{\"task\":%" PRIu32 ",\"more\":%" PRIu64 "}", *first ? "" : ",\n", task,
		       more);
	else
		printf("task %" PRIu32 ": %" PRIu64 " more (--limit)\n", task, more);
	*first = false;
}

int value_text_no_run(uint32_t task, int err, const struct pugmark_diag *diag, bool *partial)
{
	if (err != -ENODATA)
		return err;
	*partial = true;
	fprintf(stderr, "pugmark: task %" PRIu32 " is left out: ", task);
	printable_print(stderr, diag->text, PRINT_TEXT);
	fputc('\n', stderr);
	return 0;
}

bool value_text_damage(uint64_t bytes, uint32_t n_tasks, bool json, bool *first)
{
	if (!bytes && n_tasks)
		return false;
	if (json)
		printf("%s{\"damaged_bytes\":%" PRIu64 "}\n", *first ? "" : ",\n", bytes);
	else if (bytes)
		printf("%" PRIu64 " bytes of what was captured are damaged or cut: what they told "
		       "is not known, tasks may be missing\n",
		       bytes);
	else
		puts("what was captured is of no task");
	*first = false;
	return true;
}

bool value_text_rest(struct value_damage damage)
{
	if (damage.captures && damage.disk)
		fputs("pugmark: captures has no end: the recording ends where the disk was full\n",
		      stderr);
	else if (damage.captures)
		fputs("pugmark: captures has no end, or a part is missing: the recorder was "
		      "killed, had no room for more, or is still at it, or the file was damaged\n",
		      stderr);
	if (damage.meta)
		fputs("pugmark: meta.json is damaged or cut: names of files and functions may be "
		      "wrong or missing\n",
		      stderr);
	if (damage.events)
		fputs("pugmark: events is damaged or cut: tasks and what is known of their "
		      "processes may be missing\n",
		      stderr);
	return damage.captures || damage.meta || damage.events;
}
