/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* deaths.h: processes that die, while they are recorded, of what a harmful probe would make them
 * die of: SIGSEGV, SIGILL, SIGTRAP or SIGBUS. Each such thread is a line of the recording, with the
 * last probes that it hit, and each such process is a sentence for whoever records. One thread
 * adds; another takes the sentences. */
#ifndef USER_DEATHS_H
#define USER_DEATHS_H

#include "user/record/write/process_lines.h"

struct generations;

enum { LAST_HITS = 8 };

/* The last probes that a task hit. Zeroed to begin with. */
struct last_hits {
	struct last_hit {
		uint32_t module, site; /* of the recording's modules, of its plan */
		uint64_t time_ns;
	} at[LAST_HITS];
	uint64_t n; /* ever; the newest is at[(n - 1) % LAST_HITS] */
};

static inline void last_hits_add(struct last_hits *hits, uint32_t module, uint32_t site,
				 uint64_t time_ns)
{
	hits->at[hits->n++ % LAST_HITS] = (struct last_hit){module, site, time_ns};
}

/* A thread that died. */
struct death {
	const struct process_record *exit;
	const struct last_hits *hits;
	uint64_t ip;	 /* where it took the signal */
	uint32_t module; /* whose code that is, of the recording's modules; UINT32_MAX: none */
	uint64_t addr;	 /* and where in it */
};

/* Whether a task that ends like this died so: of such a signal, or, if the signal has a handler,
 * with an error no later than a second after it. */
bool death_is(const struct process_record *exit);

struct deaths;

/* The caller frees; NULL: no memory. */
struct deaths *deaths_new(void);
void deaths_free(struct deaths *deaths);
/* Adds the line to @lines, and says it if the process has ended. Returns 0 or -ENOMEM. */
int deaths_add(struct deaths *deaths, const struct death *death, const struct generations *all,
	       struct process_lines *lines);
/* What is to be said since the last call: lines, each ended by a newline, or NULL; also while a
 * death is added, then the next call has it. The caller frees. @all: also of processes whose end
 * was not seen; nobody adds any more. */
char *deaths_words(struct deaths *deaths, bool all);

#endif
