/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* followed.h: a replay and a stepped process side by side: followed.c leads both, chance.c gives
 * the process what chance decided when it was recorded. */
#ifndef TESTS_VALUE_FOLLOWED_H
#define TESTS_VALUE_FOLLOWED_H

#include "offline/replay/replay.h"
#include "tests/value/stepped.h"

enum { FOLLOWED_CALLS = 256, START_MAX = 1024, SHOWN = 12 };

/* What the replay has met between two instructions of traced code. */
struct met {
	struct capture calls[FOLLOWED_CALLS]; /* system calls; what they point to is the run's */
	unsigned n_calls, next_call;
	bool clock; /* a function that tells the time was called */
};

struct followed {
	struct stepped p;
	struct value_run *run;
	struct value_machine *machine;
	const struct captures *captures;
	struct captures_iter *clocks; /* of the same task: where the results of clocks are */
	struct met met;
	uint64_t vdso, vdso_end;
	uint64_t compared, wrong, loads, stores, pages, start_bytes, chances;
	uint16_t undefined; /* flags that the manual leaves open now */
	char parted[160];   /* why the comparison ended before its time; "": it did not */
};

/* Both are at their entry point. */
void followed_begin(struct followed *f, const struct captures *captures, uint32_t task);
/* Compares @max instructions at most. */
void followed_go(struct followed *f, uint64_t max);
void followed_end(struct followed *f);

/* The registers behind @insn, as the replay has them, against those of f->p. */
void followed_compare(struct followed *f, const struct value_insn *insn);
/* What the replay has in memory against the @len bytes @truth. @insn: behind which, for messages.
 */
void followed_loaded(struct followed *f, const struct value_insn *insn, uint64_t addr,
		     const uint8_t *truth, size_t len);
/* @insn is about to be executed: which flags are left open behind it. */
void followed_undefined(struct followed *f, const struct value_insn *insn);

/* Whether the imported function @import (or NULL) tells the time. */
bool followed_clock(const char *import);
void followed_part(struct followed *f, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* chance.c. The memory of the process at its start, and what the loader leaves in registers, become
 * those of the recording. */
void chance_start(struct followed *f);
/* The process is behind a system call: its result becomes that of the next one that was met, if
 * chance may decide it. False: it parts. */
bool chance_syscall(struct followed *f);
/* A function has told traced code the time: it told what the next record of one says. */
void chance_clock(struct followed *f);
/* The process is behind an instruction like rdtsc. */
void chance_insn(struct followed *f, const struct value_insn *insn);

#endif
