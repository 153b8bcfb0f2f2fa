// SPDX-License-Identifier: LGPL-2.1-or-later
/* trace.c: the block trace's files, read back. The tools that use it are tests: a file that breaks
 * the format ends in an error, never in a partial result. */
#include <capstone/capstone.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "trace.h"

#define MAX_INSN_BYTES 15

static int map_file(const char *name, void **map, size_t *bytes)
{
	int fd = open(name, O_RDONLY | O_CLOEXEC);
	struct stat st;

	if (fd < 0 || fstat(fd, &st)) {
		int err = -errno;

		if (fd >= 0)
			close(fd);
		return err;
	}
	*bytes = st.st_size;
	*map = mmap(NULL, st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	close(fd);
	if (*map == MAP_FAILED)
		return -errno;
	madvise(*map, *bytes, MADV_SEQUENTIAL);
	return 0;
}

static int by_pid_tid(const void *a, const void *b)
{
	const struct trace_thread *x = a, *y = b;

	if (x->pid != y->pid)
		return x->pid < y->pid ? -1 : 1;
	return x->tid < y->tid ? -1 : x->tid > y->tid;
}

int trace_threads(const char *dir, struct trace_thread **out, size_t *n)
{
	DIR *d = opendir(dir);
	struct dirent *e;

	*out = NULL;
	*n = 0;
	if (!d)
		return -errno;
	while ((e = readdir(d))) {
		struct trace_header header;
		char name[5000];
		unsigned pid, tid;
		int fd, len = 0;

		if (sscanf(e->d_name, "%u.%u.trace%n", &pid, &tid, &len) < 2 || e->d_name[len])
			continue;
		snprintf(name, sizeof(name), "%s/%s", dir, e->d_name);
		fd = open(name, O_RDONLY | O_CLOEXEC);
		if (fd < 0 || read(fd, &header, sizeof(header)) != sizeof(header) ||
		    header.magic != TRACE_MAGIC) {
			fprintf(stderr, "%s: not a block trace\n", name);
			exit(2);
		}
		close(fd);
		*out = realloc(*out, (*n + 1) * sizeof(**out));
		(*out)[(*n)++] = (struct trace_thread){pid, tid, header.parent_pid,
						       header.parent_tid, header.parent_records};
	}
	closedir(d);
	qsort(*out, *n, sizeof(**out), by_pid_tid);
	return 0;
}

/* --- blocks --- */
static bool is_string_insn(unsigned id)
{
	switch (id) {
	case X86_INS_MOVSB:
	case X86_INS_MOVSW:
	case X86_INS_MOVSD:
	case X86_INS_MOVSQ:
	case X86_INS_STOSB:
	case X86_INS_STOSW:
	case X86_INS_STOSD:
	case X86_INS_STOSQ:
	case X86_INS_LODSB:
	case X86_INS_LODSW:
	case X86_INS_LODSD:
	case X86_INS_LODSQ:
	case X86_INS_CMPSB:
	case X86_INS_CMPSW:
	case X86_INS_CMPSD:
	case X86_INS_CMPSQ:
	case X86_INS_SCASB:
	case X86_INS_SCASW:
	case X86_INS_SCASD:
	case X86_INS_SCASQ:
		return true;
	}
	return false;
}

static void decode_last(csh cs, cs_insn *insn, struct tblock *b)
{
	const cs_x86_op *op = &insn->detail->x86.operands[0];
	bool direct;

	if (cs_insn_group(cs, insn, CS_GRP_RET) || insn->id == X86_INS_RET ||
	    insn->id == X86_INS_RETF) {
		b->kind = LAST_RET;
		return;
	}
	if (is_string_insn(insn->id) && insn->detail->x86.prefix[0]) {
		b->kind = LAST_REP;
		return;
	}
	if (insn->id != X86_INS_CALL && insn->id != X86_INS_JMP &&
	    !cs_insn_group(cs, insn, CS_GRP_JUMP))
		return;
	direct = op->type == X86_OP_IMM;
	if (insn->id == X86_INS_CALL)
		b->kind = direct ? LAST_CALL : LAST_CALL_IND;
	else if (insn->id == X86_INS_JMP)
		b->kind = direct ? LAST_JMP : LAST_JMP_IND;
	else
		b->kind = LAST_JCC;
	if (direct)
		b->target = op->imm;
	else if (op->type == X86_OP_MEM && op->mem.index == X86_REG_INVALID) {
		if (op->mem.base == X86_REG_RIP)
			b->slot = b->end + op->mem.disp;
		else if (op->mem.base == X86_REG_INVALID && op->mem.segment == X86_REG_INVALID)
			b->slot = op->mem.disp;
	}
}

static int block_read(const struct block_record *r, const uint8_t *limit, struct tblock *b)
{
	const uint8_t *p = (const void *)(r + 1);
	unsigned size = 0;

	if (p + r->n_insns + r->size > limit || !r->n_insns)
		return -EBADMSG;
	b->addr = r->addr;
	b->end = r->addr + r->size;
	b->n_insns = r->n_insns;
	b->lens = p;
	b->bytes = p + r->n_insns;
	b->func = NO_FUNC;
	for (unsigned i = 0; i < r->n_insns; i++)
		size += b->lens[i];
	if (size != r->size)
		return -EBADMSG;
	b->last = b->end - b->lens[r->n_insns - 1];
	return 0;
}

static bool decode_block(csh cs, cs_insn *insn, struct tblock *b)
{
	for (;;) {
		const uint8_t *bytes = b->bytes + (b->last - b->addr);
		size_t len = b->end - b->last;
		uint64_t addr = b->last;

		if (cs_disasm_iter(cs, &bytes, &len, &addr, insn) && !len) {
			decode_last(cs, insn, b);
			return true;
		}
		/* QEMU ends a block before an instruction that crosses into the next page, but the
		 * plugin is still shown the head of that instruction. It was not executed here. */
		if ((b->last & 4095) <= 4096 - MAX_INSN_BYTES || b->n_insns < 2)
			return false;
		b->end = b->last;
		b->n_insns--;
		b->last -= b->lens[b->n_insns - 1];
	}
}

int trace_blocks_open(const char *dir, uint32_t pid, struct trace_blocks *out)
{
	const struct blocks_header *header;
	const uint8_t *p, *limit;
	char name[5000];
	size_t room = 0;
	cs_insn *insn;
	csh cs;
	int err;

	memset(out, 0, sizeof(*out));
	snprintf(name, sizeof(name), "%s/%u.blocks", dir, pid);
	err = map_file(name, &out->map, &out->map_bytes);
	if (err)
		return err;
	header = out->map;
	p = (const void *)(header + 1);
	limit = (const uint8_t *)out->map + out->map_bytes;
	if (p > limit || header->magic != BLOCKS_MAGIC)
		return -EBADMSG;
	memcpy(out->module, header->module, sizeof(out->module) - 1);
	if (cs_open(CS_ARCH_X86, CS_MODE_64, &cs))
		return -ENOMEM;
	cs_option(cs, CS_OPT_DETAIL, CS_OPT_ON);
	insn = cs_malloc(cs);
	out->n = TRACE_FIRST_BLOCK;
	while (p + sizeof(struct block_record) <= limit) {
		const struct block_record *r = (const void *)p;
		struct tblock *b;

		if (out->n >= room) {
			room = room ? room * 2 : 4096;
			out->at = realloc(out->at, room * sizeof(*out->at));
		}
		b = &out->at[out->n++];
		memset(b, 0, sizeof(*b));
		if (block_read(r, limit, b))
			return -EBADMSG;
		if (!decode_block(cs, insn, b))
			out->n_undecoded++;
		p += (sizeof(*r) + r->n_insns + r->size + 7) & ~7ul;
	}
	cs_free(insn, 1);
	cs_close(&cs);
	return 0;
}

void trace_blocks_close(struct trace_blocks *blocks)
{
	munmap(blocks->map, blocks->map_bytes);
	free(blocks->at);
	memset(blocks, 0, sizeof(*blocks));
}

/* --- records --- */
int trace_reader_open(const char *dir, const struct trace_thread *thread, uint32_t n_records,
		      struct trace_reader *out)
{
	struct trace_header header = {.parent_pid = thread->pid, .parent_tid = thread->tid};
	uint64_t limit = UINT64_MAX;

	memset(out, 0, sizeof(*out));
	out->n_records = n_records;
	while (header.parent_pid) {
		struct trace_part part = {.left = limit, .cut = limit != UINT64_MAX};
		uint32_t pid = header.parent_pid, tid = header.parent_tid;
		char name[5000];
		int err;

		snprintf(name, sizeof(name), "%s/%u.%u.trace", dir, pid, tid);
		err = map_file(name, &part.map, &part.map_bytes);
		if (err)
			return err;
		if (part.map_bytes < sizeof(header))
			return -EBADMSG;
		memcpy(&header, part.map, sizeof(header));
		limit = header.parent_records;
		part.at = (const void *)((const char *)part.map + sizeof(header));
		part.end = (const void *)((const char *)part.map + (part.map_bytes & ~3ul));
		snprintf(name, sizeof(name), "%s/%u.%u.calls", dir, pid, tid);
		err = map_file(name, &part.calls_map, &part.calls_bytes);
		if (err)
			return err;
		part.calls = part.calls_map;
		part.calls_end = part.calls + part.calls_bytes / sizeof(*part.calls);
		part.predicted = calloc(n_records * 2, sizeof(*part.predicted));
		out->parts = realloc(out->parts, (out->n_parts + 1) * sizeof(part));
		memmove(out->parts + 1, out->parts, out->n_parts * sizeof(part));
		out->parts[0] = part;
		out->n_parts++;
	}
	return 0;
}

void trace_reader_close(struct trace_reader *reader)
{
	for (unsigned i = 0; i < reader->n_parts; i++) {
		munmap(reader->parts[i].map, reader->parts[i].map_bytes);
		munmap(reader->parts[i].calls_map, reader->parts[i].calls_bytes);
		free(reader->parts[i].predicted);
	}
	free(reader->parts);
	memset(reader, 0, sizeof(*reader));
}

uint64_t trace_reader_pushed(struct trace_reader *reader)
{
	struct trace_part *p = &reader->parts[reader->part];

	/* 0 is what a thread leaves that was killed between the block's start and its end. */
	return p->calls < p->calls_end ? *p->calls++ : 0;
}

uint32_t trace_reader_next_word(struct trace_reader *reader)
{
	for (;;) {
		struct trace_part *p = &reader->parts[reader->part];
		uint32_t word = p->left && p->at < p->end ? *p->at : TRACE_END;

		if (word == TRACE_END) {
			if (p->left && p->cut) {
				fprintf(stderr, "trace ends before the fork it was left at\n");
				exit(2);
			}
			if (trace_reader_own(reader))
				return TRACE_END;
			reader->part++;
			continue;
		}
		p->at++;
		if (word & TRACE_RUN) {
			p->run = word & ~TRACE_RUN;
			return trace_reader_next(reader);
		}
		if (word >= reader->n_records) {
			fprintf(stderr, "trace: record %u has no block\n", word);
			exit(2);
		}
		p->left--;
		p->predicted[p->context] = word;
		p->context = trace_context(p->context, word);
		reader->total++;
		return word;
	}
}
