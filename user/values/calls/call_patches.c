// SPDX-License-Identifier: LGPL-2.1-or-later
/* call_patches.c: see call_patches.h. */
#include "user/values/calls/call_patches.h"

#include "user/file/maps_lines.h"
#include "user/patch/process/frames.h"
#include "user/patch/process/tracee.h"
#include "user/proc/memory_sharing.h"
#include "user/values/calls/call_code.h"
#include "user/values/calls/call_stubs.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/user.h>
#include <unistd.h>

#ifndef MADV_WIPEONFORK
#define MADV_WIPEONFORK 18
#endif

enum {
	HWCAP2_FSGSBASE_BIT = 2,
	FIRST_ORDER = 16,
	MAPS_MOST = 64,		  /* with code */
	LOOKED_AT_MOST = 1 << 20, /* places that may be `syscall` instructions */
};

#define REACH (1ull << 30)
#define USER_END 0x7ffffffff000ull
#define CODE_MOST (1ull << 30) /* bytes that are looked through for system calls */
#define MARGIN (64ull << 20)   /* left free below what may grow downwards */
#define LANES_BYTES ((uint64_t)CALL_LANES << CALL_LANE_SHIFT)
#define NAME "pugmark-calls"
#define NAME_MAPPED "/memfd:" NAME " (deleted)"

static int64_t call(const struct tracee *t, long number, uint64_t a, uint64_t b, uint64_t c,
		    uint64_t d, uint64_t e, uint64_t f)
{
	int64_t result;
	int err = tracee_syscall(t, number, (uint64_t[]){a, b, c, d, e, f}, &result);

	return err ? err : result;
}

/* What /proc/PID/status has as @name; -1: nothing. */
static long status_number(pid_t pid, const char *name)
{
	char path[32], line[128];
	const size_t len = strlen(name);
	long number = -1;

	snprintf(path, sizeof(path), "/proc/%d/status", pid);
	FILE *f = fopen(path, "re");
	while (f && fgets(line, sizeof(line), f))
		if (!strncmp(line, name, len) && sscanf(line + len, ": %ld", &number) == 1)
			break;
	if (f)
		fclose(f);
	return number;
}

/* A filter may know nothing of the calls that are made in the name of the process. */
static bool is_filtered(pid_t pid)
{
	return status_number(pid, "Seccomp") != 0;
}

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
		out->others |= !strcmp(line.name, NAME_MAPPED);
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

static int find_sites(struct call_patches *p, const struct tracee *t, const char **why)
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
	 * destructors and cleanups of its frames; of a stub no unwinder has any. */
	if (!err && imports(t->pid, &codes, "pthread_cancel")) {
		*why = "it may end threads by pthread_cancel()";
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

/* Where nothing is mapped, above @near and within reach of it; 0: nowhere. */
static uint64_t find_room(const struct tracee_map *maps, int n, uint64_t near, uint64_t bytes)
{
	for (int i = 0; i < n; i++) {
		uint64_t from = maps[i].end + CALL_PAGE;
		uint64_t to = i + 1 < n && maps[i + 1].start < USER_END ? maps[i + 1].start - MARGIN
									: USER_END;

		if (maps[i].start >= near && from + bytes < near + REACH && to > from &&
		    to - from > bytes + CALL_PAGE)
			return from;
	}
	return 0;
}

/* In the middle of the most room that there is, far from what grows; 0: nowhere. */
static uint64_t find_most_room(const struct tracee_map *maps, int n, uint64_t bytes)
{
	uint64_t most = 0, at = 0;

	for (int i = 0; i + 1 < n && maps[i + 1].start < USER_END; i++)
		if (maps[i + 1].start - maps[i].end > most) {
			most = maps[i + 1].start - maps[i].end;
			at = maps[i].end + most / 2;
		}
	return most / 4 > bytes ? at & -(uint64_t)CALL_LANE_BYTES : 0;
}

/* Opens the memfd that the process has as @its_fd. Another process with the tracee's descriptors
 * may have put any file in its place. */
static int open_its(const struct tracee *t, int its_fd)
{
	char path[40], link[32], name[sizeof(NAME_MAPPED) + 1] = "";
	int found, fd = -1, ours = memfd_create(NAME, MFD_CLOEXEC);
	struct stat its, st;

	snprintf(path, sizeof(path), "/proc/%d/fd/%d", t->pid, its_fd);
	found = open(path, O_PATH | O_CLOEXEC);
	snprintf(link, sizeof(link), "/proc/self/fd/%d", found);
	bool same = found >= 0 && ours >= 0 && !fstat(found, &its) && !fstat(ours, &st) &&
		    S_ISREG(its.st_mode) && its.st_dev == st.st_dev;
	if (same && readlink(link, name, sizeof(name) - 1) > 0 && !strcmp(name, NAME_MAPPED))
		fd = open(link, O_RDWR | O_CLOEXEC);
	if (found >= 0)
		close(found);
	if (ours >= 0)
		close(ours);
	return fd < 0 ? -EPERM : fd;
}

/* A memfd of the process, of @bytes; *@ours is the same here. */
static int make_memfd(const struct tracee *t, uint64_t bytes, int64_t *its, int *ours)
{
	static const char name[] = NAME;
	int64_t at = call(t, SYS_mmap, 0, CALL_PAGE, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS, (uint64_t)-1, 0);
	if (at < 0)
		return (int)at;
	int err = tracee_write(t, at, name, sizeof(name));
	*its = err ? err
		   : call(t, SYS_memfd_create, at, MFD_CLOEXEC | MFD_ALLOW_SEALING, 0, 0, 0, 0);
	call(t, SYS_munmap, at, CALL_PAGE, 0, 0, 0, 0);
	if (*its < 0)
		return (int)*its;
	*ours = open_its(t, (int)*its);
	if (*ours < 0)
		return *ours;
	/* Whoever has kept a descriptor cannot cut it short under what is mapped of it. */
	return ftruncate(*ours, (off_t)bytes) || fcntl(*ours, F_ADD_SEALS, F_SEAL_SHRINK) ? -errno
											  : 0;
}

static int map(const struct tracee *t, uint64_t at, uint64_t bytes, int prot, int flags, int64_t fd,
	       uint64_t off)
{
	int64_t got = call(t, SYS_mmap, at, bytes, prot, flags | MAP_FIXED_NOREPLACE, fd, off);

	return got < 0 ? (int)got : (uint64_t)got != at ? -ENOMEM : 0;
}

/* Unmaps what of the line is ours within @bytes from @at. */
static int unmap_line(const struct tracee *t, const struct maps_line *line, uint64_t at,
		      uint64_t bytes)
{
	uint64_t start = line->start > at ? line->start : at;
	uint64_t end = line->end < at + bytes ? line->end : at + bytes;

	return start < end ? (int)call(t, SYS_munmap, start, end - start, 0, 0, 0, 0) : 0;
}

static bool is_local(const struct call_patches *p, const struct maps_line *line)
{
	return line->start == p->local && line->end == p->local + CALL_PAGE && !line->inode &&
	       !line->shared;
}

/* A child of fork() has no lanes, and may have put its own memory where they would be: what is not
 * ours stays. */
static int unmap_all(const struct tracee *t, const struct call_patches *p)
{
	struct maps_lines lines;
	struct maps_line line;
	int err = maps_lines_open(&lines, t->pid);

	if (err)
		return err;
	while (!err && maps_lines_next(&lines, &line)) {
		if (is_local(p, &line))
			err = unmap_line(t, &line, p->local, CALL_PAGE);
		if (err || strcmp(line.name, NAME_MAPPED) != 0)
			continue;
		err = unmap_line(t, &line, p->code, p->code_end - p->code);
		if (!err)
			err = unmap_line(t, &line, p->shared, CALL_PAGE);
		if (!err)
			err = unmap_line(t, &line, p->lanes, LANES_BYTES);
	}
	maps_lines_close(&lines);
	return err;
}

/* What a process maps after mlockall(MCL_FUTURE) is locked, and all of it given memory at once: the
 * first pages tell, before the lanes are mapped. */
static int map_all(const struct tracee *t, const struct call_patches *p, int64_t code_fd,
		   int64_t lanes_fd, const char **why)
{
	const long locked = status_number(t->pid, "VmLck");
	int err = map(t, p->code, p->code_end - p->code, PROT_READ | PROT_EXEC, MAP_PRIVATE,
		      code_fd, 0);
	if (!err)
		err = map(t, p->local, CALL_PAGE, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (!err)
		err = (int)call(t, SYS_madvise, p->local, CALL_PAGE, MADV_WIPEONFORK, 0, 0, 0);
	if (!err)
		err = map(t, p->shared, CALL_PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, lanes_fd, 0);
	if (!err && (locked < 0 || status_number(t->pid, "VmLck") != locked)) {
		*why = "it locks all that it maps (mlockall)";
		err = -EPERM;
	}
	if (!err)
		err = map(t, p->lanes, LANES_BYTES, PROT_READ | PROT_WRITE,
			  MAP_SHARED | MAP_NORESERVE, lanes_fd, CALL_PAGE);
	/* A child may have given up rights that its parent has. */
	if (!err)
		err = (int)call(t, SYS_madvise, p->shared, CALL_PAGE, MADV_DONTFORK, 0, 0, 0);
	if (!err)
		err = (int)call(t, SYS_madvise, p->lanes, LANES_BYTES, MADV_DONTFORK, 0, 0, 0);
	if (!err)
		err = (int)call(t, SYS_madvise, p->lanes, LANES_BYTES, MADV_DONTDUMP, 0, 0, 0);
	if (err)
		unmap_all(t, p);
	return err;
}

static int write_fd(int fd, const void *bytes, size_t len)
{
	ssize_t n = pwrite(fd, bytes, len, 0);

	return n < 0 ? -errno : (size_t)n != len ? -EIO : 0;
}

static int choose_places(struct call_patches *p, const struct tracee *t)
{
	struct tracee_map *maps = NULL;
	int n = tracee_ranges(t->pid, &maps);
	const uint64_t bytes = call_stubs_bytes(p) + 2 * CALL_PAGE;

	if (n > 0) {
		p->code = find_room(maps, n, p->sites[0].at, bytes);
		p->lanes = find_most_room(maps, n, LANES_BYTES);
	}
	free(maps);
	p->code_end = p->code + call_stubs_bytes(p);
	p->kinds = p->code + call_stubs_kinds(p);
	p->local = p->code_end;
	p->shared = p->local + CALL_PAGE;
	if (!p->code || !p->lanes)
		return -ENOMEM;
	for (uint32_t i = 0; i < p->n; i++) {
		int64_t by = (int64_t)(p->sites[i].at - p->code);

		if (by > (int64_t)REACH || by < -(int64_t)REACH)
			return -ERANGE;
	}
	return 0;
}

static int give(struct call_patches *p, const struct tracee *t, const char **why)
{
	const struct call_shared shared = {.order = FIRST_ORDER};
	int64_t its[2] = {-1, -1};
	uint8_t *code = NULL;
	int err = choose_places(p, t);

	*why = err == -ERANGE ? "its own code makes system calls, as that of a program without "
				"libraries does"
			      : "there is no room in reach of its libraries";
	if (!err) {
		*why = "it may not have memory to share (a seccomp filter, or vm.memfd_noexec)";
		err = make_memfd(t, call_stubs_bytes(p), &its[0], &p->code_fd);
	}
	if (!err)
		err = make_memfd(t, CALL_PAGE + LANES_BYTES, &its[1], &p->lanes_fd);
	if (!err)
		err = (code = call_stubs_make(p)) ? write_fd(p->code_fd, code, call_stubs_bytes(p))
						  : -ENOMEM;
	/* Nor write to what others execute. */
	if (!err && fcntl(p->code_fd, F_ADD_SEALS, F_SEAL_WRITE))
		err = -errno;
	if (!err)
		err = write_fd(p->lanes_fd, &shared, sizeof(shared));
	if (!err) {
		*why = "it may not have more memory and code (mmap is refused: a limit, or "
		       "SELinux)";
		err = map_all(t, p, its[0], its[1], why);
	}
	free(code);
	for (int i = 0; i < 2; i++)
		if (its[i] >= 0)
			call(t, SYS_close, its[i], 0, 0, 0, 0, 0);
	return err;
}

int call_patches_find(pid_t pid, struct call_patches **out, const char **why)
{
	struct call_patches *p = calloc(1, sizeof(*p));
	struct tracee t;
	int err = p ? 0 : -ENOMEM;

	*why = "there is no memory";
	if (!p)
		return err;
	p->code_fd = p->lanes_fd = -1;
	if (!(getauxval(AT_HWCAP2) & HWCAP2_FSGSBASE_BIT)) {
		*why = "this processor or kernel has no instructions for thread pointers "
		       "(FSGSBASE)";
		err = -ENOSYS;
	}
	if (!err) {
		*why = "its memory cannot be reached";
		err = tracee_open(&t, pid);
	}
	if (!err) {
		err = find_sites(p, &t, why);
		tracee_close(&t);
	}
	if (err)
		call_patches_free(p);
	else
		*out = p;
	return err;
}

/* Whether all is there that was found. */
static bool is_as_found(const struct call_patches *p, const struct tracee *t)
{
	uint8_t bytes[CALL_SITE_BYTES];

	for (uint32_t i = 0; i < p->n; i++)
		if (tracee_read(t, p->sites[i].at, bytes, sizeof(bytes)) ||
		    memcmp(bytes, p->sites[i].old, sizeof(bytes)))
			return false;
	return true;
}

int call_patches_give(struct call_patches *p, pid_t pid, const pid_t *tids, uint32_t n,
		      uint64_t clocks, const char **why)
{
	struct tracee t;

	p->clocks = clocks;
	*why = "it has a seccomp filter";
	if (!n || is_filtered(pid))
		return -EPERM;
	/* Its threads run while those of this one stand. */
	*why = "another process has the same memory (vfork, or CLONE_VM)";
	if (memory_sharing(tids[0]))
		return -EBUSY;
	*why = "its memory cannot be reached";
	int err = tracee_open(&t, pid);
	if (err)
		return err;
	t.pid = tids[0];
	*why = "its libraries were changed while they were looked at";
	err = is_as_found(p, &t) ? give(p, &t, why) : -EAGAIN;
	tracee_close(&t);
	return err;
}

void call_patches_take_back(const struct call_patches *p, pid_t pid, const pid_t *tids)
{
	struct tracee t;

	if (tracee_open(&t, pid))
		return;
	t.pid = tids[0];
	unmap_all(&t, p);
	tracee_close(&t);
}

uint64_t call_patches_thread(pid_t tid)
{
	struct user_regs_struct regs;

	return ptrace(PTRACE_GETREGS, tid, NULL, &regs) ? 0 : regs.fs_base;
}

static bool is_patched(const struct call_patches *p, uint64_t addr, bool first, uint32_t *site)
{
	for (uint32_t i = 0; i < p->n; i++)
		if (addr - p->sites[i].at - !first < CALL_SITE_BYTES - (uint64_t)!first) {
			*site = i;
			return true;
		}
	return false;
}

struct held {
	const struct call_patches *p;
	bool held;
};

static void note_in_sites(void *ctx, uint64_t ip)
{
	struct held *h = ctx;
	uint32_t site;

	h->held |= is_patched(h->p, ip, false, &site);
}

static void note_in_code(void *ctx, uint64_t ip)
{
	struct held *h = ctx;

	h->held |= ip - h->p->code < h->p->code_end - h->p->code;
}

/* Whether a signal has interrupted a thread at such a place. */
static bool frames_hold(const struct call_patches *p, const struct tracee *t, const pid_t *tids,
			uint32_t n, void (*note)(void *ctx, uint64_t ip))
{
	struct held h = {.p = p};
	struct tracee_map *maps = NULL;
	int n_maps = tracee_ranges(t->pid, &maps);

	for (uint32_t i = 0; n_maps > 0 && !h.held && i < n; i++) {
		struct user_regs_struct regs;

		if (!ptrace(PTRACE_GETREGS, tids[i], NULL, &regs))
			frames_each(t, maps, n_maps, regs.rsp, note, &h);
	}
	free(maps);
	return h.held || n_maps <= 0;
}

/* Whether the kernel has the thread make the call again, which it had interrupted. */
static bool is_made_again(const struct user_regs_struct *regs)
{
	enum { RESTART_SYS = -512, RESTART_NO_INTR = -513, RESTART_NO_HAND = -514, RESTART = -516 };
	int64_t result = (int64_t)regs->rax;

	return (int64_t)regs->orig_rax >= 0 &&
	       (result == RESTART_SYS || result == RESTART_NO_INTR || result == RESTART_NO_HAND ||
		result == RESTART);
}

/* A thread behind a `syscall` of its own goes on in the stub if it makes that again, or if what
 * lies behind has become part of the jump. Returns whether it does. */
static bool move_to_stub(const struct call_patches *p, uint32_t i, struct user_regs_struct *regs)
{
	const struct call_site *s = &p->sites[i];
	bool fast = call_stubs_fast(s) && !call_stubs_fast(s)->check[0];

	if (is_made_again(regs)) { /* as the stub's own call leaves rcx */
		regs->rip = call_stubs_address(p, i) + (fast ? CALL_FAST_OVER : CALL_SLOW_OVER);
		regs->rcx = regs->rip;
	} else if (s->n_moved) {
		regs->rip = call_stubs_address(p, i) + CALL_MOVED;
	} else {
		return false;
	}
	return true;
}

/* 0: the thread may go on; 1: its registers are to be set; -EBUSY: it stands amid a site. */
static int settle(const struct call_patches *p, struct user_regs_struct *regs)
{
	for (uint32_t i = 0; i < p->n; i++) {
		const struct call_site *s = &p->sites[i];

		if (regs->rip == s->call + CALL_SYSCALL_BYTES)
			return move_to_stub(p, i, regs);
		if (regs->rip > s->at && regs->rip < s->at + CALL_SITE_BYTES)
			return -EBUSY;
	}
	return 0;
}

/* The jump of site number @i. */
static void make_jump(const struct call_patches *p, uint32_t i, uint8_t out[CALL_SITE_BYTES])
{
	const struct call_site *s = &p->sites[i];
	uint64_t to =
		call_stubs_address(p, i) + (call_stubs_begins_fast(s) ? CALL_FAST : CALL_SLOW);

	if (s->number == SYS_rt_sigreturn)
		to = p->code + call_code_places.zones.sigreturn;
	out[0] = CALL_JUMP;
	call_put_distance(out + 1, to, s->at + CALL_SITE_BYTES);
}

/* Whether site number @i has a jump to its stub. */
static bool leads_there(const struct call_patches *p, const struct tracee *t, uint32_t i)
{
	uint8_t bytes[CALL_SITE_BYTES];
	int32_t by;

	if (tracee_read(t, p->sites[i].at, bytes, sizeof(bytes)) || bytes[0] != CALL_JUMP)
		return false;
	memcpy(&by, bytes + 1, sizeof(by));
	uint64_t to = p->sites[i].at + CALL_SITE_BYTES + by;
	return to == call_stubs_address(p, i) + CALL_FAST ||
	       to == call_stubs_address(p, i) + CALL_SLOW ||
	       to == p->code + call_code_places.zones.sigreturn;
}

/* The library of a site may be gone by the end, and something else in its place. */
static int write_sites(const struct tracee *t, const struct call_patches *p, bool jumps)
{
	int err = 0;

	for (uint32_t i = 0; !err && i < p->n; i++) {
		const struct call_site *s = &p->sites[i];
		uint8_t jump[CALL_SITE_BYTES];

		make_jump(p, i, jump);
		if (jumps || leads_there(p, t, i))
			err = tracee_write(t, s->at, jumps ? jump : s->old, sizeof(jump));
	}
	return err;
}

/* What a thread is in when the recording begins has begun before: it is told as soon as it is over.
 */
static int note_begun(const struct call_patches *p, const struct user_regs_struct *regs)
{
	const uint64_t begun[2] = {regs->fs_base, 1};
	off_t at = CALL_PAGE + (off_t)call_lane_of(regs->fs_base);
	uint64_t owner;

	if (pread(p->lanes_fd, &owner, sizeof(owner), at) != sizeof(owner) ||
	    (owner && owner != regs->fs_base) || !regs->fs_base)
		return 0;
	return pwrite(p->lanes_fd, begun, sizeof(begun), at) == sizeof(begun) ? 0 : -EIO;
}

/* The registers that the stopped threads have, into @was. -EBUSY: one stands amid a site. */
static int read_threads(const struct call_patches *p, const pid_t *tids, uint32_t n,
			struct user_regs_struct *was)
{
	int err = 0;

	for (uint32_t i = 0; !err && i < n; i++) {
		if (ptrace(PTRACE_GETREGS, tids[i], NULL, &was[i]))
			return -errno;
		struct user_regs_struct regs = was[i];
		err = settle(p, &regs) < 0 ? -EBUSY : note_begun(p, &regs);
	}
	return err;
}

/* Threads behind a call of theirs go to its stub. Calls and what follows are the same there,
 * whether the sites are jumps or not. */
static int move_threads(const struct call_patches *p, const pid_t *tids, uint32_t n,
			const struct user_regs_struct *was)
{
	for (uint32_t i = 0; i < n; i++) {
		struct user_regs_struct regs = was[i];

		if (settle(p, &regs) > 0 && ptrace(PTRACE_SETREGS, tids[i], NULL, &regs))
			return -errno;
	}
	return 0;
}

/* And back; one that was killed needs nothing. */
static int put_back(const struct call_patches *p, const pid_t *tids, uint32_t n,
		    const struct user_regs_struct *was)
{
	int err = 0;

	for (uint32_t i = 0; i < n; i++) {
		struct user_regs_struct regs = was[i];

		if (settle(p, &regs) > 0 && ptrace(PTRACE_SETREGS, tids[i], NULL, &was[i]) &&
		    errno != ESRCH)
			err = -errno;
	}
	return err;
}

/* Of jumps that were not all written, or but in part, none is left. */
static int unwrite_sites(const struct tracee *t, const struct call_patches *p)
{
	int err = 0;

	for (uint32_t i = 0; i < p->n; i++) {
		const struct call_site *s = &p->sites[i];
		uint8_t bytes[CALL_SITE_BYTES];
		int failed = tracee_read(t, s->at, bytes, sizeof(bytes));

		if (!failed && memcmp(bytes, s->old, sizeof(bytes)) != 0)
			failed = tracee_write(t, s->at, s->old, sizeof(s->old));
		err = failed ? failed : err;
	}
	return err;
}

/* As the threads are where they go on in any case before a site is written to, a recorder that is
 * killed meanwhile leaves none amid a jump. */
static int place(const struct call_patches *p, const struct tracee *t, const pid_t *tids,
		 uint32_t n, struct user_regs_struct *was, const char **why)
{
	int err = read_threads(p, tids, n, was);

	*why = "a thread of it stands where a jump was to be";
	if (!err && frames_hold(p, t, tids, n, note_in_sites))
		err = -EBUSY;
	if (err) {
		unmap_all(t, p);
		return err;
	}
	err = move_threads(p, tids, n, was);
	if (!err) {
		*why = "its code cannot be written to";
		err = write_sites(t, p, true);
	}
	if (!err)
		return 0;
	int jumps = unwrite_sites(t, p);
	int away = put_back(p, tids, n, was);
	if (!jumps && !away) {
		unmap_all(t, p);
	} else { /* somebody may come there: calls are made, and not noted */
		const struct call_local local = {.armed = CALL_NOT_ARMED};
		tracee_write(t, p->local, &local, sizeof(local));
	}
	return err;
}

int call_patches_place(const struct call_patches *p, pid_t pid, const pid_t *tids, uint32_t n,
		       const char **why)
{
	struct user_regs_struct *was = calloc(n, sizeof(*was));
	struct tracee t;
	int err = was ? tracee_open(&t, pid) : -ENOMEM;

	*why = "its memory cannot be reached";
	if (!err) {
		t.pid = tids[0];
		err = place(p, &t, tids, n, was, why);
		tracee_close(&t);
	}
	free(was);
	return err;
}

int call_patches_arm(const struct call_patches *p, pid_t pid, int armed)
{
	const struct call_local local = {.armed = armed};
	struct tracee t;

	/* It may execute another program by now, or its number be another's. */
	if (armed == CALL_ENDING && !call_patches_has(p, pid))
		return -ESRCH;
	int err = tracee_open(&t, pid);
	if (err)
		return err;
	err = tracee_write(&t, p->local, &local, sizeof(local));
	tracee_close(&t);
	return err;
}

uint64_t call_patches_told(const struct call_patches *p, uint64_t ip, uint64_t *rcx)
{
	uint64_t off = ip - p->code - CALL_STUBS, i = off / CALL_STUB_BYTES;

	*rcx = 0;
	if (ip < p->code + CALL_STUBS || i >= p->n)
		return 0;
	const struct call_site *s = &p->sites[i];
	off %= CALL_STUB_BYTES;
	if (off < CALL_SLOW_SYSCALL)
		return s->at;
	if (off < CALL_SLOW_OVER || (off >= CALL_FAST && off < CALL_FAST_OVER))
		return s->call;
	if (off > CALL_MOVED)
		return s->call + CALL_SYSCALL_BYTES + s->n_moved;
	return *rcx = s->call + CALL_SYSCALL_BYTES;
}

int32_t call_patches_number(const struct call_patches *p, uint32_t stub)
{
	return p->sites[stub].number;
}

bool call_patches_has(const struct call_patches *p, pid_t pid)
{
	struct tracee t;
	bool has = false;
	uint64_t base = 0;

	if (tracee_open(&t, pid))
		return false;
	tracee_read(&t, p->code + call_code_places.base, &base, sizeof(base));
	for (uint32_t i = 0; base == p->code && !has && i < p->n; i++)
		has = leads_there(p, &t, i);
	tracee_close(&t);
	return has;
}

bool call_patches_waits(const struct call_patches *p, struct user_regs_struct *regs)
{
	uint64_t off = (regs->rip - p->code) % CALL_STUB_BYTES, rcx;
	uint64_t to = call_patches_told(p, regs->rip, &rcx);

	if (!to || (int64_t)regs->orig_rax < 0 || (off != CALL_SLOW_OVER && off != CALL_FAST_OVER))
		return false;
	regs->rip = regs->rcx = to;
	return true;
}

/* A thread that waits in a stub's call goes on behind the site. Any other one in the area leaves it
 * when it runs. */
static bool leaves(const struct call_patches *p, pid_t tid)
{
	struct user_regs_struct regs;

	if (ptrace(PTRACE_GETREGS, tid, NULL, &regs))
		return true; /* it has ended */
	if (regs.rip - p->code >= p->code_end - p->code)
		return true;
	return call_patches_waits(p, &regs) && !ptrace(PTRACE_SETREGS, tid, NULL, &regs);
}

int call_patches_remove(const struct call_patches *p, pid_t pid, const pid_t *tids, uint32_t n)
{
	struct tracee t;
	bool held = false;
	int err = tracee_open(&t, pid);

	if (err)
		return err;
	t.pid = tids[0];
	/* What is left here for long reads no clocks that are gone. */
	const uint64_t none = 0;
	err = tracee_write(&t, p->code + call_code_places.clocks, &none, sizeof(none));
	/* Threads of the other process may be in it, and run. */
	if (!err && (err = memory_sharing(tids[0])) > 0)
		err = -EAGAIN;
	if (!err)
		err = write_sites(&t, p, false);
	for (uint32_t i = 0; !err && i < n; i++)
		held |= !leaves(p, tids[i]);
	if (!err && (held || frames_hold(p, &t, tids, n, note_in_code)))
		err = -EBUSY;
	if (!err && is_filtered(pid))
		err = -EPERM;
	if (!err)
		err = unmap_all(&t, p);
	tracee_close(&t);
	return err;
}

/* Where the stubs of some recorder are in the process; false: nowhere. */
static bool find_left(pid_t pid, struct call_patches *p)
{
	struct maps_lines lines;
	struct maps_line line;

	if (maps_lines_open(&lines, pid))
		return false;
	while (maps_lines_next(&lines, &line))
		if (line.prot & PROT_EXEC && !strcmp(line.name, NAME_MAPPED)) {
			p->code = line.start;
			p->code_end = line.end;
		}
	maps_lines_close(&lines);
	return p->code;
}

/* Fills @p with what stands in that memory. */
static int read_left(const struct tracee *t, struct call_patches *p)
{
	const struct call_code_places *at = &call_code_places;
	const size_t len = (size_t)(call_code_end - call_code);
	const struct call_patches most = {.n = CALL_STUBS_MOST};
	uint64_t bytes, recorder;

	/* As long as the process chooses to have it. */
	if (p->code_end - p->code > call_stubs_bytes(&most))
		return -EPERM;
	uint8_t *code = malloc(p->code_end - p->code);
	int err = code ? tracee_read(t, p->code, code, p->code_end - p->code) : -ENOMEM;

	if (!err && (p->code_end - p->code < CALL_STUBS ||
		     memcmp(code + at->words, call_code + at->words, len - at->words)))
		err = -EPERM;
	if (!err) {
		memcpy(&bytes, code + at->stub_bytes, sizeof(bytes));
		memcpy(&recorder, code + at->recorder, sizeof(recorder));
		memcpy(&p->lanes, code + at->lanes, sizeof(p->lanes));
		p->n = (uint32_t)((bytes - CALL_STUBS) >> CALL_STUB_SHIFT);
		if (bytes < CALL_STUBS || p->n > CALL_STUBS_MOST ||
		    call_stubs_bytes(p) != p->code_end - p->code)
			err = -EPERM;
		else if (!kill((pid_t)recorder, 0) || errno != ESRCH)
			err = -EBUSY;
	}
	if (!err && !(p->sites = calloc(p->n + (size_t)1, sizeof(*p->sites))))
		err = -ENOMEM;
	for (uint32_t i = 0; !err && i < p->n; i++) {
		struct call_jump jump;
		struct call_site *s = &p->sites[i];
		uint64_t behind;

		memcpy(&jump, code + call_stubs_jumps(p) + i * sizeof(jump), sizeof(jump));
		memcpy(&behind, code + CALL_STUBS + i * (size_t)CALL_STUB_BYTES + at->stub_back,
		       sizeof(behind));
		s->at = jump.at;
		s->call = behind - CALL_SYSCALL_BYTES;
		s->n_moved = jump.n_moved;
		memcpy(s->old, jump.old, sizeof(s->old));
	}
	free(code);
	p->local = p->code_end;
	p->shared = p->local + CALL_PAGE;
	return err;
}

int call_patches_clear(pid_t pid, const pid_t *tids, uint32_t n)
{
	struct call_patches p = {.code_fd = -1, .lanes_fd = -1};
	struct tracee t;

	if (!find_left(pid, &p))
		return 0;
	int err = tracee_open(&t, pid);
	if (err)
		return err;
	err = read_left(&t, &p);
	tracee_close(&t);
	if (!err) {
		err = call_patches_remove(&p, pid, tids, n);
		if (err == -EBUSY) /* the memory stays, and nothing jumps there */
			err = 0;
	}
	free(p.sites);
	return err;
}

void call_patches_free(struct call_patches *p)
{
	if (!p)
		return;
	if (p->code_fd >= 0)
		close(p->code_fd);
	if (p->lanes_fd >= 0)
		close(p->lanes_fd);
	free(p->sites);
	free(p);
}
