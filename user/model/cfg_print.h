/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* cfg_print.h: the ways in which `pugmark cfg` writes a model. */
#ifndef USER_CFG_PRINT_H
#define USER_CFG_PRINT_H

#include <stdio.h>

#include <pugmark/model.h>

/* One output format. Each function writes one answer, complete; it returns 0 or -errno. */
struct cfg_format {
	const char *name;
	int (*summary)(const struct pugmark_model *model, FILE *out);
	int (*list)(const struct pugmark_model *model, FILE *out);
	int (*function)(const struct pugmark_model *model, uint32_t func, FILE *out);
	int (*call_sites)(const struct pugmark_model *model, uint32_t func, FILE *out);
	int (*call_graph)(const struct pugmark_model *model, FILE *out);
};

extern const struct cfg_format cfg_text, cfg_json;

/* Graphviz pictures of one function: its blocks, or its call sites. Return 0 or -errno. */
/* @block_counts, @edge_counts: per block and edge of the model, or both NULL. */
int cfg_dot_blocks(const struct pugmark_model *model, uint32_t func, const uint64_t *block_counts,
		   const uint64_t *edge_counts, FILE *out);
int cfg_dot_sites(const struct pugmark_model *model, uint32_t func, FILE *out);

/* The whole module, one item a line; docs/model.md describes the format. */
void cfg_export(const struct pugmark_model *model, FILE *out);

/* What the summary counts. */
struct cfg_counts {
	uint64_t text_bytes; /* of all functions */
	uint32_t cold_parts, opaque, address_taken, noreturn;
	uint32_t unreached;		     /* blocks */
	uint32_t direct, imported, indirect; /* calls */
	uint32_t tails, returns, pads, setjmp_returns;
	uint32_t proven, natural, open; /* indirect jumps inside functions */
	uint32_t unknown_heights;
	uint32_t probes[4]; /* instructions by probe class */
};
void cfg_count(const struct pugmark_model *model, struct cfg_counts *counts);

#endif
