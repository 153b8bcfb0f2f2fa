// SPDX-License-Identifier: LGPL-2.1-or-later
/* fuzz_model.c: any bytes as an ELF file. The model either refuses them with one line, or every
 * index in it is in range, every group is where its owner says, and every lookup agrees with the
 * arrays. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <pugmark/model.h>

#include "tests/fuzz/must.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Is [first, first + n) inside [0, total)? */
static bool inside(uint32_t first, uint32_t n, uint32_t total)
{
	return n == 0 || (first < total && n <= total - first);
}

static bool index_or_none(uint32_t index, uint32_t total)
{
	return index == PUGMARK_NONE || index < total;
}

static void check_func(const struct pugmark_model *m, uint32_t i)
{
	const struct pugmark_func *f = &m->funcs[i];
	MUST(i == 0 || m->funcs[i - 1].addr < f->addr);
	MUST(f->name && *f->name);
	MUST(inside(f->part, f->n_parts, m->n_parts));
	MUST(inside(f->block, f->n_blocks, m->n_blocks));
	MUST(inside(f->site, f->n_sites, m->n_sites));
	MUST(f->n_blocks > 0 || f->flags & PUGMARK_FUNC_OPAQUE);
	MUST(f->n_blocks == 0 || m->blocks[f->block].addr == f->addr);
	for (uint32_t b = 0; b < f->n_blocks; b++)
		MUST(m->blocks[f->block + b].func == i);
	for (uint32_t s = 0; s < f->n_sites; s++)
		MUST(m->sites[f->site + s].func == i);
	for (uint32_t p = 0; p < f->n_parts; p++)
		MUST(m->parts[f->part + p].func == i);
	uint32_t named = pugmark_model_func_named(m, f->name);
	MUST(named < m->n_funcs);
	free(pugmark_demangle(f->name));
}

static void check_part(const struct pugmark_model *m, uint32_t i)
{
	const struct pugmark_part *p = &m->parts[i];
	MUST(p->addr < p->end);
	MUST(p->func < m->n_funcs);
	MUST(pugmark_model_func_at(m, p->addr) == p->func);
	MUST(pugmark_model_func_at(m, p->end - 1) == p->func);
}

/* Its instructions are the block, end to end. */
static void check_insns(const struct pugmark_model *m, const struct pugmark_block *b)
{
	MUST(b->n_insns > 0 && inside(b->insn, b->n_insns, m->n_insns));
	uint64_t addr = b->addr;
	for (uint32_t i = 0; i < b->n_insns; i++) {
		const struct pugmark_insn *insn = &m->insns[b->insn + i];
		MUST(m->text_addr + insn->off == addr);
		MUST(insn->len >= 1 && insn->len <= 15);
		MUST(insn->kind <= PUGMARK_INSN_XBEGIN);
		MUST(insn->probe <= PUGMARK_PROBE_REFUSED);
		MUST(insn->cond <= 15);
		struct pugmark_cfa cfa = pugmark_model_cfa_at(m, addr);
		MUST(cfa.reg <= PUGMARK_CFA_BP);
		addr += insn->len;
	}
	MUST(addr == b->addr + b->size);
}

static void check_block(const struct pugmark_model *m, uint32_t i)
{
	const struct pugmark_block *b = &m->blocks[i];
	MUST(b->func < m->n_funcs);
	MUST(b->end <= PUGMARK_END_STRAY);
	MUST(index_or_none(b->site, m->n_sites));
	MUST(b->site == PUGMARK_NONE || m->sites[b->site].block == i);
	MUST(inside(b->edge, b->n_edges, m->n_edges));
	for (uint32_t e = 0; e < b->n_edges; e++) {
		const struct pugmark_edge *edge = &m->edges[b->edge + e];
		MUST(edge->kind <= PUGMARK_EDGE_UNWIND);
		MUST(edge->to < m->n_blocks);
		MUST(m->blocks[edge->to].func == b->func);
	}
	if (b->size == 0)
		return;
	check_insns(m, b);
	MUST(pugmark_model_block_at(m, b->addr) == i);
	MUST(pugmark_model_block_at(m, b->addr + b->size - 1) == i);
	size_t len = 0;
	const uint8_t *bytes = pugmark_model_bytes(m, b->addr, &len);
	MUST(bytes && len >= b->size);
	volatile uint8_t last = bytes[b->size - 1];
	(void)last;
	MUST(pugmark_model_file_offset(m, b->addr) != UINT64_MAX);
}

static void check_site(const struct pugmark_model *m, uint32_t i)
{
	const struct pugmark_site *s = &m->sites[i];
	MUST(s->func < m->n_funcs);
	MUST(s->block < m->n_blocks);
	const struct pugmark_block *b = &m->blocks[s->block];
	MUST(b->site == i || (b->flags & PUGMARK_BLOCK_TWO_SITES && b->site + 1 == i));
	MUST(s->return_addr > s->addr);
	MUST(s->return_addr == b->addr + b->size);
	MUST(s->kind <= PUGMARK_SITE_TAIL && s->via <= PUGMARK_VIA_INDIRECT);
	MUST(index_or_none(s->target, m->n_funcs));
	MUST(index_or_none(s->import, m->n_imports));
	MUST(s->via != PUGMARK_VIA_IMPORT || s->import != PUGMARK_NONE);
}

static void check_model(const struct pugmark_model *m)
{
	MUST(m->path && m->build_id_len <= sizeof(m->build_id));
	MUST(m->text_addr <= m->text_end);
	for (uint32_t i = 0; i < m->n_funcs; i++)
		check_func(m, i);
	for (uint32_t i = 0; i < m->n_parts; i++)
		check_part(m, i);
	for (uint32_t i = 0; i < m->n_blocks; i++)
		check_block(m, i);
	for (uint32_t i = 0; i < m->n_sites; i++)
		check_site(m, i);
	for (uint32_t i = 0; i < m->n_imports; i++) {
		MUST(m->imports[i].name);
		MUST(index_or_none(m->imports[i].local_func, m->n_funcs));
	}
	static const uint64_t nowhere[] = {0, 1, UINT64_MAX, INT64_MAX};
	for (size_t i = 0; i < sizeof(nowhere) / sizeof(*nowhere); i++) {
		MUST(index_or_none(pugmark_model_func_at(m, nowhere[i]), m->n_funcs));
		MUST(index_or_none(pugmark_model_block_at(m, nowhere[i]), m->n_blocks));
		MUST(pugmark_model_cfa_at(m, nowhere[i]).reg <= PUGMARK_CFA_BP);
	}
	MUST(pugmark_model_func_named(m, "no function has a name with spaces") == PUGMARK_NONE);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	int fd = memfd_create("fuzz", MFD_CLOEXEC);
	if (fd < 0 || (size && write(fd, data, size) != (ssize_t)size)) {
		perror("memfd");
		abort();
	}
	char path[64];
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);

	struct pugmark_model *model = NULL;
	struct pugmark_diag diag = {.offset = PUGMARK_NO_OFFSET};
	int err = pugmark_model_open(path, &model, &diag);
	if (err) {
		MUST(err < 0);
		MUST(model == NULL);
		MUST(strcmp(diag.file, path) == 0);
		MUST(*diag.text && !strchr(diag.text, '\n'));
	} else {
		check_model(model);
		pugmark_model_free(model);
	}
	close(fd);
	return 0;
}
