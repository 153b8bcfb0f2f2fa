// SPDX-License-Identifier: LGPL-2.1-or-later
/* line_counts.c: see line_counts.h. gcov's rule, on the blocks of the machine code: each block has
 * a list of lines, and belongs to the last of them. A line that has blocks counts the executions
 * that enter these blocks from others, and the rounds of loops among them: executions of edges that
 * lead back in a depth-first walk. Any other line counts the executions of the blocks that it is
 * in.
 *
 * Two things make lines the same as gcov's. What a function does before its first statement belongs
 * to the line that declares it, where the line table has its opening brace. And a line that only
 * restores the caller's registers and returns (a closing brace) does not count. */
#include "user/view/lines/line_counts.h"

#include "offline/base/search.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "offline/base/vec.h"

/* A run of code in one block, of one line; of the block, the last of its runs. */
struct run {
	uint32_t file, line;
	uint32_t block; /* of the function */
	bool last;	/* of its block */
	bool leaves;	/* all it does is restore registers and return */
};

struct counter {
	const struct pugmark_model *model;
	const struct block_counts *counts;
	const struct dwarf_lines *source;
	const struct pugmark_func *func; /* at work */
	VEC(struct run) runs;		 /* of it, block by block; by line once sorted */
	/* Per block of the function. */
	uint32_t *line_of; /* the run that says which line it is of, or PUGMARK_NONE */
	uint64_t *entered; /* executions by no edge */
	uint8_t *colour;   /* of the walk: 0 new, 1 open, 2 done */
	uint32_t cap_blocks;
	VEC(uint32_t) stack;
	VEC(struct line_count) lines; /* in any order, and more than once */
	VEC(struct function_count) functions;
	bool failed;
};

static bool same_line(const struct run *a, const struct run *b)
{
	return a->line == b->line && a->file == b->file;
}

/* ---- which code is of which line ---- */

/* Whether an instruction moves the return value to its place, restores a register of the caller,
 * frees the frame, or returns. */
static bool leaves_frame(const uint8_t *b, size_t len)
{
	static const struct {
		uint8_t len, bytes[5];
	} starts[] = {
		{1, {0xc3}},			     /* ret */
		{2, {0xf2, 0xc3}},		     /* bnd ret */
		{2, {0xf3, 0xc3}},		     /* rep ret */
		{1, {0xc9}},			     /* leave */
		{3, {0x48, 0x83, 0xc4}},	     /* add $imm8, %rsp */
		{3, {0x48, 0x81, 0xc4}},	     /* add $imm32, %rsp */
		{3, {0x48, 0x8b, 0x5d}},	     /* mov disp8(%rbp), %rbx */
		{5, {0x66, 0x48, 0x0f, 0x6e, 0xc0}}, /* movq %rax, %xmm0: a double returns */
		{4, {0x66, 0x0f, 0x6e, 0xc0}},	     /* movd %eax, %xmm0: a float */
	};
	for (size_t i = 0; i < sizeof(starts) / sizeof(*starts); i++)
		if (len >= starts[i].len && !memcmp(b, starts[i].bytes, starts[i].len))
			return true;
	size_t pop = len && b[0] == 0x41; /* of r8 to r15 */
	return len == pop + 1 && b[pop] >= 0x58 && b[pop] <= 0x5f;
}

static void cut_block(struct counter *c, uint32_t index)
{
	const struct pugmark_block *b = &c->model->blocks[c->func->block + index];
	uint32_t first = c->runs.n;
	struct run now = {.block = index};
	for (uint32_t i = b->insn; i < b->insn + b->n_insns; i++) {
		uint64_t addr = c->model->text_addr + c->model->insns[i].off;
		const struct source_row *row = dwarf_lines_row_at(c->source, addr);
		size_t len;
		const uint8_t *bytes = pugmark_model_bytes(c->model, addr, &len);
		bool leaves = bytes && leaves_frame(bytes, c->model->insns[i].len);
		if (row && row->line) {
			now.file = row->file;
			now.line = row->line;
		} else if (i > b->insn) {
			continue; /* of the line before it */
		}
		struct run *last = c->runs.n > first ? &c->runs.at[c->runs.n - 1] : NULL;
		now.leaves = leaves;
		if (last && same_line(last, &now))
			last->leaves &= leaves;
		else if (!VEC_PUSH(&c->runs, now))
			c->failed = true;
	}
	uint32_t last = c->runs.n - 1;
	if (c->runs.n > first + 1 && c->runs.at[last].leaves)
		last--; /* gcov's block ends before that */
	if (c->runs.n > first)
		c->runs.at[last].last = true;
}

static const struct source_function *declaration(const struct counter *c)
{
	uint32_t n;
	const struct source_function *funcs = dwarf_lines_functions(c->source, &n);
	uint32_t lo = SEARCH_FIRST_NOT(0, n, i, funcs[i].addr < c->func->addr);
	return lo < n && funcs[lo].addr == c->func->addr && funcs[lo].line ? &funcs[lo] : NULL;
}

static int by_line(const void *a, const void *b)
{
	const struct run *x = a, *y = b;
	if (x->file != y->file)
		return x->file < y->file ? -1 : 1;
	if (x->line != y->line)
		return x->line < y->line ? -1 : 1;
	return x->block < y->block ? -1 : x->block > y->block;
}

static bool make_room(struct counter *c)
{
	uint32_t n = c->func->n_blocks;
	if (n <= c->cap_blocks)
		return true;
	free(c->line_of);
	free(c->entered);
	free(c->colour);
	c->cap_blocks = 2 * n;
	c->line_of = malloc(c->cap_blocks * sizeof(*c->line_of));
	c->entered = malloc(c->cap_blocks * sizeof(*c->entered));
	c->colour = malloc(c->cap_blocks);
	return c->line_of && c->entered && c->colour;
}

/* Cuts the function into runs, and sorts them by line. */
static void find_runs(struct counter *c)
{
	c->runs.n = 0;
	for (uint32_t i = 0; i < c->func->n_blocks; i++) {
		uint32_t block = c->func->block + i;
		bool dead = c->model->blocks[block].flags & PUGMARK_BLOCK_UNREACHED;
		c->line_of[i] = PUGMARK_NONE;
		c->colour[i] = 0;
		if (!dead || c->counts->blocks[block])
			cut_block(c, i);
	}
	const struct source_function *f = declaration(c);
	if (f && c->runs.n && !c->runs.at[0].block) {
		c->runs.at[0].file = f->file;
		c->runs.at[0].line = f->line;
	}
	if (c->runs.n && !c->failed)
		qsort(c->runs.at, c->runs.n, sizeof(*c->runs.at), by_line);
	for (uint32_t i = 0; i < c->runs.n; i++)
		if (c->runs.at[i].last)
			c->line_of[c->runs.at[i].block] = i;
}

/* ---- what flows ---- */

/* Finds how often each block was entered by no edge of the function. */
static void find_entered(struct counter *c)
{
	const struct pugmark_func *f = c->func;
	for (uint32_t i = 0; i < f->n_blocks; i++)
		c->entered[i] = c->counts->blocks[f->block + i];
	for (uint32_t i = 0; i < f->n_blocks; i++) {
		const struct pugmark_block *b = &c->model->blocks[f->block + i];
		for (uint32_t e = b->edge; e < b->edge + b->n_edges; e++) {
			uint64_t *in = &c->entered[c->model->edges[e].to - f->block];
			uint64_t n = c->counts->edges[e];
			*in -= n < *in ? n : *in;
		}
	}
}

static bool of_line(const struct counter *c, uint32_t block, const struct run *line)
{
	uint32_t run = c->line_of[block];
	return run != PUGMARK_NONE && same_line(&c->runs.at[run], line);
}

/* Counts executions of those edges among the blocks of @line that lead back in a walk from @start.
 * The stack holds pairs: a block, and how many of its edges are done. */
static uint64_t rounds(struct counter *c, const struct run *line, uint32_t start)
{
	const struct pugmark_func *f = c->func;
	uint64_t sum = 0;
	c->stack.n = 0;
	if (c->colour[start])
		return 0;
	c->colour[start] = 1;
	c->failed |= !VEC_PUSH(&c->stack, start) || !VEC_PUSH(&c->stack, 0);
	while (c->stack.n && !c->failed) {
		uint32_t at = c->stack.at[c->stack.n - 2], done = c->stack.at[c->stack.n - 1]++;
		const struct pugmark_block *b = &c->model->blocks[f->block + at];
		if (done == b->n_edges) {
			c->colour[at] = 2;
			c->stack.n -= 2;
			continue;
		}
		uint32_t to = c->model->edges[b->edge + done].to - f->block;
		if (!of_line(c, to, line))
			continue;
		if (c->colour[to] == 1)
			sum += c->counts->edges[b->edge + done];
		if (c->colour[to])
			continue;
		c->colour[to] = 1;
		c->failed |= !VEC_PUSH(&c->stack, to) || !VEC_PUSH(&c->stack, 0);
	}
	return sum;
}

/* How often @block was entered from blocks that are not of its line. */
static uint64_t inflow(const struct counter *c, const struct run *line, uint32_t block)
{
	uint64_t sum = c->counts->blocks[c->func->block + block];
	for (uint32_t i = 0; i < c->runs.n; i++) {
		/* only blocks of the line can take away from it; they are together */
		const struct run *r = line + i;
		if (r == c->runs.at + c->runs.n || !same_line(r, line))
			break;
		if (!r->last)
			continue;
		const struct pugmark_block *b = &c->model->blocks[c->func->block + r->block];
		for (uint32_t e = b->edge; e < b->edge + b->n_edges; e++)
			if (c->model->edges[e].to == c->func->block + block)
				sum -= c->counts->edges[e] < sum ? c->counts->edges[e] : sum;
	}
	return sum;
}

/* The line of the runs from @from to below @to. */
static void count_line(struct counter *c, uint32_t from, uint32_t to)
{
	const struct run *line = &c->runs.at[from];
	uint64_t executions = 0, flow = 0;
	bool owns = false, leaves = true;
	for (uint32_t i = from; i < to; i++) {
		const struct run *r = &c->runs.at[i];
		executions += c->counts->blocks[c->func->block + r->block];
		leaves &= r->leaves;
		if (r->last) {
			owns = true;
			flow += inflow(c, line, r->block);
		}
	}
	/* loops begin at blocks that are entered from elsewhere */
	for (int pass = 0; pass < 2 && owns; pass++)
		for (uint32_t i = from; i < to; i++) {
			const struct run *r = &c->runs.at[i];
			if (r->last && (pass || inflow(c, line, r->block)))
				flow += rounds(c, line, r->block);
		}
	struct line_count count = {line->file, line->line, owns ? flow : executions};
	if (line->line && !leaves && !VEC_PUSH(&c->lines, count))
		c->failed = true;
}

static void count_calls(struct counter *c)
{
	const struct source_function *f = declaration(c);
	if (!f)
		return;
	struct function_count count = {f->name, f->file, f->line, c->entered[0]};
	if (!VEC_PUSH(&c->functions, count))
		c->failed = true;
}

static void count_function(struct counter *c)
{
	if (!make_room(c)) {
		c->failed = true;
		return;
	}
	find_runs(c);
	find_entered(c);
	for (uint32_t i = 0, end; i < c->runs.n && !c->failed; i = end) {
		for (end = i + 1; end < c->runs.n; end++)
			if (!same_line(&c->runs.at[i], &c->runs.at[end]))
				break;
		count_line(c, i, end);
	}
	count_calls(c);
}

/* ---- all functions ---- */

static int line_by_place(const void *a, const void *b)
{
	const struct line_count *x = a, *y = b;
	if (x->file != y->file)
		return x->file < y->file ? -1 : 1;
	return x->line < y->line ? -1 : x->line > y->line;
}

static int function_by_place(const void *a, const void *b)
{
	const struct function_count *x = a, *y = b;
	if (x->file != y->file)
		return x->file < y->file ? -1 : 1;
	if (x->line != y->line)
		return x->line < y->line ? -1 : 1;
	return strcmp(x->name, y->name);
}

static void add_up(struct counter *c)
{
	uint32_t n = 0;
	if (c->lines.n)
		qsort(c->lines.at, c->lines.n, sizeof(*c->lines.at), line_by_place);
	for (uint32_t i = 0; i < c->lines.n; i++) {
		if (n && !line_by_place(&c->lines.at[n - 1], &c->lines.at[i]))
			c->lines.at[n - 1].count += c->lines.at[i].count;
		else
			c->lines.at[n++] = c->lines.at[i];
	}
	c->lines.n = n;
	if (c->functions.n)
		qsort(c->functions.at, c->functions.n, sizeof(*c->functions.at), function_by_place);
}

int line_counts_collect(const struct pugmark_model *model, const struct block_counts *counts,
			const struct dwarf_lines *source, const bool *shown,
			struct line_counts *out)
{
	struct counter c = {.model = model, .counts = counts, .source = source};
	for (uint32_t f = 0; f < model->n_funcs && !c.failed; f++) {
		c.func = &model->funcs[f];
		if ((!shown || shown[f]) && c.func->n_blocks)
			count_function(&c);
	}
	if (!c.failed)
		add_up(&c);
	VEC_FREE(&c.runs);
	VEC_FREE(&c.stack);
	free(c.line_of);
	free(c.entered);
	free(c.colour);
	*out = (struct line_counts){c.lines.at, c.lines.n, c.functions.at, c.functions.n};
	if (c.failed)
		line_counts_deinit(out);
	return c.failed ? -ENOMEM : 0;
}

void line_counts_deinit(struct line_counts *counts)
{
	free(counts->lines);
	free(counts->functions);
	*counts = (struct line_counts){0};
}
