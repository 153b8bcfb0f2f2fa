/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* memory.h: the memory of an evaluated task: sparse pages of 4096 bytes, copied on write after a
 * snapshot, with a quality for each byte. What it was at the start comes page by page from the
 * owner's fill function, when a page is touched for the first time.
 *
 * Allocation: pages and page-table nodes are counted and freed with the last snapshot that holds
 * them. Where memory is out an access fails as one to what is not mapped, and `exhausted` says so
 * from then on: whoever runs looks at it. */
#ifndef OFFLINE_EVAL_MEMORY_H
#define OFFLINE_EVAL_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	VALUE_PAGE = 4096, /* bytes */
	VALUE_TLB = 256,   /* entries of each translation cache */
};

/* How well a byte is known; the greater one wins where bytes are computed from others. */
enum value_quality {
	VALUE_EXACT = 0,   /* what the program had */
	VALUE_ASSUMED = 1, /* unless an opaque call wrote here */
	VALUE_UNKNOWN = 2, /* never captured; the number that stands there means nothing */
};

enum value_protection {
	VALUE_READ = 1,
	VALUE_WRITE = 2,
	VALUE_EXEC = 4,
	VALUE_SHARED = 16, /* others may write */
	VALUE_WIPED = 32   /* a fork's child has zeros there */
};

/* One mapping. @source and @off mean something to the fill function alone, but for
 * VALUE_SOURCE_ZEROS: anonymous memory. */
enum { VALUE_SOURCE_ZEROS = 0 };
struct value_region {
	uint64_t start, end; /* multiples of VALUE_PAGE */
	uint64_t off;	     /* bytes; that of @start */
	uint32_t source;
	uint32_t prot;	/* enum value_protection */
	uint32_t doubt; /* of the memory, when it was mapped: set by value_memory_map() */
	/* Of the memory, when somebody may have written to the mapping last before its protection
	 * was changed, or 0: set by value_memory_protect(). A page of it that is touched later may
	 * have been written until then. */
	uint32_t writable_to;
	/* A stack: the lowest address that the kernel makes part of it when that is touched; else
	 * 0. */
	uint64_t grows_to;
};

/* Fills the page at @addr of @region: its bytes, and a quality for each where not all are exact
 * (@quality is zeroed before). Returns 0, or -errno: the page cannot be touched. */
typedef int value_fill_fn(void *ctx, const struct value_region *region, uint64_t addr,
			  uint8_t *bytes, uint8_t *quality);

/* One entry of a translation cache: where the page with address @tag lies. @data and @quality are
 * host addresses minus @tag, so that adding the guest address gives the byte's place. */
struct value_tlb {
	uint64_t tag; /* 1: empty (no page has it) */
	uintptr_t data;
	uintptr_t quality;
};

struct value_node;
struct value_regions;

/* A moment of the memory; must be freed with value_memory_forget(). */
struct value_snapshot {
	struct value_node *root;
	struct value_regions *regions;
	uint32_t doubt, forced;
};

/* Is told of each piece of memory that something has written. */
typedef void value_wrote_fn(void *ctx, uint64_t addr, uint64_t len);

struct value_memory {
	struct value_tlb read[VALUE_TLB];
	struct value_tlb write[VALUE_TLB];
	struct value_node *root;
	struct value_regions *regions;
	value_fill_fn *fill;
	void *fill_ctx;
	/* The page of memory that others may write at any time which was looked up last, if it has
	 * qualities of its own: in no cache, and nothing in it is better than assumed. */
	struct value_tlb shared;
	uint8_t *shared_quality;
	value_wrote_fn *wrote; /* of value_memory_write() and _write_qualities(); NULL: nobody */
	void *wrote_ctx;
	bool crowded;	      /* value_memory_crowd() */
	bool exhausted;	      /* a page or its qualities could not be allocated */
	bool on_supposition;  /* whoever asks for a quality is told nothing better than assumed */
	uint32_t n_shared;    /* such mappings so far; 0: none has to be looked for */
	uint32_t doubt;	      /* how often value_memory_assume_all() was called on the way here */
	uint32_t forced;      /* the doubt of value_memory_assume_forced() last; 0: never */
	uint8_t *all_assumed; /* VALUE_PAGE of them, for pages that others may write */
	uint8_t *all_exact;   /* VALUE_PAGE zeros: the qualities of all pages that are exact */
	/* Addresses of pages that code was translated from which may change: a hash set of
	 * room_watched slots (0: free); and how often it was emptied, as one of these pages is
	 * another one, or its bytes are no longer exact. */
	uint64_t *watched;
	size_t n_watched, room_watched;
	uint64_t changes;
	bool stored_to_watched; /* value_memory_lookup() has refused one of them for a store */
	uint64_t pages_copied;	/* since the start, for statistics */
	uint64_t pages_held;	/* now, by all snapshots together */
};

/* Returns 0, or -ENOMEM; free with value_memory_deinit(), after all snapshots were forgotten. */
int value_memory_init(struct value_memory *mem, value_fill_fn *fill, void *fill_ctx);
void value_memory_deinit(struct value_memory *mem);

/* Maps @region; what was there before is gone. Source zeros: zeros, exact. 0 or -ENOMEM. */
int value_memory_map(struct value_memory *mem, const struct value_region *region);
int value_memory_unmap(struct value_memory *mem, uint64_t start, uint64_t end);
/* Maps those parts of @region where nothing is. 0 or -ENOMEM. */
int value_memory_map_holes(struct value_memory *mem, const struct value_region *region);
/* What is mapped in [@from, @from + @len) is mapped at @to instead, where nothing is left of what
 * was there: with its pages that were touched, and what is known of the others; @as of its mappings
 * says which source they have from now on. The two do not overlap. 0 or -ENOMEM. */
int value_memory_remap(struct value_memory *mem, uint64_t from, uint64_t to, uint64_t len,
		       uint32_t (*as)(uint32_t source));
/* Changes the protection of what is mapped there and nothing else. @maybe: of any part of it that
 * may be so or not, so all that was allowed stays allowed. 0 or -ENOMEM. */
int value_memory_protect(struct value_memory *mem, uint64_t start, uint64_t end, uint32_t prot,
			 bool maybe);
/* Says whether a fork's child has zeros in [@start, @end); and that this is such a child now. */
int value_memory_wiped_in_child(struct value_memory *mem, uint64_t start, uint64_t end, bool wiped);
int value_memory_become_child(struct value_memory *mem);
/* The mapping that @addr lies in, or NULL; borrowed until the mappings change. */
const struct value_region *value_memory_region(const struct value_memory *mem, uint64_t addr);
size_t value_memory_regions(const struct value_memory *mem, const struct value_region **out);

/* Copies @len bytes from or to guest address @addr, over page boundaries. @quality, which may be
 * NULL, becomes the worst of the bytes read. Returns 0; -EFAULT where a page is not mapped;
 * -ENOMEM. A failed write may have written the pages before. */
int value_memory_read(struct value_memory *mem, uint64_t addr, void *buf, size_t len,
		      uint8_t *quality);
int value_memory_write(struct value_memory *mem, uint64_t addr, const void *buf, size_t len,
		       uint8_t quality);
/* The quality of each byte, and the bytes' alone. */
int value_memory_read_qualities(struct value_memory *mem, uint64_t addr, uint8_t *out, size_t len);
int value_memory_write_qualities(struct value_memory *mem, uint64_t addr, const uint8_t *in,
				 size_t len);
/* Of each byte the bits that are exact: all of an exact byte, and of another one those that were
 * said to be since its quality was changed (memory_bits.c). */
int value_memory_read_bits(struct value_memory *mem, uint64_t addr, uint8_t *out, size_t len);
void value_memory_write_bits(struct value_memory *mem, uint64_t addr, const uint8_t *in,
			     size_t len);
int value_memory_set_quality(struct value_memory *mem, uint64_t addr, size_t len, uint8_t quality);
/* Makes no byte better than @quality; what is worse stays so. */
int value_memory_limit_quality(struct value_memory *mem, uint64_t addr, size_t len,
			       uint8_t quality);

/* Somebody may have written anywhere: every exact byte that may be written is assumed from now on,
 * also where that is protected later.
 * Costs a visit of each page when it is next touched. */
void value_memory_assume_all(struct value_memory *mem);
/* Somebody may have written past all protections, as a debugger does: the same of every exact byte,
 * but of those that may be executed and not written, so that their code is still one. */
void value_memory_assume_forced(struct value_memory *mem);

/* Says whether others may write at any time from now on. While they may, nothing that may be
 * written is better than assumed, as in memory that is shared. */
void value_memory_crowd(struct value_memory *mem, bool crowded);

/* Code was translated from the page of @addr: `changes` grows before that has other bytes, or bytes
 * that are known less well. A store by value_memory_lookup() is refused first, so that whoever
 * executes that code can come out of it. 0 or -ENOMEM. */
int value_memory_watch(struct value_memory *mem, uint64_t addr);
void value_memory_unwatch(struct value_memory *mem);

/* The page of @addr, for reading or for writing, in the translation cache; NULL where it is not
 * mapped, is watched (for writing) or memory is out. Its qualities hold if it is in the cache
 * alone, not if it is of memory that others write: value_memory_read_qualities() has these. */
const struct value_tlb *value_memory_lookup(struct value_memory *mem, uint64_t addr, bool write);

/* Takes a snapshot (cheap: pages are shared until one side writes). Cannot fail. */
struct value_snapshot value_memory_snapshot(struct value_memory *mem);
/* Goes back, or forward, to @snapshot, which stays valid. */
void value_memory_restore(struct value_memory *mem, const struct value_snapshot *snapshot);
void value_memory_forget(struct value_memory *mem, struct value_snapshot *snapshot);
/* Whether all bytes are as they were then, whatever is known of them; of a page that was touched
 * since, as it was to be filled then. */
bool value_memory_is_as(const struct value_memory *mem, const struct value_snapshot *snapshot);

/* Tells of each page whose bytes may be others than in @snapshot: its address, and its bytes now;
 * NULL: it is gone. Costs nothing for pages that both share. */
typedef void value_changed_fn(void *ctx, uint64_t addr, const uint8_t *bytes);
void value_memory_changed(const struct value_memory *mem, const struct value_snapshot *snapshot,
			  value_changed_fn *fn, void *ctx);
/* What the page at @addr was in @snapshot: borrowed from it, or @room, which has VALUE_PAGE bytes.
 * NULL: it was not mapped. */
const uint8_t *value_memory_then(const struct value_memory *mem,
				 const struct value_snapshot *snapshot, uint64_t addr,
				 uint8_t *room);

/* What @from has is @to's from now on, and @from has nothing; snapshots of both stay with whom they
 * are of. Their fill functions must fill alike. */
void value_memory_move(struct value_memory *to, struct value_memory *from);

#endif
