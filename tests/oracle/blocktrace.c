// SPDX-License-Identifier: LGPL-2.1-or-later
/* blocktrace.c: a plugin for QEMU's user-mode emulation that writes every translation block of one
 * module in the order of execution, a file per thread (trace_format.h says how they look).
 *
 *   qemu-x86_64 -plugin blocktrace.so,dir=DIR[,module=FILE] PROGRAM ...
 *
 * DIR must exist. FILE is the module: a path, compared by device and inode, or a bare name, which
 * matches the end of a mapped file's path. Without it the main program is traced.
 *
 * The records go into a window of the file that is mapped and shared, so a thread that is killed
 * loses none of them. After fork() the child goes on in files of its own. A program that the
 * traced one executes is not traced: QEMU hands execve() to the kernel.
 *
 * QEMU's header is not packaged everywhere, so the part of API version 1 used here is declared by
 * hand. Translation callbacks are serialised by QEMU's mmap_lock, which fork holds as well; nothing
 * here adds a lock to that. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <elf.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/uio.h>
#include <unistd.h>

#include "trace_format.h"

/* --- QEMU's plugin API, version 1 --- */
typedef uint64_t qemu_plugin_id_t;
struct qemu_plugin_tb;
struct qemu_plugin_insn;
enum qemu_plugin_cb_flags { QEMU_PLUGIN_CB_NO_REGS };
typedef void (*vcpu_udata_cb)(unsigned int vcpu_index, void *userdata);
typedef void (*tb_trans_cb)(qemu_plugin_id_t id, struct qemu_plugin_tb *tb);
typedef void (*syscall_cb)(qemu_plugin_id_t id, unsigned int vcpu, int64_t num, uint64_t a1,
			   uint64_t a2, uint64_t a3, uint64_t a4, uint64_t a5, uint64_t a6,
			   uint64_t a7, uint64_t a8);
enum qemu_plugin_mem_rw { QEMU_PLUGIN_MEM_R = 1, QEMU_PLUGIN_MEM_W };
typedef void (*mem_cb)(unsigned int vcpu_index, uint32_t info, uint64_t vaddr, void *userdata);
typedef void (*syscall_ret_cb)(qemu_plugin_id_t id, unsigned int vcpu, int64_t num, int64_t ret);

void qemu_plugin_register_vcpu_tb_trans_cb(qemu_plugin_id_t id, tb_trans_cb cb);
void qemu_plugin_register_vcpu_tb_exec_cb(struct qemu_plugin_tb *tb, vcpu_udata_cb cb,
					  enum qemu_plugin_cb_flags flags, void *userdata);
void qemu_plugin_register_vcpu_mem_cb(struct qemu_plugin_insn *insn, mem_cb cb,
				      enum qemu_plugin_cb_flags flags, enum qemu_plugin_mem_rw rw,
				      void *userdata);
void qemu_plugin_register_vcpu_syscall_cb(qemu_plugin_id_t id, syscall_cb cb);
void qemu_plugin_register_vcpu_syscall_ret_cb(qemu_plugin_id_t id, syscall_ret_cb cb);
size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *tb);
uint64_t qemu_plugin_tb_vaddr(const struct qemu_plugin_tb *tb);
struct qemu_plugin_insn *qemu_plugin_tb_get_insn(const struct qemu_plugin_tb *tb, size_t i);
const void *qemu_plugin_insn_data(const struct qemu_plugin_insn *insn);
size_t qemu_plugin_insn_size(const struct qemu_plugin_insn *insn);
uint64_t qemu_plugin_insn_vaddr(const struct qemu_plugin_insn *insn);
void *qemu_plugin_insn_haddr(const struct qemu_plugin_insn *insn);
const char *qemu_plugin_path_to_binary(void);

__attribute__((visibility("default"))) int qemu_plugin_version = 1;

/* --- where things are --- */
#define WINDOW_BYTES (1u << 20)
#define MAX_SEGMENTS 64

struct window { /* the end of a file that grows, mapped */
	char *at, *end, *start;
	uint64_t off; /* of @start in the file */
	int fd;
};

struct stream {		     /* one thread's trace: its two files and what predicts the first */
	struct window words; /* @at: the run being counted, 0 if none; what precedes it is final */
	struct window calls;
	uint32_t *predicted; /* by context: the record that came last there */
	uint32_t n_predicted;
	uint32_t context;
	uint64_t records;
	const struct block *call; /* the block that runs, if it ends in a call */
	uint64_t pushed;	  /* by that call: where its return address is */
	uint32_t tid;
};

struct block { /* one translated block, of any module */
	uint64_t pc;
	uint64_t ret;	 /* what its call pushes; 0: not of the module, or ends in no call */
	uint32_t record; /* 0: outside the module */
	bool handler;	 /* @pc is a registered signal handler */
};

struct range { /* [start, end) begins at @to of another space */
	uint64_t start, end, to;
};

static __thread struct stream stream __attribute__((tls_model("initial-exec")));

static pthread_key_t thread_end; /* closes the thread's stream */

static struct {
	char dir[4000];
	char module[4096]; /* what was asked for */
	char path[4096];   /* the mapped file's path, once it was seen */
	dev_t dev;
	ino_t ino;
	bool by_inode;
	struct range mapped[MAX_SEGMENTS]; /* QEMU's addresses to the module's file offsets */
	struct range code[MAX_SEGMENTS];   /* file offsets to ELF addresses */
	unsigned n_mapped, n_code;
	bool stale; /* they must be read again */
	uint64_t base;
	uint64_t guest_base;
} where = {.stale = true};

static struct {
	uint8_t *bytes; /* what PID.blocks holds after its header */
	size_t len, room;
	uint32_t n;
	uint32_t *slots; /* hash by address and size: offset into bytes + 1 */
	uint32_t *records;
	uint32_t n_slots;
	uint32_t pid; /* whose file fd is */
	int fd;
} dict = {.fd = -1};

static struct {
	struct block **list;
	size_t n, room;
	uint64_t handlers[256];
	unsigned n_handlers;
} blocks;

static void die(const char *what)
{
	dprintf(2, "blocktrace: %s: %s\n", what, strerror(errno));
	_exit(125);
}

static void *grow(void *old, size_t bytes)
{
	void *p = realloc(old, bytes);

	if (!p)
		die("memory");
	return p;
}

static void write_all(int fd, const void *data, size_t len)
{
	const char *p = data;

	while (len) {
		ssize_t n = write(fd, p, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			die("write");
		p += n;
		len -= n;
	}
}

/* --- the thread's file --- */
static void dict_file_open(void)
{
	struct blocks_header header = {.magic = BLOCKS_MAGIC};
	char name[4200];

	if (dict.pid == (uint32_t)getpid())
		return;
	if (dict.fd >= 0)
		close(dict.fd);
	dict.pid = getpid();
	snprintf(name, sizeof(name), "%s/%u.blocks", where.dir, dict.pid);
	dict.fd = open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (dict.fd < 0)
		die(name);
	strcpy(header.module, where.path);
	write_all(dict.fd, &header, sizeof(header));
	write_all(dict.fd, dict.bytes, dict.len);
}

static void window_map(struct window *w)
{
	if (ftruncate(w->fd, w->off + WINDOW_BYTES))
		die("ftruncate");
	w->start = mmap(NULL, WINDOW_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE,
			w->fd, w->off);
	if (w->start == MAP_FAILED)
		die("mmap");
	w->at = w->start;
	w->end = w->start + WINDOW_BYTES;
}

static void window_open(struct window *w, uint32_t tid, const char *suffix)
{
	char name[4200];

	snprintf(name, sizeof(name), "%s/%u.%u.%s", where.dir, getpid(), tid, suffix);
	*w = (struct window){.fd = open(name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600)};
	if (w->fd < 0)
		die(name);
	window_map(w);
}

static void window_close(struct window *w)
{
	if (!w->start)
		return;
	munmap(w->start, WINDOW_BYTES);
	close(w->fd);
	*w = (struct window){0};
}

static inline void window_step(struct window *w, size_t bytes)
{
	w->at += bytes;
	if (__builtin_expect(w->at < w->end, 1))
		return;
	munmap(w->start, WINDOW_BYTES);
	w->off += WINDOW_BYTES;
	window_map(w);
}

static void stream_close(void *stream)
{
	struct stream *s = stream;

	window_close(&s->words);
	window_close(&s->calls);
	free(s->predicted);
	*s = (struct stream){0};
}

/* Opens the calling thread's files; @parent is the thread that it was forked from, or NULL. */
static void stream_open(struct stream *s, const struct trace_header *parent)
{
	struct trace_header header = {.magic = TRACE_MAGIC, .base = where.base};

	if (parent)
		header = *parent;
	header.pid = getpid();
	header.tid = s->tid = syscall(SYS_gettid);
	pthread_setspecific(thread_end, s);
	window_open(&s->words, s->tid, "trace");
	window_open(&s->calls, s->tid, "calls");
	memcpy(s->words.at, &header, sizeof(header));
	window_step(&s->words, sizeof(header));
	s->context = 0;
	s->records = 0;
	if (s->predicted)
		memset(s->predicted, 0, s->n_predicted * sizeof(*s->predicted));
	dict_file_open();
}

/* A record that was not predicted. */
static void __attribute__((noinline)) put_new(struct stream *s, uint32_t record)
{
	uint32_t *run;

	if (!s->words.start)
		stream_open(s, NULL);
	if (record * 2 + 1 >= s->n_predicted) {
		uint32_t n = record * 4 + 4096;

		s->predicted = grow(s->predicted, n * sizeof(*s->predicted));
		memset(s->predicted + s->n_predicted, 0,
		       (n - s->n_predicted) * sizeof(*s->predicted));
		s->n_predicted = n;
	}
	run = (uint32_t *)s->words.at;
	if (*run)
		window_step(&s->words, sizeof(*run));
	*(uint32_t *)s->words.at = record;
	window_step(&s->words, sizeof(*run));
	s->predicted[s->context] = record;
	s->context = trace_context(s->context, record);
	s->records++;
}

static inline void put(struct stream *s, uint32_t record)
{
	uint32_t *run = (uint32_t *)s->words.at;

	if (__builtin_expect(!run || s->predicted[s->context] != record || *run == UINT32_MAX, 0)) {
		put_new(s, record);
		return;
	}
	*run = (*run | TRACE_RUN) + 1;
	s->context = trace_context(s->context, record);
	s->records++;
}

/* The child of fork(): the parent's windows are shared with it, so they must be left at once. */
static void forked(void)
{
	struct trace_header parent = {.magic = TRACE_MAGIC, .base = where.base};
	struct stream *s = &stream;

	if (!s->words.start)
		return;
	parent.parent_tid = s->tid;
	parent.parent_pid = dict.pid;
	parent.parent_records = s->records;
	window_close(&s->words);
	window_close(&s->calls);
	stream_open(s, &parent);
}

/* --- callbacks at execution --- */

/* A call of the module writes its return address to @at. QEMU goes on reporting accesses of its own
 * here: those of later blocks, and, where a signal comes between the call and the next block, those
 * that save the FPU's registers in the signal's frame. So what counts is the write that left the
 * return address of the call that runs. */
static void on_push(unsigned int vcpu, uint32_t info, uint64_t at, void *userdata)
{
	const struct block *b = userdata;
	uint64_t written;

	if (stream.call != b)
		return;
	memcpy(&written, (const void *)(uintptr_t)(at + where.guest_base), sizeof(written));
	if (written == b->ret)
		stream.pushed = at;
}

/* Another block starts: what the one before pushed is known. */
static inline void finish_call(struct stream *s)
{
	if (__builtin_expect(!s->call, 1))
		return;
	memcpy(s->calls.at, &s->pushed, sizeof(s->pushed));
	window_step(&s->calls, sizeof(s->pushed));
	s->call = NULL;
	s->pushed = 0;
}

static void on_block(unsigned int vcpu, void *userdata)
{
	const struct block *b = userdata;
	struct stream *s = &stream;

	finish_call(s);
	if (__builtin_expect(b->handler, 0))
		put(s, TRACE_SIGNAL);
	put(s, b->record);
	s->call = b->ret ? b : NULL;
}

static void on_outside(unsigned int vcpu, void *userdata)
{
	const struct block *b = userdata;
	struct stream *s = &stream;

	if (!s->words.start) /* a trace starts with the module's first block */
		return;
	finish_call(s);
	if (__builtin_expect(b->handler, 0))
		put(s, TRACE_SIGNAL);
	if (!(s->context & 1))
		put(s, TRACE_OUTSIDE);
}

static void handler_add(uint64_t pc)
{
	for (unsigned i = 0; i < blocks.n_handlers; i++)
		if (blocks.handlers[i] == pc)
			return;
	if (blocks.n_handlers == sizeof(blocks.handlers) / sizeof(blocks.handlers[0])) {
		errno = E2BIG;
		die("signal handlers");
	}
	blocks.handlers[blocks.n_handlers++] = pc;
	for (size_t i = 0; i < blocks.n; i++)
		if (blocks.list[i]->pc == pc)
			blocks.list[i]->handler = true;
}

static void on_syscall(qemu_plugin_id_t id, unsigned int vcpu, int64_t num, uint64_t a1,
		       uint64_t a2, uint64_t a3, uint64_t a4, uint64_t a5, uint64_t a6, uint64_t a7,
		       uint64_t a8)
{
	uint64_t handler;
	struct iovec to = {&handler, sizeof(handler)};
	struct iovec from = {(void *)(uintptr_t)(a2 + where.guest_base), sizeof(handler)};

	if (num == SYS_rt_sigreturn && stream.words.start)
		put(&stream, TRACE_SIGRETURN);
	if (num == SYS_rt_sigaction && a2 &&
	    process_vm_readv(getpid(), &to, 1, &from, 1, 0) == sizeof(handler) && handler > 1)
		handler_add(handler);
}

static void on_syscall_ret(qemu_plugin_id_t id, unsigned int vcpu, int64_t num, int64_t ret)
{
	if (num == SYS_mmap || num == SYS_munmap || num == SYS_mremap)
		where.stale = true;
}

/* --- translation --- */

/* Reads which bytes of the module's file are code, and at which ELF address. */
static void code_read(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	Elf64_Ehdr eh;
	Elf64_Phdr ph;

	if (fd < 0)
		die(path);
	if (pread(fd, &eh, sizeof(eh), 0) != sizeof(eh) || eh.e_phentsize != sizeof(ph))
		die(path);
	where.n_code = 0;
	for (unsigned i = 0; i < eh.e_phnum && where.n_code < MAX_SEGMENTS; i++) {
		if (pread(fd, &ph, sizeof(ph), eh.e_phoff + i * sizeof(ph)) != sizeof(ph))
			die(path);
		if (ph.p_type == PT_LOAD && (ph.p_flags & PF_X))
			where.code[where.n_code++] =
				(struct range){ph.p_offset, ph.p_offset + ph.p_filesz, ph.p_vaddr};
	}
	close(fd);
}

/* Finds out what the module's argument means; QEMU knows the program's path only once it runs. */
static void module_choose(void)
{
	struct stat st;

	if (!where.module[0])
		snprintf(where.module, sizeof(where.module), "%s", qemu_plugin_path_to_binary());
	if (!strchr(where.module, '/'))
		return;
	if (stat(where.module, &st))
		die(where.module);
	where.by_inode = true;
	where.dev = st.st_dev;
	where.ino = st.st_ino;
}

static bool is_module(const char *path, unsigned major, unsigned minor, unsigned long inode)
{
	size_t len = strlen(path), want = strlen(where.module);

	if (where.by_inode)
		return inode == where.ino && makedev(major, minor) == where.dev;
	return len > want && path[len - want - 1] == '/' &&
	       !strcmp(path + len - want, where.module);
}

static void maps_read(void)
{
	FILE *maps = fopen("/proc/self/maps", "re");
	char line[4400], path[4200];
	unsigned long start, end, off, inode;
	unsigned major, minor;

	if (!maps)
		die("/proc/self/maps");
	if (!where.by_inode)
		module_choose();
	where.n_mapped = 0;
	where.stale = false;
	while (fgets(line, sizeof(line), maps)) {
		path[0] = 0;
		if (sscanf(line, "%lx-%lx %*s %lx %x:%x %lu %4199[^\n]", &start, &end, &off, &major,
			   &minor, &inode, path) < 7)
			continue;
		if (!is_module(path, major, minor, inode) || where.n_mapped == MAX_SEGMENTS)
			continue;
		if (!where.n_mapped)
			code_read(path);
		where.mapped[where.n_mapped++] = (struct range){start, end, off};
		snprintf(where.path, sizeof(where.path), "%s", path);
	}
	fclose(maps);
}

/* Maps @from through the first of the @n ranges that holds it; UINT64_MAX where none does. */
static uint64_t through(const struct range *ranges, unsigned n, uint64_t from)
{
	for (unsigned i = 0; i < n; i++)
		if (from >= ranges[i].start && from < ranges[i].end)
			return ranges[i].to + (from - ranges[i].start);
	return UINT64_MAX;
}

/* The ELF address of @host if it lies in the module's code, else UINT64_MAX. */
static uint64_t module_address(const void *host)
{
	uint64_t off;

	if (where.stale)
		maps_read();
	off = through(where.mapped, where.n_mapped, (uintptr_t)host);
	return off == UINT64_MAX ? off : through(where.code, where.n_code, off);
}

static void dict_rehash(void)
{
	uint32_t old = dict.n_slots, *slots = dict.slots, *records = dict.records;

	dict.n_slots = old ? old * 2 : 1 << 14;
	dict.slots = calloc(dict.n_slots, sizeof(*slots));
	dict.records = calloc(dict.n_slots, sizeof(*records));
	if (!dict.slots || !dict.records)
		die("memory");
	for (uint32_t i = 0; i < old; i++) {
		const struct block_record *r;
		uint32_t h;

		if (!slots[i])
			continue;
		r = (const void *)(dict.bytes + slots[i] - 1);
		h = (r->addr * 0x9e3779b97f4a7c15ull + r->size) >> 32;
		while (dict.slots[h & (dict.n_slots - 1)])
			h++;
		dict.slots[h & (dict.n_slots - 1)] = slots[i];
		dict.records[h & (dict.n_slots - 1)] = records[i];
	}
	free(slots);
	free(records);
}

/* The record number of @tb, which starts at ELF address @addr; new blocks go to the file. */
static uint32_t dict_number(const struct qemu_plugin_tb *tb, uint64_t addr)
{
	struct block_record r = {.addr = addr, .n_insns = qemu_plugin_tb_n_insns(tb)};
	size_t start = dict.len, len;
	uint8_t *p;
	uint32_t h;

	for (unsigned i = 0; i < r.n_insns; i++)
		r.size += qemu_plugin_insn_size(qemu_plugin_tb_get_insn(tb, i));
	if (dict.n * 2 >= dict.n_slots)
		dict_rehash();
	h = (r.addr * 0x9e3779b97f4a7c15ull + r.size) >> 32;
	for (;; h++) {
		uint32_t slot = dict.slots[h & (dict.n_slots - 1)];

		if (!slot)
			break;
		if (!memcmp(dict.bytes + slot - 1, &r, sizeof(r)))
			return dict.records[h & (dict.n_slots - 1)];
	}
	len = sizeof(r) + r.n_insns + r.size;
	len = (len + 7) & ~7ul; /* records stay aligned */
	if (start + len > dict.room) {
		dict.room = (start + len) * 2;
		dict.bytes = grow(dict.bytes, dict.room);
	}
	memset(dict.bytes + start, 0, len);
	memcpy(dict.bytes + start, &r, sizeof(r));
	p = dict.bytes + start + sizeof(r);
	for (unsigned i = 0; i < r.n_insns; i++)
		*p++ = qemu_plugin_insn_size(qemu_plugin_tb_get_insn(tb, i));
	for (unsigned i = 0; i < r.n_insns; i++) {
		const struct qemu_plugin_insn *insn = qemu_plugin_tb_get_insn(tb, i);

		memcpy(p, qemu_plugin_insn_data(insn), qemu_plugin_insn_size(insn));
		p += qemu_plugin_insn_size(insn);
	}
	dict.len += len;
	dict.slots[h & (dict.n_slots - 1)] = start + 1;
	dict.records[h & (dict.n_slots - 1)] = TRACE_FIRST_BLOCK + dict.n;
	if (dict.pid == (uint32_t)getpid())
		write_all(dict.fd, dict.bytes + start, len);
	return TRACE_FIRST_BLOCK + dict.n++;
}

/* Whether @tb ends in a near call: E8, or FF with 2 in the middle of its second byte. */
static bool is_call(const struct qemu_plugin_tb *tb)
{
	const struct qemu_plugin_insn *insn =
		qemu_plugin_tb_get_insn(tb, qemu_plugin_tb_n_insns(tb) - 1);
	const uint8_t *p = qemu_plugin_insn_data(insn);
	size_t n = qemu_plugin_insn_size(insn), i = 0;

	while (i < n &&
	       (memchr("\x66\xf2\xf3\x2e\x36\x3e\x26\x64\x65", p[i], 9) || (p[i] & 0xf0) == 0x40))
		i++;
	return (i + 4 < n && p[i] == 0xe8) ||
	       (i + 1 < n && p[i] == 0xff && (p[i + 1] & 0x38) == 0x10);
}

static void on_translate(qemu_plugin_id_t id, struct qemu_plugin_tb *tb)
{
	const void *host = qemu_plugin_insn_haddr(qemu_plugin_tb_get_insn(tb, 0));
	struct block *b = grow(NULL, sizeof(*b));
	uint64_t addr = module_address(host);

	*b = (struct block){.pc = qemu_plugin_tb_vaddr(tb)};
	where.guest_base = (uintptr_t)host - b->pc;
	if (addr != UINT64_MAX) {
		where.base = b->pc - addr;
		b->record = dict_number(tb, addr);
	}
	for (unsigned i = 0; i < blocks.n_handlers; i++)
		b->handler |= blocks.handlers[i] == b->pc;
	if (blocks.n == blocks.room) {
		blocks.room = blocks.room ? blocks.room * 2 : 4096;
		blocks.list = grow(blocks.list, blocks.room * sizeof(*blocks.list));
	}
	blocks.list[blocks.n++] = b;
	if (b->record && is_call(tb)) {
		struct qemu_plugin_insn *insn =
			qemu_plugin_tb_get_insn(tb, qemu_plugin_tb_n_insns(tb) - 1);

		b->ret = qemu_plugin_insn_vaddr(insn) + qemu_plugin_insn_size(insn);
		qemu_plugin_register_vcpu_mem_cb(insn, on_push, QEMU_PLUGIN_CB_NO_REGS,
						 QEMU_PLUGIN_MEM_W, b);
	}
	qemu_plugin_register_vcpu_tb_exec_cb(tb, b->record ? on_block : on_outside,
					     QEMU_PLUGIN_CB_NO_REGS, b);
}

__attribute__((visibility("default"))) int
qemu_plugin_install(qemu_plugin_id_t id, const void *info, int argc, char **argv)
{
	for (int i = 0; i < argc; i++) {
		if (!strncmp(argv[i], "dir=", 4))
			snprintf(where.dir, sizeof(where.dir), "%s", argv[i] + 4);
		else if (!strncmp(argv[i], "module=", 7))
			snprintf(where.module, sizeof(where.module), "%s", argv[i] + 7);
		else
			return -EINVAL;
	}
	if (!where.dir[0])
		return -EINVAL;
	if (pthread_key_create(&thread_end, stream_close))
		return -EAGAIN;
	pthread_atfork(NULL, NULL, forked);
	qemu_plugin_register_vcpu_tb_trans_cb(id, on_translate);
	qemu_plugin_register_vcpu_syscall_cb(id, on_syscall);
	qemu_plugin_register_vcpu_syscall_ret_cb(id, on_syscall_ret);
	return 0;
}
