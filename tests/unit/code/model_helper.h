/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* model_helper.h: what the tests of the model share: models of files and of sources, and the claims
 * that hold for every model. */
#ifndef TESTS_UNIT_MODEL_HELPER_H
#define TESTS_UNIT_MODEL_HELPER_H

#include "tests/unit/elf/elf_helper.h"

#define SNIPPETS "tests/unit/code/snippets/"

static inline struct pugmark_model *model_of(const char *path)
{
	struct pugmark_model *model;
	struct pugmark_diag diag;
	if (pugmark_model_open(path, &model, &diag))
		fail_msg("%s: %s", path, diag.text);
	return model;
}

static inline struct pugmark_model *compiled(const char *compiler, const char *flags,
					     const char *sources)
{
	char dir[] = "/tmp/pugmark-shapes-XXXXXX", path[64];
	assert_non_null(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/program", dir);
	command_end(command("%s %s -w -o %s " SNIPPETS "%s", compiler, flags, path, sources));
	struct pugmark_model *model = model_of(path);
	unlink(path);
	rmdir(dir);
	return model;
}

/* What holds for every model, of whatever file. */
static inline void check_model(const struct pugmark_model *m)
{
	uint64_t last = 0;
	for (uint32_t i = 0; i < m->n_funcs; i++) {
		const struct pugmark_func *f = &m->funcs[i];
		assert_true(!i || f->addr > last);
		last = f->addr;
		assert_true(f->n_parts > 0);
		assert_int_equal(m->parts[f->part].addr, f->addr);
		assert_int_equal(pugmark_model_func_at(m, f->addr), i);
		assert_true(!f->n_blocks || m->blocks[f->block].addr == f->addr);
		assert_true(f->n_blocks || f->flags & PUGMARK_FUNC_OPAQUE);
	}
	for (uint32_t i = 0; i < m->n_blocks; i++) {
		const struct pugmark_block *b = &m->blocks[i];
		const struct pugmark_func *f = &m->funcs[b->func];
		assert_in_range(i, f->block, f->block + f->n_blocks - 1);
		assert_int_equal(pugmark_model_block_at(m, b->addr), i);
		assert_int_equal(pugmark_model_block_at(m, b->addr + b->size - 1), i);
		uint64_t addr = b->addr;
		for (uint32_t k = 0; k < b->n_insns; k++) {
			assert_int_equal(m->text_addr + m->insns[b->insn + k].off, addr);
			addr += m->insns[b->insn + k].len;
		}
		assert_int_equal(addr, b->addr + b->size);
		for (uint32_t k = 0; k < b->n_edges; k++)
			assert_in_range(m->edges[b->edge + k].to, f->block,
					f->block + f->n_blocks - 1);
		if (b->site == PUGMARK_NONE)
			continue;
		assert_int_equal(m->sites[b->site].block, i);
		assert_int_equal(m->sites[b->site].func, b->func);
		assert_int_equal(m->sites[b->site].return_addr, addr);
	}
}

#endif
