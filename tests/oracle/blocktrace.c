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
 * Translation callbacks are serialised by QEMU's mmap_lock, which fork holds as well; nothing
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
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "plugin_module.h"
#include "plugin_tools.h"
#include "qemu_plugin.h"
#include "trace_format.h"

int qemu_plugin_version = 1;

/* --- where things are --- */
#define WINDOW_BYTES (1u << 20)

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
	int32_t depth; /* calls less returns that ran outside since the module was left */
};

#define DEPTH_UNKNOWN INT32_MIN

struct block { /* one translated block, of any module */
	uint64_t pc;
	uint64_t ret;	 /* what its call pushes; 0: not of the module, or ends in no call */
	uint32_t record; /* 0: outside the module */
	bool handler;	 /* @pc is a registered signal handler */
	int8_t deeper;	 /* outside the module: 1 if it ends in a call, -1 in a return */
};

static __thread struct stream stream __attribute__((tls_model("initial-exec")));

static pthread_key_t thread_end; /* closes the thread's stream */

static struct {
	char dir[4000];
	uint64_t base; /* of the module: run-time address minus ELF address */
	uint64_t guest_base;
} where;

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
	strcpy(header.module, module_path());
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
	else if (s->context & 1 && !s->depth)
		put(s, TRACE_JUMPED);
	s->depth = 0;
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
	if (s->depth != DEPTH_UNKNOWN)
		s->depth += b->deeper;
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

	if (num == SYS_rt_sigreturn && stream.words.start) {
		put(&stream, TRACE_SIGRETURN);
		stream.depth = DEPTH_UNKNOWN;
	}
	if (num == SYS_rt_sigaction && a2 &&
	    process_vm_readv(getpid(), &to, 1, &from, 1, 0) == sizeof(handler) && handler > 1)
		handler_add(handler);
}

static void on_syscall_ret(qemu_plugin_id_t id, unsigned int vcpu, int64_t num, int64_t ret)
{
	if (num == SYS_mmap || num == SYS_munmap || num == SYS_mremap)
		module_moved();
}

/* --- translation --- */

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

/* Whether @tb ends in a near return: C3 or C2, maybe behind a prefix. */
static bool is_return(const struct qemu_plugin_tb *tb)
{
	const struct qemu_plugin_insn *insn =
		qemu_plugin_tb_get_insn(tb, qemu_plugin_tb_n_insns(tb) - 1);
	const uint8_t *p = qemu_plugin_insn_data(insn);
	size_t n = qemu_plugin_insn_size(insn), i = 0;

	while (i < n && (p[i] == 0xf2 || p[i] == 0xf3))
		i++;
	return (i + 1 == n && p[i] == 0xc3) || (i + 3 == n && p[i] == 0xc2);
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
	if (!b->record)
		b->deeper = is_call(tb) - is_return(tb);
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

int qemu_plugin_install(qemu_plugin_id_t id, const void *info, int argc, char **argv)
{
	for (int i = 0; i < argc; i++) {
		if (!strncmp(argv[i], "dir=", 4))
			snprintf(where.dir, sizeof(where.dir), "%s", argv[i] + 4);
		else if (!strncmp(argv[i], "module=", 7))
			module_ask_for(argv[i] + 7);
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
