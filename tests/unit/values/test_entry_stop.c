// SPDX-License-Identifier: LGPL-2.1-or-later
/* test_entry_stop.c: where a program is stopped, calls that are made in its name are those that are
 * asked for, whether a dynamic linker has been there or not, and then it runs as ever. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <elf.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "user/patch/process/tracee_call.h"
#include "user/values/stop/entry_stop.h"

enum { AT = 0x400000, STATUS = 5 };

/* A program without libraries: it ends. */
static int make_static(void)
{
	static const uint8_t code[] = {0xb8, SYS_exit_group,
				       0,    0,
				       0, /* mov, eax */
				       0xbf, STATUS,
				       0,    0,
				       0,	    /* mov, edi */
				       0x0f, 0x05}; /* syscall */
	struct {
		Elf64_Ehdr file;
		Elf64_Phdr segment;
		uint8_t code[sizeof(code)];
	} p = {
		.file = {.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
			 .e_type = ET_EXEC,
			 .e_machine = EM_X86_64,
			 .e_version = EV_CURRENT,
			 .e_phoff = sizeof(Elf64_Ehdr),
			 .e_ehsize = sizeof(Elf64_Ehdr),
			 .e_phentsize = sizeof(Elf64_Phdr),
			 .e_phnum = 1},
		.segment = {.p_type = PT_LOAD,
			    .p_flags = PF_R | PF_X,
			    .p_vaddr = AT,
			    .p_filesz = sizeof(p),
			    .p_memsz = sizeof(p),
			    .p_align = 0x1000},
	};
	int fd = memfd_create("static", 0);

	p.file.e_entry = AT + offsetof(typeof(p), code);
	memcpy(p.code, code, sizeof(code));
	assert_int_equal(write(fd, &p, sizeof(p)), sizeof(p));
	return fd;
}

/* Executes the program once it may go on. */
static void run_child(int go, int program)
{
	char byte, *const words[] = {"program", NULL}, *const none[] = {NULL};

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (read(go, &byte, 1) != 1)
		_exit(1);
	if (program < 0)
		execve("/bin/true", words, none);
	else
		syscall(SYS_execveat, program, "", words, none, 0x1000 /* AT_EMPTY_PATH */);
	_exit(2);
}

static bool never(void *ctx)
{
	(void)ctx;
	return false;
}

static void calls_are_those_asked_for(int program, int status)
{
	const uint64_t none[6] = {0};
	struct pugmark_diag diag = {0};
	struct tracee t;
	int go[2], quiet[2], ended;
	int64_t result = 0;

	assert_int_equal(pipe(go) | pipe(quiet), 0);
	pid_t pid = fork();
	if (!pid) {
		dup2(quiet[0], 0); /* which has nothing to be read, for ever */
		run_child(go[0], program);
	}
	const struct entry_patience patience = {quiet[0], never, NULL};
	assert_int_equal(entry_stop_begin(pid, &diag), 0);
	assert_int_equal(write(go[1], "g", 1), 1);
	assert_int_equal(entry_stop_wait(pid, &patience, &diag), 0);
	assert_int_equal(tracee_open(&t, pid), 0);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(tracee_syscall(&t, SYS_getppid, none, &result), 0);
		assert_int_equal(result, getpid());
	}
	tracee_close(&t);
	entry_stop_end(pid);
	assert_int_equal(waitpid(pid, &ended, 0), pid);
	assert_true(WIFEXITED(ended) && WEXITSTATUS(ended) == status);
	for (int i = 0; i < 2; i++) {
		close(go[i]);
		close(quiet[i]);
	}
}

static void behind_a_dynamic_linker(void **state)
{
	(void)state;
	calls_are_those_asked_for(-1, 0);
}

static void of_a_static_program(void **state)
{
	int program = make_static();

	(void)state;
	calls_are_those_asked_for(program, STATUS);
	close(program);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(behind_a_dynamic_linker),
		cmocka_unit_test(of_a_static_program),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
