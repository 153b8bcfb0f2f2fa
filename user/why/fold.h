/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* fold.h: the instances of a slice, folded by instruction and by event. */
#ifndef USER_WHY_FOLD_H
#define USER_WHY_FOLD_H

#include "offline/slice/edges.h"

/* One instruction, or one function or system call at one place. */
struct fold_entry {
	uint64_t ip;
	const char *name; /* of an event; NULL: an instruction */
	uint8_t kind;	  /* enum dep_event_kind of an event */
	bool ends;
	bool beside;	 /* not in the slice */
	uint64_t pinned; /* of @times: an output that was right shows that they were right */
	uint64_t near;	 /* the least distance of an instance from a center, in instructions */
	uint64_t times, first, last; /* instances, and when the first and the last of them were */
	uint32_t order;		     /* 1 + the step that came first */
	uint32_t group;		     /* lines.c: the entry that stands for this one's line */
};

/* Bytes of an input or an output. */
struct fold_bytes {
	int fd;
	bool output;
	uint64_t from, to;
};

/* What an instance has read that may be of other threads. */
struct fold_foreign {
	uint64_t count, addr;
	uint32_t len;
};

/* Bytes that a system call has read: @n from byte @offset of the call on. */
struct fold_input {
	uint64_t order; /* of its record */
	uint64_t offset, n;
	int fd;
	uint64_t at; /* in all that was read of the descriptor */
};

/* Bytes that a forked process has of its parent. */
struct fold_born {
	uint64_t addr, n;
};

struct fold_foreigns {
	struct fold_foreign *at; /* a vector (offline/base/vec.h) */
	uint32_t n, max;
	uint32_t *defs; /* those of the trace that are of others, in order */
	size_t n_defs;
	uint64_t calls;		   /* that read or copied what may be others': where is not told */
	struct fold_input *inputs; /* which are in no fold's bytes then */
	size_t n_inputs, room_inputs;
	struct fold_born *born;
	size_t n_born, room_born;
};

struct fold {
	const struct dep_trace *trace;
	const uint64_t *centers; /* counts of instructions that instances are near to */
	size_t n_centers;
	const uint64_t *pinned; /* a bit an instruction, or NULL */
	struct fold_entry *at;	/* a hash table; times 0: free */
	size_t n, room;
	struct fold_bytes *bytes;
	size_t n_bytes, room_bytes;
	uint64_t instances; /* of instructions */
	struct slice_members members;
	struct fold_foreigns *foreign; /* NULL, or is added to */
	bool keeps_members;	       /* @members is in use, and fold_find() */
	uint32_t *index;	       /* hash of 1 + an entry, of @room */
	bool no_memory;
};

/* What has to be known of @trace to add to it. 0 or -ENOMEM. */
int fold_foreigns_init(struct fold_foreigns *foreign, const struct dep_trace *trace);
/* What is asked for, in the state before instruction @count: bytes of memory with these
 * definitions, at @addr; 0: where is not told. 0 or -ENOMEM. */
int fold_foreigns_ask(struct fold_foreigns *foreign, const uint32_t *defs, uint64_t n,
		      uint64_t count, uint64_t addr);
void fold_foreigns_deinit(struct fold_foreigns *foreign);
/* Has each instance kept as well. 0 or -ENOMEM. */
int fold_keep_members(struct fold *fold);
/* A slice_visit_fn; @ctx is a struct fold with its trace set, otherwise zeroed. */
void fold_visit(void *ctx, const struct slice_step *step);
/* Adds @n bytes of a descriptor that was read, from @from on. */
void fold_add_input(struct fold *fold, int fd, uint64_t from, uint64_t n);
/* A jump that is not in the slice, and is looked at all the same. */
void fold_add_beside(struct fold *fold, const struct slice_step *step);
/* Puts the entries that are in use to the front, and runs of bytes together. */
void fold_finish(struct fold *fold);
/* The entry of a step, where members were kept and the fold is finished; NULL: none. */
const struct fold_entry *fold_find(const struct fold *fold, const struct slice_step *step);
/* The same of an entry of another fold. */
const struct fold_entry *fold_like(const struct fold *fold, const struct fold_entry *other);
void fold_deinit(struct fold *fold);

#endif
