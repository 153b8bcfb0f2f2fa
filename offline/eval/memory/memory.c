// SPDX-License-Identifier: LGPL-2.1-or-later
/* memory.c: reading, writing and mapping, with the qualities of bytes. What a page has at first
 * comes from the owner when it is touched; what others may write is never better than assumed.
 * pages.c keeps the pages, regions.c the mappings, watched.c which of them code was translated
 * from. */
#include "offline/eval/memory/memory.h"
#include "offline/eval/memory/pages.h"
#include "offline/eval/memory/regions.h"
#include "offline/eval/memory/watched.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static void flush(struct value_tlb *tlb)
{
	for (unsigned i = 0; i < VALUE_TLB; i++)
		tlb[i].tag = 1;
}

static struct value_page *page_filled(struct value_memory *mem, uint64_t addr)
{
	const struct value_region *region = value_memory_region(mem, addr);
	if (!region)
		return NULL;
	struct value_page *page = value_page_new(mem);
	uint8_t *quality = calloc(1, VALUE_PAGE);
	int err = page && quality ? 0 : -ENOMEM;
	if (!err && region->source == VALUE_SOURCE_ZEROS)
		memset(page->bytes, 0, VALUE_PAGE);
	else if (!err)
		err = mem->fill(mem->fill_ctx, region, value_page_addr(addr), page->bytes, quality);
	void **slot = err ? NULL : value_page_slot(mem, addr);
	if (!slot) {
		mem->exhausted |= !err || err == -ENOMEM;
		if (page)
			value_page_put(mem, page);
		free(quality);
		return NULL;
	}
	if (memcmp(quality, mem->all_exact, VALUE_PAGE))
		page->quality = quality;
	else
		free(quality);
	page->doubt = region->doubt;
	*slot = page;
	return page;
}

/* The doubt up to which somebody may have written to @region. */
static uint32_t written_to(const struct value_memory *mem, const struct value_region *region)
{
	if (region->prot & VALUE_WRITE)
		return mem->doubt;
	uint32_t forced = region->prot & VALUE_EXEC ? 0 : mem->forced;
	return forced > region->writable_to ? forced : region->writable_to;
}

/* Whether somebody may have written to @page since its qualities were right. */
static bool is_doubted(const struct value_memory *mem, const struct value_page *page, uint64_t addr)
{
	if (page->doubt == mem->doubt)
		return false;
	const struct value_region *region = value_memory_region(mem, addr);
	return region && page->doubt < written_to(mem, region);
}

/* Makes the exact bytes of @page, which is this memory's own, assumed, and no bit better. */
static struct value_page *doubt(struct value_memory *mem, struct value_page *page, uint64_t addr)
{
	if (!page->quality && !(page->quality = calloc(1, VALUE_PAGE))) {
		mem->exhausted = true;
		return NULL;
	}
	for (unsigned i = 0; i < VALUE_PAGE; i++)
		page->quality[i] += page->quality[i] == VALUE_EXACT;
	free(page->bits);
	page->bits = NULL;
	page->doubt = mem->doubt;
	mem->read[addr / VALUE_PAGE % VALUE_TLB].tag = 1;
	mem->write[addr / VALUE_PAGE % VALUE_TLB].tag = 1;
	return page;
}

/* The page of @addr, in no snapshot. */
static struct value_page *page_own(struct value_memory *mem, uint64_t addr)
{
	struct value_page *page = value_page_at(mem, addr);
	if (!page)
		return page_filled(mem, addr);
	if (value_page_is_own(mem, addr))
		return page;
	void **slot = value_page_slot(mem, addr);
	struct value_page *copy = slot ? value_page_copy(mem, page) : NULL;
	if (!copy) {
		mem->exhausted = true;
		return NULL;
	}
	*slot = copy;
	value_page_put(mem, page);
	struct value_tlb *old = &mem->read[addr / VALUE_PAGE % VALUE_TLB];
	if (old->tag == value_page_addr(addr))
		old->tag = 1;
	return copy;
}

/* The page of @addr, so that it may be written; NULL where it is not mapped or memory is out. */
static struct value_page *page_writable(struct value_memory *mem, uint64_t addr)
{
	struct value_page *page = page_own(mem, addr);
	return page && is_doubted(mem, page, addr) ? doubt(mem, page, addr) : page;
}

bool value_page_is_shared(const struct value_memory *mem, uint64_t addr)
{
	if (!mem->n_shared && !mem->crowded)
		return false;
	const struct value_region *region = value_memory_region(mem, addr);
	uint32_t others = VALUE_SHARED | (mem->crowded ? VALUE_WRITE : 0);
	return region && region->prot & others;
}

/* Of memory that others write as well: unknown or at best assumed, and so at each access, since
 * what was written there is not to be believed by the next one. Of @len bytes at @addr; eight
 * qualities at a time. */
static const struct value_tlb *shared_entry(struct value_memory *mem, const struct value_page *page,
					    uint64_t addr, size_t len)
{
	const uint64_t each = 0x0101010101010101, tag = value_page_addr(addr);
	const uint8_t *from = page->quality ? page->quality : mem->all_assumed;
	for (size_t i = (addr - tag) & ~7ull; i < addr - tag + len; i += sizeof(each)) {
		uint64_t qualities;
		memcpy(&qualities, from + i, sizeof(qualities));
		uint64_t unknown = qualities & each * VALUE_UNKNOWN;
		qualities = unknown | (~(unknown / VALUE_UNKNOWN) & each * VALUE_ASSUMED);
		memcpy(mem->shared_quality + i, &qualities, sizeof(qualities));
	}
	mem->shared = (struct value_tlb){.tag = tag,
					 .data = (uintptr_t)page->bytes - tag,
					 .quality = (uintptr_t)mem->shared_quality - tag};
	return &mem->shared;
}

/* As value_memory_lookup(), with the qualities of @len bytes of that page. */
static const struct value_tlb *look_up(struct value_memory *mem, uint64_t addr, size_t len,
				       bool write)
{
	uint64_t tag = value_page_addr(addr);
	struct value_tlb *entry = &(write ? mem->write : mem->read)[addr / VALUE_PAGE % VALUE_TLB];
	if (entry->tag == tag)
		return entry;
	if (addr >> 48)
		return NULL;
	if (write && value_watched(mem, addr)) {
		mem->stored_to_watched = true;
		return NULL;
	}
	struct value_page *page = write ? page_writable(mem, addr) : value_page_at(mem, addr);
	if (!page && !write)
		page = page_filled(mem, addr);
	if (page && is_doubted(mem, page, addr))
		page = page_writable(mem, addr);
	if (!page)
		return NULL;
	bool shared = value_page_is_shared(mem, addr);
	/* What is in the cache for writing gets qualities as well, which are not to be those that
	 * all such pages have. */
	if (shared && (page->quality || write))
		return shared_entry(mem, page, addr, len);
	entry->tag = tag;
	entry->data = (uintptr_t)page->bytes - tag;
	entry->quality = (uintptr_t)(page->quality ? page->quality
				     : shared	   ? mem->all_assumed
						   : mem->all_exact) -
			 tag;
	return entry;
}

const struct value_tlb *value_memory_lookup(struct value_memory *mem, uint64_t addr, bool write)
{
	return look_up(mem, addr, 0, write);
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
		const struct value_tlb *entry = look_up(mem, addr + done, part, false);
		if (!entry)
			return -EFAULT;
		memcpy((uint8_t *)buf + done, (void *)(entry->data + addr + done), part);
		const uint8_t *q = (void *)(entry->quality + addr + done);
		for (size_t i = 0; quality && i < part; i++)
			worst = q[i] > worst ? q[i] : worst;
		done += part;
	}
	if (quality)
		*quality = mem->on_supposition && !worst ? VALUE_ASSUMED : worst;
	return 0;
}

int value_memory_read_qualities(struct value_memory *mem, uint64_t addr, uint8_t *out, size_t len)
{
	for (size_t done = 0; done < len;) {
		size_t part = in_page(addr + done, len - done);
		const struct value_tlb *entry = look_up(mem, addr + done, part, false);
		if (!entry)
			return -EFAULT;
		memcpy(out + done, (void *)(entry->quality + addr + done), part);
		for (size_t i = 0; mem->on_supposition && i < part; i++)
			out[done + i] = out[done + i] ? out[done + i] : VALUE_ASSUMED;
		done += part;
	}
	return 0;
}

/* The page of @addr with qualities of its own, made where @needed. Those of @len bytes are about to
 * be changed: of none of these is a part exact. */
static int own_qualities(struct value_memory *mem, uint64_t addr, size_t len, bool needed,
			 uint8_t **out)
{
	value_watched_leave(mem, addr, len);
	struct value_page *page = page_writable(mem, addr);
	if (!page)
		return -EFAULT;
	if (!page->quality && needed) {
		page->quality = calloc(1, VALUE_PAGE);
		if (!page->quality) {
			mem->exhausted = true;
			return -ENOMEM;
		}
		mem->read[addr / VALUE_PAGE % VALUE_TLB].tag = 1;
		mem->write[addr / VALUE_PAGE % VALUE_TLB].tag = 1;
	}
	if (page->bits)
		memset(page->bits + addr % VALUE_PAGE, 0, len);
	*out = page->quality ? page->quality + addr % VALUE_PAGE : NULL;
	return 0;
}

int value_memory_write_qualities(struct value_memory *mem, uint64_t addr, const uint8_t *in,
				 size_t len)
{
	if (mem->wrote)
		mem->wrote(mem->wrote_ctx, addr, len);
	for (size_t done = 0; done < len;) {
		size_t part = in_page(addr + done, len - done);
		bool needed = memcmp(in + done, mem->all_exact, part);
		uint8_t *q;
		int err = own_qualities(mem, addr + done, part, needed, &q);
		if (err)
			return err;
		if (q)
			memcpy(q, in + done, part);
		done += part;
	}
	return 0;
}

/* Each byte is @quality, or, with @limit, no better than that. */
static int put_quality(struct value_memory *mem, uint64_t addr, size_t len, uint8_t quality,
		       bool limit)
{
	for (size_t done = 0; done < len;) {
		size_t part = in_page(addr + done, len - done);
		uint8_t *q;
		int err = own_qualities(mem, addr + done, part, quality != VALUE_EXACT, &q);
		if (err)
			return err;
		if (q && !limit)
			memset(q, quality, part);
		for (size_t i = 0; q && limit && i < part; i++)
			q[i] = q[i] > quality ? q[i] : quality;
		done += part;
	}
	return 0;
}

int value_memory_set_quality(struct value_memory *mem, uint64_t addr, size_t len, uint8_t quality)
{
	return put_quality(mem, addr, len, quality, false);
}

int value_memory_limit_quality(struct value_memory *mem, uint64_t addr, size_t len, uint8_t quality)
{
	return put_quality(mem, addr, len, quality, true);
}

int value_memory_write(struct value_memory *mem, uint64_t addr, const void *buf, size_t len,
		       uint8_t quality)
{
	if (mem->wrote)
		mem->wrote(mem->wrote_ctx, addr, len);
	value_watched_leave(mem, addr, len);
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
	return value_regions_find(mem->regions, addr);
}

size_t value_memory_regions(const struct value_memory *mem, const struct value_region **out)
{
	*out = mem->regions ? mem->regions->list : NULL;
	return mem->regions ? mem->regions->n : 0;
}

/* Forgets the pages in [start, end). */
static int drop_pages(struct value_memory *mem, uint64_t start, uint64_t end)
{
	int err = value_pages_drop(mem, start, end);
	value_memory_unwatch(mem);
	flush(mem->read);
	flush(mem->write);
	return err;
}

int value_memory_unmap(struct value_memory *mem, uint64_t start, uint64_t end)
{
	if (start >= end || end >> 48)
		return -EINVAL;
	int err = drop_pages(mem, start, end);
	return err ? err : value_regions_replace(&mem->regions, start, end, NULL);
}

int value_memory_map(struct value_memory *mem, const struct value_region *region)
{
	if (region->start >= region->end || region->end >> 48 ||
	    (region->start | region->end) % VALUE_PAGE)
		return -EINVAL;
	struct value_region at = *region;
	at.doubt = mem->doubt;
	at.writable_to = 0;
	mem->n_shared += !!(at.prot & VALUE_SHARED);
	int err = drop_pages(mem, at.start, at.end);
	return err ? err : value_regions_replace(&mem->regions, at.start, at.end, &at);
}

int value_memory_map_holes(struct value_memory *mem, const struct value_region *region)
{
	int err = 0;
	for (uint64_t addr = region->start; !err && addr < region->end;) {
		const struct value_region *next = value_regions_next(mem->regions, addr);
		struct value_region hole = *region;
		hole.off += addr - region->start;
		hole.start = addr;
		if (next && next->start < hole.end)
			hole.end = next->start;
		addr = next && next->end < region->end ? next->end : region->end;
		if (hole.start < hole.end)
			err = value_memory_map(mem, &hole);
	}
	return err;
}

int value_memory_remap(struct value_memory *mem, uint64_t from, uint64_t to, uint64_t len,
		       uint32_t (*as)(uint32_t source))
{
	const uint64_t end = from + len;
	if ((from | to | len) % VALUE_PAGE || from >= end || end >> 48 ||
	    (to < end && from < to + len))
		return -EINVAL;
	int err = value_memory_unmap(mem, to, to + len);
	for (uint64_t addr = from; !err && addr < end;) {
		const struct value_region *at = value_regions_next(mem->regions, addr);
		if (!at || at->start >= end)
			break;
		struct value_region part = *at;
		uint64_t start = addr > part.start ? addr : part.start;
		uint64_t part_end = part.end < end ? part.end : end;
		part.off += start - part.start;
		part.source = as(part.source);
		part.start = start - from + to;
		part.end = part_end - from + to;
		addr = part_end;
		err = value_regions_replace(&mem->regions, part.start, part.end, &part);
	}
	if (mem->wrote && !err)
		mem->wrote(mem->wrote_ctx, to, len);
	err = err ? err : value_pages_move(mem, from, to, len);
	return err ? err : value_memory_unmap(mem, from, end);
}

/* Takes the bits @clear of `prot` from what is mapped there, and sets @set. */
static int change_prot(struct value_memory *mem, uint64_t start, uint64_t end, uint32_t clear,
		       uint32_t set)
{
	for (uint64_t addr = start; addr < end;) {
		const struct value_region *at = value_regions_next(mem->regions, addr);
		if (at && at->start > addr) {
			addr = at->start;
			continue;
		}
		if (!at)
			break;
		struct value_region part = *at;
		part.off += addr - part.start;
		part.start = addr;
		part.end = part.end < end ? part.end : end;
		part.writable_to = written_to(mem, &part);
		part.prot = set | (part.prot & ~clear);
		addr = part.end;
		int err = value_regions_replace(&mem->regions, part.start, part.end, &part);
		if (err)
			return err;
	}
	value_memory_unwatch(mem);
	/* Of what is writable now, others may write to it while the memory is crowded. */
	flush(mem->read);
	flush(mem->write);
	return 0;
}

int value_memory_protect(struct value_memory *mem, uint64_t start, uint64_t end, uint32_t prot,
			 bool maybe)
{
	uint32_t clear = maybe ? 0 : VALUE_READ | VALUE_WRITE | VALUE_EXEC;
	return change_prot(mem, start, end, clear, prot);
}

int value_memory_wiped_in_child(struct value_memory *mem, uint64_t start, uint64_t end, bool wiped)
{
	return change_prot(mem, start, end, VALUE_WIPED, wiped ? VALUE_WIPED : 0);
}

int value_memory_become_child(struct value_memory *mem)
{
	const struct value_region *all;
	int err = 0;

	for (size_t i = 0; !err && i < value_memory_regions(mem, &all); i++) {
		struct value_region again = all[i];

		again.source = VALUE_SOURCE_ZEROS;
		if (again.prot & VALUE_WIPED)
			err = value_memory_map(mem, &again);
	}
	return err;
}

void value_memory_assume_all(struct value_memory *mem)
{
	mem->doubt++;
	value_memory_unwatch(mem);
	flush(mem->read);
	flush(mem->write);
}

void value_memory_assume_forced(struct value_memory *mem)
{
	value_memory_assume_all(mem);
	mem->forced = mem->doubt;
}

void value_memory_crowd(struct value_memory *mem, bool crowded)
{
	if (mem->crowded == crowded)
		return;
	mem->crowded = crowded;
	value_memory_unwatch(mem);
	flush(mem->read);
	flush(mem->write);
}

/* --- snapshots ----------------------------------------------------------------------------- */

struct value_snapshot value_memory_snapshot(struct value_memory *mem)
{
	value_pages_hold(mem->root);
	if (mem->regions)
		mem->regions->refs++;
	flush(mem->write);
	return (struct value_snapshot){mem->root, mem->regions, mem->doubt, mem->forced};
}

void value_memory_forget(struct value_memory *mem, struct value_snapshot *snapshot)
{
	value_pages_put(mem, snapshot->root);
	value_regions_put(snapshot->regions);
	*snapshot = (struct value_snapshot){0};
	/* Pages may be this memory's own again; that is seen at their next lookup. */
}

void value_memory_changed(const struct value_memory *mem, const struct value_snapshot *snapshot,
			  value_changed_fn *fn, void *ctx)
{
	value_pages_changed(mem->root, snapshot->root, fn, ctx);
}

const uint8_t *value_memory_then(const struct value_memory *mem,
				 const struct value_snapshot *snapshot, uint64_t addr,
				 uint8_t *room)
{
	const struct value_page *page = addr >> 48 ? NULL : value_page_in(snapshot->root, addr);
	if (page)
		return page->bytes;
	const struct value_region *region = value_regions_find(snapshot->regions, addr);
	uint8_t quality[VALUE_PAGE] = {0};
	if (!region)
		return NULL;
	memset(room, 0, VALUE_PAGE);
	if (region->source == VALUE_SOURCE_ZEROS)
		return room;
	return mem->fill(mem->fill_ctx, region, value_page_addr(addr), room, quality) ? NULL : room;
}

struct comparison {
	const struct value_memory *mem;
	const struct value_snapshot *snapshot;
	bool same;
};

static void compare(void *ctx, uint64_t addr, const uint8_t *bytes)
{
	struct comparison *c = ctx;
	uint8_t room[VALUE_PAGE];
	if (!c->same)
		return;
	const uint8_t *then = value_memory_then(c->mem, c->snapshot, addr, room);
	c->same = bytes && then && !memcmp(bytes, then, VALUE_PAGE);
}

bool value_memory_is_as(const struct value_memory *mem, const struct value_snapshot *snapshot)
{
	struct comparison c = {mem, snapshot, true};
	value_memory_changed(mem, snapshot, compare, &c);
	return c.same;
}

void value_memory_restore(struct value_memory *mem, const struct value_snapshot *snapshot)
{
	struct value_node *root = mem->root;
	struct value_regions *regions = mem->regions;
	mem->root = snapshot->root;
	mem->regions = snapshot->regions;
	mem->doubt = snapshot->doubt;
	mem->forced = snapshot->forced;
	value_pages_hold(mem->root);
	if (mem->regions)
		mem->regions->refs++;
	value_pages_put(mem, root);
	value_regions_put(regions);
	value_memory_unwatch(mem);
	flush(mem->read);
	flush(mem->write);
}

void value_memory_move(struct value_memory *to, struct value_memory *from)
{
	value_pages_put(to, to->root);
	value_regions_put(to->regions);
	to->root = from->root;
	to->regions = from->regions;
	to->doubt = from->doubt;
	to->forced = from->forced;
	to->n_shared = from->n_shared;
	from->root = NULL;
	from->regions = NULL;
	value_memory_unwatch(to);
	value_memory_unwatch(from);
	flush(to->read);
	flush(to->write);
	flush(from->read);
	flush(from->write);
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
	value_pages_put(mem, mem->root);
	value_regions_put(mem->regions);
	free(mem->watched);
	free(mem->all_exact);
	free(mem->shared_quality);
	free(mem->all_assumed);
	memset(mem, 0, sizeof(*mem));
}
