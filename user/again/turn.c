// SPDX-License-Identifier: LGPL-2.1-or-later
/* turn.c: see turn.h. A breakpoint stands on the jump; each hit is answered by setting rip to where
 * the flags lead, which needs no single step. */
#include "user/again/turn.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

/* A conditional jump, decoded. */
struct jump {
	uint64_t at, next, target;
	uint8_t cond;
	long word; /* of its text, as it was */
};

static int fail(struct private_result *r, int err, const char *text)
{
	snprintf(r->why, sizeof(r->why), "%s", text);
	return err;
}

/* Where the program's entry point is in memory. */
static uint64_t entry_of(pid_t pid)
{
	char path[64];
	uint64_t pair[2], entry = 0;
	snprintf(path, sizeof(path), "/proc/%d/auxv", pid);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	while (fd >= 0 && read(fd, pair, sizeof(pair)) == sizeof(pair) && pair[0])
		if (pair[0] == AT_ENTRY)
			entry = pair[1];
	if (fd >= 0)
		close(fd);
	return entry;
}

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');
	return slash ? slash + 1 : path;
}

/* Where the library is that has this name, whose file begins there; 0: it is not mapped. */
static uint64_t library_of(pid_t pid, const char *library)
{
	char path[64], line[4352];
	uint64_t start, off, found = 0;
	snprintf(path, sizeof(path), "/proc/%d/maps", pid);
	FILE *f = fopen(path, "re");
	while (f && !found && fgets(line, sizeof(line), f)) {
		const char *at = strchr(line, '/');
		line[strcspn(line, "\n")] = 0;
		if (at && !strcmp(base_name(at), base_name(library)) &&
		    sscanf(line, "%" SCNx64 "-%*x %*s %" SCNx64, &start, &off) == 2 && !off)
			found = start;
	}
	if (f)
		fclose(f);
	return found;
}

/* Lets it run up to its entry point: then its libraries are mapped. Their jumps before that, of the
 * linker's calls, are not counted in a recording either. 1: it is there; 0: it ended. */
static int run_to_entry(pid_t pid, uint64_t entry, struct private_result *r)
{
	struct user_regs_struct regs;
	errno = 0;
	long signal = 0, word = ptrace(PTRACE_PEEKTEXT, pid, entry, NULL);
	if (errno || ptrace(PTRACE_POKETEXT, pid, entry, (word & ~0xffL) | 0xcc))
		return fail(r, -ENOEXEC, "cannot set a breakpoint");
	for (;;) {
		int status;
		if (ptrace(PTRACE_CONT, pid, NULL, signal))
			return fail(r, -errno, "lost the program");
		if (waitpid(pid, &status, 0) < 0)
			return -errno;
		if (!WIFSTOPPED(status)) {
			r->status = status;
			return 0;
		}
		signal = WSTOPSIG(status);
		if (signal == SIGTRAP && !ptrace(PTRACE_GETREGS, pid, NULL, &regs) &&
		    regs.rip == entry + 1)
			break;
	}
	regs.rip = entry;
	ptrace(PTRACE_SETREGS, pid, NULL, &regs);
	ptrace(PTRACE_POKETEXT, pid, entry, word);
	return 1;
}

/* Reads the jump; false: there is none of a form that is known. */
static bool decode(pid_t pid, uint64_t at, struct jump *j)
{
	uint8_t b[16];
	for (int i = 0; i < 2; i++) {
		errno = 0;
		long word = ptrace(PTRACE_PEEKTEXT, pid, at + 8 * i, NULL);
		if (errno)
			return false;
		memcpy(b + 8 * i, &word, 8);
		j->word = i ? j->word : word;
	}
	int n = 0;
	while (n < 3 && (b[n] == 0x2e || b[n] == 0x3e || b[n] == 0xf2)) /* hints, bnd */
		n++;
	j->at = at;
	if (b[n] >= 0x70 && b[n] <= 0x7f) {
		j->cond = b[n] & 15;
		j->next = at + n + 2;
		j->target = j->next + (int8_t)b[n + 1];
		return true;
	}
	if (b[n] != 0x0f || b[n + 1] < 0x80 || b[n + 1] > 0x8f)
		return false;
	int32_t off;
	memcpy(&off, &b[n + 2], 4);
	j->cond = b[n + 1] & 15;
	j->next = at + n + 6;
	j->target = j->next + (int64_t)off;
	return true;
}

static bool holds(uint8_t cond, uint64_t flags)
{
	bool cf = flags & 1, pf = flags & 4, zf = flags & 0x40, sf = flags & 0x80,
	     of = flags & 0x800, v = false;
	switch (cond >> 1) {
	case 0:
		v = of;
		break;
	case 1:
		v = cf;
		break;
	case 2:
		v = zf;
		break;
	case 3:
		v = cf || zf;
		break;
	case 4:
		v = sf;
		break;
	case 5:
		v = pf;
		break;
	case 6:
		v = sf != of;
		break;
	case 7:
		v = zf || sf != of;
		break;
	}
	return v != (cond & 1);
}

/* The child hit the breakpoint. True: this was the execution that was asked for. */
static bool take_hit(pid_t pid, const struct jump *j, bool last, struct private_result *r)
{
	struct user_regs_struct regs;
	ptrace(PTRACE_GETREGS, pid, NULL, &regs);
	r->was_taken = holds(j->cond, regs.eflags);
	regs.rip = r->was_taken != last ? j->target : j->next;
	ptrace(PTRACE_SETREGS, pid, NULL, &regs);
	if (last)
		ptrace(PTRACE_POKETEXT, pid, j->at, j->word);
	return last;
}

static bool at_breakpoint(pid_t pid, const struct jump *j)
{
	struct user_regs_struct regs;
	return !ptrace(PTRACE_GETREGS, pid, NULL, &regs) && regs.rip == j->at + 1;
}

int turn_jump(pid_t pid, const struct turned_jump *turn, struct private_result *r)
{
	uint64_t entry = entry_of(pid), hits = 0, base = entry - turn->entry;
	struct jump j;
	if (entry && turn->library) {
		if (ptrace(PTRACE_SETOPTIONS, pid, NULL, PTRACE_O_EXITKILL))
			return fail(r, -errno, "cannot trace it");
		int there = run_to_entry(pid, entry, r);
		if (there <= 0)
			return there;
		base = library_of(pid, turn->library);
		if (!base)
			return fail(r, -ENOEXEC,
				    "a library of the recording is not mapped when the program "
				    "begins");
	}
	if (!entry || !decode(pid, base + turn->elf, &j))
		return fail(r, -ENOEXEC,
			    "the command is not the program that was recorded: there is no such "
			    "conditional jump in it");
	if (ptrace(PTRACE_SETOPTIONS, pid, NULL, PTRACE_O_EXITKILL) ||
	    ptrace(PTRACE_POKETEXT, pid, j.at, (j.word & ~0xffL) | 0xcc))
		return fail(r, -errno, "cannot set a breakpoint");
	for (long signal = 0;;) {
		int status;
		if (ptrace(PTRACE_CONT, pid, NULL, signal))
			return fail(r, -errno, "lost the program");
		pid_t got = waitpid(pid, &status, 0);
		if (got < 0)
			return -errno;
		if (!WIFSTOPPED(status)) {
			r->status = status;
			return 0;
		}
		signal = WSTOPSIG(status);
		if (signal != SIGTRAP || !at_breakpoint(pid, &j))
			continue;
		signal = 0;
		if (take_hit(pid, &j, ++hits == turn->time, r))
			break;
	}
	ptrace(PTRACE_DETACH, pid, NULL, 0);
	return 1;
}
