/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* lines.h: the entries of a folded slice as lines: of source where DWARF tells them, else
 * instructions. */
#ifndef USER_WHY_LINES_H
#define USER_WHY_LINES_H

#include "user/why/criterion.h"
#include "user/values/names/value_names.h"
#include "user/why/fold.h"

/* In how many of the runs that passed it was as in the one that failed. */
struct why_evidence {
	unsigned runs;	     /* that passed; 0: nothing is known of any */
	unsigned executed;   /* in which it was executed */
	unsigned same_ways;  /* in which its jumps went the ways that they went */
	unsigned new_values; /* values that it has had in none of them */
};

struct why_line {
	uint64_t times, first, last;
	uint64_t near;
	struct why_evidence evidence;
	bool beside;		    /* not in the slice */
	bool by_data;		    /* in the slice by data alone */
	float score;		    /* prune.c: of the places in each order */
	float confidence;	    /* 0 to 1: that its most doubtful instance was right */
	uint64_t instances, pinned; /* of all its instructions; events are never pinned */
	uint32_t group;		    /* of all its entries in the fold */
	uint64_t ip;		    /* of its last instance */
	uint64_t elf;
	const char *function; /* that its line is of, which may be inlined; NULL: not known */
	const char *file;     /* NULL: an instruction */
	uint32_t line;
	struct value_frame *frames; /* as value_names_frames(); NULL: nothing is inlined */
	uint32_t n_frames;
	const char *event; /* of a call or a system call; NULL */
	uint8_t kind;
	bool ends;
	char *text;  /* of the source, of the instruction */
	char *value; /* NULL: nothing to say */
};

/* The lines of @fold, the last executed first (@forward: the first). 0 or -ENOMEM. */
int why_lines(struct why_run *w, struct fold *fold, bool instructions, bool forward,
	      struct why_line **out, size_t *n);
/* The name of its file, which is known, without folders. */
const char *why_file_name(const struct why_line *line);
/* Whether both are the same line of source of the same inlined calls, or the same instruction. */
bool why_line_is(const struct why_line *a, const struct why_line *b);
/* What an event is called: "memcpy", "a system call", "outside". */
const char *why_event_name(const struct why_line *line);
/* Says of the first @n lines what their last instance has computed: executes the task again.
 * 0 or -ENOMEM. */
int why_lines_values(struct why_run *w, struct why_line *lines, size_t n);
void why_line_deinit(struct why_line *line);
void why_lines_free(struct why_line *lines, size_t n);

#endif
