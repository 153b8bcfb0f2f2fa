// SPDX-License-Identifier: LGPL-2.1-or-later
/* truth.c: the evaluator against the processor. A real program is stepped by ptrace; the evaluator
 * runs beside it from the same state, and all registers are compared before each instruction (or,
 * with -c N, every N instructions at most, so that whole blocks run). What happens outside the
 * chosen module, and in the kernel, is taken from the stepped process.
 *
 *   truth [-n STEPS] [-c CHUNK] [-m MODULE] [-i INPUT] [-s SKIP] PROGRAM [ARG...]
 *
 * MODULE: part of a path in the process's mappings (default: the program itself). SKIP: so many
 * instructions inside are only stepped, before the comparison begins. The program's standard output
 * goes to /dev/null. Exit 1: something was wrong. */
#include "offline/eval/machine.h"

#include "tests/value/stepped.h"

#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PAGES_MAX = 1 << 16, SHOWN = 12 };

struct run {
	struct stepped p;
	const char *module;
	struct value_memory memory;
	struct value_machine *m;
	uint64_t pages[PAGES_MAX];
	size_t n_pages;
	uint64_t steps, compared, wrong, syncs, unknown;
	uint16_t undefined; /* flags */
};

/* --- the evaluator's memory: the process's, page by page as it is touched ----------------------
 */

static int fill(void *ctx, const struct value_region *region, uint64_t addr, uint8_t *bytes,
		uint8_t *quality)
{
	struct run *r = ctx;
	(void)region;
	(void)quality;
	if (!stepped_read(&r->p, addr, bytes, VALUE_PAGE) || r->n_pages == PAGES_MAX)
		return -EFAULT;
	r->pages[r->n_pages++] = addr;
	return 0;
}

static void take_maps(struct run *r)
{
	char path[64], line[512];
	snprintf(path, sizeof(path), "/proc/%d/maps", r->p.pid);
	FILE *maps = fopen(path, "r");
	while (fgets(line, sizeof(line), maps)) {
		uint64_t start, end;
		char prot[8], name[256] = "";
		sscanf(line, "%lx-%lx %7s %*s %*s %*s %255s", &start, &end, prot, name);
		if (strstr(line, "[v"))
			continue;
		struct value_region region = {.start = start, .end = end, .source = 1, .prot = 3};
		const struct value_region *have = value_memory_region(&r->memory, start);
		if (!have || have->start != start || have->end != end) {
			value_memory_map(&r->memory, &region);
			for (size_t i = 0; i < r->n_pages; i++) /* read again when touched */
				while (i < r->n_pages && r->pages[i] >= start && r->pages[i] < end)
					r->pages[i] = r->pages[--r->n_pages];
		}
		if (prot[2] == 'x' && strstr(name, r->module) &&
		    !value_machine_is_code(r->m, start))
			value_machine_code(r->m, start, end);
	}
	fclose(maps);
}

static void take_pages(struct run *r)
{
	uint8_t now[VALUE_PAGE], had[VALUE_PAGE];
	for (size_t i = 0; i < r->n_pages; i++) {
		uint64_t addr = r->pages[i];
		if (!stepped_read(&r->p, addr, now, sizeof(now)))
			continue;
		if (value_memory_read(&r->memory, addr, had, sizeof(had), NULL))
			continue;
		if (memcmp(now, had, sizeof(now)))
			value_memory_write(&r->memory, addr, now, sizeof(now), VALUE_EXACT);
		value_memory_set_quality(&r->memory, addr, sizeof(now), VALUE_EXACT);
	}
}

/* --- registers ------------------------------------------------------------------------------- */

/* All from the process, exact. */
static void take_all(struct run *r)
{
	struct value_state *s = value_machine_state(r->m);
	stepped_registers(&r->p);
	for (int i = 0; i < 16; i++)
		s->gpr[i] = stepped_gpr(&r->p, i);
	s->gpr[VALUE_FS] = r->p.regs.fs_base;
	s->gpr[VALUE_GS] = r->p.regs.gs_base;
	s->rip = r->p.regs.rip;
	value_set_rflags(s, r->p.regs.eflags);
	for (int i = 0; i < 16; i++)
		stepped_vec(&r->p, i, s->vec[i]);
	s->mxcsr = stepped_mxcsr(&r->p);
	uint8_t x87[STEPPED_X87];
	stepped_x87(&r->p, x87);
	memcpy(s->fx, x87, 6);
	memcpy(s->fx + 32, x87 + 32, 128);
	value_machine_known(r->m)->inexact = 0;
	take_maps(r);
	take_pages(r);
	r->undefined = 0;
	r->syncs++;
}

static void wrong(struct run *r, uint64_t ip, const char *what, const char *format, ...)
	__attribute__((format(printf, 4, 5)));
static void wrong(struct run *r, uint64_t ip, const char *what, const char *format, ...)
{
	if (r->wrong++ >= SHOWN)
		return;
	const struct value_insn *insn = value_machine_insn(r->m, ip);
	char text[256];
	va_list args;
	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	printf("WRONG step %lu behind %lx %s: %s: %s\n", r->steps, ip,
	       insn ? ZydisMnemonicGetString(insn->mnemonic) : "?", what, text);
}

static void compare(struct run *r, uint64_t ip)
{
	const struct value_state *s = value_machine_state(r->m);
	uint64_t before = r->wrong;
	stepped_registers(&r->p);
	r->compared++;
	for (int i = 0; i < 16; i++) {
		uint8_t q = value_quality(r->m, (uint64_t)1 << i);
		r->unknown += q != 0;
		if (!q && s->gpr[i] != stepped_gpr(&r->p, i))
			wrong(r, ip, stepped_name(i), "%lx, is %lx", s->gpr[i],
			      stepped_gpr(&r->p, i));
	}
	if (s->rip != r->p.regs.rip)
		wrong(r, ip, "rip", "%lx, is %llx", s->rip, r->p.regs.rip);
	uint64_t differ = value_rflags(s) ^ r->p.regs.eflags;
	struct value_state undefined = {.flags = r->undefined};
	differ &= 0xcd5 & ~(value_rflags(&undefined) & 0x8d5);
	if (differ && !value_quality(r->m, (uint64_t)1 << VALUE_BIT_FLAGS))
		wrong(r, ip, "flags", "%lx, is %llx", value_rflags(s), r->p.regs.eflags);
	for (int i = 0; i < 16; i++) {
		uint8_t vec[32];
		stepped_vec(&r->p, i, vec);
		uint64_t bits = (uint64_t)0x10001 << (VALUE_BIT_VEC + i);
		if (memcmp(vec, s->vec[i], 32) && !value_quality(r->m, bits))
			wrong(r, ip, "vector", "register %d", i);
	}
	uint8_t x87[STEPPED_X87];
	stepped_x87(&r->p, x87);
	bool same = !memcmp(x87, s->fx, 6);
	for (int i = 0; i < 8; i++)
		same &= !memcmp(x87 + 32 + 16 * i, s->fx + 32 + 16 * i, 10);
	if (!same && !value_quality(r->m, (uint64_t)1 << VALUE_BIT_X87))
		wrong(r, ip, "x87", "differs");
	uint32_t mxcsr = stepped_mxcsr(&r->p);
	if (mxcsr != s->mxcsr && !value_quality(r->m, (uint64_t)1 << VALUE_BIT_MXCSR))
		wrong(r, ip, "mxcsr", "%x, is %x", s->mxcsr, mxcsr);
	if (r->wrong != before)
		take_all(r);
}

/* --- side by side ---------------------------------------------------------------------------- */

/* What the processor's manual leaves open of the flags, after @insn: processors differ in it. */
static void leave_open(struct run *r, const struct value_insn *insn)
{
	for (int i = 0; insn && i < insn->n_access; i++)
		if (insn->access[i].kind == VALUE_ACCESS_FLAGS && insn->access[i].write)
			r->undefined &= ~insn->access[i].mask;
	r->undefined |= insn ? insn->undefined : 0;
}

static bool follow(struct run *r, uint64_t n)
{
	for (uint64_t i = 0; i < n; i++) {
		uint64_t ip = stepped_ip(&r->p);
		const struct value_insn *insn = value_machine_insn(r->m, ip);
		if (!stepped_step(&r->p))
			return false;
		/* The processor stops after each turn of a rep. */
		while (insn && insn->kind == VALUE_INSN_STRING && stepped_ip(&r->p) == ip)
			if (!stepped_step(&r->p))
				return false;
		leave_open(r, insn);
		r->steps++;
	}
	return true;
}

static bool come_inside(struct run *r)
{
	while (!value_machine_is_code(r->m, stepped_ip(&r->p)))
		if (!stepped_step(&r->p))
			return false;
	return true;
}

static void side_by_side(struct run *r, uint64_t max, unsigned chunk)
{
	while (r->steps < max) {
		uint64_t from = value_machine_count(r->m), ip = value_machine_state(r->m)->rip;
		uint64_t want = chunk == 1 ? 1 : 1 + rand() % chunk;
		enum value_stop stop = value_machine_run(r->m, from + want, NULL);
		if (!follow(r, value_machine_count(r->m) - from))
			return;
		if (stop == VALUE_STOP_LIMIT) {
			compare(r, ip);
			continue;
		}
		if (stop != VALUE_STOP_OUTSIDE && stop != VALUE_STOP_SYSCALL) {
			if (stop != VALUE_STOP_CHANCE && !r->p.pass)
				wrong(r, value_machine_state(r->m)->rip, "stop", "%d", stop);
			if (!follow(r, 1))
				return;
		}
		if (!come_inside(r))
			return;
		take_all(r);
	}
}

int main(int argc, char **argv)
{
	struct run *r = calloc(1, sizeof(*r));
	uint64_t max = 100000, skip = 0;
	unsigned chunk = 1;
	const char *input = "/dev/null";
	int option;
	while ((option = getopt(argc, argv, "+n:c:m:i:s:")) != -1) {
		if (option == 'n')
			max = strtoull(optarg, NULL, 0);
		else if (option == 'c')
			chunk = atoi(optarg);
		else if (option == 'm')
			r->module = optarg;
		else if (option == 'i')
			input = optarg;
		else if (option == 's')
			skip = strtoull(optarg, NULL, 0);
		else
			return 2;
	}
	if (optind == argc)
		return 2;
	if (!r->module)
		r->module = strrchr(argv[optind], '/') ? strrchr(argv[optind], '/') : argv[optind];
	if (value_memory_init(&r->memory, fill, r))
		stepped_die("memory");
	r->m = value_machine_new(&r->memory);
	if (!r->m)
		stepped_die("memory");
	stepped_start(&r->p, argv + optind, input, "/dev/null");
	take_maps(r);
	if (come_inside(r) && (!skip || follow(r, skip))) {
		r->steps = 0;
		if (come_inside(r)) {
			take_all(r);
			side_by_side(r, max, chunk);
		}
	}
	uint64_t assumed, unknown;
	value_machine_inexact(r->m, &assumed, &unknown);
	printf("%s: %lu instructions, %lu comparisons, %lu wrong; %lu not computed; %lu times from "
	       "outside\n",
	       argv[optind], r->steps, r->compared, r->wrong, unknown, r->syncs);
	stepped_end(&r->p);
	value_machine_free(r->m);
	value_memory_deinit(&r->memory);
	bool fine = !r->wrong && r->compared;
	free(r);
	return !fine;
}
