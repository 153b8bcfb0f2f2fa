// SPDX-License-Identifier: LGPL-2.1-or-later
/* call_finding.c: see call_finding.h. */
#include "user/values/calls/call_finding.h"

#include "offline/base/vec.h"
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
	MAPS_MOST = 4096,	  /* with code */
	LOOKED_AT_MOST = 1 << 20, /* places that may be `syscall` instructions */
};

#define CODE_MOST (1ull << 30) /* bytes that are looked through for system calls */

struct code {
	uint64_t start, end;
};

/* Code of files, in ascending order. */
struct codes {
	VEC(struct code) maps;
	uint64_t bytes; /* in all of them; a file may be mapped longer than it is */
	bool others;	/* another recorder's stubs are there */
};

static bool is_code(const struct maps_line *line)
{
	return line->prot & PROT_EXEC && !(line->prot & PROT_WRITE) && line->inode && !line->shared;
}

/* The caller frees @codes->maps in any case. -E2BIG: there is more than is looked at. */
static int find_codes(pid_t pid, struct codes *codes)
{
	struct maps_lines lines;
	struct maps_line line;
	int err = maps_lines_open(&lines, pid);

	if (err)
		return err;
	while (!err && maps_lines_next(&lines, &line)) {
		codes->others |= !strcmp(line.name, CALL_MEMORY_NAME_MAPPED);
		if (!is_code(&line))
			continue;
		codes->bytes += line.end - line.start;
		if (codes->maps.n == MAPS_MOST || codes->bytes > CODE_MOST)
			err = -E2BIG;
		else if (!VEC_PUSH(&codes->maps, (struct code){line.start, line.end}))
			err = -ENOMEM;
	}
	maps_lines_close(&lines);
	return err;
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
	p->n = n;
}

/* Whether the program or a library of it imports @function. */
static bool imports(pid_t pid, const struct codes *codes, const char *function)
{
	char path[80];

	for (uint32_t i = 0; i < codes->maps.n; i++) {
		snprintf(path, sizeof(path), "/proc/%d/map_files/%llx-%llx", pid,
			 (unsigned long long)codes->maps.at[i].start,
			 (unsigned long long)codes->maps.at[i].end);
		if (tracee_needs(path, function))
			return true;
	}
	return false;
}

/* Finds what unwinders ask by. 0, or -errno and in *@why what stands against patching it. */
static int find_unwinders(struct call_patches *p, const struct tracee *t, const struct codes *codes,
			  const char **why)
{
	const bool told = call_frames_find(p, t);

	*why = "another recorder's code is in it";
	if (codes->others)
		return -EBUSY;
	/* A thread that is cancelled is unwound from where its signal has found it, with the
	 * destructors and cleanups of its frames. */
	*why = "it may end threads by pthread_cancel(), and its C library asks nobody for the "
	       "frames of code that is no library's";
	if (!told && imports(t->pid, codes, "pthread_cancel"))
		return -EPERM;
	*why = "it may lock all of its memory by mlockall(), which would be given all lanes at "
	       "once";
	return imports(t->pid, codes, "mlockall") ? -EPERM : 0;
}

static int find_sites(struct call_patches *p, const struct tracee *t, const struct codes *codes,
		      const char **why)
{
	int err = 0;

	*why = "what it has mapped cannot be read";
	for (uint32_t i = 0; !err && i < codes->maps.n; i++)
		err = take_sites(p, t, codes->maps.at[i].start, codes->maps.at[i].end);
	if (err == -E2BIG)
		*why = "it has more system calls in its code than are looked at";
	if (err)
		return err;
	drop_unpatched(p);
	*why = "no library of it makes system calls";
	if (!p->n)
		return -ENOENT;
	*why = "it makes system calls at too many places";
	return p->n > CALL_STUBS_MOST ? -E2BIG : 0;
}

int call_finding_sites(struct call_patches *p, const struct tracee *t, const char **why)
{
	struct codes codes = {.bytes = 0};

	/* Nothing says then what it may do: it imports nothing. */
	*why = "it has no libraries";
	if (!tracee_has_linker(t->pid))
		return -ENOENT;
	int err = find_codes(t->pid, &codes);
	*why = err == -E2BIG ? "it has more code than is looked at"
			     : "what it has mapped cannot be read";
	if (!err)
		err = find_unwinders(p, t, &codes, why);
	if (!err)
		err = find_sites(p, t, &codes, why);
	VEC_FREE(&codes.maps);
	return err;
}
