// SPDX-License-Identifier: LGPL-2.1-or-later
/* chance.c: what another run of the same program may see otherwise, put as the recording has it:
 * see followed.h. */
#include "tests/value/followed.h"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

/* System calls whose results are the clock's, of process numbers, of times of files, of load. */
static const uint16_t by_chance[] = {
	SYS_getrandom,
	SYS_clock_gettime,
	SYS_gettimeofday,
	SYS_time,
	SYS_times,
	SYS_getpid,
	SYS_gettid,
	SYS_getppid,
	SYS_getrusage,
	SYS_sysinfo,
	SYS_fstat,
	SYS_newfstatat,
	SYS_statx,
	SYS_stat,
	SYS_lstat,
	SYS_statfs,
	SYS_fstatfs,
	SYS_prlimit64,
	SYS_set_tid_address,
	SYS_getcpu,
	SYS_sched_getaffinity,
	SYS_uname,
	SYS_readlink,
	SYS_readlinkat,
	SYS_getpgrp,
	SYS_getpgid,
	SYS_getsid,
	SYS_lseek,
};

static bool reads_chance(const struct followed *f, uint64_t fd)
{
	char link[64], path[64] = "";
	snprintf(link, sizeof(link), "/proc/%d/fd/%lu", f->p.pid, fd);
	return readlink(link, path, sizeof(path) - 1) > 0 && !strncmp(path, "/dev/", 5) &&
	       strstr(path, "random");
}

static bool may_differ(const struct followed *f, const struct capture *c)
{
	uint32_t nr = c->nr;
	if (nr == SYS_read)
		return reads_chance(f, c->args[0]);
	for (size_t i = 0; i < sizeof(by_chance) / sizeof(*by_chance); i++)
		if (by_chance[i] == nr)
			return true;
	return false;
}

/* --- the start ------------------------------------------------------------------------------- */

static void start_page(struct followed *f, uint64_t addr)
{
	struct value_memory *mem = value_machine_memory(f->machine);
	uint8_t was[VALUE_PAGE], now[VALUE_PAGE], quality[VALUE_PAGE];
	if (value_memory_read(mem, addr, was, sizeof(was), NULL) ||
	    value_memory_read_qualities(mem, addr, quality, sizeof(quality)) ||
	    !stepped_read(&f->p, addr, now, sizeof(now)))
		return;
	unsigned differ = 0;
	for (size_t i = 0; i < sizeof(was); i++) {
		if (quality[i])
			continue;
		differ += was[i] != now[i];
		now[i] = was[i];
	}
	f->start_bytes += differ;
	if (differ)
		stepped_write(&f->p, addr, now, sizeof(now));
}

/* What the loader leaves in the registers that a program may not count on is whatever it computed
 * last, from random bytes too. */
static void start_registers(struct followed *f)
{
	static const uint8_t left[] = {VALUE_RAX, VALUE_RCX, VALUE_RSI, VALUE_RDI, 8, 9, 10, 11};
	const struct value_state *s = value_machine_state(f->machine);
	stepped_general(&f->p);
	for (size_t i = 0; i < sizeof(left); i++) {
		if (value_machine_known(f->machine)->inexact >> left[i] & 1 ||
		    stepped_gpr(&f->p, left[i]) == s->gpr[left[i]])
			continue;
		f->start_bytes += 8;
		stepped_set_gpr(&f->p, left[i], s->gpr[left[i]]);
	}
	stepped_write_registers(&f->p);
}

/* The same of vector registers, where all of one is known. */
static void start_vectors(struct followed *f)
{
	enum { VECS = 16 };
	const struct value_state *s = value_machine_state(f->machine);
	const uint64_t inexact = value_machine_known(f->machine)->inexact;
	stepped_registers(&f->p);
	for (unsigned i = 0; i < VECS; i++) {
		uint8_t now[32];
		stepped_vec(&f->p, i, now);
		if ((inexact >> (VALUE_BIT_VEC + i) | inexact >> (VALUE_BIT_HIGH + i)) & 1 ||
		    !memcmp(now, s->vec[i], sizeof(now)))
			continue;
		f->start_bytes += sizeof(now);
		stepped_set_vec(&f->p, i, s->vec[i]);
	}
	stepped_write_vectors(&f->p);
}

void chance_start(struct followed *f)
{
	const struct value_region *at;
	size_t n = value_memory_regions(value_machine_memory(f->machine), &at);
	for (size_t i = 0; i < n; i++)
		for (uint64_t a = at[i].start; at[i].prot & VALUE_WRITE && a < at[i].end;
		     a += VALUE_PAGE)
			start_page(f, a);
	start_registers(f);
	start_vectors(f);
	if (f->start_bytes > START_MAX)
		followed_part(f, "%lu bytes of the start are others", f->start_bytes);
}

/* --- on the way ------------------------------------------------------------------------------ */

/* Puts what @c captured. Returns how much of it was another value. */
static unsigned put_ranges(struct followed *f, const struct capture *c, bool change)
{
	uint8_t now[65536];
	unsigned differ = 0;
	for (uint32_t i = 0; i < c->n_ranges; i++) {
		const struct capture_range *r = &c->ranges[i];
		if (r->unread || r->len > sizeof(now) || !stepped_read(&f->p, r->addr, now, r->len))
			continue;
		if (!memcmp(now, r->bytes, r->len))
			continue;
		differ++;
		if (change)
			stepped_write(&f->p, r->addr, r->bytes, r->len);
	}
	return differ;
}

/* The process makes a system call of its own, at the instruction that made the last one. */
static uint64_t call(struct followed *f, uint64_t nr, const uint64_t args[6])
{
	static const uint8_t regs[] = {7, 6, 2, 10, 8, 9};
	const struct user_regs_struct was = f->p.regs;
	enum { SYSCALL_BYTES = 2 };
	f->p.regs.rip -= SYSCALL_BYTES;
	f->p.regs.rax = nr;
	for (int i = 0; i < 6; i++)
		stepped_set_gpr(&f->p, regs[i], args[i]);
	stepped_write_registers(&f->p);
	stepped_step(&f->p);
	stepped_general(&f->p);
	uint64_t result = f->p.regs.rax;
	f->p.regs = was;
	stepped_write_registers(&f->p);
	return result;
}

/* While it was recorded, the kernel had mapped a page of its own for the probes, and so others lay
 * elsewhere. */
static bool move_mapping(struct followed *f, const struct capture *c)
{
	const uint64_t got = f->p.regs.rax, len = c->args[1];
	if (got >> 47 || (uint64_t)c->result >> 47 || c->args[3] & MAP_FIXED)
		return false;
	call(f, SYS_munmap, (const uint64_t[6]){got, len});
	uint64_t moved =
		call(f, SYS_mmap,
		     (const uint64_t[6]){c->result, len, c->args[2],
					 c->args[3] | MAP_FIXED_NOREPLACE, c->args[4], c->args[5]});
	if (moved != (uint64_t)c->result)
		return false;
	f->p.regs.rax = moved;
	stepped_write_registers(&f->p);
	f->chances++;
	return true;
}

bool chance_syscall(struct followed *f)
{
	struct met *met = &f->met;
	if (met->next_call == met->n_calls) {
		followed_part(f, "a system call at %llx that the replay has not met",
			      f->p.regs.rip - 2);
		return false;
	}
	const struct capture *c = &met->calls[met->next_call++];
	bool change = may_differ(f, c), other = (int64_t)f->p.regs.rax != c->result;
	if (c->ip != f->p.regs.rip) {
		followed_part(f, "a system call behind %llx, recorded was %lx", f->p.regs.rip,
			      c->ip);
		return false;
	}
	unsigned differ = put_ranges(f, c, change);
	if (!differ && !other)
		return true;
	if (c->nr == SYS_mmap && move_mapping(f, c))
		return true;
	if (!change) {
		followed_part(f, "system call %u had another result: %lld, recorded was %ld", c->nr,
			      f->p.regs.rax, c->result);
		return false;
	}
	f->chances++;
	if (other) {
		f->p.regs.rax = c->result;
		stepped_write_registers(&f->p);
	}
	return true;
}

void chance_clock(struct followed *f)
{
	uint32_t n;
	const struct capture_place *places = captures_places(f->captures, &n);
	struct capture c;
	while (captures_next(f->clocks, &c) == 1) {
		if (c.kind != CAPTURE_RESULT || c.place >= n ||
		    !followed_clock(places[c.place].import))
			continue;
		put_ranges(f, &c, true);
		stepped_general(&f->p);
		if (c.known & 1)
			stepped_set_gpr(&f->p, 0, c.regs[0]);
		stepped_write_registers(&f->p);
		f->chances++;
		return;
	}
}

void chance_insn(struct followed *f, const struct value_insn *insn)
{
	const struct value_state *s = value_machine_state(f->machine);
	stepped_general(&f->p);
	for (int i = 0; i < insn->n_access; i++)
		if (insn->access[i].write && insn->access[i].kind == VALUE_ACCESS_GPR)
			stepped_set_gpr(&f->p, insn->access[i].reg, s->gpr[insn->access[i].reg]);
	stepped_write_registers(&f->p);
	f->chances++;
}
