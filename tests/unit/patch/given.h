/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* given.h: a child that is given the memory of an area, with one page range of code and no patch.
 */
#ifndef TESTS_UNIT_PATCH_GIVEN_H
#define TESTS_UNIT_PATCH_GIVEN_H

#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "user/patch/giving.h"
#include "user/patch/remains.h"

enum { GIVEN_CODE = 4 * 4096, GIVEN_CHUNKS = 8 };

/* A child that waits, and ends with this process at the latest. */
static inline pid_t given_child(void)
{
	pid_t child = fork();
	if (!child) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (;;)
			pause();
	}
	return child;
}

static inline void given_end(pid_t child)
{
	int status;
	kill(child, SIGKILL);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
}

/* An address with room for the code, in this process and those forked from here on. */
static inline uint64_t given_room(void)
{
	void *room = mmap(NULL, GIVEN_CODE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_ptr_not_equal(room, MAP_FAILED);
	assert_int_equal(munmap(room, GIVEN_CODE), 0);
	return (uintptr_t)room;
}

/* What process @child is to be given by @recorder. */
static inline struct giving given_what(pid_t child, pid_t recorder, uint64_t code)
{
	return (struct giving){
		.pid = child,
		.off_record = GIVEN_CODE,
		.n_chunks = GIVEN_CHUNKS,
		.code = {{code, GIVEN_CODE, 0}},
		.n_code = 1,
		.record = {.magic = PATCH_MAGIC,
			   .chunks_bytes = patch_chunks_bytes(GIVEN_CHUNKS),
			   .rings_bytes = PATCH_RINGS * (uint64_t)PATCH_RING_BYTES,
			   .patched_ns = UINT64_MAX,
			   .recorder = recorder,
			   .recorder_start = remains_start_of(recorder),
			   .n_regions = 1,
			   .regions = {{.code = code, .code_bytes = GIVEN_CODE}}},
	};
}

/* Gives it. Where no process may be traced the test is skipped. */
static inline void given_to(struct giving *g)
{
	int err = giving_to_running(g);
	if (err == -EBUSY || err == -EPERM || err == -EACCES) {
		kill(g->pid, SIGKILL);
		kill(g->record.recorder == getpid() ? g->pid : g->record.recorder, SIGKILL);
		print_message("SKIP: no process may be traced here (%s)\n", strerror(-err));
		skip();
	}
	assert_int_equal(err, 0);
}

/* Opens the memfd that it was given for code. */
static inline int given_open(const struct giving *g)
{
	const struct patch_record *r = &g->record;
	char path[80];
	snprintf(path, sizeof(path), "/proc/%d/map_files/%llx-%llx", g->pid,
		 (unsigned long long)r->regions[0].code,
		 (unsigned long long)(r->regions[0].code + r->regions[0].code_bytes));
	int fd = giving_open(path);
	assert_true(fd >= 0);
	return fd;
}

/* Which memfd is mapped at @addr. */
static inline uint64_t given_at(pid_t pid, uint64_t addr)
{
	struct tracee_map *maps;
	int n = tracee_maps(pid, &maps);
	uint64_t ino = 0;
	for (int i = 0; i < n; i++)
		if (maps[i].start == addr)
			ino = maps[i].ino;
	free(maps);
	return ino;
}

/* How many mappings it still has of that memfd, and of the one that is shared. */
static inline uint32_t given_left(pid_t pid, uint64_t ino, const struct giving *g)
{
	struct tracee_map *maps;
	int n = tracee_maps(pid, &maps);
	uint32_t left = 0;
	for (int i = 0; i < n; i++)
		left += ino && (maps[i].ino == ino || maps[i].ino == g->record.chunks_ino);
	free(maps);
	return left;
}

#endif
