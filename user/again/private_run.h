/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* private_run.h: runs a command so that nothing of it stays behind:
 * - it sees the file systems through an overlay each, whose upper side is memory of its own;
 * - it has a network of its own, with loopback alone, and processes of its own, which all end with
 *   it;
 * - it has limits of time (of the clock) and of memory, and leaves no core.
 * One instance of one conditional jump may be turned on the way: a breakpoint counts its hits (its
 * jump is computed by the tracer), the one asked for goes the other way, and from then on nothing
 * watches the program any more. */
#ifndef USER_AGAIN_PRIVATE_RUN_H
#define USER_AGAIN_PRIVATE_RUN_H

#include <pugmark/diag.h>

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* The @time-th execution (from 1) of the conditional jump at ELF address @elf of the program, whose
 * ELF file has that entry point; or of the library @library, as counted from there. */
struct turned_jump {
	uint64_t elf, time, entry;
	const char *library; /* its path; NULL: the program. It must be mapped when that begins */
};

struct private_command {
	char *const *argv;
	int input;		/* a regular file, read from its start; -1: nothing */
	const char *input_path; /* NULL, or: @input is what this file has (it is not on stdin) */
	unsigned seconds;
	uint64_t memory_bytes;
};

enum private_end {
	PRIVATE_ENDED,	  /* @status is as wait() has it */
	PRIVATE_TOO_LONG, /* it was killed */
	PRIVATE_UNTURNED, /* it ended before that execution of the jump; @status is set */
	PRIVATE_FAILED,	  /* it was not run: @why */
};

struct private_result {
	uint32_t end; /* enum private_end */
	int status;
	bool was_taken; /* what the jump would have done */
	char why[160];
};

/* One that runs. */
struct private_run {
	pid_t pid;
	int pipe;	/* the result comes here; readable when it is over */
	int out, err;	/* what it has printed */
	char stage[32]; /* a folder of its own, empty from outside */
};

/* @turn: NULL or the jump. 0 or -errno with @diag filled. */
int private_run_start(const struct private_command *command, const struct turned_jump *turn,
		      struct private_run *run, struct pugmark_diag *diag);
/* Waits for its end. The caller closes out and err by private_run_close(). */
void private_run_wait(struct private_run *run, struct private_result *result);
/* Ends it if it runs still, and closes all of it. */
void private_run_close(struct private_run *run);
/* A descriptor of standard input's bytes that can be read from the start again: the file itself, or
 * a copy of what a pipe has; -1: there is nothing to read (a terminal); or -errno with @diag. */
int private_input(struct pugmark_diag *diag);

#endif
