// SPDX-License-Identifier: LGPL-2.1-or-later
/* pages.c: pages in a radix tree of four levels, nine address bits each, as the processor's own
 * page tables. A snapshot is one more reference to the root; before a write each node on the way
 * that has more than one reference is copied here, and the page by memory.c, so that a snapshot
 * costs nothing until pages change.
 *
 *   root -> node -> node -> node -> page (bytes, and their qualities where not all are exact)
 */
#include "offline/eval/memory/pages.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { FANOUT = 512, LEVELS = 4 };

struct value_node {
	uint32_t refs;
	uint64_t used[FANOUT / 64]; /* a bit for each child; those of others are NULL */
	void *child[FANOUT];	    /* nodes; pages at the lowest level */
};

/* For each child @i that @used (of one node, or of two together) has. */
#define FOR_EACH_CHILD(i, used)                                                                    \
	for (unsigned word_##i = 0; word_##i < FANOUT / 64; word_##i++)                            \
		for (uint64_t bits_##i = (used)[word_##i], i;                                      \
		     bits_##i && (i = word_##i * 64 + (unsigned)__builtin_ctzll(bits_##i), 1);     \
		     bits_##i &= bits_##i - 1)

static unsigned index_at(uint64_t addr, int level)
{
	return addr >> (12 + 9 * (LEVELS - 1 - level)) & (FANOUT - 1);
}

void value_page_put(struct value_memory *mem, struct value_page *page)
{
	if (!page || --page->refs)
		return;
	mem->pages_held--;
	free(page->quality);
	free(page->bits);
	free(page);
}

static void node_put(struct value_memory *mem, struct value_node *node, int level)
{
	if (!node || --node->refs)
		return;
	FOR_EACH_CHILD(i, node->used)
	if (!node->child[i])
		continue;
	else if (level == LEVELS - 1)
		value_page_put(mem, node->child[i]);
	else
		node_put(mem, node->child[i], level + 1);
	free(node);
}

static struct value_node *node_copy(const struct value_node *node, int level)
{
	struct value_node *copy = malloc(sizeof(*copy));
	if (!copy)
		return NULL;
	*copy = *node;
	copy->refs = 1;
	FOR_EACH_CHILD(i, copy->used)
	if (!copy->child[i])
		continue;
	else if (level == LEVELS - 1)
		((struct value_page *)copy->child[i])->refs++;
	else
		((struct value_node *)copy->child[i])->refs++;
	return copy;
}

struct value_page *value_page_new(struct value_memory *mem)
{
	struct value_page *page = aligned_alloc(64, sizeof(struct value_page));
	if (!page)
		return NULL;
	page->refs = 1;
	page->quality = page->bits = NULL;
	page->doubt = mem->doubt;
	mem->pages_held++;
	return page;
}

/* A copy of VALUE_PAGE bytes, of none if @from is NULL. False: no memory. */
static bool copy_bytes(const uint8_t *from, uint8_t **out)
{
	*out = from ? malloc(VALUE_PAGE) : NULL;
	if (*out)
		memcpy(*out, from, VALUE_PAGE);
	return *out || !from;
}

struct value_page *value_page_copy(struct value_memory *mem, const struct value_page *page)
{
	struct value_page *copy = value_page_new(mem);
	if (!copy)
		return NULL;
	memcpy(copy->bytes, page->bytes, VALUE_PAGE);
	copy->doubt = page->doubt;
	if (!copy_bytes(page->quality, &copy->quality) || !copy_bytes(page->bits, &copy->bits)) {
		value_page_put(mem, copy);
		return NULL;
	}
	mem->pages_copied++;
	return copy;
}

/* Where child @i is to be put. */
static void **slot_of(struct value_node *node, unsigned i)
{
	node->used[i / 64] |= (uint64_t)1 << i % 64;
	return &node->child[i];
}

/* The lowest node of @addr that is this memory's own, made where there is none; NULL: no memory. */
static struct value_node *own_leaf(struct value_memory *mem, uint64_t addr)
{
	struct value_node **slot = &mem->root;
	for (int level = 0;; level++) {
		struct value_node *node = *slot;
		if (!node) {
			node = calloc(1, sizeof(*node));
			if (!node)
				return NULL;
			node->refs = 1;
			*slot = node;
		} else if (node->refs > 1) {
			struct value_node *copy = node_copy(node, level);
			if (!copy)
				return NULL;
			node->refs--;
			*slot = node = copy;
		}
		if (level == LEVELS - 1)
			return node;
		slot = (struct value_node **)slot_of(node, index_at(addr, level));
	}
}

struct value_page *value_page_at(const struct value_memory *mem, uint64_t addr)
{
	return value_page_in(mem->root, addr);
}

struct value_page *value_page_in(const struct value_node *root, uint64_t addr)
{
	const struct value_node *node = root;
	for (int level = 0; node && level < LEVELS - 1; level++)
		node = node->child[index_at(addr, level)];
	return node ? node->child[index_at(addr, LEVELS - 1)] : NULL;
}

bool value_page_is_own(const struct value_memory *mem, uint64_t addr)
{
	const struct value_node *node = mem->root;
	for (int level = 0; level < LEVELS - 1; level++) {
		if (node->refs > 1)
			return false;
		node = node->child[index_at(addr, level)];
	}
	const struct value_page *page = node->child[index_at(addr, LEVELS - 1)];
	return node->refs == 1 && page->refs == 1;
}

void **value_page_slot(struct value_memory *mem, uint64_t addr)
{
	struct value_node *leaf = own_leaf(mem, addr);
	return leaf ? slot_of(leaf, index_at(addr, LEVELS - 1)) : NULL;
}

/* The first page at or behind @addr that there is, before @end; @end: none. */
static uint64_t next_page(const struct value_memory *mem, uint64_t addr, uint64_t end)
{
	while (addr < end) {
		const struct value_node *node = mem->root;
		int level = 0;
		for (; node && level < LEVELS - 1; level++)
			node = node->child[index_at(addr, level)];
		if (node && node->child[index_at(addr, LEVELS - 1)])
			return addr;
		/* Nothing below a node of this level. */
		uint64_t span = node ? VALUE_PAGE : (uint64_t)1 << (12 + 9 * (LEVELS - level));
		addr = (addr & ~(span - 1)) + span;
	}
	return end;
}

int value_pages_drop(struct value_memory *mem, uint64_t start, uint64_t end)
{
	for (uint64_t addr = start; (addr = next_page(mem, addr, end)) < end; addr += VALUE_PAGE) {
		struct value_node *leaf = own_leaf(mem, addr);
		unsigned i = index_at(addr, LEVELS - 1);
		if (!leaf)
			return -ENOMEM;
		value_page_put(mem, leaf->child[i]);
		leaf->child[i] = NULL;
	}
	return 0;
}

int value_pages_move(struct value_memory *mem, uint64_t from, uint64_t to, uint64_t len)
{
	const uint64_t end = from + len;
	for (uint64_t addr = from; (addr = next_page(mem, addr, end)) < end; addr += VALUE_PAGE) {
		void **slot = value_page_slot(mem, to + (addr - from));
		struct value_node *leaf = slot ? own_leaf(mem, addr) : NULL;
		unsigned i = index_at(addr, LEVELS - 1);
		if (!leaf)
			return -ENOMEM;
		*slot = leaf->child[i];
		leaf->child[i] = NULL;
	}
	return 0;
}

void value_pages_hold(struct value_node *root)
{
	if (root)
		root->refs++;
}

void value_pages_put(struct value_memory *mem, struct value_node *root)
{
	node_put(mem, root, 0);
}

static void nodes_changed(const struct value_node *now, const struct value_node *then, int level,
			  uint64_t addr, value_changed_fn *fn, void *ctx)
{
	uint64_t used[FANOUT / 64] = {0};
	for (unsigned w = 0; now != then && w < FANOUT / 64; w++)
		used[w] = (now ? now->used[w] : 0) | (then ? then->used[w] : 0);
	FOR_EACH_CHILD(i, used)
	{
		void *a = now ? now->child[i] : NULL, *b = then ? then->child[i] : NULL;
		uint64_t at = addr | i << (12 + 9 * (LEVELS - 1 - level));
		if (a == b)
			continue;
		if (level < LEVELS - 1)
			nodes_changed(a, b, level + 1, at, fn, ctx);
		else
			fn(ctx, at, a ? ((const struct value_page *)a)->bytes : NULL);
	}
}

void value_pages_changed(const struct value_node *now, const struct value_node *then,
			 value_changed_fn *fn, void *ctx)
{
	nodes_changed(now, then, 0, 0, fn, ctx);
}
