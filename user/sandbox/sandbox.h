/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* sandbox.h: runs work on files that others control in a child of its own, so that a fault in a
 * reader of ELF or DWARF is not the recorder's. The child
 * - is nobody where this process is root, and has no capability, now or later;
 * - has no network, no other descriptors, and may neither start programs, signal, nor look into
 *   other processes (filter.h);
 * - opens no file itself: this process opens for it what is an ELF file, or is granted (broker.h);
 * - has bounds of memory, processor time and open files;
 * - hands back bytes, which whoever asked has to check.
 * If it dies, that is an error of the file that it worked on. */
#ifndef USER_SANDBOX_SANDBOX_H
#define USER_SANDBOX_SANDBOX_H

#include <pugmark/diag.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct sandbox {
	const char *subject;	   /* the file that it is about, for messages */
	const char *const *grants; /* paths that it may read whatever they are, and what is below */
	uint32_t n_grants;
	uint64_t memory_bytes; /* 0: three quarters of what this machine has */
	uint32_t seconds;      /* of a processor; 0: half an hour */
	/* Becomes true, by another thread, when the result is not wanted any more: the child is
	 * ended, and -ECANCELED returned. NULL: it never does. */
	const bool *cancelled;
	/* Answers what the child asks by sandbox_ask(): 0 and in *@fd a descriptor for it (-1:
	 * none), which is closed then, or -errno. @sent: what came with the question, or -1. */
	int (*answer)(void *ctx, char op, const char *text, int sent, int *fd);
	void *answer_ctx;
};

enum { SANDBOX_TEXT_MAX = 4096, SANDBOX_RESULT_MAX = 1 << 30 };

/* What the child does: writes its result to @out. 0 or -errno with @diag filled, which arrives. */
typedef int sandbox_work(void *ctx, FILE *out, struct pugmark_diag *diag);

/* Runs @work in such a child, and gives what it wrote: *@bytes, of *@len, which the caller frees.
 * Returns 0, what @work returned, or -errno with @diag filled (-EFAULT: the child died). Where this
 * kernel has no such child (-ENOSYS), nothing was done. */
int sandbox_run(const struct sandbox *sandbox, sandbox_work *work, void *ctx, void **bytes,
		size_t *len, struct pugmark_diag *diag);

/* The same; where this kernel has no such child, @work is done here, which is said once. */
int sandbox_or_here(const struct sandbox *sandbox, sandbox_work *work, void *ctx, void **bytes,
		    size_t *len, struct pugmark_diag *diag);

/* From here on the calling thread and the children of this process give way: to programs that run
 * while a file is looked through, whom that must not slow down. They have the scheduling policy
 * SCHED_IDLE, and the disk when nobody else wants it; but where nothing is left of the machine for
 * two seconds, a small share of it (nice 10), they and those that follow. Without CAP_SYS_NICE,
 * which that takes, the children have nice 10 at once, and the thread gives no way. */
void sandbox_give_way(void);
/* The thread that called it has its share again; the children go on giving way. */
void sandbox_get_on(void);

/* In the child. */
bool sandbox_is_inside(void);
/* Asks sandbox->answer. *@fd: the descriptor that came, which the caller closes, or -1. */
int sandbox_ask(char op, const char *text, int sent, int *fd);

#endif
