/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* why.h: `pugmark why` and `pugmark then`: a slice of a recording of level values, printed. */
#ifndef USER_WHY_WHY_H
#define USER_WHY_WHY_H

#include <pugmark/diag.h>

#include <stdbool.h>
#include <stdint.h>

enum why_what {
	WHY_PLACE,  /* @place, the variable @variable there, the time @instance */
	WHY_WRITE,  /* @len bytes from @offset on of what was written to @fd */
	WHY_OUTPUT, /* the first time that @text was written to a descriptor: the lowest of those
		       that have it when it is first seen, at every 20 million instructions */
	WHY_INPUT,  /* the same of what was read of @fd */
	WHY_END,    /* the last instruction: where a program crashed */
};

enum why_set_kind {
	WHY_OK,	     /* bytes of an output that were right */
	WHY_FROM,    /* the forward slice of bytes of input */
	WHY_THROUGH, /* the slice in both directions of a jump's execution */
	WHY_ALSO,    /* that slice is a part of what is asked for */
};
struct why_set {
	enum why_set_kind kind;
	int fd;
	uint64_t offset, len;
	char *place; /* of WHY_THROUGH and WHY_ALSO */
	uint64_t time;
};

enum why_format { WHY_TEXT, WHY_JSON, WHY_DOT, WHY_SVG, WHY_HTML };

struct why_options {
	const char *dir;
	enum why_what what;
	const char *place, *variable, *text;
	const char *critical_place;
	uint32_t task;	   /* its number; 0: the first one in which it is found */
	uint64_t instance; /* from 1; 0: the last one */
	int fd;
	uint64_t offset, len;
	unsigned follow; /* enum slice_follow */
	bool control;
	bool forward, both;
	bool instructions; /* not folded to lines of source */
	bool ranked;	   /* in the order of doubt */
	bool critical;	   /* @place is a jump that was found to be critical */
	enum why_format format;
	/* Pruning: outputs that were right; and lines are left that another slice has as well. */
	struct why_set *sets;
	unsigned n_sets;
	const char **passing; /* recordings of runs that passed */
	unsigned n_passing;
	uint64_t limit; /* lines that are printed */
};

/* Reads FD:OFFSET[:LENGTH] into @o. False: it is none. */
bool why_read_bytes(const char *text, struct why_options *o);
/* A recording of a run that passed. 0 or -ENOMEM; the caller frees @o->passing. */
int why_add_passing(struct why_options *o, const char *dir);
/* Returns 0; 1 where a slice ends at something that is not known; or -errno with @diag filled. */
int why_print(const struct why_options *options, struct pugmark_diag *diag);

#endif
