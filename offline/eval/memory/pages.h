/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* pages.h: the pages of an evaluated task by address, shared with its snapshots until one side
 * writes. Nobody but memory.c and memory_bits.c uses it. */
#ifndef OFFLINE_EVAL_PAGES_H
#define OFFLINE_EVAL_PAGES_H

#include "offline/eval/memory/memory.h"

struct value_page {
	uint32_t refs;
	uint32_t doubt;	  /* the value_memory.doubt at which its qualities were right */
	uint8_t *quality; /* VALUE_PAGE of them, or NULL: all exact */
	uint8_t *bits;	  /* of bytes that are not: the bits that are exact; or NULL: none */
	uint8_t bytes[VALUE_PAGE] __attribute__((aligned(64)));
};

static inline uint64_t value_page_addr(uint64_t addr)
{
	return addr & ~(uint64_t)(VALUE_PAGE - 1);
}

/* A page with one reference, in no tree, its bytes not set; NULL: no memory. */
struct value_page *value_page_new(struct value_memory *mem);
/* The same with the bytes and qualities of @page. */
struct value_page *value_page_copy(struct value_memory *mem, const struct value_page *page);
/* Gives up one reference; NULL is no page. */
void value_page_put(struct value_memory *mem, struct value_page *page);

/* The page of @addr, which snapshots may share; NULL: none was touched. */
struct value_page *value_page_at(const struct value_memory *mem, uint64_t addr);
/* Whether others may write to the page of @addr now. */
bool value_page_is_shared(const struct value_memory *mem, uint64_t addr);
/* Whether no snapshot shares the page of @addr, which there is. */
bool value_page_is_own(const struct value_memory *mem, uint64_t addr);
/* The same of a tree. */
struct value_page *value_page_in(const struct value_node *root, uint64_t addr);
/* Where the page of @addr is held (NULL there: none), in a node that no snapshot shares. NULL: no
 * memory. */
void **value_page_slot(struct value_memory *mem, uint64_t addr);
/* Gives up the pages in [@start, @end). 0 or -ENOMEM: some are there still. */
int value_pages_drop(struct value_memory *mem, uint64_t start, uint64_t end);
/* Gives the pages in [@from, @from + @len) the addresses from @to on, where there are none. 0 or
 * -ENOMEM: some are not moved. */
int value_pages_move(struct value_memory *mem, uint64_t from, uint64_t to, uint64_t len);
/* Of the pages of @now those that @then does not share, and (NULL) those that it has alone. */
void value_pages_changed(const struct value_node *now, const struct value_node *then,
			 value_changed_fn *fn, void *ctx);
/* Takes, and gives up, one reference to a tree; NULL is none. */
void value_pages_hold(struct value_node *root);
void value_pages_put(struct value_memory *mem, struct value_node *root);

#endif
