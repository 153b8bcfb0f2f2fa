// SPDX-License-Identifier: LGPL-2.1-or-later
/* memory.c: pages in a radix tree of four levels, nine address bits each, as the processor's own
 * page tables. A snapshot is one more reference to the root; a write copies each node and page on
 * its way that has more than one reference, so that a snapshot costs nothing until pages change.
 *
 *   root -> node -> node -> node -> page (bytes, and their qualities where not all are exact)
 */
#include "offline/eval/memory.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { FANOUT = 512, LEVELS = 4, GROWTH_MAX = 64 << 20 };

struct value_node {
	uint32_t refs;
	void *child[FANOUT]; /* nodes; pages at the lowest level */
};

struct page {
	uint32_t refs;
	uint32_t doubt;	  /* value_memory.doubt that its qualities are of */
	uint8_t *quality; /* VALUE_PAGE of them, or NULL: all exact */
	uint8_t bytes[VALUE_PAGE] __attribute__((aligned(64)));
};

struct value_regions {
	uint32_t refs;
	size_t n;
	struct value_region list[]; /* by address */
};

static unsigned index_at(uint64_t addr, int level)
{
	return addr >> (12 + 9 * (LEVELS - 1 - level)) & (FANOUT - 1);
}

static uint64_t page_of(uint64_t addr)
{
	return addr & ~(uint64_t)(VALUE_PAGE - 1);
}

/* --- references ---------------------------------------------------------------------------- */

static void page_put(struct value_memory *mem, struct page *page)
{
	if (!page || --page->refs)
		return;
	mem->pages_held--;
	free(page->quality);
	free(page);
}

static void node_put(struct value_memory *mem, struct value_node *node, int level)
{
	if (!node || --node->refs)
		return;
	for (unsigned i = 0; i < FANOUT; i++)
		if (!node->child[i])
			continue;
		else if (level == LEVELS - 1)
			page_put(mem, node->child[i]);
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
	for (unsigned i = 0; i < FANOUT; i++)
		if (!copy->child[i])
			continue;
		else if (level == LEVELS - 1)
			((struct page *)copy->child[i])->refs++;
		else
			((struct value_node *)copy->child[i])->refs++;
	return copy;
}

static struct page *page_new(struct value_memory *mem)
{
	struct page *page = aligned_alloc(64, sizeof(struct page));
	if (!page)
		return NULL;
	page->refs = 1;
	page->quality = NULL;
	page->doubt = mem->doubt;
	mem->pages_held++;
	return page;
}

static struct page *page_copy(struct value_memory *mem, const struct page *page)
{
	struct page *copy = page_new(mem);
	if (!copy)
		return NULL;
	memcpy(copy->bytes, page->bytes, VALUE_PAGE);
	copy->doubt = page->doubt;
	if (page->quality) {
		copy->quality = malloc(VALUE_PAGE);
		if (!copy->quality) {
			page_put(mem, copy);
			return NULL;
		}
		memcpy(copy->quality, page->quality, VALUE_PAGE);
	}
	mem->pages_copied++;
	return copy;
}

static void regions_put(struct value_regions *regions)
{
	if (regions && !--regions->refs)
		free(regions);
}

static void flush(struct value_tlb *tlb)
{
	for (unsigned i = 0; i < VALUE_TLB; i++)
		tlb[i].tag = 1;
}

/* --- the tree ------------------------------------------------------------------------------ */

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
		slot = (struct value_node **)&node->child[index_at(addr, level)];
	}
}

static struct page *page_at(const struct value_memory *mem, uint64_t addr)
{
	const struct value_node *node = mem->root;
	for (int level = 0; node && level < LEVELS - 1; level++)
		node = node->child[index_at(addr, level)];
	return node ? node->child[index_at(addr, LEVELS - 1)] : NULL;
}

/* Whether no snapshot shares the page of @addr. */
static bool page_is_own(const struct value_memory *mem, uint64_t addr)
{
	const struct value_node *node = mem->root;
	for (int level = 0; level < LEVELS - 1; level++) {
		if (node->refs > 1)
			return false;
		node = node->child[index_at(addr, level)];
	}
	const struct page *page = node->child[index_at(addr, LEVELS - 1)];
	return node->refs == 1 && page->refs == 1;
}

static struct page *page_filled(struct value_memory *mem, uint64_t addr)
{
	const struct value_region *region = value_memory_region(mem, addr);
	if (!region)
		return NULL;
	struct page *page = page_new(mem);
	uint8_t *quality = calloc(1, VALUE_PAGE);
	int err = page && quality ? 0 : -ENOMEM;
	if (!err && region->source == VALUE_SOURCE_ZEROS)
		memset(page->bytes, 0, VALUE_PAGE);
	else if (!err)
		err = mem->fill(mem->fill_ctx, region, page_of(addr), page->bytes, quality);
	struct value_node *leaf = err ? NULL : own_leaf(mem, addr);
	if (!leaf) {
		if (page)
			page_put(mem, page);
		free(quality);
		return NULL;
	}
	if (memcmp(quality, mem->all_exact, VALUE_PAGE))
		page->quality = quality;
	else
		free(quality);
	page->doubt = region->doubt;
	leaf->child[index_at(addr, LEVELS - 1)] = page;
	return page;
}

/* Whether somebody may have written to @page since its qualities were right. */
static bool is_doubted(const struct value_memory *mem, const struct page *page, uint64_t addr)
{
	if (page->doubt == mem->doubt)
		return false;
	const struct value_region *region = value_memory_region(mem, addr);
	return region && region->prot & VALUE_WRITE;
}

/* Makes the exact bytes of @page, which is this memory's own, assumed. */
static struct page *doubt(struct value_memory *mem, struct page *page, uint64_t addr)
{
	if (!page->quality && !(page->quality = calloc(1, VALUE_PAGE)))
		return NULL;
	for (unsigned i = 0; i < VALUE_PAGE; i++)
		page->quality[i] += page->quality[i] == VALUE_EXACT;
	page->doubt = mem->doubt;
	mem->read[addr / VALUE_PAGE % VALUE_TLB].tag = 1;
	mem->write[addr / VALUE_PAGE % VALUE_TLB].tag = 1;
	return page;
}

/* The page of @addr, in no snapshot. */
static struct page *page_own(struct value_memory *mem, uint64_t addr)
{
	struct page *page = page_at(mem, addr);
	if (!page)
		return page_filled(mem, addr);
	if (page_is_own(mem, addr))
		return page;
	struct value_node *leaf = own_leaf(mem, addr);
	struct page *copy = leaf ? page_copy(mem, page) : NULL;
	if (!copy)
		return NULL;
	leaf->child[index_at(addr, LEVELS - 1)] = copy;
	page_put(mem, page);
	struct value_tlb *old = &mem->read[addr / VALUE_PAGE % VALUE_TLB];
	if (old->tag == page_of(addr))
		old->tag = 1;
	return copy;
}

/* The page of @addr, so that it may be written; NULL where it is not mapped or memory is out. */
static struct page *page_writable(struct value_memory *mem, uint64_t addr)
{
	struct page *page = page_own(mem, addr);
	return page && is_doubted(mem, page, addr) ? doubt(mem, page, addr) : page;
}

static bool is_shared(const struct value_memory *mem, uint64_t addr)
{
	if (!mem->n_shared && !mem->crowded)
		return false;
	const struct value_region *region = value_memory_region(mem, addr);
	uint32_t others = VALUE_SHARED | (mem->crowded ? VALUE_WRITE : 0);
	return region && region->prot & others;
}

/* Of memory that others write as well. */
static const struct value_tlb *shared_entry(struct value_memory *mem, const struct page *page,
					    uint64_t tag)
{
	for (unsigned i = 0; i < VALUE_PAGE; i++)
		mem->shared_quality[i] = page->quality && page->quality[i] == VALUE_UNKNOWN
						 ? VALUE_UNKNOWN
						 : VALUE_ASSUMED;
	mem->shared = (struct value_tlb){.tag = tag,
					 .data = (uintptr_t)page->bytes - tag,
					 .quality = (uintptr_t)mem->shared_quality - tag};
	return &mem->shared;
}

const struct value_tlb *value_memory_lookup(struct value_memory *mem, uint64_t addr, bool write)
{
	uint64_t tag = page_of(addr);
	struct value_tlb *entry = &(write ? mem->write : mem->read)[addr / VALUE_PAGE % VALUE_TLB];
	if (entry->tag == tag)
		return entry;
	if (addr >> 48)
		return NULL;
	struct page *page = write ? page_writable(mem, addr) : page_at(mem, addr);
	if (!page && !write)
		page = page_filled(mem, addr);
	if (page && is_doubted(mem, page, addr))
		page = page_writable(mem, addr);
	if (!page)
		return NULL;
	bool shared = is_shared(mem, addr);
	/* What is in the cache for writing gets qualities as well, which are not to be those that
	 * all such pages have. */
	if (shared && (page->quality || write))
		return shared_entry(mem, page, tag);
	entry->tag = tag;
	entry->data = (uintptr_t)page->bytes - tag;
	entry->quality = (uintptr_t)(page->quality ? page->quality
				     : shared	   ? mem->all_assumed
						   : mem->all_exact) -
			 tag;
	return entry;
}

/* --- whole ranges -------------------------------------------------------------------------- */

static size_t in_page(uint64_t addr, size_t len)
{
	size_t left = VALUE_PAGE - addr % VALUE_PAGE;
	return len < left ? len : left;
}

int value_memory_read(struct value_memory *mem, uint64_t addr, void *buf, size_t len,
		      uint8_t *quality)
{
	uint8_t worst = VALUE_EXACT;
	for (size_t done = 0; done < len;) {
		size_t part = in_page(addr + done, len - done);
		const struct value_tlb *entry = value_memory_lookup(mem, addr + done, false);
		if (!entry)
			return -EFAULT;
		memcpy((uint8_t *)buf + done, (void *)(entry->data + addr + done), part);
		const uint8_t *q = (void *)(entry->quality + addr + done);
		for (size_t i = 0; quality && i < part; i++)
			worst = q[i] > worst ? q[i] : worst;
		done += part;
	}
	if (quality)
		*quality = mem->supposed && !worst ? VALUE_ASSUMED : worst;
	return 0;
}

int value_memory_read_qualities(struct value_memory *mem, uint64_t addr, uint8_t *out, size_t len)
{
	for (size_t done = 0; done < len;) {
		size_t part = in_page(addr + done, len - done);
		const struct value_tlb *entry = value_memory_lookup(mem, addr + done, false);
		if (!entry)
			return -EFAULT;
		memcpy(out + done, (void *)(entry->quality + addr + done), part);
		for (size_t i = 0; mem->supposed && i < part; i++)
			out[done + i] = out[done + i] ? out[done + i] : VALUE_ASSUMED;
		done += part;
	}
	return 0;
}

/* The page of @addr with qualities of its own, made where @needed. */
static int own_qualities(struct value_memory *mem, uint64_t addr, bool needed, uint8_t **out)
{
	struct page *page = page_writable(mem, addr);
	if (!page)
		return -EFAULT;
	if (!page->quality && needed) {
		page->quality = calloc(1, VALUE_PAGE);
		if (!page->quality)
			return -ENOMEM;
		mem->read[addr / VALUE_PAGE % VALUE_TLB].tag = 1;
		mem->write[addr / VALUE_PAGE % VALUE_TLB].tag = 1;
	}
	*out = page->quality ? page->quality + addr % VALUE_PAGE : NULL;
	return 0;
}

int value_memory_write_qualities(struct value_memory *mem, uint64_t addr, const uint8_t *in,
				 size_t len)
{
	for (size_t done = 0; done < len;) {
		size_t part = in_page(addr + done, len - done);
		bool needed = memcmp(in + done, mem->all_exact, part);
		uint8_t *q;
		int err = own_qualities(mem, addr + done, needed, &q);
		if (err)
			return err;
		if (q)
			memcpy(q, in + done, part);
		done += part;
	}
	return 0;
}

int value_memory_set_quality(struct value_memory *mem, uint64_t addr, size_t len, uint8_t quality)
{
	for (size_t done = 0; done < len;) {
		size_t part = in_page(addr + done, len - done);
		uint8_t *q;
		int err = own_qualities(mem, addr + done, quality != VALUE_EXACT, &q);
		if (err)
			return err;
		if (q)
			memset(q, quality, part);
		done += part;
	}
	return 0;
}

int value_memory_write(struct value_memory *mem, uint64_t addr, const void *buf, size_t len,
		       uint8_t quality)
{
	for (size_t done = 0; done < len;) {
		size_t part = in_page(addr + done, len - done);
		const struct value_tlb *entry = value_memory_lookup(mem, addr + done, true);
		if (!entry)
			return -EFAULT;
		memcpy((void *)(entry->data + addr + done), (const uint8_t *)buf + done, part);
		done += part;
	}
	return value_memory_set_quality(mem, addr, len, quality);
}

/* --- mappings ------------------------------------------------------------------------------ */

const struct value_region *value_memory_region(const struct value_memory *mem, uint64_t addr)
{
	const struct value_regions *regions = mem->regions;
	size_t low = 0, high = regions ? regions->n : 0;
	while (low < high) {
		size_t middle = (low + high) / 2;
		if (regions->list[middle].end <= addr)
			low = middle + 1;
		else
			high = middle;
	}
	if (!regions || low == regions->n)
		return NULL;
	const struct value_region *next = &regions->list[low];
	bool inside = next->start <= addr;
	bool grows = next->prot & VALUE_GROWS_DOWN && next->start - addr < GROWTH_MAX;
	return inside || grows ? next : NULL;
}

size_t value_memory_regions(const struct value_memory *mem, const struct value_region **out)
{
	*out = mem->regions ? mem->regions->list : NULL;
	return mem->regions ? mem->regions->n : 0;
}

/* The list without [start, end), where @put goes (NULL: nothing); regions on the edge are cut. */
static int replace(struct value_memory *mem, uint64_t start, uint64_t end,
		   const struct value_region *put)
{
	const struct value_regions *old = mem->regions;
	size_t n = old ? old->n : 0, m = 0;
	struct value_regions *new = malloc(sizeof(*new) + (n + 2) * sizeof(new->list[0]));
	if (!new)
		return -ENOMEM;
	size_t i = 0;
	for (; i < n && old->list[i].start < end; i++) {
		struct value_region r = old->list[i];
		if (r.end <= start) {
			new->list[m++] = r;
			continue;
		}
		if (r.start < start) {
			new->list[m] = r;
			new->list[m++].end = start;
		}
		if (put && put->start == start) {
			new->list[m++] = *put;
			put = NULL;
		}
		if (r.end > end) {
			r.off += end - r.start;
			r.start = end;
			new->list[m++] = r;
		}
	}
	if (put)
		new->list[m++] = *put;
	for (; i < n; i++)
		new->list[m++] = old->list[i];
	new->refs = 1;
	new->n = m;
	regions_put(mem->regions);
	mem->regions = new;
	return 0;
}

/* Forgets the pages in [start, end). */
static int drop_pages(struct value_memory *mem, uint64_t start, uint64_t end)
{
	for (uint64_t addr = start; addr < end;) {
		const struct value_node *node = mem->root;
		int level = 0;
		for (; node && level < LEVELS - 1; level++)
			node = node->child[index_at(addr, level)];
		if (!node) { /* nothing below a node of this level */
			uint64_t span = (uint64_t)1 << (12 + 9 * (LEVELS - level));
			addr = (addr & ~(span - 1)) + span;
			continue;
		}
		unsigned i = index_at(addr, LEVELS - 1);
		if (node->child[i]) {
			struct value_node *leaf = own_leaf(mem, addr);
			if (!leaf)
				return -ENOMEM;
			page_put(mem, leaf->child[i]);
			leaf->child[i] = NULL;
		}
		addr += VALUE_PAGE;
	}
	flush(mem->read);
	flush(mem->write);
	return 0;
}

int value_memory_unmap(struct value_memory *mem, uint64_t start, uint64_t end)
{
	if (start >= end || end >> 48)
		return -EINVAL;
	int err = drop_pages(mem, start, end);
	return err ? err : replace(mem, start, end, NULL);
}

int value_memory_map(struct value_memory *mem, const struct value_region *region)
{
	if (region->start >= region->end || region->end >> 48 ||
	    (region->start | region->end) % VALUE_PAGE)
		return -EINVAL;
	struct value_region at = *region;
	at.doubt = mem->doubt;
	mem->n_shared += !!(at.prot & VALUE_SHARED);
	int err = drop_pages(mem, at.start, at.end);
	return err ? err : replace(mem, at.start, at.end, &at);
}

int value_memory_protect(struct value_memory *mem, uint64_t start, uint64_t end, uint32_t prot)
{
	for (uint64_t addr = start; addr < end;) {
		const struct value_region *at = value_memory_region(mem, addr);
		if (!at || at->start > addr)
			return -EFAULT;
		struct value_region part = *at;
		part.off += addr - part.start;
		part.start = addr;
		part.end = part.end < end ? part.end : end;
		part.prot = prot | (part.prot & (VALUE_GROWS_DOWN | VALUE_SHARED));
		addr = part.end;
		/* Its pages are not asked any more whether they were written before. */
		for (uint64_t page = part.start; mem->doubt && page < part.end; page += VALUE_PAGE)
			if (page_at(mem, page))
				value_memory_lookup(mem, page, false);
		int err = replace(mem, part.start, part.end, &part);
		if (err)
			return err;
	}
	return 0;
}

void value_memory_assume_all(struct value_memory *mem)
{
	mem->doubt++;
	flush(mem->read);
	flush(mem->write);
}

void value_memory_crowd(struct value_memory *mem, bool crowded)
{
	if (mem->crowded == crowded)
		return;
	mem->crowded = crowded;
	flush(mem->read);
	flush(mem->write);
}

/* --- snapshots ----------------------------------------------------------------------------- */

struct value_snapshot value_memory_snapshot(struct value_memory *mem)
{
	if (mem->root)
		mem->root->refs++;
	if (mem->regions)
		mem->regions->refs++;
	flush(mem->write);
	return (struct value_snapshot){mem->root, mem->regions, mem->doubt};
}

void value_memory_forget(struct value_memory *mem, struct value_snapshot *snapshot)
{
	node_put(mem, snapshot->root, 0);
	regions_put(snapshot->regions);
	*snapshot = (struct value_snapshot){0};
	/* Pages may be this memory's own again; that is seen at their next lookup. */
}

void value_memory_restore(struct value_memory *mem, const struct value_snapshot *snapshot)
{
	struct value_node *root = mem->root;
	struct value_regions *regions = mem->regions;
	mem->root = snapshot->root;
	mem->regions = snapshot->regions;
	mem->doubt = snapshot->doubt;
	if (mem->root)
		mem->root->refs++;
	if (mem->regions)
		mem->regions->refs++;
	node_put(mem, root, 0);
	regions_put(regions);
	flush(mem->read);
	flush(mem->write);
}

int value_memory_init(struct value_memory *mem, value_fill_fn *fill, void *fill_ctx)
{
	memset(mem, 0, sizeof(*mem));
	mem->fill = fill;
	mem->fill_ctx = fill_ctx;
	mem->all_exact = calloc(1, VALUE_PAGE + 64);
	mem->shared_quality = calloc(1, VALUE_PAGE);
	mem->all_assumed = malloc(VALUE_PAGE + 64);
	if (mem->all_assumed)
		memset(mem->all_assumed, VALUE_ASSUMED, VALUE_PAGE + 64);
	flush(mem->read);
	flush(mem->write);
	if (!mem->all_exact || !mem->shared_quality || !mem->all_assumed) {
		value_memory_deinit(mem);
		return -ENOMEM;
	}
	return 0;
}

void value_memory_deinit(struct value_memory *mem)
{
	node_put(mem, mem->root, 0);
	regions_put(mem->regions);
	free(mem->all_exact);
	free(mem->shared_quality);
	free(mem->all_assumed);
	memset(mem, 0, sizeof(*mem));
}
