// SPDX-License-Identifier: LGPL-2.1-or-later
/* start_image.c: see start_image.h. By /proc/PID/maps. Of private memory only those pages are
 * written that are not the file's any more (own_pages.h); what is the file's is kept once, by file
 * (kept_files.h). */
#include "user/values/start/start_image.h"

#include "offline/base/open_regular.h"
#include "offline/elf/private_elf.h"
#include "user/values/start/kept_out.h"
#include "user/values/start/own_pages.h"
#include "user/values/start/process_maps.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <unistd.h>

enum { PAGE = 4096, XSAVE_MAX = 16384 };

#define NT_SHADOW_STACK 0x204 /* NT_X86_SHSTK, of Linux 6.6 */

struct start_image {
	struct capture_writer *writer;
	struct kept_files *files;
	struct kept_out kept_out;
	struct process_maps maps;
	struct name_folders folders; /* of the process that was read first */
	json_t *mappings;
	uint8_t xsave[XSAVE_MAX];
	struct capture_range rseq; /* of the task whose registers were read last */
	struct own_pages pages;
};

struct start_image *start_image_new(const struct start_options *options,
				    struct capture_writer *writer)
{
	struct start_image *s = calloc(1, sizeof(*s));

	if (!s || !(s->mappings = json_array()) || !(s->files = kept_files_new(writer))) {
		json_decref(s ? s->mappings : NULL);
		free(s);
		return NULL;
	}
	s->kept_out.no_memory = options->no_memory;
	s->kept_out.redaction = &options->redaction;
	s->writer = writer;
	s->folders = (struct name_folders){-1, -1};
	return s;
}

void start_image_free(struct start_image *s)
{
	if (!s)
		return;
	kept_files_free(s->files);
	process_maps_deinit(&s->maps);
	json_decref(s->mappings);
	own_pages_deinit(&s->pages);
	name_folders_deinit(&s->folders);
	free(s);
}

/* Opens the file that is mapped at @m: a descriptor, or -errno. */
static int open_mapped(pid_t pid, const struct process_map *m, struct stat *st)
{
	char link[80];

	snprintf(link, sizeof(link), "/proc/%d/map_files/%llx-%llx", pid,
		 (unsigned long long)m->start, (unsigned long long)m->end);
	return open_regular(link, st);
}

/* The number of the file behind @fd, which is closed; what @m shows of it is kept. */
static uint32_t take_opened(struct start_image *s, int fd, const struct stat *st,
			    const struct process_map *m, uint64_t mapped_ns)
{
	return kept_files_take(s->files, fd, st, m->path, m->off, m->end - m->start, mapped_ns);
}

/* The number of the file that is mapped at @m, of which what @m shows is kept. */
static uint32_t take_file(struct start_image *s, pid_t pid, const struct process_map *m,
			  uint64_t stood_ns)
{
	struct stat st;

	return take_opened(s, open_mapped(pid, m, &st), &st, m, stood_ns);
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

uint32_t start_image_file_of(void *image, const struct mapped_file *f)
{
	struct start_image *s = image;
	struct process_maps maps = {0};
	uint32_t number = CAPTURE_UNKNOWN;
	bool read = !process_maps_read(&maps, f->pid);
	const struct process_map *m = read ? process_maps_at(&maps, f->addr) : NULL;

	/* By now another file may be mapped there. */
	bool same = m && m->inode && (!f->inode || m->inode == f->inode);
	bool kept_out = kept_out_has(&s->kept_out, f->path) ||
			(same && kept_out_has(&s->kept_out, m->path));
	struct process_map was = {.start = f->addr,
				  .end = (f->addr + f->len + PAGE - 1) & ~(PAGE - 1ull),
				  .off = f->off,
				  .path = same ? m->path : (char *)f->path};
	/* By now it may be in pieces, as the linker has protected one. */
	if (same && !kept_out)
		number = take_file_again(s, f, m, &was);
	if (read)
		process_maps_deinit(&maps);
	if (number != CAPTURE_UNKNOWN || !f->path || kept_out)
		return number;
	was.path = (char *)f->path;
	struct stat st;
	int fd = opened_files_open(f, &s->folders, &st);
	/* It may have been opened by a name that is not the whole path. */
	if (fd >= 0 && kept_out_leads_to(&s->kept_out, fd)) {
		close(fd);
		return CAPTURE_UNKNOWN;
	}
	return take_opened(s, fd, &st, &was, f->time_ns);
}

static void note_part(struct start_image *s, const struct process_map *m, uint64_t from,
		      uint64_t to, int number)
{
	bool heap = !m->inode && m->path && !strcmp(m->path, "[heap]") && to == m->end;

	if (from < to)
		json_array_append_new(s->mappings,
				      json_pack("[I,I,I,i,i,i,I]", (json_int_t)from, (json_int_t)to,
						(json_int_t)(m->off + (from - m->start)), m->prot,
						number,
						(m->shared ? CAPTURE_MAPPING_SHARED : 0) |
							(m->wiped ? CAPTURE_MAPPING_WIPED : 0) |
							(heap ? CAPTURE_MAPPING_HEAP : 0),
						(json_int_t)m->grows_to));
}

/* What could not be read of it is told as of a file that nobody could look at. */
static void note_mapping(struct start_image *s, const struct process_map *m, uint32_t file)
{
	int number = file == CAPTURE_NONE      ? CAPTURE_MAPPING_NO_FILE
		     : file == CAPTURE_UNKNOWN ? CAPTURE_MAPPING_UNREAD
					       : (int)file;
	uint64_t from = m->start;

	for (uint32_t i = 0; i < s->pages.n_unread; i++) {
		const struct page_run *u = &s->pages.unread[i]; /* of several mappings, perhaps */
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

/* Code of a file is taken to be what the file has, as our own breakpoints are in there. The kernel
 * puts none where the process itself may write (valid_vma() of kernel/events/uprobes.c). */
static bool is_files_code(const struct process_map *m)
{
	return m->inode && m->prot & PROT_EXEC && !(m->prot & PROT_WRITE);
}

/* Whether what is the process's own at @m is read. vsyscall is the kernel's. What the process
 * itself may not read at the moment is read as well: it may later. */
static bool is_read(struct start_image *s, const struct process_map *m)
{
	return !(m->start >> 63) && !is_files_code(m) && !kept_out_has(&s->kept_out, m->path);
}

/* MemAvailable of proc(5); UINT64_MAX: nobody says. */
static uint64_t available_bytes(void)
{
	char line[128];
	uint64_t kib = 0;
	FILE *f = fopen("/proc/meminfo", "re");

	while (f && !kib && fgets(line, sizeof(line), f))
		sscanf(line, "MemAvailable: %" SCNu64, &kib);
	if (f)
		fclose(f);
	return kib ? kib << 10 : UINT64_MAX;
}

static int look_failed(int err, pid_t pid, struct pugmark_diag *diag)
{
	return pugmark_diag_set(diag, err, NULL, PUGMARK_NO_OFFSET,
				"looking at the memory of process %d: %s", pid, strerror(-err));
}

int start_image_room(struct start_image *s, pid_t pid, uint64_t max_bytes,
		     struct pugmark_diag *diag)
{
	struct process_maps maps = {0};
	uint64_t bytes = 0, available = available_bytes();
	bool limited = max_bytes && max_bytes < available;
	uint64_t most = limited ? max_bytes : available;
	int err = process_maps_read(&maps, pid);

	err = err ? err : process_maps_look(&maps, pid);
	if (err) {
		process_maps_deinit(&maps);
		return look_failed(err, pid, diag);
	}
	for (uint32_t i = 0; i < maps.n; i++) {
		const struct process_map *m = &maps.at[i];

		if (is_read(s, m))
			bytes += m->shared || !m->inode ? m->present_bytes : m->anonymous_bytes;
	}
	process_maps_deinit(&maps);
	if (bytes <= most)
		return 0;
	return pugmark_diag_set(diag, -ENOMEM, NULL, PUGMARK_NO_OFFSET,
				"process %d has %" PRIu64
				" MiB of memory of its own, which is read "
				"while it stands still: more than the %" PRIu64 " MiB %s "
				"(--no-memory leaves mappings out)",
				pid, bytes >> 20, most >> 20,
				limited ? "of --max-memory" : "that this machine has available");
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
	if (!err)
		process_maps_stat(&s->maps, pid);
	if (s->folders.root < 0)
		s->folders = name_folders_of(pid);
	for (uint32_t i = 0; !err && i < s->maps.n; i++) {
		const struct process_map *m = &s->maps.at[i];

		if (is_read(s, m))
			err = own_pages_read(&s->pages, mem, pagemap, m) ? 0 : -ENOMEM;
	}
	if (!err) /* not later: the process may end as soon as it goes on */
		err = process_maps_look(&s->maps, pid);
	if (mem >= 0)
		close(mem);
	if (pagemap >= 0)
		close(pagemap);
	return err ? pugmark_diag_set(diag, err, NULL, PUGMARK_NO_OFFSET,
				      "reading the memory of process %d: %s", pid, strerror(-err))
		   : 0;
}

void start_image_write(struct start_image *s, pid_t pid, uint64_t stood_ns)
{
	for (uint32_t i = 0; i < s->maps.n; i++) {
		const struct process_map *m = &s->maps.at[i];

		bool kept_out = kept_out_has(&s->kept_out, m->path);
		if (!(m->start >> 63))
			note_mapping(s, m,
				     kept_out	? CAPTURE_UNKNOWN
				     : m->inode ? take_file(s, pid, m, stood_ns)
						: CAPTURE_NONE);
	}
	own_pages_write(&s->pages, s->writer);
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

static bool is_of_file(const struct process_map *m, const struct stat *st)
{
	return m->st_dev ? m->st_dev == st->st_dev && m->st_ino == st->st_ino
			 : m->inode == st->st_ino;
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

			found = m->prot & PROT_EXEC && is_of_file(m, &st) &&
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

bool start_image_no_memory_matched(const struct start_image *s)
{
	return s->kept_out.matched;
}

struct kept_files *start_image_files(struct start_image *s)
{
	return s->files;
}
