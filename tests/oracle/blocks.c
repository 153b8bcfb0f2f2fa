// SPDX-License-Identifier: LGPL-2.1-or-later
/* blocks.c: the blocks of the model that an executed program ran through, in order, as the `block`
 * lines of `pugmark dump --format text`:
 *
 *   blocks MODEL-TEXT MODULE-FILE TRACE-DIR
 *
 * QEMU's blocks are not the model's: they run through the start of one (something jumps there), end
 * early (page ends, system calls, 512 instructions), and come once for each round of a `rep`. So
 * what is printed are the starts of model blocks that lie in what was executed, each time that the
 * instruction there began. PLT stubs and code in no function or in an opaque one are left out. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model_text.h"
#include "module.h"
#include "trace.h"

/* The model's blocks that start in a block of QEMU's: model.blocks[first .. first + n). */
struct starts {
	uint32_t first, n;
};

static size_t lower_bound(const struct model_text *model, uint64_t addr)
{
	size_t lo = 0, hi = model->n_blocks;

	while (lo < hi) {
		size_t mid = (lo + hi) / 2;

		if (model->blocks[mid].addr < addr)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

static bool starts_insn(const struct tblock *b, uint64_t addr)
{
	uint64_t at = b->addr;

	for (unsigned i = 0; i < b->n_insns && at < addr; i++)
		at += b->lens[i];
	return at == addr;
}

static struct starts *find_starts(const struct model_text *model, const struct trace_blocks *blocks,
				  const struct module *module)
{
	struct starts *starts = calloc(blocks->n + 1, sizeof(*starts));

	for (uint32_t i = TRACE_FIRST_BLOCK; i < blocks->n; i++) {
		const struct tblock *b = &blocks->at[i];
		size_t first = lower_bound(model, b->addr), end = lower_bound(model, b->end);

		if (module_is_plt(module, b->addr))
			continue;
		for (size_t k = first; k < end; k++)
			if (!starts_insn(b, model->blocks[k].addr)) {
				fprintf(stderr, "blocks: %lx starts inside of an instruction\n",
					(unsigned long)model->blocks[k].addr);
				exit(2);
			}
		starts[i] = (struct starts){first, end - first};
	}
	return starts;
}

static uint64_t print_thread(struct trace_reader *reader, const struct trace_blocks *blocks,
			     const struct starts *starts, const struct model_text *model,
			     const char *prefix)
{
	const struct tblock *before = NULL;
	uint64_t n = 0;
	uint32_t record;

	while ((record = trace_reader_next(reader)) != TRACE_END) {
		bool own = trace_reader_own(reader);
		const struct tblock *b;

		if (record < TRACE_FIRST_BLOCK) {
			before = record == TRACE_OUTSIDE ? NULL : before;
			continue;
		}
		b = &blocks->at[record];
		if (b->kind == LAST_CALL || b->kind == LAST_CALL_IND)
			trace_reader_pushed(reader);
		bool again = before && before->kind == LAST_REP && b->addr == before->last;
		for (uint32_t k = 0; own && k < starts[record].n; k++) {
			uint64_t addr = model->blocks[starts[record].first + k].addr;

			if (again && addr == b->addr)
				continue;
			printf("%s%lx\n", prefix, (unsigned long)addr);
			n++;
		}
		before = b;
	}
	return n;
}

int main(int argc, char **argv)
{
	struct trace_thread *threads;
	struct model_text model;
	struct module module;
	uint64_t total = 0;
	const char *name;
	size_t n;

	if (argc != 4) {
		fprintf(stderr, "usage: blocks MODEL-TEXT MODULE-FILE TRACE-DIR\n");
		return 2;
	}
	setvbuf(stdout, NULL, _IOFBF, 1 << 18);
	model_text_open(argv[1], &model);
	if (module_open(argv[2], &module) || trace_threads(argv[3], &threads, &n) || !n) {
		fprintf(stderr, "blocks: %s: no module, or %s: no trace\n", argv[2], argv[3]);
		return 2;
	}
	name = strrchr(argv[2], '/') ? strrchr(argv[2], '/') + 1 : argv[2];
	for (size_t i = 0; i < n; i++) {
		struct trace_blocks blocks;
		struct trace_reader reader;
		char prefix[300];

		if (trace_blocks_open(argv[3], threads[i].pid, &blocks) ||
		    trace_reader_open(argv[3], &threads[i], blocks.n, &reader)) {
			fprintf(stderr, "blocks: %s: damaged\n", argv[3]);
			return 2;
		}
		snprintf(prefix, sizeof(prefix), "%zu block %s ", i, name);
		struct starts *starts = find_starts(&model, &blocks, &module);
		total += print_thread(&reader, &blocks, starts, &model, prefix);
		free(starts);
		trace_reader_close(&reader);
		trace_blocks_close(&blocks);
	}
	fprintf(stderr, "blocks: %zu threads, %lu blocks\n", n, (unsigned long)total);
	free(threads);
	module_close(&module);
	model_text_close(&model);
	return ferror(stdout) || fflush(stdout) ? 1 : 0;
}
