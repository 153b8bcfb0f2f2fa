/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* stepped.h: a program that the processor executes instruction by instruction, by ptrace: what the
 * evaluator and replays are compared with. Its addresses are not randomized. What cannot be done
 * ends the tool with status 2. */
#ifndef TESTS_VALUE_STEPPED_H
#define TESTS_VALUE_STEPPED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/user.h>

enum { STEPPED_XSAVE = 16384, STEPPED_X87 = 160 };

struct stepped {
	pid_t pid;
	int mem; /* /proc/PID/mem */
	struct user_regs_struct regs;
	uint8_t xsave[STEPPED_XSAVE] __attribute__((aligned(64)));
	size_t xsave_len;
	bool exited;
	int pass; /* signal to hand on */
};

__attribute__((noreturn)) void stepped_die(const char *what);

/* Starts @argv with @input as its standard input and @output as its output, and stops it at its
 * entry point. @s is zeroed. */
void stepped_start(struct stepped *s, char **argv, const char *input, const char *output);
void stepped_end(struct stepped *s);
/* Stops the thread @tid of a process that runs. It need not be a first one. */
void stepped_attach(struct stepped *s, pid_t tid);
void stepped_let_go(struct stepped *s);

/* One instruction, of a rep string instruction one turn. False: the process has ended. */
bool stepped_step(struct stepped *s);
/* The same, but that a system call leaves r11 as it does without a tracer: the kernel puts all
 * flags there, also the one of stepping, which is not set meanwhile. */
bool stepped_step_unseen(struct stepped *s);
/* On to the instruction at @addr, or to a signal before that. */
bool stepped_run_to(struct stepped *s, uint64_t addr);
uint64_t stepped_ip(struct stepped *s);
/* Whether the last step was a system call. Reads the general registers, and takes from r11, where
 * the kernel has put all flags, the one of stepping. */
bool stepped_syscall(struct stepped *s);

/* Reads all registers; what follows is of the registers that were read last. */
void stepped_registers(struct stepped *s);
void stepped_general(struct stepped *s); /* without vectors and x87 */
uint64_t stepped_gpr(const struct stepped *s, unsigned number);
void stepped_set_gpr(struct stepped *s, unsigned number, uint64_t value);
void stepped_write_registers(struct stepped *s);
void stepped_vec(const struct stepped *s, unsigned number, uint8_t out[32]);
/* Of the registers that were read last; the process has them once they are written. */
void stepped_set_vec(struct stepped *s, unsigned number, const uint8_t in[32]);
void stepped_write_vectors(struct stepped *s);
/* Byte @b of a row of AVX-512 (offline/eval/insn/state.h), from the seventeenth on. */
uint8_t stepped_wide(const struct stepped *s, unsigned row, unsigned b);
/* As FXSAVE has it: what is not told apart is zeros. */
void stepped_x87(const struct stepped *s, uint8_t out[STEPPED_X87]);
uint32_t stepped_mxcsr(const struct stepped *s);
const char *stepped_name(unsigned number);

bool stepped_read(const struct stepped *s, uint64_t addr, void *out, size_t len);
bool stepped_write(const struct stepped *s, uint64_t addr, const void *in, size_t len);

#endif
