/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* giving.h: the memory of an area (offline/patch/layout.h), mapped in a process by system calls
 * made in its name. */
#ifndef USER_PATCH_GIVING_H
#define USER_PATCH_GIVING_H

#include "offline/patch/layout.h"
#include "user/patch/process/tracee.h"

/* What the kernel calls a mapping of it. */
#define GIVEN_MAPPED "/memfd:pugmark (deleted)"

struct giving {
	pid_t pid;
	uint64_t off_record; /* in the first memfd, of which the record is the last thing */
	struct giving_code {
		uint64_t addr, bytes, off;
	} code[64];
	uint32_t n_code;
	uint64_t old_local; /* what an earlier recording has left, with its rings; 0: nothing */
	uint32_t n_chunks;  /* that the second memfd has room for, of what is mapped of it */
	/* What became of it: */
	uint64_t local;	     /* where; the rings are behind PATCH_LOCAL_BYTES */
	uint64_t stopped_ns; /* how long all its threads were; giving_to_running() */
	const char *why;     /* what stands against it */
	/* Without entries; how many bytes are to be shared stands there. It is in the first memfd
	 * before anything is mapped, with no address of what is shared and of the rings: whoever
	 * finds the process, were it left there now, can take the memory back. */
	struct patch_record record;
};

/* To the stopped process @t; the first memfd has no bytes yet but the record and a header that
 * leads there, the second has room for n_chunks. The record's addresses of what is shared and of
 * the rings are set. 0 or -errno. */
int giving_to_stopped(const struct tracee *t, struct giving *giving);
/* The same to what runs, a struct giving: an operation of surgeon_run(). All its threads are
 * stopped for that: one that ran, and lost its processor while it looked at what is mapped, would
 * keep the mappings from being made, and every other thread waiting for them. */
int giving_to_running(void *giving);
/* Opens @path, a link of /proc, if that leads to a memfd such as is given: another process with the
 * tracee's memory may have put any file in its place. From then on nobody who has kept a descriptor
 * can cut it short under what is mapped of it. Returns a descriptor to write to, or -errno. */
int giving_open(const char *path);

#endif
