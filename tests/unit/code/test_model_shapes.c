// SPDX-License-Identifier: LGPL-2.1-or-later
/* test_model_shapes.c: what the model says of functions whose source is at hand, and the claims
 * that hold for every model. Which steps are possible is left to test_model_step.c. */
#include "tests/unit/code/model_helper.h"

#include "offline/code/cscfg.h"
#include "offline/program/program.h"

static struct pugmark_model *flows(const char *compiler, const char *flags)
{
	return compiled(compiler, flags, "flows.c " SNIPPETS "by_hand.S");
}

static const struct pugmark_func *func_of(const struct pugmark_model *m, const char *name)
{
	uint32_t func = pugmark_model_func_named(m, name);
	if (func == PUGMARK_NONE)
		fail_msg("no function %s", name);
	return &m->funcs[func];
}

/* The only block of the function that ends in @end. */
static const struct pugmark_block *block_ending(const struct pugmark_model *m, const char *name,
						uint8_t end)
{
	const struct pugmark_func *f = func_of(m, name);
	const struct pugmark_block *found = NULL;
	for (uint32_t i = f->block; i < f->block + f->n_blocks; i++) {
		if (m->blocks[i].end != end)
			continue;
		assert_null(found);
		found = &m->blocks[i];
	}
	if (!found)
		fail_msg("%s has no block with end %d", name, end);
	return found;
}

static uint32_t edges_of_kind(const struct pugmark_model *m, const struct pugmark_block *b,
			      uint32_t kind)
{
	uint32_t n = 0;
	for (uint32_t k = 0; k < b->n_edges; k++)
		n += m->edges[b->edge + k].kind == kind;
	return n;
}

/* Every table of the function is proven and has @n_targets; a compiler may have made two of one. */
static void check_tables(const struct pugmark_model *m, const char *name, uint32_t n_targets)
{
	const struct pugmark_func *f = func_of(m, name);
	uint32_t n = 0;
	for (uint32_t i = f->block; i < f->block + f->n_blocks; i++) {
		const struct pugmark_block *b = &m->blocks[i];
		if (b->end != PUGMARK_END_TABLE)
			continue;
		n++;
		assert_false(b->flags & PUGMARK_BLOCK_TABLE_NATURAL);
		assert_int_equal(edges_of_kind(m, b, PUGMARK_EDGE_TABLE), n_targets);
	}
	assert_true(n > 0);
}

static void a_switch_is_a_proven_table_with_its_cases(void **state)
{
	static const char *const ways[][2] = {
		{"gcc", "-O0"},	  {"gcc", "-O2"},   {"gcc", "-O2 -no-pie -fno-pie"},
		{"clang", "-O0"}, {"clang", "-O2"}, {"clang", "-O2 -no-pie -fno-pie"},
	};
	(void)state;
	for (size_t i = 0; i < sizeof(ways) / sizeof(*ways); i++) {
		struct pugmark_model *m = flows(ways[i][0], ways[i][1]);
		/* 11 cases, and number 6 goes where the default goes. */
		check_tables(m, "dense_switch", 12);
		check_tables(m, "loop_switch", 8);
		pugmark_model_free(m);
	}
}

/* The model of a file of snippets, checked. */
static struct pugmark_model *snippets(const char *file)
{
	struct pugmark_model *m = compiled("gcc", "", file);
	check_model(m);
	return m;
}

/* Where the search for tables ends early, it ends in the function that is to blame. */
static void a_huge_interpreter_takes_no_table_from_others(void **state)
{
	(void)state;
	struct pugmark_model *m = snippets("interpreter.S");
	check_tables(m, "small", 4);
	pugmark_model_free(m);
}

static void an_index_may_be_cleared_with_and(void **state)
{
	(void)state;
	struct pugmark_model *m = snippets("pascal.S");
	check_tables(m, "half", 3);
	check_tables(m, "byte", 3);
	check_tables(m, "unknown", 3);
	check_tables(m, "summed", 3);
	check_tables(m, "cleared", 3);
	pugmark_model_free(m);
}

static void a_jump_behind_a_push_is_a_call_where_code_alone_names_what_is_behind(void **state)
{
	(void)state;
	struct pugmark_model *m = compiled("gcc", "-no-pie", "pushed.S");
	check_model(m);
	check_tables(m, "by_word", 3);
	check_tables(m, "undescribed", 3);
	const struct pugmark_block *b = block_ending(m, "begin", PUGMARK_END_CALL);
	const struct pugmark_site *site = &m->sites[b->site];
	assert_int_equal(site->kind, PUGMARK_SITE_CALL);
	assert_int_equal(site->via, PUGMARK_VIA_INDIRECT);
	assert_int_equal(site->height, 8);
	assert_int_equal(m->blocks[m->edges[b->edge].to].addr, b->addr + b->size);
	assert_true(func_of(m, "begin")->flags & PUGMARK_FUNC_NORETURN);
	pugmark_model_free(m);
}

/* A function begins at @addr, and none two bytes behind that, in its first instruction. */
static void check_begins_whole(const struct pugmark_model *m, uint64_t addr)
{
	check_model(m);
	uint32_t func = pugmark_model_func_at(m, addr);
	assert_int_not_equal(func, PUGMARK_NONE);
	assert_int_equal(m->funcs[func].addr, addr);
	assert_int_equal(pugmark_model_func_at(m, addr + 2), func);
}

/* Where the named function of ends_string.S lies, as that file lays it out. */
static uint64_t named_by_immediate(const struct pugmark_model *m)
{
	return (func_of(m, "main")->addr | 4095) + 1 + 30;
}

/* Without relocations: what an instruction names is code, whatever a word of data reads as. */
static void a_word_of_data_displaces_no_function_that_a_lea_names(void **state)
{
	(void)state;
	struct pugmark_model *m = compiled("gcc", "-no-pie", "hints.S");
	check_begins_whole(m, func_of(m, "leaf")->addr - 20); /* so long is it */
	pugmark_model_free(m);
}

/* Letters that read as an address where a function of a large text may be: to probe what they lead
 * to would change an instruction in its middle. */
static void the_end_of_a_string_leads_to_no_function(void **state)
{
	(void)state;
	struct pugmark_model *m = compiled("gcc", "-no-pie", "ends_string.S");
	check_begins_whole(m, named_by_immediate(m));
	pugmark_model_free(m);
}

/* Where code and a word of data name two readings of the same bytes, neither is probed. */
static void of_two_readings_neither_is_probed(void **state)
{
	(void)state;
	struct pugmark_model *m = compiled("gcc", "-no-pie -DNUMBER", "ends_string.S");
	check_model(m);
	uint32_t block = pugmark_model_block_at(m, named_by_immediate(m) + 2);
	assert_int_not_equal(block, PUGMARK_NONE);
	assert_int_equal(m->insns[m->blocks[block].insn].probe, PUGMARK_PROBE_REFUSED);
	pugmark_model_free(m);
}

/* Where some paths show a base and others do not, the base is what may be one. */
static void a_table_is_found_by_an_address_taken_before_the_loop(void **state)
{
	(void)state;
	struct pugmark_model *m = snippets("hoisted.S");
	const struct pugmark_func *f = func_of(m, "hoisted");
	uint32_t n = 0;
	for (uint32_t i = f->block; i < f->block + f->n_blocks; i++)
		n += edges_of_kind(m, &m->blocks[i], PUGMARK_EDGE_TABLE);
	assert_int_equal(n, 4);
	pugmark_model_free(m);
}

/* As an interpreter has it whose every case loads the table's address again. */
static void a_table_is_found_by_an_address_that_many_paths_take(void **state)
{
	(void)state;
	struct pugmark_model *m = snippets("reloaded.S");
	const struct pugmark_func *f = func_of(m, "reloaded");
	uint32_t n = 0;
	assert_false(f->flags & PUGMARK_FUNC_OPEN_JUMP);
	for (uint32_t i = f->block; i < f->block + f->n_blocks; i++)
		n += edges_of_kind(m, &m->blocks[i], PUGMARK_EDGE_TABLE);
	assert_int_equal(n, 91);
	pugmark_model_free(m);
}

/* The address of a slot is no callee; what is loaded from it is. */
static void a_slot_is_no_function(void **state)
{
	(void)state;
	struct pugmark_model *m = snippets("slots.S");
	const struct pugmark_func *f = func_of(m, "by_slot");
	const struct pugmark_site *sites = m->sites + f->site;
	assert_int_equal(f->n_sites, 2);
	assert_int_equal(sites[0].import, PUGMARK_NONE);
	assert_int_not_equal(sites[1].import, PUGMARK_NONE);
	pugmark_model_free(m);
}

static bool goes_elsewhere(const struct pugmark_model *m, const char *name)
{
	const struct pugmark_func *f = func_of(m, name);
	uint32_t n = 0, natural = 0;
	for (uint32_t i = f->block; i < f->block + f->n_blocks; i++) {
		const struct pugmark_block *b = &m->blocks[i];
		if (b->end != PUGMARK_END_TABLE)
			continue;
		n++;
		natural += (b->flags & PUGMARK_BLOCK_TABLE_NATURAL) != 0;
		assert_int_equal(edges_of_kind(m, b, PUGMARK_EDGE_TABLE), 2);
	}
	assert_int_equal(n, 1);
	return natural;
}

static void a_table_for_each_value_of_a_byte_is_whole(void **state)
{
	(void)state;
	struct pugmark_model *m = snippets("byte_index.S");
	assert_false(goes_elsewhere(m, "whole"));
	assert_true(goes_elsewhere(m, "short"));
	pugmark_model_free(m);
}

static void a_computed_goto_has_its_labels_by_the_natural_end(void **state)
{
	(void)state;
	struct pugmark_model *m = flows("gcc", "-O2");
	const struct pugmark_func *f = func_of(m, "computed_goto");
	uint32_t n = 0;
	for (uint32_t i = f->block; i < f->block + f->n_blocks; i++) {
		const struct pugmark_block *b = &m->blocks[i];
		if (b->end != PUGMARK_END_TABLE)
			continue;
		n++;
		assert_true(b->flags & PUGMARK_BLOCK_TABLE_NATURAL);
		assert_int_equal(edges_of_kind(m, b, PUGMARK_EDGE_TABLE), 4);
	}
	assert_int_equal(n, 4);
	pugmark_model_free(m);
}

static void what_calls_exit_only_does_not_return(void **state)
{
	(void)state;
	struct pugmark_model *m = flows("gcc", "-O2");
	assert_true(func_of(m, "die")->flags & PUGMARK_FUNC_NORETURN);
	assert_true(func_of(m, "die_politely")->flags & PUGMARK_FUNC_NORETURN);
	assert_true(func_of(m, "main")->flags & PUGMARK_FUNC_NORETURN);
	assert_false(func_of(m, "complain")->flags & PUGMARK_FUNC_NORETURN);
	assert_false(func_of(m, "leap")->flags & PUGMARK_FUNC_NORETURN);
	const struct pugmark_block *b = block_ending(m, "main", PUGMARK_END_NORETURN);
	assert_int_equal(b->n_edges, 0);
	assert_true(m->sites[b->site].flags & PUGMARK_SITE_NORETURN);
	pugmark_model_free(m);
}

static void a_cold_part_belongs_to_its_function(void **state)
{
	(void)state;
	struct pugmark_model *m = flows("gcc", "-O2");
	const struct pugmark_func *f = func_of(m, "with_cold_part");
	assert_int_equal(f->n_parts, 2);
	assert_false(m->parts[f->part].cold);
	assert_true(m->parts[f->part + 1].cold);
	assert_ptr_equal(&m->funcs[pugmark_model_func_at(m, m->parts[f->part + 1].addr)], f);
	for (uint32_t i = 0; i < m->n_funcs; i++)
		assert_null(strstr(m->funcs[i].name, ".cold"));
	pugmark_model_free(m);
}

static void setjmp_returns_where_it_was_called(void **state)
{
	(void)state;
	struct pugmark_model *m = flows("gcc", "-O2");
	const struct pugmark_func *f = func_of(m, "with_setjmp");
	uint32_t n = 0;
	for (uint32_t i = f->block; i < f->block + f->n_blocks; i++)
		n += !!(m->blocks[i].flags & PUGMARK_BLOCK_SETJMP_RETURN);
	assert_int_equal(n, 1);
	pugmark_model_free(m);
}

static void tail_jumps_are_sites_at_their_frames_height(void **state)
{
	(void)state;
	struct pugmark_model *m = flows("gcc", "-O2");
	const struct pugmark_block *b = block_ending(m, "tail_caller", PUGMARK_END_TAIL);
	assert_string_equal(m->funcs[m->sites[b->site].target].name, "tail_target");
	assert_int_equal(m->sites[b->site].kind, PUGMARK_SITE_TAIL);
	assert_int_equal(m->sites[b->site].height, 8);
	b = block_ending(m, "tail_through_table", PUGMARK_END_TAIL);
	assert_int_equal(m->sites[b->site].via, PUGMARK_VIA_INDIRECT);
	assert_true(func_of(m, "with_cold_part")->flags & PUGMARK_FUNC_ADDRESS_TAKEN);
	assert_true(func_of(m, "compare")->flags & PUGMARK_FUNC_ADDRESS_TAKEN);
	assert_false(func_of(m, "nine")->flags & PUGMARK_FUNC_ADDRESS_TAKEN);
	pugmark_model_free(m);
}

static void what_nothing_strong_leads_to_is_told_apart(void **state)
{
	(void)state;
	const uint32_t weak =
		PUGMARK_FUNC_MAYBE_TAKEN | PUGMARK_FUNC_UNCALLED | PUGMARK_FUNC_ADDRESS_TAKEN;
	const struct {
		const char *name;
		uint32_t flags;
	} expected[] = {
		{"in_table", PUGMARK_FUNC_MAYBE_TAKEN},
		{"in_table_and_called", PUGMARK_FUNC_MAYBE_TAKEN},
		{"uncalled", PUGMARK_FUNC_UNCALLED},
		{"called_by_uncalled", 0},
		{"first_in_circle", PUGMARK_FUNC_UNCALLED},
		{"second_in_circle", PUGMARK_FUNC_UNCALLED},
		{"main", PUGMARK_FUNC_ADDRESS_TAKEN},
	};
	struct pugmark_model *m = compiled("gcc", "-O1", "hinted.c");
	check_model(m);
	for (size_t i = 0; i < sizeof(expected) / sizeof(*expected); i++)
		assert_int_equal(func_of(m, expected[i].name)->flags & weak, expected[i].flags);
	pugmark_model_free(m);
}

static void assembly_is_split_where_control_crosses(void **state)
{
	(void)state;
	struct pugmark_model *m = flows("gcc", "-O2");
	const struct pugmark_block *b = block_ending(m, "runs_on", PUGMARK_END_TAIL);
	const struct pugmark_site *s = &m->sites[b->site];
	assert_true(s->flags & PUGMARK_SITE_FALLS);
	assert_string_equal(m->funcs[s->target].name, "run_into");
	b = block_ending(m, "by_hand", PUGMARK_END_JCC);
	assert_true(m->sites[b->site].flags & PUGMARK_SITE_CONDITIONAL);
	const struct pugmark_func *inside = &m->funcs[m->sites[b->site].target];
	assert_true(inside->addr > func_of(m, "run_into")->addr);
	assert_int_equal(inside->addr, m->sites[b->site].target_addr);
	pugmark_model_free(m);
}

static void a_jump_may_leave_both_ways(void **state)
{
	(void)state;
	struct pugmark_model *m = flows("gcc", "-O2");
	const struct pugmark_block *b = block_ending(m, "leaves_both_ways", PUGMARK_END_JCC);
	assert_true(b->flags & PUGMARK_BLOCK_TWO_SITES);
	assert_int_equal(b->n_edges, 0);
	const struct pugmark_site *taken = &m->sites[b->site], *falls = taken + 1;
	assert_int_equal(taken->flags, PUGMARK_SITE_CONDITIONAL);
	assert_int_equal(falls->flags, PUGMARK_SITE_CONDITIONAL | PUGMARK_SITE_FALLS);
	assert_int_equal(falls->addr, taken->addr);
	assert_int_equal(m->funcs[falls->target].addr, b->addr + b->size);
	assert_int_equal(m->funcs[taken->target].addr, taken->target_addr);
	struct cscfg g;
	uint32_t func = b->func;
	assert_int_equal(cscfg_build(m, func, &g), 0);
	assert_int_equal(g.first[g.entry + 1] - g.first[g.entry], 2);
	cscfg_deinit(&g);
	struct program *p;
	struct program_options options = {.costs = probe_costs_default};
	assert_int_equal(program_from_model(m, &options, &p), 0);
	const struct prog_block *entry = NULL;
	for (uint32_t i = 0; i < p->n_funcs; i++)
		if (p->funcs[i].origin == func)
			entry = &p->blocks[p->funcs[i].block];
	assert_non_null(entry);
	assert_int_equal(entry->n_succ, 2);
	assert_true(entry->flags & PROG_BRANCH);
	const uint32_t *to = prog_succs(p, (uint32_t)(entry - p->blocks));
	assert_int_equal(prog_call_addr(&p->blocks[to[0]]), falls->addr);
	assert_int_equal(p->funcs[p->blocks[to[0]].callee].addr, m->funcs[falls->target].addr);
	assert_int_equal(p->funcs[p->blocks[to[1]].callee].addr, m->funcs[taken->target].addr);
	program_free(p);
	pugmark_model_free(m);
}

static void main_is_found_without_symbols_and_cfi(void **state)
{
	static const char *const ways[] = {"", " -no-pie -fno-pie"};
	(void)state;
	for (size_t i = 0; i < sizeof(ways) / sizeof(*ways); i++) {
		char flags[128];
		snprintf(flags, sizeof(flags),
			 "-O2 -s -fno-asynchronous-unwind-tables -fno-unwind-tables%s", ways[i]);
		struct pugmark_model *m = flows("gcc", flags);
		uint32_t start = PUGMARK_NONE, called = 0;
		for (uint32_t f = 0; f < m->n_funcs; f++)
			if (m->funcs[f].addr == m->entry)
				start = f;
		assert_true(start != PUGMARK_NONE);
		/* Nothing else of this program is both without CFI and known by its address alone.
		 */
		for (uint32_t f = 0; f < m->n_funcs; f++)
			called += f != start && m->funcs[f].flags & PUGMARK_FUNC_NO_CFI &&
				  m->funcs[f].flags & PUGMARK_FUNC_ADDRESS_TAKEN &&
				  m->funcs[f].n_sites > 2;
		assert_true(called >= 1);
		pugmark_model_free(m);
	}
}

static void code_without_an_fde_is_found_by_its_calls(void **state)
{
	(void)state;
	struct pugmark_model *m = flows("gcc", "-O2 -s");
	uint32_t n = 0;
	for (uint32_t i = 0; i < m->n_sites; i++) {
		const struct pugmark_site *s = &m->sites[i];
		if (s->target == PUGMARK_NONE ||
		    !(m->funcs[s->target].flags & PUGMARK_FUNC_NO_CFI) ||
		    m->funcs[s->func].flags & PUGMARK_FUNC_NO_CFI || s->kind != PUGMARK_SITE_CALL)
			continue;
		/* without_fde: push %rbx; ...; call */
		const struct pugmark_func *f = &m->funcs[s->target];
		assert_int_equal(f->n_sites, 1);
		assert_int_equal(m->sites[f->site].height, 16);
		assert_int_equal(pugmark_model_cfa_at(m, f->addr).offset, 8);
		assert_int_equal(pugmark_model_cfa_at(m, m->sites[f->site].addr).offset, 16);
		assert_true(m->funcs[m->sites[f->site].target].flags & PUGMARK_FUNC_NO_CFI);
		n++;
	}
	assert_int_equal(n, 1);
	pugmark_model_free(m);
}

static void landing_pads_hang_on_the_calls_that_unwind_to_them(void **state)
{
	(void)state;
	struct pugmark_model *m = compiled("g++", "-O2", "throws.cc");
	const struct pugmark_func *f = func_of(m, "catcher(int)");
	uint32_t n_pads = 0, n_edges = 0;
	for (uint32_t i = f->block; i < f->block + f->n_blocks; i++) {
		n_pads += !!(m->blocks[i].flags & PUGMARK_BLOCK_LANDING_PAD);
		n_edges += edges_of_kind(m, &m->blocks[i], PUGMARK_EDGE_UNWIND);
	}
	assert_true(n_pads > 0);
	assert_true(n_edges >= n_pads);
	assert_string_equal(func_of(m, "_Z7catcheri")->name, f->name);
	pugmark_model_free(m);
}

static void models_of_real_programs_hold_together(void **state)
{
	static const char *const paths[] = {"/usr/bin/gzip", "/usr/bin/bash", "/usr/bin/perl",
					    "/lib/x86_64-linux-gnu/libc.so.6"};
	(void)state;
	for (size_t i = 0; i < sizeof(paths) / sizeof(*paths); i++) {
		if (access(paths[i], R_OK))
			continue;
		struct pugmark_model *m = model_of(paths[i]);
		check_model(m);
		pugmark_model_free(m);
	}
}

/* The call-site graph of each function against the transitive closure of its silent blocks. */
static void check_cscfg(const struct pugmark_model *m, uint32_t func)
{
	const struct pugmark_func *f = &m->funcs[func];
	uint32_t n = f->n_blocks;
	bool *reach = calloc((size_t)n * n + 1, 1);
	for (uint32_t i = 0; i < n; i++) {
		const struct pugmark_block *b = &m->blocks[f->block + i];
		reach[i * n + i] = true;
		if (b->end == PUGMARK_END_CALL || b->end == PUGMARK_END_NORETURN)
			continue;
		for (uint32_t k = 0; k < b->n_edges; k++)
			reach[i * n + m->edges[b->edge + k].to - f->block] = true;
	}
	for (uint32_t k = 0; k < n; k++)
		for (uint32_t i = 0; i < n; i++)
			for (uint32_t j = 0; j < n; j++)
				reach[i * n + j] |= reach[i * n + k] && reach[k * n + j];
	struct cscfg g;
	assert_int_equal(cscfg_build(m, func, &g), 0);
	for (uint32_t x = 0; x < g.exit; x++) {
		bool expected[1024] = {false}, actual[1024] = {false};
		bool tail = x < g.n_sites && m->sites[f->site + x].kind == PUGMARK_SITE_TAIL;
		assert_in_range(g.exit, 0, 1023);
		expected[g.exit] = tail && !(m->sites[f->site + x].flags & PUGMARK_SITE_NORETURN);
		for (uint32_t i = 0; i < n && !tail; i++) {
			const struct pugmark_block *from =
				x < g.n_sites ? &m->blocks[m->sites[f->site + x].block] : NULL;
			bool here = !from && reach[i];
			for (uint32_t k = 0; from && k < from->n_edges; k++)
				here |= reach[(m->edges[from->edge + k].to - f->block) * n + i];
			const struct pugmark_block *b = &m->blocks[f->block + i];
			if (here && b->site != PUGMARK_NONE)
				expected[b->site - f->site] = true;
			if (here && b->flags & PUGMARK_BLOCK_TWO_SITES)
				expected[b->site + 1 - f->site] = true;
			if (here && (b->end == PUGMARK_END_RET || b->end == PUGMARK_END_OPEN))
				expected[g.exit] = true;
		}
		for (uint32_t k = g.first[x]; k < g.first[x + 1]; k++) {
			assert_false(actual[g.to[k]]);
			actual[g.to[k]] = true;
		}
		assert_memory_equal(expected, actual, sizeof(expected));
	}
	cscfg_deinit(&g);
	free(reach);
}

static void call_site_graphs_are_paths_without_a_site(void **state)
{
	(void)state;
	struct pugmark_model *m = flows("gcc", "-O2");
	for (uint32_t i = 0; i < m->n_funcs; i++)
		check_cscfg(m, i);
	pugmark_model_free(m);
	need_file("/usr/bin/gzip");
	m = model_of("/usr/bin/gzip");
	for (uint32_t i = 0; i < m->n_funcs; i++)
		if (m->funcs[i].n_blocks < 200)
			check_cscfg(m, i);
	pugmark_model_free(m);
}

static void the_call_graph_counts_every_direct_site_once(void **state)
{
	(void)state;
	struct pugmark_model *m = flows("gcc", "-O2");
	struct call_graph g;
	assert_int_equal(call_graph_build(m, &g), 0);
	uint32_t n_direct = 0, sum = 0;
	for (uint32_t i = 0; i < m->n_sites; i++)
		n_direct +=
			m->sites[i].via == PUGMARK_VIA_DIRECT && m->sites[i].target != PUGMARK_NONE;
	for (uint32_t i = 0; i < g.first[m->n_funcs]; i++)
		sum += g.n_sites[i];
	assert_int_equal(sum, n_direct);
	uint32_t caller = (uint32_t)(func_of(m, "many_arguments") - m->funcs);
	uint32_t nine = (uint32_t)(func_of(m, "nine") - m->funcs), n_nine = 0;
	for (uint32_t i = g.first[caller]; i < g.first[caller + 1]; i++)
		if (g.callee[i] == nine)
			n_nine = g.n_sites[i];
	assert_int_equal(n_nine, 2);
	call_graph_deinit(&g);
	pugmark_model_free(m);
}

/* Bytes behind the last function that read as instructions and end nowhere, as those of a table
 * may: each is read from once. Else these would take days. */
static void bytes_that_end_nowhere_take_time_by_their_number(void **state)
{
	static const char *const fills[] = {
		"-DFILL=0x50 -DBEHIND=", "-DFILL=0x66 -DBEHIND=", "-DFILL=0x50 -DBEHIND=ret"};
	(void)state;
	for (unsigned i = 0; i < sizeof(fills) / sizeof(*fills); i++) {
		char flags[80];
		snprintf(flags, sizeof(flags), "-nostdlib -static %s", fills[i]);
		alarm(60);
		struct pugmark_model *m = compiled("cc", flags, "table_behind.S");
		alarm(0);
		check_model(m);
		assert_int_equal(m->n_unknown, i == 2);
		assert_true(i < 2 || m->unknown[0].end - m->unknown[0].addr == 300001);
		pugmark_model_free(m);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_switch_is_a_proven_table_with_its_cases),
		cmocka_unit_test(a_huge_interpreter_takes_no_table_from_others),
		cmocka_unit_test(a_word_of_data_displaces_no_function_that_a_lea_names),
		cmocka_unit_test(an_index_may_be_cleared_with_and),
		cmocka_unit_test(
			a_jump_behind_a_push_is_a_call_where_code_alone_names_what_is_behind),
		cmocka_unit_test(the_end_of_a_string_leads_to_no_function),
		cmocka_unit_test(of_two_readings_neither_is_probed),
		cmocka_unit_test(a_table_is_found_by_an_address_taken_before_the_loop),
		cmocka_unit_test(a_slot_is_no_function),
		cmocka_unit_test(a_table_is_found_by_an_address_that_many_paths_take),
		cmocka_unit_test(a_table_for_each_value_of_a_byte_is_whole),
		cmocka_unit_test(a_computed_goto_has_its_labels_by_the_natural_end),
		cmocka_unit_test(what_calls_exit_only_does_not_return),
		cmocka_unit_test(a_cold_part_belongs_to_its_function),
		cmocka_unit_test(setjmp_returns_where_it_was_called),
		cmocka_unit_test(tail_jumps_are_sites_at_their_frames_height),
		cmocka_unit_test(what_nothing_strong_leads_to_is_told_apart),
		cmocka_unit_test(assembly_is_split_where_control_crosses),
		cmocka_unit_test(a_jump_may_leave_both_ways),
		cmocka_unit_test(main_is_found_without_symbols_and_cfi),
		cmocka_unit_test(code_without_an_fde_is_found_by_its_calls),
		cmocka_unit_test(landing_pads_hang_on_the_calls_that_unwind_to_them),
		cmocka_unit_test(models_of_real_programs_hold_together),
		cmocka_unit_test(call_site_graphs_are_paths_without_a_site),
		cmocka_unit_test(the_call_graph_counts_every_direct_site_once),
		cmocka_unit_test(bytes_that_end_nowhere_take_time_by_their_number),
	};
	return cmocka_run_group_tests_name("the model of known sources", tests, NULL, NULL);
}
