// SPDX-License-Identifier: LGPL-2.1-or-later
/* possible.c: see possible.h. */
#include "user/patch/possible.h"

#include "user/patch/remains.h"
#include "user/patch/process/filters.h"
#include "user/patch/process/threads.h"
#include "user/patch/process/tracee.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* What /proc/PID/status says of @pid. */
struct status {
	pid_t tracer;
	bool shadow_stack;
};

static bool read_status(pid_t pid, struct status *s)
{
	char path[40], line[256];

	*s = (struct status){0};
	snprintf(path, sizeof(path), "/proc/%d/status", pid);
	FILE *f = fopen(path, "re");
	if (!f)
		return false;
	while (fgets(line, sizeof(line), f)) {
		if (!strncmp(line, "TracerPid:", 10))
			s->tracer = atoi(line + 10);
		else if (!strncmp(line, "x86_Thread_features:", 20))
			s->shadow_stack = strstr(line, "shstk") != NULL;
	}
	fclose(f);
	return true;
}

static const char *seccomp(pid_t pid)
{
	return filters_forbid_any(pid)
		       ? "a seccomp filter of its own may forbid what it would have to do"
		       : NULL;
}

static const char *tracer(pid_t pid)
{
	struct status its;

	if (!read_status(pid, &its))
		return "it has ended";
	return its.tracer && its.tracer != getpid() ? "another program traces it" : NULL;
}

static const char *shadow_stack(pid_t pid)
{
	struct status its;

	if (!read_status(pid, &its))
		return "it has ended";
	return its.shadow_stack ? "it has a shadow stack, with which that was not tried" : NULL;
}

const char *patch_forbidden(pid_t pid)
{
	const char *why = seccomp(pid);

	why = why ? why : tracer(pid);
	return why ? why : shadow_stack(pid);
}

static const char *rights(pid_t pid)
{
	struct tracee t = {.mem_fd = -1};
	int err = tracee_open(&t, pid);

	tracee_close(&t);
	return err ? "this user may not write its memory (root, or CAP_SYS_PTRACE)" : NULL;
}

static const char *linker(pid_t pid)
{
	return tracee_is_of_glibc(pid) ? NULL : "it has no dynamic linker of glibc";
}

static const char *recorder(pid_t pid)
{
	return remains_is_recorded(pid) ? "another pugmark patches it" : NULL;
}

static const char *waiting(pid_t pid)
{
	return threads_stuck(pid) ? "one of its threads sleeps where nothing interrupts it (vfork?)"
				  : NULL;
}

/* Of its program; libraries are looked at one by one as they are patched. */
static const char *text(pid_t pid)
{
	struct tracee_map *maps;
	struct stat program;
	char path[32];

	snprintf(path, sizeof(path), "/proc/%d/exe", pid);
	int n = stat(path, &program) ? -1 : tracee_maps(pid, &maps);
	if (n < 0)
		return "its program is not known";
	bool written = false;
	for (int i = 0; i < n; i++)
		written |= maps[i].dev == program.st_dev && maps[i].ino == program.st_ino &&
			   maps[i].executable && (maps[i].writable || maps[i].shared);
	free(maps);
	return written ? "its text can be written, or is shared" : NULL;
}

const struct patch_condition patch_conditions[] = {
	{"rights", rights},	{"seccomp", seccomp},		{"tracer", tracer},
	{"recorder", recorder}, {"shadow stack", shadow_stack}, {"linker", linker},
	{"text", text},		{"waiting", waiting},
};
const uint32_t n_patch_conditions = sizeof(patch_conditions) / sizeof(*patch_conditions);
