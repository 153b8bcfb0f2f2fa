// SPDX-License-Identifier: LGPL-2.1-or-later
/* deptrace.c: a plugin for QEMU's user-mode emulation that writes every executed instruction of the
 * main program with every memory access that it makes, and every store of other code and of the
 * kernel, as 64-bit words:
 *
 *   1 << 60 | ELF address                     an instruction
 *   2 << 60 | store << 59 | size, address     an access of it
 *   3 << 60 | size, address                   a store of other code, or of a system call
 *   4 << 60                                   control has left the program
 *
 *   qemu-x86_64 -plugin deptrace.so,out=FILE PROGRAM ...
 *
 * One thread. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <elf.h>
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "qemu_plugin.h"

int qemu_plugin_version = 1;

static FILE *out;
static uint64_t base, code_start, code_end; /* of the program, in QEMU's addresses */
static bool begun, outside;
static void *current; /* the instruction that runs: accesses of another are not its own */
static uint64_t args[6];

static void put(uint64_t word)
{
	fwrite(&word, sizeof(word), 1, out);
}

/* Whether it can lie anywhere: else its addresses are those of its file. */
static bool is_movable(void)
{
	Elf64_Ehdr eh = {0};
	FILE *f = fopen(qemu_plugin_path_to_binary(), "r");
	bool movable = !f || fread(&eh, sizeof(eh), 1, f) != 1 || eh.e_type != ET_EXEC;

	if (f)
		fclose(f);
	return movable;
}

/* Where the program's file is mapped: all of it, before its first instruction. */
static void find_program(void)
{
	struct stat st;
	char line[4400];
	FILE *maps = fopen("/proc/self/maps", "r");

	if (!maps || stat(qemu_plugin_path_to_binary(), &st)) {
		fprintf(stderr, "deptrace: the program cannot be found\n");
		_exit(125);
	}
	while (fgets(line, sizeof(line), maps)) {
		uint64_t start, end, off;
		unsigned major, minor;
		unsigned long inode;

		if (sscanf(line, "%lx-%lx %*s %lx %x:%x %lu", &start, &end, &off, &major, &minor,
			   &inode) != 6 ||
		    inode != st.st_ino || makedev(major, minor) != st.st_dev)
			continue;
		if (!off)
			base = start;
		code_start = code_start ? code_start : start;
		code_end = end;
	}
	fclose(maps);
	base = is_movable() ? base : 0;
}

static void on_inside(unsigned int vcpu, void *userdata)
{
	begun = true;
	outside = false;
	current = userdata;
	put((uint64_t)1 << 60 | ((uint64_t)(uintptr_t)userdata - base));
}

static void on_outside(unsigned int vcpu, void *userdata)
{
	current = userdata;
	if (begun && !outside)
		put((uint64_t)4 << 60);
	outside = true;
}

static void on_access(unsigned int vcpu, uint32_t info, uint64_t addr, void *userdata)
{
	bool store = qemu_plugin_mem_is_store(info);
	uint64_t size = (uint64_t)1 << qemu_plugin_mem_size_shift(info);

	if (!begun || current != userdata || (outside && !store))
		return;
	put(outside ? (uint64_t)3 << 60 | size : (uint64_t)2 << 60 | (uint64_t)store << 59 | size);
	put(addr);
}

static void on_block(qemu_plugin_id_t id, struct qemu_plugin_tb *tb)
{
	if (!code_end)
		find_program();
	for (size_t i = 0; i < qemu_plugin_tb_n_insns(tb); i++) {
		struct qemu_plugin_insn *insn = qemu_plugin_tb_get_insn(tb, i);
		uint64_t pc = qemu_plugin_insn_vaddr(insn);
		void *name = (void *)(uintptr_t)pc;
		bool inside = pc >= code_start && pc < code_end;

		qemu_plugin_register_vcpu_insn_exec_cb(insn, inside ? on_inside : on_outside,
						       QEMU_PLUGIN_CB_NO_REGS, name);
		qemu_plugin_register_vcpu_mem_cb(insn, on_access, QEMU_PLUGIN_CB_NO_REGS,
						 QEMU_PLUGIN_MEM_RW, name);
	}
}

static void on_syscall(qemu_plugin_id_t id, unsigned int vcpu, int64_t num, uint64_t a1,
		       uint64_t a2, uint64_t a3, uint64_t a4, uint64_t a5, uint64_t a6, uint64_t a7,
		       uint64_t a8)
{
	const uint64_t now[6] = {a1, a2, a3, a4, a5, a6};

	memcpy(args, now, sizeof(args));
}

/* What the calls that these programs make have written. */
static void on_return(qemu_plugin_id_t id, unsigned int vcpu, int64_t num, int64_t ret)
{
	uint64_t at = 0, len = 0;

	if (!begun || ret < 0)
		return;
	switch (num) {
	case SYS_read:
	case SYS_pread64:
		at = args[1];
		len = ret;
		break;
	case SYS_stat:
	case SYS_fstat:
	case SYS_lstat:
		at = args[1];
		len = 144;
		break;
	case SYS_newfstatat:
		at = args[2];
		len = 144;
		break;
	case SYS_rt_sigaction:
		at = args[2];
		len = at ? 32 : 0;
		break;
	case SYS_rt_sigprocmask:
		at = args[2];
		len = at ? 8 : 0;
		break;
	case SYS_gettimeofday:
		at = args[0];
		len = at ? 16 : 0;
		break;
	case SYS_clock_gettime:
		at = args[1];
		len = at ? 16 : 0;
		break;
	case SYS_getrandom:
		at = args[0];
		len = ret;
		break;
	default:
		break;
	}
	if (!len)
		return;
	put((uint64_t)3 << 60 | len);
	put(at);
}

static void on_end(qemu_plugin_id_t id, void *userdata)
{
	fclose(out);
}

int qemu_plugin_install(qemu_plugin_id_t id, const void *info, int argc, char **argv)
{
	for (int i = 0; i < argc; i++)
		if (!strncmp(argv[i], "out=", 4))
			out = fopen(argv[i] + 4, "w");
	if (!out) {
		fprintf(stderr, "deptrace: out=FILE is needed, and must be writable\n");
		return -1;
	}
	qemu_plugin_register_vcpu_tb_trans_cb(id, on_block);
	qemu_plugin_register_vcpu_syscall_cb(id, on_syscall);
	qemu_plugin_register_vcpu_syscall_ret_cb(id, on_return);
	qemu_plugin_register_atexit_cb(id, on_end, NULL);
	return 0;
}
