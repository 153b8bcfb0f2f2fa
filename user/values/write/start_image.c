// SPDX-License-Identifier: LGPL-2.1-or-later
/* start_image.c: see start_image.h. By /proc/PID/maps, pagemap and mem
 * (Documentation/admin-guide/mm/pagemap.rst). Of private memory only those pages are written that
 * are not the file's any more; what is the file's is kept once, by file. */
#include "user/values/write/start_image.h"

#include "offline/base/open_regular.h"
#include "offline/base/varint.h"
#include "offline/capture/capture_code.h"
#include "offline/elf/private_elf.h"
#include "user/file/build_id.h"
#include "user/values/write/process_maps.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <gelf.h>
#include <limits.h>
#include <linux/fs.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <time.h>
#include <unistd.h>

enum { PAGE = 4096, XSAVE_MAX = 16384, OPEN_FILES = 200, CLOCK_TICK_NS = 10000000 };

/* Of a file that is no traced module, so much at most of one mapping is kept. */
#define FILE_MAX_BYTES (64u << 20)

#define PAGE_PRESENT (1ull << 63)
#define PAGE_SWAPPED (1ull << 62)
#define PAGE_OF_FILE (1ull << 61) /* or shared */

struct run {
	uint64_t addr, bytes;
};

struct image_file {
	char *path;
	struct build_id id;
	dev_t dev;
	ino_t ino;
	struct run *kept; /* what was written of it: offsets, ascending */
	uint32_t n_kept;
	int fd;		    /* -1: too many are open */
	int64_t written_ns; /* when it was, as it was found first (CLOCK_REALTIME) */
	bool changed;	    /* since it was mapped first, perhaps */
};

#ifndef PAGEMAP_SCAN /* linux/fs.h, since Linux 6.7 */
struct page_region {
	uint64_t start, end, categories;
};
struct pm_scan_arg {
	uint64_t size, flags, start, end, walk_end, vec, vec_len, max_pages;
	uint64_t category_inverted, category_mask, category_anyof_mask, return_mask;
};
#define PAGEMAP_SCAN _IOWR('f', 16, struct pm_scan_arg)
#define PAGE_IS_PRESENT (1 << 3)
#define PAGE_IS_SWAPPED (1 << 4)
#endif

#define NT_SHADOW_STACK 0x204 /* NT_X86_SHSTK, of Linux 6.6 */

struct start_image {
	const struct start_options *options;
	struct capture_writer *writer;
	pthread_mutex_t lock; /* of files */
	struct image_file *files;
	uint32_t n_files, cap_files;
	struct process_maps maps;
	struct name_folders folders; /* of the process that was read first */
	atomic_bool matched;	     /* options->no_memory has */
	json_t *mappings;
	uint8_t xsave[XSAVE_MAX];
	struct capture_range rseq; /* of the task whose registers were read last */
	struct bytes pages;	   /* runs of pages: struct run, then they */
	struct run *unread;	   /* of pages that could not be read, by address */
	uint32_t n_unread;
};

struct start_image *start_image_new(const struct start_options *options,
				    struct capture_writer *writer)
{
	struct start_image *s = calloc(1, sizeof(*s));

	if (!s || !(s->mappings = json_array())) {
		free(s);
		return NULL;
	}
	s->options = options;
	s->writer = writer;
	s->folders = (struct name_folders){-1, -1};
	pthread_mutex_init(&s->lock, NULL);
	return s;
}

void start_image_free(struct start_image *s)
{
	if (!s)
		return;
	for (uint32_t i = 0; i < s->n_files; i++) {
		free(s->files[i].path);
		free(s->files[i].kept);
		if (s->files[i].fd >= 0)
			close(s->files[i].fd);
	}
	free(s->files);
	process_maps_deinit(&s->maps);
	json_decref(s->mappings);
	bytes_deinit(&s->pages);
	free(s->unread);
	name_folders_deinit(&s->folders);
	pthread_mutex_destroy(&s->lock);
	free(s);
}

/* The kernel's own names, such as [heap], are in brackets, which a glob has another meaning for. */
static bool is_named(const char *pattern, const char *path)
{
	return pattern && (!strcmp(pattern, path) || !fnmatch(pattern, path, 0));
}

/* Whether nothing may be kept of what is mapped under the name @path; of a file that was removed,
 * the name that it had counts. */
static bool is_kept_out(struct start_image *s, const char *path)
{
	static const char removed[] = " (deleted)";
	size_t len = path ? strlen(path) : 0, tail = sizeof(removed) - 1;
	char had[PATH_MAX];

	if (len > tail && len - tail < sizeof(had) && !strcmp(path + len - tail, removed)) {
		memcpy(had, path, len - tail);
		had[len - tail] = 0;
		if (is_kept_out(s, had))
			return true;
	}
	if (path && is_named(s->options->no_memory, path)) {
		s->matched = true;
		return true;
	}
	return path && redaction_hides_path(&s->options->redaction, path);
}

/* The first bytes of @f at offset @at or behind it, before @end, that were not written; none: it
 * begins at @end. */
static struct run next_unkept(const struct image_file *f, uint64_t at, uint64_t end)
{
	for (uint32_t i = 0; i < f->n_kept && at < end; i++) {
		const struct run *k = &f->kept[i];

		if (k->addr > at)
			return (struct run){at, (k->addr < end ? k->addr : end) - at};
		if (k->addr + k->bytes > at)
			at = k->addr + k->bytes;
	}
	return at < end ? (struct run){at, end - at} : (struct run){end, 0};
}

/* Notes that @run of @f, of which nothing was, is written. False: out of memory. */
static bool note_kept(struct image_file *f, struct run run)
{
	uint32_t i = 0;

	while (i < f->n_kept && f->kept[i].addr < run.addr)
		i++;
	if (i && f->kept[i - 1].addr + f->kept[i - 1].bytes == run.addr) {
		f->kept[i - 1].bytes += run.bytes;
		return true;
	}
	struct run *kept = realloc(f->kept, (f->n_kept + 1) * sizeof(*kept));
	if (!kept)
		return false;
	f->kept = kept;
	memmove(kept + i + 1, kept + i, (f->n_kept - i) * sizeof(*kept));
	kept[i] = run;
	f->n_kept++;
	return true;
}

/* Keeps what the mapping shows of the file behind @fd, as far as that has not been. */
static void keep_bytes(struct start_image *s, uint32_t number, int fd, const struct stat *st,
		       const struct process_map *m)
{
	struct image_file *f = &s->files[number];
	uint64_t end = m->off + (m->end - m->start), unkept = 0;

	if (end > (uint64_t)st->st_size)
		end = ((uint64_t)st->st_size + PAGE - 1) & ~(PAGE - 1ull);
	struct run first = next_unkept(f, m->off, end), run = first;
	for (; run.bytes; run = next_unkept(f, run.addr + run.bytes, end))
		unkept += run.bytes;
	uint8_t *bytes = unkept && unkept <= FILE_MAX_BYTES ? malloc(CAPTURE_FILE_BYTES) : NULL;
	for (run = first; bytes && run.bytes; run = next_unkept(f, run.addr + run.bytes, end)) {
		run.bytes = run.bytes < CAPTURE_FILE_BYTES ? run.bytes : CAPTURE_FILE_BYTES;
		ssize_t n = pread(fd, bytes, run.bytes, run.addr);

		if (n <= 0 || !note_kept(f, run))
			break;
		memset(bytes + n, 0, run.bytes - n); /* behind the end of the file are zeros */
		capture_writer_file(s->writer, number, run.addr, bytes, run.bytes);
	}
	free(bytes);
}

static int64_t time_ns(const struct timespec *t)
{
	return (int64_t)t->tv_sec * 1000000000 + t->tv_nsec;
}

static uint32_t add_file(struct start_image *s, const struct stat *st, const char *link,
			 const char *name)
{
	if (s->n_files == s->cap_files) {
		uint32_t cap = s->cap_files ? 2 * s->cap_files : 16;
		struct image_file *files = realloc(s->files, cap * sizeof(*files));

		if (!files)
			return CAPTURE_UNKNOWN;
		s->files = files;
		s->cap_files = cap;
	}
	char *path = strdup(name);
	if (!path)
		return CAPTURE_UNKNOWN;
	s->files[s->n_files] = (struct image_file){
		.path = path,
		.id = build_id_read(link),
		.dev = st->st_dev,
		.ino = st->st_ino,
		.fd = s->n_files < OPEN_FILES ? open(link, O_RDONLY | O_CLOEXEC) : -1,
		.written_ns = time_ns(&st->st_mtim)};
	return s->n_files++;
}

/* The moment @monotonic_ns of CLOCK_MONOTONIC by the clock that files have. */
static int64_t by_wall_clock(uint64_t monotonic_ns)
{
	struct timespec now, wall;

	clock_gettime(CLOCK_MONOTONIC, &now);
	clock_gettime(CLOCK_REALTIME, &wall);
	return (int64_t)monotonic_ns - time_ns(&now) + time_ns(&wall);
}

/* Notes whether the file has been written since @mapped_ns (0: it was mapped before anybody looked)
 * or since it was found. Files are told their time by a clock that goes in ticks. */
static void note_change(struct image_file *f, uint64_t mapped_ns)
{
	struct stat st;

	if (f->fd < 0 || fstat(f->fd, &st))
		return;
	int64_t written = time_ns(&st.st_mtim);
	f->changed |= written != f->written_ns ||
		      (mapped_ns && written + CLOCK_TICK_NS > by_wall_clock(mapped_ns));
}

/* The number of the file behind @fd, which is closed; what @m shows of it is kept. */
static uint32_t take_opened(struct start_image *s, int fd, const struct stat *st,
			    const struct process_map *m, uint64_t mapped_ns)
{
	char link[32];
	uint32_t i = 0;

	if (fd < 0)
		return CAPTURE_UNKNOWN;
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	pthread_mutex_lock(&s->lock);
	while (i < s->n_files && (s->files[i].dev != st->st_dev || s->files[i].ino != st->st_ino))
		i++;
	if (i == s->n_files)
		i = add_file(s, st, link, m->path);
	if (i != CAPTURE_UNKNOWN)
		keep_bytes(s, i, fd, st, m);
	if (i != CAPTURE_UNKNOWN)
		note_change(&s->files[i], mapped_ns);
	pthread_mutex_unlock(&s->lock);
	close(fd);
	return i;
}

/* Opens the file that is mapped at @m: a descriptor, or -errno. */
static int open_mapped(pid_t pid, const struct process_map *m, struct stat *st)
{
	char link[80];

	snprintf(link, sizeof(link), "/proc/%d/map_files/%llx-%llx", pid,
		 (unsigned long long)m->start, (unsigned long long)m->end);
	return open_regular(link, st);
}

/* The number of the file that is mapped at @m, of which what @m shows is kept. */
static uint32_t take_file(struct start_image *s, pid_t pid, const struct process_map *m)
{
	struct stat st;

	return take_opened(s, open_mapped(pid, m, &st), &st, m, 0);
}

/* The number of the file @f, which is mapped at @m by now if file systems do not differ; of it what
 * @shown shows is kept. */
static uint32_t take_file_again(struct start_image *s, const struct mapped_file *f,
				const struct process_map *m, const struct process_map *shown)
{
	struct stat st;
	int fd = open_mapped(f->pid, m, &st);

	if (fd >= 0 && f->device && !mapped_file_is_on(f, fd, &st)) {
		close(fd);
		return CAPTURE_UNKNOWN;
	}
	return take_opened(s, fd, &st, shown, f->time_ns);
}

static bool leads_to_kept_out(struct start_image *s, int fd)
{
	char link[32], path[4096];

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	ssize_t n = readlink(link, path, sizeof(path) - 1);
	path[n > 0 ? n : 0] = 0;
	return n <= 0 || is_kept_out(s, path);
}

uint32_t start_image_file_of(void *image, const struct mapped_file *f)
{
	struct process_maps maps = {0};
	uint32_t number = CAPTURE_UNKNOWN;
	bool read = !process_maps_read(&maps, f->pid);
	const struct process_map *m = read ? process_maps_at(&maps, f->addr) : NULL;

	/* By now another file may be mapped there. */
	bool same = m && m->inode && (!f->inode || m->inode == f->inode);
	bool kept_out = is_kept_out(image, f->path) || (same && is_kept_out(image, m->path));
	struct process_map was = {.start = f->addr,
				  .end = (f->addr + f->len + PAGE - 1) & ~(PAGE - 1ull),
				  .off = f->off,
				  .path = same ? m->path : (char *)f->path};
	/* By now it may be in pieces, as the linker has protected one. */
	if (same && !kept_out)
		number = take_file_again(image, f, m, &was);
	if (read)
		process_maps_deinit(&maps);
	if (number != CAPTURE_UNKNOWN || !f->path || kept_out)
		return number;
	was.path = (char *)f->path;
	struct stat st;
	int fd = opened_files_open(f, &((struct start_image *)image)->folders, &st);
	/* It may have been opened by a name that is not the whole path. */
	if (fd >= 0 && leads_to_kept_out(image, fd)) {
		close(fd);
		return CAPTURE_UNKNOWN;
	}
	return take_opened(image, fd, &st, &was, f->time_ns);
}

/* Whether page @entry of pagemap is not what the mapping says by itself. */
static bool is_own(uint64_t entry, const struct process_map *m)
{
	if (!(entry & (PAGE_PRESENT | PAGE_SWAPPED)))
		return false;
	return m->shared || !m->inode || !(entry & PAGE_OF_FILE);
}

/* The @n pages at @addr are the process's own, and nobody can read them. */
static void note_unread(struct start_image *s, uint64_t addr, uint64_t n)
{
	struct run *last = s->n_unread ? &s->unread[s->n_unread - 1] : NULL;

	if (last && last->addr + last->bytes == addr) {
		last->bytes += n * PAGE;
		return;
	}
	struct run *unread = realloc(s->unread, (s->n_unread + 1) * sizeof(*unread));
	if (!unread) {
		s->pages.failed = true;
		return;
	}
	s->unread = unread;
	unread[s->n_unread++] = (struct run){addr, n * PAGE};
}

/* Reads pages in a row, of which some may be unreadable: a guard, or a device's. Behind such a one
 * ever more are given up without a look, as the process stands still meanwhile. */
static void read_run(struct start_image *s, int mem, uint64_t addr, uint32_t n)
{
	uint32_t given_up = 1;

	while (n && bytes_reserve(&s->pages, sizeof(struct run) + (uint64_t)n * PAGE)) {
		ssize_t got = pread(mem, s->pages.data + s->pages.len + sizeof(struct run),
				    (uint64_t)n * PAGE, addr);
		uint32_t whole = got > 0 ? got / PAGE : 0;
		struct run run = {addr, (uint64_t)whole * PAGE};

		if (whole) {
			bytes_put(&s->pages, &run, sizeof(run));
			s->pages.len += run.bytes;
		}
		addr += run.bytes;
		n -= whole;
		if (!n)
			break;
		given_up = whole ? 1 : given_up < n ? given_up : n;
		note_unread(s, addr, given_up);
		addr += (uint64_t)given_up * PAGE;
		n -= given_up;
		given_up *= 2;
	}
}

/* From @addr on the first page that is there, before @end: of what a process has reserved most is
 * not. A kernel before Linux 6.7 cannot say. */
static uint64_t next_present(int pagemap, uint64_t addr, uint64_t end)
{
	struct page_region found;
	struct pm_scan_arg scan = {
		.size = sizeof(scan),
		.start = addr,
		.end = end,
		.vec = (uintptr_t)&found,
		.vec_len = 1,
		.max_pages = 1,
		.category_anyof_mask = PAGE_IS_PRESENT | PAGE_IS_SWAPPED,
		.return_mask = PAGE_IS_PRESENT | PAGE_IS_SWAPPED,
	};
	int n = ioctl(pagemap, PAGEMAP_SCAN, &scan);

	return n < 0 ? addr : n ? found.start : end;
}

/* The pages of one mapping that are the process's own. */
static void read_pages(struct start_image *s, int mem, int pagemap, const struct process_map *m)
{
	uint64_t entries[CAPTURE_PAGES];
	uint64_t end = m->end;

	for (uint64_t addr = m->start; (addr = next_present(pagemap, addr, end)) < end;) {
		uint64_t want =
			(end - addr) / PAGE < CAPTURE_PAGES ? (end - addr) / PAGE : CAPTURE_PAGES;
		ssize_t n = pread(pagemap, entries, want * 8, addr / PAGE * 8) / 8;

		if (n <= 0) {
			note_unread(s, addr, (end - addr) / PAGE);
			return;
		}
		for (ssize_t i = 0, k; i < n; i = k + 1) {
			for (k = i; k < n && is_own(entries[k], m);)
				k++;
			read_run(s, mem, addr + i * PAGE, k - i);
		}
		addr += n * PAGE;
	}
}

static void note_part(struct start_image *s, const struct process_map *m, uint64_t from,
		      uint64_t to, int number)
{
	bool heap = !m->inode && m->path && !strcmp(m->path, "[heap]") && to == m->end;

	if (from < to)
		json_array_append_new(s->mappings,
				      json_pack("[I,I,I,i,i,i]", (json_int_t)from, (json_int_t)to,
						(json_int_t)(m->off + (from - m->start)), m->prot,
						number,
						(m->shared ? CAPTURE_MAPPING_SHARED : 0) |
							(m->wiped ? CAPTURE_MAPPING_WIPED : 0) |
							(heap ? CAPTURE_MAPPING_HEAP : 0)));
}

/* What could not be read of it is told as of a file that nobody could look at. */
static void note_mapping(struct start_image *s, const struct process_map *m, uint32_t file)
{
	int number = file == CAPTURE_NONE      ? CAPTURE_MAPPING_NO_FILE
		     : file == CAPTURE_UNKNOWN ? CAPTURE_MAPPING_UNREAD
					       : (int)file;
	uint64_t from = m->start;

	for (uint32_t i = 0; i < s->n_unread; i++) {
		const struct run *u = &s->unread[i]; /* of several mappings, perhaps */
		uint64_t first = u->addr > m->start ? u->addr : m->start;
		uint64_t end = u->addr + u->bytes < m->end ? u->addr + u->bytes : m->end;

		if (first >= end)
			continue;
		note_part(s, m, from, first, number);
		note_part(s, m, first, end, CAPTURE_MAPPING_UNREAD);
		from = end;
	}
	note_part(s, m, from, m->end, number);
}

int start_image_memory(struct start_image *s, pid_t pid, struct pugmark_diag *diag)
{
	char path[32];
	int err;

	snprintf(path, sizeof(path), "/proc/%d/mem", pid);
	int mem = open(path, O_RDONLY | O_CLOEXEC);
	err = mem < 0 ? -errno : 0;
	snprintf(path, sizeof(path), "/proc/%d/pagemap", pid);
	int pagemap = open(path, O_RDONLY | O_CLOEXEC);
	err = err ? err : pagemap < 0 ? -errno : 0;
	if (!err)
		err = process_maps_read(&s->maps, pid);
	if (s->folders.root < 0)
		s->folders = name_folders_of(pid);
	for (uint32_t i = 0; !err && i < s->maps.n; i++) {
		const struct process_map *m = &s->maps.at[i];

		/* Code of a file is taken to be what the file has, as our own breakpoints are in
		 * there; vsyscall is the kernel's. What the process itself may not read at the
		 * moment is read as well: it may later. */
		if (!(m->start >> 63) && !(m->prot & PROT_EXEC && m->inode) &&
		    !is_kept_out(s, m->path))
			read_pages(s, mem, pagemap, m);
		err = s->pages.failed ? -ENOMEM : 0;
	}
	if (mem >= 0)
		close(mem);
	if (pagemap >= 0)
		close(pagemap);
	return err ? pugmark_diag_set(diag, err, NULL, PUGMARK_NO_OFFSET,
				      "reading the memory of process %d: %s", pid, strerror(-err))
		   : 0;
}

void start_image_write(struct start_image *s, pid_t pid)
{
	process_maps_find_wiped(&s->maps, pid);
	for (uint32_t i = 0; i < s->maps.n; i++) {
		const struct process_map *m = &s->maps.at[i];

		bool kept_out = is_kept_out(s, m->path);
		if (!(m->start >> 63))
			note_mapping(s, m,
				     kept_out	? CAPTURE_UNKNOWN
				     : m->inode ? take_file(s, pid, m)
						: CAPTURE_NONE);
	}
	for (size_t at = 0; at < s->pages.len;) {
		struct run run;

		memcpy(&run, s->pages.data + at, sizeof(run));
		capture_writer_pages(s->writer, run.addr, s->pages.data + at + sizeof(run),
				     run.bytes);
		at += sizeof(run) + run.bytes;
	}
	bytes_deinit(&s->pages);
}

/* What the kernel writes whenever it likes (rseq(2): on which processor the task runs) is not
 * known. Returns how many ranges that are: 0, also where the kernel is too old to tell
 * (Linux 5.13). */
static uint32_t read_rseq(struct start_image *s, pid_t tid)
{
	struct __ptrace_rseq_configuration rseq = {0};

	if (ptrace(PTRACE_GET_RSEQ_CONFIGURATION, tid, sizeof(rseq), &rseq) <= 0 ||
	    !rseq.rseq_abi_pointer)
		return 0;
	s->rseq = (struct capture_range){
		.addr = rseq.rseq_abi_pointer, .len = rseq.rseq_abi_size, .unread = true};
	return 1;
}

int start_image_registers(struct start_image *s, pid_t tid, struct capture *out,
			  struct pugmark_diag *diag)
{
	struct iovec xsave = {s->xsave, sizeof(s->xsave)};
	struct user_regs_struct r;

	if (ptrace(PTRACE_GETREGS, tid, NULL, &r))
		return pugmark_diag_set(diag, -errno, NULL, PUGMARK_NO_OFFSET,
					"reading the registers of task %d: %s", tid,
					strerror(errno));
	uint64_t ssp;
	struct iovec shadow = {&ssp, sizeof(ssp)};
	if (!ptrace(PTRACE_GETREGSET, tid, NT_SHADOW_STACK, &shadow))
		return pugmark_diag_set(diag, -EOPNOTSUPP, NULL, PUGMARK_NO_OFFSET,
					"task %d has a shadow stack, which level values does not "
					"follow (start it with "
					"GLIBC_TUNABLES=glibc.cpu.x86_shstk=off)",
					tid);
	bool has_xsave = !ptrace(PTRACE_GETREGSET, tid, NT_X86_XSTATE, &xsave);
	*out = (struct capture){
		.kind = CAPTURE_START,
		.place = CAPTURE_NONE,
		.map_file = CAPTURE_NONE,
		.ip = r.rip,
		.sp = r.rsp,
		.known = CAPTURE_ALL_KNOWN,
		.regs = {r.rax, r.rcx, r.rdx, r.rbx, r.rsp, r.rbp, r.rsi, r.rdi, r.r8, r.r9, r.r10,
			 r.r11, r.r12, r.r13, r.r14, r.r15},
		.flags = r.eflags,
		.fs_base = r.fs_base,
		.gs_base = r.gs_base,
		.xsave = has_xsave ? s->xsave : NULL,
		.xsave_bytes = has_xsave ? xsave.iov_len : 0,
		.ranges = &s->rseq,
		.n_ranges = read_rseq(s, tid),
	};
	return 0;
}

/* From where the first segment of the file at @path is loaded. */
bool start_image_bias(const struct start_image *s, const char *path, uint64_t *bias)
{
	private_elf_guard struct private_elf file = {0};
	GElf_Phdr ph;
	size_t n = 0;
	bool found = false;

	private_elf_open(path, &file);
	Elf *elf = file.elf;
	const struct stat st = file.file.st;
	if (elf && elf_getphdrnum(elf, &n))
		n = 0;
	for (size_t i = 0; !found && i < n && gelf_getphdr(elf, i, &ph); i++) {
		if (ph.p_type != PT_LOAD || !(ph.p_flags & PF_X))
			continue;
		for (uint32_t k = 0; k < s->maps.n && !found; k++) {
			const struct process_map *m = &s->maps.at[k];

			found = m->inode == st.st_ino && m->prot & PROT_EXEC &&
				m->off == (ph.p_offset & ~(PAGE - 1ull));
			if (found)
				*bias = m->start - (ph.p_vaddr & ~(PAGE - 1ull));
		}
	}
	return found;
}

bool start_image_has_code(const struct start_image *s)
{
	bool has = false;

	for (uint32_t i = 0; i < s->maps.n; i++) {
		const struct process_map *m = &s->maps.at[i];

		/* The second is where the kernel steps probed instructions. */
		bool kernels = !strcmp(m->path, "[vdso]") || !strcmp(m->path, "[uprobes]");
		has |= m->prot & PROT_EXEC && !m->inode && !(m->start >> 63) && !kernels;
	}
	return has;
}

json_t *start_image_mappings(const struct start_image *s)
{
	return json_incref(s->mappings);
}

json_t *start_image_files(struct start_image *s)
{
	json_t *list = json_array();

	pthread_mutex_lock(&s->lock);
	for (uint32_t i = 0; i < s->n_files; i++) {
		struct image_file *f = &s->files[i];
		char hex[2 * sizeof(f->id.bytes) + 1] = "";
		json_t *path = json_string(f->path);

		note_change(f, 0);
		for (uint32_t k = 0; k < f->id.len && k < 20; k++)
			sprintf(hex + 2 * k, "%02x", f->id.bytes[k]);
		/* Where the name is no UTF-8. */
		json_array_append_new(list, json_pack("[o,s,b]", path ? path : json_string("?"),
						      hex, f->changed));
	}
	pthread_mutex_unlock(&s->lock);
	return list;
}

bool start_image_files_changed(struct start_image *s)
{
	bool changed = false;

	pthread_mutex_lock(&s->lock);
	for (uint32_t i = 0; i < s->n_files; i++) {
		note_change(&s->files[i], 0);
		changed |= s->files[i].changed;
	}
	pthread_mutex_unlock(&s->lock);
	return changed;
}

bool start_image_no_memory_matched(const struct start_image *s)
{
	return s->matched;
}

uint32_t start_image_n_files(struct start_image *s)
{
	pthread_mutex_lock(&s->lock);
	uint32_t n = s->n_files;
	pthread_mutex_unlock(&s->lock);
	return n;
}
