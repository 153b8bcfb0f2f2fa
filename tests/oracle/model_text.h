/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* model_text.h: the model under test, read from the text that `pugmark cfg --export` writes. That
 * text is all that the oracle knows of the analyser; nothing of its code is shared. */
#ifndef ORACLE_MODEL_TEXT_H
#define ORACLE_MODEL_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MT_NO_HEIGHT INT64_MIN

enum mt_func_flag { MT_ADDRESS_TAKEN = 1, MT_EXPORTED = 2, MT_OPAQUE = 4, MT_SIGNAL_FRAME = 8 };
enum mt_site_kind { MT_CALL, MT_TAIL };
enum mt_via { MT_DIRECT, MT_IMPORT, MT_INDIRECT };

struct mt_func {
	uint64_t addr;
	const char *name, *flags; /* words joined by commas, "-" for none */
	uint8_t bits;		  /* enum mt_func_flag */
};

struct mt_part {
	uint64_t start, end, func_addr;
	uint32_t func; /* index into funcs */
};

struct mt_block {
	uint64_t addr;
	uint32_t size; /* bytes */
	const char *end, *flags;
};

struct mt_edge {
	uint64_t from, to; /* addresses of blocks */
	const char *kind;
};

struct mt_site {
	uint64_t addr, target;
	const char *import; /* NULL: none */
	const char *flags;
	int64_t height;	   /* bytes, MT_NO_HEIGHT: not known */
	uint8_t kind, via; /* enum mt_site_kind, enum mt_via */
};

struct model_text {
	struct mt_func *funcs; /* each array by address; edges by from, then to */
	struct mt_part *parts;
	struct mt_block *blocks;
	struct mt_edge *edges;
	struct mt_site *sites;
	size_t n_funcs, n_parts, n_blocks, n_edges, n_sites;
	char *text;
};

/* Reads @path; a line that is not understood ends the program with a message. */
void model_text_open(const char *path, struct model_text *out);
/* Adds to the model what of [addr, end) no function of it holds, as part of a function at @addr. */
void model_text_add(struct model_text *model, uint64_t addr, uint64_t end);
void model_text_close(struct model_text *model);
/* Index of the function whose parts hold @addr, or UINT32_MAX. */
uint32_t model_text_func_at(const struct model_text *model, uint64_t addr);
const struct mt_func *model_text_func_start(const struct model_text *model, uint64_t addr);
const struct mt_block *model_text_block_at(const struct model_text *model, uint64_t addr);
const struct mt_edge *model_text_edge(const struct model_text *model, uint64_t from, uint64_t to);
const struct mt_site *model_text_site(const struct model_text *model, uint64_t addr);
/* Of several there, the one to @to, if any is. */
const struct mt_site *model_text_site_to(const struct model_text *model, uint64_t addr,
					 uint64_t to);
/* Whether a jump at @site to @to calls the function that it is in once more, as a tail call: the
 * model calls the jump a tail site, knows no edge for it, and @to is the entry. Otherwise it is a
 * loop. */
bool model_text_tail_to_self(const struct model_text *model, uint64_t site, uint64_t to);
/* Whether @word is one of the comma-separated @words. */
bool model_text_has(const char *words, const char *word);

#endif
