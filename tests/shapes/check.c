// SPDX-License-Identifier: LGPL-2.1-or-later
/* check.c: tries shapes of instruction with and without a probe, and holds what differs against the
 * table of probe classes: it must refuse all of that, and all that could not be tried.
 *
 *   check [-lp] [-s EVERY] [-w KNOWN] [-r REFUSED] TABLE...
 *
 * TABLE is what gather wrote; -s: only each EVERYth of it; -w writes the shapes that are unharmed,
 * as offline/code/known_shapes.inc has them, -r the others and why. Exit status 1 where a class is
 * wrong. */
#include "offline/code/probe_class.h"
#include "offline/code/shape.h"
#include "user/shapes/shape_try.h"

#include <err.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

struct table {
	struct shape_case *cases;
	uint32_t n, files, prefixed; /* the last of them are combinations of prefixes */
};

static void add(struct table *t, const uint8_t *bytes, uint8_t len)
{
	if (!(t->n & (t->n - 1)) &&
	    !(t->cases = realloc(t->cases, (t->n ? 2 * t->n : 1) * sizeof(*t->cases))))
		err(1, NULL);
	t->cases[t->n] = (struct shape_case){.len = len};
	memcpy(t->cases[t->n++].bytes, bytes, len);
}

static void read_table(struct table *t, const char *path)
{
	char hex[64];
	unsigned files;
	FILE *f = fopen(path, "re");
	if (!f)
		err(1, "%s", path);
	if (fscanf(f, "# %u files%*[^\n]", &files) != 1)
		errx(1, "%s: no table of shapes", path);
	t->files += files;
	while (fscanf(f, "%30s %u", hex, &files) == 2) {
		uint8_t bytes[15], n = 0;
		for (; hex[2 * n] && n < sizeof(bytes); n++)
			if (sscanf(hex + 2 * n, "%2hhx", &bytes[n]) != 1)
				errx(1, "%s: %s is no instruction", path, hex);
		add(t, bytes, n);
	}
	fclose(f);
}

static bool decode(const struct shape_case *c, bool minimal, ZydisDecodedInstruction *insn)
{
	ZydisDecoder decoder;
	ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
	ZydisDecoderEnableMode(&decoder, ZYDIS_DECODER_MODE_MINIMAL, minimal);
	return ZYAN_SUCCESS(ZydisDecoderDecodeInstruction(&decoder, NULL, c->bytes, c->len, insn));
}

/* Each combination of prefixes before what the kernel emulates. */
static void add_prefixed(struct table *t)
{
	static const struct {
		uint8_t len, bytes[8];
	} emulated[] = {
		{5, {0xe8}},
		{5, {0xe9}},
		{2, {0xeb}},
		{2, {0x70}},
		{2, {0x71}},
		{2, {0x72}},
		{2, {0x73}},
		{2, {0x74}},
		{2, {0x75}},
		{2, {0x76}},
		{2, {0x77}},
		{2, {0x78}},
		{2, {0x79}},
		{2, {0x7a}},
		{2, {0x7b}},
		{2, {0x7c}},
		{2, {0x7d}},
		{2, {0x7e}},
		{2, {0x7f}},
		{6, {0x0f, 0x80}},
		{6, {0x0f, 0x84}},
		{6, {0x0f, 0x85}},
		{6, {0x0f, 0x8f}},
		{1, {0x50}},
		{1, {0x53}},
		{1, {0x54}},
		{1, {0x55}},
		{1, {0x57}},
		{1, {0x90}},
		{3, {0x0f, 0x1f, 0}},
		{4, {0x0f, 0x1f, 0x40}},
		{5, {0x0f, 0x1f, 0x44}},
		{7, {0x0f, 0x1f, 0x80}},
		{8, {0x0f, 0x1f, 0x84}},
		{3, {0x0f, 0x1e, 0xfa}},
		{3, {0x0f, 0x19, 0}},
		{3, {0x0f, 0x1c, 0}},
	};
	static const uint8_t legacy[] = {0x66, 0x67, 0xf2, 0xf3},
			     segments[] = {0, 0x64, 0x65, 0x2e};
	uint32_t before = t->n;
	for (size_t e = 0; e < sizeof(emulated) / sizeof(*emulated); e++) {
		for (unsigned combination = 1; combination < 16 * 4 * 17; combination++) {
			unsigned rex = combination / 64;
			struct shape_case c = {0};
			for (unsigned i = 0; i < 4; i++)
				if (combination >> i & 1)
					c.bytes[c.len++] = legacy[i];
			if (segments[combination / 16 % 4])
				c.bytes[c.len++] = segments[combination / 16 % 4];
			if (rex)
				c.bytes[c.len++] = (uint8_t)(0x3f + rex);
			ZydisDecodedInstruction insn;
			if (c.len + emulated[e].len > 15)
				continue;
			memcpy(c.bytes + c.len, emulated[e].bytes, emulated[e].len);
			c.len += emulated[e].len;
			if (decode(&c, false, &insn) && insn.length == c.len)
				add(t, c.bytes, c.len);
		}
	}
	t->prefixed = t->n - before;
}

static void print_case(const struct shape_case *c, const struct shape_verdict *v)
{
	ZydisDisassembledInstruction text;
	for (int i = 0; i < c->len; i++)
		printf("%02x", c->bytes[i]);
	if (ZYAN_SUCCESS(ZydisDisassembleATT(ZYDIS_MACHINE_MODE_LONG_64, 0x1000, c->bytes, c->len,
					     &text)))
		printf("  %s", text.text);
	printf(" :");
	for (int p = 0; p < N_PARTS; p++)
		if (v->differs >> p & 1)
			printf(" %s", shape_part_name(p));
	printf("%s%s\n", v->repeated ? " fires-again" : "", v->stuck ? " does-not-end" : "");
}

struct counts {
	uint32_t tried, skipped, untried, kernel_refuses, harmed, by_trap, wrong, only_by_trap;
	uint32_t part[N_PARTS], repeated, stuck;
};

static bool is_refused(const struct shape_case *c)
{
	ZydisDecodedInstruction insn;
	if (!decode(c, true, &insn))
		return true;
	enum pugmark_probe_class class = probe_class_of(&insn);
	return class == PUGMARK_PROBE_REFUSED || class == PUGMARK_PROBE_NOP5;
}

static bool is_usable(const struct shape_verdict *v)
{
	return !v->skipped && !v->untried && !v->refused && !v->stuck && !shape_is_harmed(v);
}

static void judge(struct counts *n, const struct shape_case *c, const struct shape_verdict *v,
		  bool list)
{
	bool harmed = shape_is_harmed(v), refused = is_refused(c);
	n->skipped += v->skipped;
	n->tried += !v->skipped;
	n->untried += v->untried;
	n->kernel_refuses += v->refused && !v->skipped;
	n->harmed += harmed;
	n->by_trap += v->under_trap != 0;
	n->only_by_trap += v->under_trap && !harmed;
	n->repeated += v->repeated;
	n->stuck += v->stuck;
	for (int p = 0; p < N_PARTS; p++)
		n->part[p] += v->differs >> p & 1;
	if (list && harmed)
		print_case(c, v);
	if (!is_usable(v) && !refused) {
		n->wrong++;
		printf("not refused, %s: ", harmed	 ? "and harmed"
					    : v->refused ? "and the kernel does"
					    : v->untried ? "and not in this processor"
							 : "and not tried");
		print_case(c, v);
	}
}

static int by_value(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
	return x < y ? -1 : x > y;
}

static void write_known(const char *path, const struct shape_case *cases,
			const struct shape_verdict *verdicts, uint32_t n)
{
	uint64_t *shapes = calloc(n + 1, sizeof(*shapes));
	uint32_t kept = 0;
	FILE *f = fopen(path, "we");
	if (!f || !shapes)
		err(1, "%s", path);
	for (uint32_t i = 0; i < n; i++) {
		ZydisDecodedInstruction insn;
		if (is_usable(&verdicts[i]) && decode(&cases[i], true, &insn))
			shapes[kept++] = shape_of(&insn);
	}
	qsort(shapes, kept, sizeof(*shapes), by_value);
	fprintf(f, "/* Shapes that a probe does not change, in ascending order: make known-shapes. "
		   "*/");
	for (uint32_t i = 0; i < kept; i++)
		fprintf(f, "%s0x%llx,", i % 6 ? " " : "\n", (unsigned long long)shapes[i]);
	fputc('\n', f);
	fclose(f);
	free(shapes);
}

/* What a verdict says, as bits of enum probe_finding; 0: nothing against a probe. */
static uint32_t findings_of(const struct shape_verdict *v)
{
	static const uint8_t of_part[N_PARTS] = {
		[0 ... PART_REGISTERS - 1] = PROBE_CHANGES_REGISTERS,
		[PART_RIP] = PROBE_CHANGES_RIP,
		[PART_FLAGS] = PROBE_CHANGES_FLAGS,
		[PART_SIGNAL... PART_TRAP_NUMBER] = PROBE_CHANGES_SIGNAL,
		[PART_SEGMENTS] = PROBE_CHANGES_SEGMENTS,
		[PART_MEMORY] = PROBE_CHANGES_MEMORY,
		[PART_X87] = PROBE_CHANGES_X87,
		[PART_X87_POINTERS] = PROBE_CHANGES_X87_POINTERS,
		[PART_MXCSR... PART_OTHER] = PROBE_CHANGES_VECTORS,
	};
	uint32_t found = 0;
	if (v->skipped)
		return 1u << PROBE_ENTERS_KERNEL;
	for (int p = 0; p < N_PARTS; p++)
		if (p != PART_TRAP_NUMBER && v->differs >> p & 1)
			found |= 1u << of_part[p];
	return found | (uint32_t)v->repeated << PROBE_FIRES_AGAIN |
	       (uint32_t)v->stuck << PROBE_DOES_NOT_END | (uint32_t)v->refused << PROBE_IS_REFUSED |
	       (uint32_t)v->untried << PROBE_NOT_TRIED;
}

/* Why the other shapes are refused, beside offline/code/known_shapes.inc. */
static void write_refused(const char *path, const struct shape_case *cases,
			  const struct shape_verdict *verdicts, uint32_t n)
{
	uint64_t *found = calloc(n + 1, sizeof(*found));
	uint32_t kept = 0;
	unsigned major = 0, minor = 0;
	struct utsname os;
	FILE *f = fopen(path, "we");
	if (!f || !found)
		err(1, "%s", path);
	for (uint32_t i = 0; i < n; i++) {
		ZydisDecodedInstruction insn;
		if (!is_usable(&verdicts[i]) && decode(&cases[i], true, &insn))
			found[kept++] = shape_of(&insn) << 16 | findings_of(&verdicts[i]);
	}
	qsort(found, kept, sizeof(*found), by_value);
	uname(&os);
	sscanf(os.release, "%u.%u", &major, &minor);
	fprintf(f,
		"/* Why no probe stands on these shapes, for who asks; none stands on any that is "
		"not in\n * known_shapes.inc. In ascending order: make known-shapes. */\n"
		"#define REFUSED_SHAPES_SEEN \"%u.%u\"",
		major, minor);
	for (uint32_t i = 0; i < kept; i++)
		fprintf(f, "%s0x%llx,", i % 6 ? " " : "\n", (unsigned long long)found[i]);
	fputc('\n', f);
	fclose(f);
	free(found);
}

int main(int argc, char **argv)
{
	struct table t = {0};
	struct shape_count count = {0};
	struct counts n = {0};
	struct pugmark_diag diag = {.text = ""};
	const char *known = NULL, *refused = NULL;
	bool list = false, combinations = false;
	uint32_t every = 1;
	int opt;
	while ((opt = getopt(argc, argv, "s:w:r:lp")) != -1) {
		if (opt == 's')
			every = (uint32_t)atoi(optarg);
		else if (opt == 'w')
			known = optarg;
		else if (opt == 'r')
			refused = optarg;
		else if (opt == 'l')
			list = true;
		else if (opt == 'p')
			combinations = true;
		else
			return 2;
	}
	if (optind == argc)
		errx(2, "usage: check [-lp] [-s EVERY] [-w KNOWN] [-r REFUSED] TABLE...");
	setvbuf(stdout, NULL, _IOLBF, 0);
	for (int i = optind; i < argc; i++)
		read_table(&t, argv[i]);
	uint32_t n_gathered = t.n;
	if (every > 1) {
		uint32_t kept = 0;
		for (uint32_t i = 0; i < t.n; i += every)
			t.cases[kept++] = t.cases[i];
		t.n = n_gathered = kept;
	}
	if (combinations)
		add_prefixed(&t);
	struct shape_verdict *verdicts = calloc(t.n, sizeof(*verdicts));
	if (!verdicts || shapes_try(t.cases, t.n, 42, verdicts, &count, &diag))
		errx(1, "%s", diag.text);
	for (uint32_t i = 0; i < t.n; i++)
		judge(&n, &t.cases[i], &verdicts[i], list);
	if (known)
		write_known(known, t.cases, verdicts, n_gathered);
	if (refused)
		write_refused(refused, t.cases, verdicts, n_gathered);
	struct utsname os;
	uname(&os);
	printf("Linux %s: %u shapes of %u files, %u combinations of prefixes; %llu runs in %.1f "
	       "s\n",
	       os.release, n_gathered, t.files, t.prefixed, (unsigned long long)count.runs,
	       count.seconds);
	printf("  not run, as they enter the kernel: %u; not in this processor: %u; refused by the "
	       "kernel: %u\n",
	       n.skipped, n.untried, n.kernel_refuses);
	printf("  changed by a probe: %u; fires more than once: %u; does not end: %u; otherwise "
	       "under the trap flag alone: %u\n",
	       n.harmed, n.repeated, n.stuck, n.only_by_trap);
	for (int p = 0; p < N_PARTS; p++)
		if (n.part[p])
			printf("    %s: %u\n", shape_part_name(p), n.part[p]);
	printf("  of these not refused by the table of probe classes: %u\n", n.wrong);
	free(t.cases);
	free(verdicts);
	return n.wrong != 0;
}
