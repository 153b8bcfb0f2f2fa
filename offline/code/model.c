// SPDX-License-Identifier: LGPL-2.1-or-later
/* model.c: runs the passes in order, hands their arrays over to the model, and looks things up in
 * it. */
#include "offline/base/search.h"
#include "offline/code/backslice.h"
#include "offline/code/builder.h"
#include "offline/code/known_callees.h"
#include "offline/code/maybe_taken.h"
#include "offline/code/receivers.h"
#include "offline/code/stack_switch.h"
#include "offline/code/unknown_code.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

enum { MAX_ROUNDS = 3 };

/* The model and what it borrows from. */
struct owned_model {
	struct pugmark_model model; /* first: callers hold a pointer to it */
	struct elf_image *image;
	struct pugmark_import *imports;
	struct elf_cfa_row *rows;
	uint32_t n_rows;
	struct pugmark_range *unknown;
	struct addr_index row_index, part_index, block_index;
	uint32_t *part_order;  /* parts by address */
	uint32_t *block_order; /* blocks by address */
	char *names;	       /* sub_... of functions without a symbol */
};

static const struct owned_model *owned(const struct pugmark_model *model)
{
	return (const struct owned_model *)model;
}

static int find_flow(struct builder *b)
{
	int err = cfg_build_all(b);
	return err ? err : noreturn_solve(b);
}

/* Finds functions, control flow and tables; and all over again while the tables show something that
 * changes what the functions are. */
static int find_functions_and_flow(struct builder *b)
{
	bool again = true, changed = false;
	struct backslice backslice = {0};
	int err = 0;
	for (int round = 0; round < MAX_ROUNDS && again && !err; round++) {
		again = changed = false;
		err = func_parts_find(b);
		if (!err)
			err = find_flow(b);
		if (!err)
			err = jumptable_resolve(b, &backslice, &again, &changed);
		if (!err)
			err = known_callees_find(b, &backslice, &changed);
		again |= !b->tables_known && b->has_loose_ends;
		b->tables_known = true;
	}
	backslice_deinit(&backslice);
	return changed && !err ? find_flow(b) : err;
}

static int run_passes(struct builder *b)
{
	b->imports = elf_image_imports(b->image, &b->n_imports);
	int err = sweep_code(b);
	if (!err)
		err = undescribed_find(b);
	if (err)
		return err;
	sweep_refuse_patched(b);
	err = sweep_transfers(b);
	if (err)
		return err;
	noreturn_seed(b);
	err = find_functions_and_flow(b);
	if (!err)
		err = receivers_find(b);
	if (!err)
		err = stale_rows_correct(b);
	return err ? err : stack_height_solve(b);
}

/* Sets flags and names of functions from the symbols where they start: the first symbol that is of
 * a function and not of a fragment counts. */
static void name_functions(struct builder *b)
{
	uint32_t n, func = 0;
	const struct elf_symbol *symbols = elf_image_symbols(b->image, &n);
	for (uint32_t i = 0; i < n; i++) {
		while (func < b->funcs.n && b->funcs.at[func].addr < symbols[i].addr)
			func++;
		if (func == b->funcs.n)
			break;
		struct pugmark_func *f = &b->funcs.at[func];
		if (f->addr != symbols[i].addr)
			continue;
		if (symbols[i].ifunc)
			f->flags |= PUGMARK_FUNC_IFUNC;
		if (symbols[i].dynamic)
			f->flags |= PUGMARK_FUNC_EXPORTED;
		if (!f->name && *symbols[i].name && !strstr(symbols[i].name, ".cold"))
			f->name = symbols[i].name;
	}
	for (uint32_t i = 0; i < b->funcs.n; i++)
		if (rankmap_has(&b->taken, b->funcs.at[i].addr - b->text_addr))
			b->funcs.at[i].flags |= PUGMARK_FUNC_ADDRESS_TAKEN;
	uint32_t entry = builder_func_starting(b, elf_image_entry(b->image));
	if (entry != PUGMARK_NONE)
		b->funcs.at[entry].flags |= PUGMARK_FUNC_ADDRESS_TAKEN;
}

/* Of a function whose parts name different routines none is known. */
static void find_personalities(struct builder *b)
{
	uint32_t n_fdes;
	const struct elf_fde *fdes = elf_image_fdes(b->image, &n_fdes);
	for (uint32_t i = 0; i < b->funcs.n; i++) {
		struct pugmark_func *f = &b->funcs.at[i];
		bool one = true;
		f->personality = PUGMARK_NONE;
		for (uint32_t k = 0; k < f->n_parts; k++) {
			uint32_t fde = b->parts.at[b->func_parts.at[f->part + k]].fde;
			uint64_t addr =
				fde < n_fdes ? elf_image_personality(b->image, &fdes[fde]) : 0;
			uint32_t routine = addr ? builder_func_starting(b, addr) : PUGMARK_NONE;
			one = one && (!k || routine == f->personality);
			f->personality = one ? routine : PUGMARK_NONE;
		}
	}
}

static int name_nameless(struct owned_model *o, struct builder *b)
{
	enum { NAME_BYTES = sizeof("sub_") + 16 };
	size_t n = 0;
	for (uint32_t i = 0; i < b->funcs.n; i++)
		n += !b->funcs.at[i].name;
	o->names = malloc(n * NAME_BYTES + 1);
	if (!o->names)
		return -ENOMEM;
	char *name = o->names;
	for (uint32_t i = 0; i < b->funcs.n; i++) {
		if (b->funcs.at[i].name)
			continue;
		snprintf(name, NAME_BYTES, "sub_%llx", (unsigned long long)b->funcs.at[i].addr);
		b->funcs.at[i].name = name;
		name += NAME_BYTES;
	}
	return 0;
}

static int copy_imports(struct owned_model *o, struct builder *b)
{
	const uint64_t *local = elf_image_import_local(b->image);
	o->imports = malloc((size_t)(b->n_imports + 1) * sizeof(*o->imports));
	if (!o->imports)
		return -ENOMEM;
	for (uint32_t i = 0; i < b->n_imports; i++) {
		o->imports[i] = b->imports[i];
		o->imports[i].local_func =
			local[i] ? builder_func_starting(b, local[i]) : PUGMARK_NONE;
	}
	o->model.imports = o->imports;
	o->model.n_imports = b->n_imports;
	return 0;
}

/* Orders parts by function, and parts and blocks by address. The order of blocks follows from that
 * of parts: within one part they are in order. */
static int order_by_address(struct owned_model *o, struct builder *b)
{
	struct pugmark_part *parts = malloc((size_t)(b->parts.n + 1) * sizeof(*parts));
	o->part_order = malloc((size_t)(b->parts.n + 1) * sizeof(*o->part_order));
	o->block_order = malloc((size_t)(b->blocks.n + 1) * sizeof(*o->block_order));
	uint32_t *first = calloc((size_t)b->parts.n + 1, sizeof(*first));
	o->model.parts = parts;
	if (!parts || !o->part_order || !o->block_order || !first) {
		free(first);
		return -ENOMEM;
	}
	for (uint32_t i = 0; i < b->parts.n; i++) {
		const struct build_part *p = &b->parts.at[b->func_parts.at[i]];
		parts[i] =
			(struct pugmark_part){p->addr, p->end, p->func, p->flags & PART_FRAGMENT};
		o->part_order[b->func_parts.at[i]] = i;
	}
	for (uint32_t func = 0; func < b->funcs.n; func++) {
		const struct pugmark_func *f = &b->funcs.at[func];
		uint32_t block = f->block;
		for (uint32_t k = 0; k < f->n_parts; k++) {
			first[f->part + k] = block;
			while (block < f->block + f->n_blocks &&
			       b->blocks.at[block].addr >= parts[f->part + k].addr &&
			       b->blocks.at[block].addr < parts[f->part + k].end)
				block++;
		}
	}
	uint32_t n = 0;
	for (uint32_t i = 0; i < b->parts.n; i++) {
		const struct pugmark_part *p = &parts[o->part_order[i]];
		const struct pugmark_func *f = &b->funcs.at[p->func];
		for (uint32_t block = first[o->part_order[i]];
		     block < f->block + f->n_blocks && b->blocks.at[block].addr >= p->addr &&
		     b->blocks.at[block].addr < p->end;
		     block++)
			o->block_order[n++] = block;
	}
	free(first);
	o->model.n_parts = b->parts.n;
	return n == b->blocks.n ? 0 : -EBADMSG;
}

/* Takes a builder's array over. */
#define TAKE(to, count, from) ((to) = (from).at, (count) = (from).n, (from).at = NULL)

static void index_by_address(struct owned_model *o)
{
	const struct pugmark_model *m = &o->model;
	ADDR_INDEX_MAKE(&o->row_index, o->n_rows, i, o->rows[i].addr);
	ADDR_INDEX_MAKE(&o->part_index, m->n_parts, i, m->parts[o->part_order[i]].addr);
	ADDR_INDEX_MAKE(&o->block_index, m->n_blocks, i, m->blocks[o->block_order[i]].addr);
}

static int hand_over(struct owned_model *o, struct builder *b)
{
	struct pugmark_model *m = &o->model;
	name_functions(b);
	find_personalities(b);
	int err = stack_switch_solve(b);
	if (!err)
		err = maybe_taken_find(b);
	if (!err)
		err = name_nameless(o, b);
	if (!err)
		err = unknown_code_find(b, &o->unknown, &m->n_unknown);
	m->unknown = o->unknown;
	if (!err)
		err = copy_imports(o, b);
	if (!err)
		err = order_by_address(o, b);
	m->path = elf_image_path(o->image);
	m->pie = elf_image_is_pie(o->image);
	m->entry = elf_image_entry(o->image);
	m->text_addr = b->text_addr;
	m->text_end = b->text_end;
	const uint8_t *id = elf_image_build_id(o->image, &m->build_id_len);
	if (m->build_id_len > sizeof(m->build_id))
		m->build_id_len = sizeof(m->build_id);
	if (id)
		memcpy(m->build_id, id, m->build_id_len);
	TAKE(m->insns, m->n_insns, b->insns);
	TAKE(m->blocks, m->n_blocks, b->blocks);
	TAKE(m->edges, m->n_edges, b->edges);
	TAKE(m->sites, m->n_sites, b->sites);
	TAKE(m->funcs, m->n_funcs, b->funcs);
	TAKE(o->rows, o->n_rows, b->rows);
	if (!err)
		index_by_address(o);
	return err;
}

int pugmark_model_open(const char *path, struct pugmark_model **out, struct pugmark_diag *diag)
{
	struct owned_model *o = calloc(1, sizeof(*o));
	struct builder b = {0};
	if (!o)
		return pugmark_diag_set(diag, -ENOMEM, path, PUGMARK_NO_OFFSET, "out of memory");
	int err = elf_image_open(path, &o->image, diag);
	if (err) {
		free(o);
		return err;
	}
	b.image = o->image;
	decoder_init(&b.decoder);
	err = run_passes(&b);
	if (!err)
		err = hand_over(o, &b);
	builder_deinit(&b);
	if (err) {
		pugmark_model_free(&o->model);
		return pugmark_diag_set(
			diag, err == -ENOMEM ? err : -EBADMSG, path, PUGMARK_NO_OFFSET, "%s",
			err == -ENOMEM	? "out of memory for its model"
			: err == -EFBIG ? "its code spans more than 2 GiB of addresses"
					: "its code cannot be modelled");
	}
	*out = &o->model;
	return 0;
}

void model_digest(const struct pugmark_model *model, struct digest *digest)
{
	elf_image_digest(((const struct owned_model *)model)->image, digest);
}

void pugmark_model_free(struct pugmark_model *model)
{
	if (!model)
		return;
	struct owned_model *o = (struct owned_model *)model;
	free((void *)model->insns);
	free((void *)model->blocks);
	free((void *)model->edges);
	free((void *)model->sites);
	free((void *)model->funcs);
	free((void *)model->parts);
	free(o->imports);
	free(o->rows);
	addr_index_deinit(&o->row_index);
	addr_index_deinit(&o->part_index);
	addr_index_deinit(&o->block_index);
	free(o->part_order);
	free(o->block_order);
	free(o->names);
	free(o->unknown);
	elf_image_free(o->image);
	free(o);
}

uint32_t pugmark_model_func_at(const struct pugmark_model *model, uint64_t addr)
{
	const struct owned_model *o = owned(model);
	uint32_t low = ADDR_INDEX_ABOVE(&o->part_index, model->n_parts, addr, i,
					model->parts[o->part_order[i]].addr);
	if (!low || addr >= model->parts[o->part_order[low - 1]].end)
		return PUGMARK_NONE;
	return model->parts[o->part_order[low - 1]].func;
}

uint32_t pugmark_model_block_at(const struct pugmark_model *model, uint64_t addr)
{
	const struct owned_model *o = owned(model);
	uint32_t low = ADDR_INDEX_ABOVE(&o->block_index, model->n_blocks, addr, i,
					model->blocks[o->block_order[i]].addr);
	if (!low)
		return PUGMARK_NONE;
	const struct pugmark_block *block = &model->blocks[o->block_order[low - 1]];
	return addr - block->addr < block->size ? o->block_order[low - 1] : PUGMARK_NONE;
}

uint32_t pugmark_model_func_named(const struct pugmark_model *model, const char *name)
{
	for (uint32_t i = 0; i < model->n_funcs; i++)
		if (!strcmp(model->funcs[i].name, name))
			return i;
	uint32_t n;
	const struct elf_symbol *symbols = elf_image_symbols(owned(model)->image, &n);
	for (uint32_t i = 0; i < n; i++)
		if (symbols[i].code && !strcmp(symbols[i].name, name)) {
			uint32_t func = pugmark_model_func_at(model, symbols[i].addr);
			if (func != PUGMARK_NONE && model->funcs[func].addr == symbols[i].addr)
				return func;
		}
	for (uint32_t i = 0; i < model->n_funcs; i++) {
		if (strncmp(model->funcs[i].name, "_Z", 2))
			continue;
		char *plain = pugmark_demangle(model->funcs[i].name);
		bool same = plain && !strcmp(plain, name);
		free(plain);
		if (same)
			return i;
	}
	return PUGMARK_NONE;
}

struct pugmark_cfa pugmark_model_cfa_from(const struct pugmark_model *model, uint64_t addr,
					  uint64_t *end)
{
	const struct owned_model *o = owned(model);
	uint32_t low = ADDR_INDEX_ABOVE(&o->row_index, o->n_rows, addr, i, o->rows[i].addr);
	*end = addr + 1;
	if (!low || addr >= o->rows[low - 1].end)
		return (struct pugmark_cfa){.reg = PUGMARK_CFA_UNKNOWN, .bp = PUGMARK_BP_UNKNOWN};
	*end = o->rows[low - 1].end;
	if (low < o->n_rows && o->rows[low].addr < *end)
		*end = o->rows[low].addr;
	return o->rows[low - 1].cfa;
}

struct pugmark_cfa pugmark_model_cfa_at(const struct pugmark_model *model, uint64_t addr)
{
	uint64_t end;
	return pugmark_model_cfa_from(model, addr, &end);
}

uint64_t pugmark_model_file_offset(const struct pugmark_model *model, uint64_t addr)
{
	return elf_image_file_offset(owned(model)->image, addr);
}

const uint8_t *pugmark_model_bytes(const struct pugmark_model *model, uint64_t addr,
				   size_t *len_bytes)
{
	return elf_image_bytes(owned(model)->image, addr, len_bytes);
}
