// SPDX-License-Identifier: LGPL-2.1-or-later
/* call_finding.c: see call_finding.h. */
#include "user/values/calls/call_finding.h"

#include "user/file/maps_lines.h"
#include "user/values/calls/call_frames.h"
#include "user/values/calls/call_memory.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>

enum {
	MAPS_MOST = 64,		  /* with code */
	LOOKED_AT_MOST = 1 << 20, /* places that may be `syscall` instructions */
};

#define CODE_MOST (1ull << 30) /* bytes that are looked through for system calls */

/* Code of files, below which and above which it may lie. */
struct codes {
	struct {
		uint64_t start, end;
	} at[MAPS_MOST];
	uint32_t n;
	uint64_t bytes; /* in all of @at; a file may be mapped longer than it is */
	bool others;	/* another recorder's stubs are there */
};

static int find_codes(pid_t pid, struct codes *out)
{
	struct maps_lines lines;
	struct maps_line line;
	int err = maps_lines_open(&lines, pid);

	out->n = 0;
	out->bytes = 0;
	out->others = false;
	if (err)
		return err;
	while (maps_lines_next(&lines, &line)) {
		out->others |= !strcmp(line.name, CALL_MEMORY_NAME_MAPPED);
		if (!(line.prot & PROT_EXEC) || line.prot & PROT_WRITE || !line.inode ||
		    line.shared || out->n == MAPS_MOST)
			continue;
		out->at[out->n].start = line.start;
		out->at[out->n++].end = line.end;
		out->bytes += line.end - line.start;
	}
	maps_lines_close(&lines);
	return 0;
}

/* How often the bytes of a `syscall` instruction are in the code, counted up to @most. */
static uint32_t count_calls(const uint8_t *code, size_t len, uint32_t most)
{
	const uint8_t *at = code, *end = code + len;
	uint32_t n = 0;

	while (n < most && (at = memmem(at, end - at, "\x0f\x05", CALL_SYSCALL_BYTES))) {
		at += CALL_SYSCALL_BYTES;
		n++;
	}
	return n;
}

static int take_sites(struct call_patches *p, const struct tracee *t, uint64_t start, uint64_t end)
{
	struct call_site *found = NULL;
	uint8_t *code = malloc(end - start);
	int n = code ? tracee_read(t, start, code, end - start) : -ENOMEM;
	uint32_t calls = n ? 0 : count_calls(code, end - start, LOOKED_AT_MOST - p->n);

	if (calls == LOOKED_AT_MOST - p->n)
		n = -E2BIG;
	else if (calls)
		n = call_sites_find(code, end - start, start, &found);
	free(code);
	if (n <= 0)
		return n;
	struct call_site *all = realloc(p->sites, (p->n + n) * sizeof(*all));
	if (all) {
		memcpy(all + p->n, found, n * sizeof(*all));
		p->sites = all;
		p->n += (uint32_t)n;
	}
	free(found);
	return all ? 0 : -ENOMEM;
}

/* Those without room for a jump go. A second return from handlers is left as it is. */
static void drop_unpatched(struct call_patches *p)
{
	uint32_t n = 0;
	bool returns = false;

	for (uint32_t i = 0; i < p->n; i++) {
		bool again = p->sites[i].number == SYS_rt_sigreturn && returns;

		returns |= p->sites[i].number == SYS_rt_sigreturn;
		if (p->sites[i].at && !again)
			p->sites[n++] = p->sites[i];
	}
	p->unpatched = p->n - n;
	p->n = n;
}

/* Whether the program or a library of it imports @function. */
static bool imports(pid_t pid, const struct codes *codes, const char *function)
{
	char path[80];

	for (uint32_t i = 0; i < codes->n; i++) {
		snprintf(path, sizeof(path), "/proc/%d/map_files/%llx-%llx", pid,
			 (unsigned long long)codes->at[i].start,
			 (unsigned long long)codes->at[i].end);
		if (tracee_needs(path, function))
			return true;
	}
	return false;
}

int call_finding_sites(struct call_patches *p, const struct tracee *t, const char **why)
{
	struct codes codes;
	int err = find_codes(t->pid, &codes);

	*why = "what it has mapped cannot be read";
	if (!err && codes.bytes > CODE_MOST)
		err = -E2BIG;
	for (uint32_t i = 0; !err && i < codes.n; i++)
		err = take_sites(p, t, codes.at[i].start, codes.at[i].end);
	if (err == -E2BIG)
		*why = "it has more code, or system calls in it, than is looked at";
	if (!err && codes.others) {
		*why = "another recorder's code is in it";
		err = -EBUSY;
	}
	/* A thread that is cancelled is unwound from where its signal has found it, with the
	 * destructors and cleanups of its frames. */
	if (!err && !call_frames_find(p, t) && imports(t->pid, &codes, "pthread_cancel")) {
		*why = "it may end threads by pthread_cancel(), and its C library asks nobody "
		       "for the frames of code that is no library's";
		err = -EPERM;
	}
	if (!err && imports(t->pid, &codes, "mlockall")) {
		*why = "it may lock all of its memory by mlockall(), which would be given all "
		       "lanes at once";
		err = -EPERM;
	}
	if (err)
		return err;
	drop_unpatched(p);
	*why = "no library of it makes system calls";
	if (!p->n)
		return -ENOENT;
	*why = "it makes system calls at too many places";
	return p->n > CALL_STUBS_MOST ? -E2BIG : 0;
}
