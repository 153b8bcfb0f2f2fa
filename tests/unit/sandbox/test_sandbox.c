// SPDX-License-Identifier: LGPL-2.1-or-later
/* test_sandbox.c: what the child of a sandbox can do, by trying it: it reads what it is granted and
 * ELF files, and nothing else; and however it ends, this process lives and is told. */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "offline/base/open_regular.h"
#include "offline/base/private_file.h"
#include "user/sandbox/sandbox.h"

static char dir[64], granted[80], other[80], elf[80], fifo[80], folder[80];

static int run(const struct sandbox *s, sandbox_work *work, void *ctx, char **out,
	       struct pugmark_diag *diag)
{
	void *bytes = NULL;
	size_t len = 0;
	int err = sandbox_run(s, work, ctx, &bytes, &len, diag);
	if (err == -ENOSYS) {
		print_message("this kernel has no seccomp with a listener\n");
		skip();
	}
	*out = NULL;
	if (!err) {
		char *text = malloc(len + 1);
		memcpy(text, bytes, len);
		text[len] = 0;
		*out = text;
	}
	free(bytes);
	return err;
}

static struct sandbox ordinary(void)
{
	static const char *grants[2];
	grants[0] = granted;
	grants[1] = folder;
	return (struct sandbox){.subject = "the file", .grants = grants, .n_grants = 2};
}

static void make(const char *path, const void *bytes, size_t len)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, bytes, len), len);
	close(fd);
}

static int set_up(void **state)
{
	(void)state;
	Elf64_Ehdr e = {.e_type = ET_DYN};
	char inner[120];
	memcpy(e.e_ident, ELFMAG, SELFMAG);
	snprintf(dir, sizeof(dir), "/tmp/pugmark-sandbox-XXXXXX");
	if (!mkdtemp(dir))
		return -1;
	snprintf(granted, sizeof(granted), "%s/granted", dir);
	snprintf(other, sizeof(other), "%s/other", dir);
	snprintf(elf, sizeof(elf), "%s/elf", dir);
	snprintf(fifo, sizeof(fifo), "%s/fifo", dir);
	snprintf(folder, sizeof(folder), "%s/folder", dir);
	make(granted, "granted\n", 8);
	make(other, "secret\n", 7);
	make(elf, &e, sizeof(e));
	mkdir(folder, 0700);
	snprintf(inner, sizeof(inner), "%s/inner", folder);
	make(inner, "inner\n", 6);
	snprintf(inner, sizeof(inner), "%s/link", folder);
	if (symlink(other, inner))
		return -1;
	return mkfifo(fifo, 0600);
}

static int tear_down(void **state)
{
	(void)state;
	char command[100];
	snprintf(command, sizeof(command), "rm -r %s", dir);
	return system(command);
}

/* ---- what it may do ---- */

static void put_file(FILE *out, const char *what, const char *path)
{
	char text[32] = "";
	struct stat st = {0};
	int fd = open_regular(path, &st);
	ssize_t n = fd < 0 ? 0 : read(fd, text, sizeof(text) - 1);
	fprintf(out, "%s:%d:%.*s;", what, fd < 0 ? fd : 0, n > 0 ? (int)n : 0, text);
	if (fd >= 0)
		close(fd);
}

static void *in_thread(void *arg)
{
	*(int *)arg = 7;
	return NULL;
}

static int reads(void *ctx, FILE *out, struct pugmark_diag *diag)
{
	(void)diag;
	char inner[120], up[120], link[120];
	struct private_file file;
	struct stat st;
	pthread_t thread;
	int seven = 0, folder_fd = *(int *)ctx;
	snprintf(inner, sizeof(inner), "%s/inner", folder);
	snprintf(up, sizeof(up), "%s/../other", folder);
	snprintf(link, sizeof(link), "%s/link", folder); /* to the other one, out of the folder */
	put_file(out, "granted", granted);
	put_file(out, "inner", inner);
	put_file(out, "other", other);
	put_file(out, "up", up);
	put_file(out, "link", link);
	put_file(out, "fifo", fifo);
	put_file(out, "folder", folder);
	put_file(out, "none", "/nowhere/at/all");
	put_file(out, "shadow", "/etc/shadow");
	put_file(out, "null", "/dev/null");
	int err = private_file_open(elf, 1 << 20, &file);
	fprintf(out, "elf:%d:%lu;", err, (unsigned long)(err ? 0 : file.len_bytes));
	err = stat(granted, &st);
	fprintf(out, "stat:%d:%ld;", err, (long)st.st_size);
	char *real = realpath(up, NULL);
	fprintf(out, "real:%d;", real && !strcmp(real, other));
	fprintf(out, "at:%d;", openat(folder_fd, "inner", O_RDONLY) < 0);
	if (!pthread_create(&thread, NULL, in_thread, &seven))
		pthread_join(thread, NULL);
	fprintf(out, "thread:%d;uid:%d", seven, !geteuid() ? 0 : 1);
	return 0;
}

static void it_reads_what_it_may(void **state)
{
	(void)state;
	struct sandbox s = ordinary();
	struct pugmark_diag diag;
	char *out;
	int folder_fd = open(folder, O_RDONLY | O_DIRECTORY);
	assert_int_equal(run(&s, reads, &folder_fd, &out, &diag), 0);
	close(folder_fd);
	assert_string_equal(
		out, "granted:0:granted\n;inner:0:inner\n;other:-13:;up:-13:;link:-13:;fifo:-6:;"
		     "folder:-21:;none:-2:;shadow:-13:;null:-6:;elf:0:64;stat:0:8;real:1;at:1;"
		     "thread:7;uid:1");
	free(out);
}

/* A grant may be a descriptor of this process, which the child does not have. */
static int finds_by_number(void *ctx, FILE *out, struct pugmark_diag *diag)
{
	(void)diag;
	put_file(out, "it", ctx);
	char *real = realpath(ctx, NULL);
	fprintf(out, "real:%d;", real && !strcmp(real, granted));
	return 0;
}

static void a_grant_by_number(void **state)
{
	(void)state;
	char path[32], *out;
	int fd = open(granted, O_RDONLY);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	const char *grants[] = {path};
	struct sandbox s = {.subject = "the file", .grants = grants, .n_grants = 1};
	struct pugmark_diag diag;
	assert_int_equal(run(&s, finds_by_number, path, &out, &diag), 0);
	assert_string_equal(out, "it:0:granted\n;real:1;");
	free(out);
	close(fd);
}

/* ---- what it may not ---- */

/* Of any process it sees nothing, its own and this one's included: the kernel's answers would be
 * those for this process, which is root's. @ctx: a descriptor of this process. */
static int looks_into_proc(void *ctx, FILE *out, struct pugmark_diag *diag)
{
	(void)diag;
	char path[128], text[64];
	struct stat st;
	int parent = (int)getppid();
	static const char *const forms[] = {"/proc/%d",	     "/proc/%d/exe",  "/proc/%d/cwd",
					    "/proc/%d/root", "/proc/%d/maps", "/proc/%d/environ"};
	for (unsigned i = 0; i < sizeof(forms) / sizeof(*forms); i++)
		for (int k = 0; k < 3; k++) {
			const int pids[] = {parent, 1, (int)getpid()};
			snprintf(path, sizeof(path), forms[i], pids[k]);
			if (!stat(path, &st) || !lstat(path, &st) || !access(path, F_OK) ||
			    readlink(path, text, sizeof(text)) >= 0 || open(path, O_RDONLY) >= 0)
				fprintf(out, "%s ", path);
		}
	snprintf(path, sizeof(path), "/proc/self/fd/%d", *(int *)ctx); /* an ELF file, here */
	if (open(path, O_RDONLY) >= 0 || readlink(path, text, sizeof(text)) >= 0 ||
	    !stat(path, &st))
		fprintf(out, "%s ", path);
	if (readlink("/proc/self", text, sizeof(text)) >= 0 ||
	    readlink("/proc/thread-self", text, sizeof(text)) >= 0)
		fprintf(out, "self ");
	snprintf(path, sizeof(path), "%s/self", dir); /* a link to this process's program */
	if (open(path, O_RDONLY) >= 0)
		fprintf(out, "%s ", path);
	snprintf(path, sizeof(path), "/proc/1/root%.40s", elf);
	if (open(path, O_RDONLY) >= 0)
		fprintf(out, "%s ", path);
	return 0;
}

static void it_sees_no_process(void **state)
{
	(void)state;
	struct sandbox s = ordinary();
	struct pugmark_diag diag;
	char path[120], *out;
	int fd = open(elf, O_RDONLY);
	snprintf(path, sizeof(path), "%s/self", dir);
	assert_int_equal(symlink("/proc/self/exe", path), 0);
	assert_int_equal(run(&s, looks_into_proc, &fd, &out, &diag), 0);
	assert_string_equal(out, "");
	free(out);
	close(fd);
	unlink(path);
}

static int escapes(void *ctx, FILE *out, struct pugmark_diag *diag)
{
	(void)ctx, (void)diag;
	char *const argv[] = {"true", NULL};
	char byte = 0;
	struct iovec here = {&byte, 1}, there = {&byte, 1};
	static int word;
	pid_t parent = getppid();
#define TRY(call)                                                                                  \
	do {                                                                                       \
		errno = 0;                                                                         \
		if ((long)(call) != -1)                                                            \
			fprintf(out, "%s ", #call);                                                \
	} while (0)
	TRY(socket(AF_INET, SOCK_STREAM, 0));
	TRY(socket(AF_UNIX, SOCK_STREAM, 0));
	TRY(fork());
	TRY(vfork());
	TRY(execv("/bin/true", argv));
	TRY(kill(parent, 0));
	TRY(kill(parent, SIGTERM));
	TRY(syscall(SYS_tgkill, parent, parent, 0));
	TRY(ptrace(PTRACE_ATTACH, parent, 0, 0));
	TRY(process_vm_readv(parent, &here, 1, &there, 1, 0));
	TRY(syscall(SYS_pidfd_open, parent, 0));
	TRY(open(granted, O_WRONLY));
	TRY(open(granted, O_RDONLY | O_TRUNC));
	TRY(open(other, O_RDWR | O_CREAT, 0600));
	TRY(open("/proc/self/mem", O_RDONLY));
	TRY(open("/proc/1/environ", O_RDONLY));
	TRY(open(dir, O_RDONLY | O_DIRECTORY));
	TRY(unlink(granted));
	TRY(rename(granted, other));
	TRY(mkdir("/tmp/pugmark-escaped", 0700));
	TRY(symlink(granted, "/tmp/pugmark-escaped"));
	TRY(chmod(granted, 0777));
	TRY(setuid(0));
	TRY(setgid(0));
	TRY(chdir("/"));
	TRY(chroot("/"));
	TRY(syscall(SYS_unshare, 0x10000000));
	TRY(syscall(SYS_setns, 0, 0));
	TRY(syscall(SYS_bpf, 0, NULL, 0));
	TRY(syscall(SYS_perf_event_open, NULL, 0, -1, -1, 0));
	TRY(syscall(SYS_io_uring_setup, 1, NULL));
	TRY(syscall(SYS_open_by_handle_at, 3, NULL, 0));
	TRY(syscall(SYS_openat2, AT_FDCWD, granted, NULL, 0));
	TRY(syscall(SYS_keyctl, 0, 0));
	TRY(syscall(SYS_add_key, "user", "x", "y", 1, -3));
	TRY(mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
	TRY(mprotect((void *)((uintptr_t)&word & ~4095ul), 4096, PROT_READ | PROT_EXEC));
	for (int fd = 3; fd < 64; fd++) {
		struct stat st;
		if (!fstat(fd, &st) && S_ISDIR(st.st_mode))
			fprintf(out, "folder %d is open ", fd);
	}
	struct rlimit limit;
	getrlimit(RLIMIT_NOFILE, &limit);
	limit.rlim_max *= 2;
	TRY(setrlimit(RLIMIT_NOFILE, &limit));
	/* Of another process of nobody's: the low half of that address is 0. */
	void *low = mmap((void *)(1ul << 32), 4096, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
	TRY(syscall(SYS_prlimit64, getpid(), RLIMIT_CORE, low, NULL));
	return 0;
}

static void it_does_not_get_out(void **state)
{
	(void)state;
	struct sandbox s = ordinary();
	struct pugmark_diag diag;
	char *out;
	int kept = open(folder, O_RDONLY | O_DIRECTORY);
	assert_int_equal(run(&s, escapes, NULL, &out, &diag), 0);
	assert_string_equal(out, "");
	free(out);
	close(kept);
	assert_int_equal(access("/tmp/pugmark-escaped", F_OK), -1);
}

static int shows_itself(void *ctx, FILE *out, struct pugmark_diag *diag)
{
	(void)diag;
	int fd, err = sandbox_ask('?', "who", -1, &fd);
	(void)ctx;
	fprintf(out, "%d", err);
	return 0;
}

/* What the kernel says of it, while it waits for an answer. */
static int look_at_child(void *ctx, char op, const char *text, int sent, int *fd)
{
	char path[64], line[256], *all = ctx;
	(void)op, (void)text, (void)sent, (void)fd;
	snprintf(path, sizeof(path), "/proc/self/task/%d/children", (int)getpid());
	FILE *f = fopen(path, "r");
	int pid = 0;
	if (!f || fscanf(f, "%d", &pid) != 1)
		return -ENOENT;
	fclose(f);
	snprintf(path, sizeof(path), "/proc/%d/status", pid);
	f = fopen(path, "r");
	while (f && fgets(line, sizeof(line), f))
		strncat(all, line, 8191 - strlen(all));
	if (f)
		fclose(f);
	return 0;
}

static void it_has_no_privileges(void **state)
{
	(void)state;
	static char status[8192];
	struct sandbox s = ordinary();
	struct pugmark_diag diag;
	char *out;
	s.answer = look_at_child;
	s.answer_ctx = status;
	assert_int_equal(run(&s, shows_itself, NULL, &out, &diag), 0);
	assert_string_equal(out, "0");
	free(out);
	assert_non_null(strstr(status, "CapPrm:\t0000000000000000"));
	assert_non_null(strstr(status, "CapEff:\t0000000000000000"));
	assert_non_null(strstr(status, "CapInh:\t0000000000000000"));
	assert_non_null(strstr(status, "CapAmb:\t0000000000000000"));
	assert_non_null(strstr(status, "NoNewPrivs:\t1"));
	assert_non_null(strstr(status, "Seccomp:\t2"));
	if (!geteuid()) {
		assert_non_null(strstr(status, "Uid:\t65534\t65534\t65534\t65534"));
		assert_non_null(strstr(status, "Gid:\t65534\t65534\t65534\t65534"));
		assert_non_null(strstr(status, "Groups:\t \n"));
	}
}

/* ---- how it ends ---- */

static int ends(void *ctx, FILE *out, struct pugmark_diag *diag)
{
	struct rlimit cpu;
	switch (*(const char *)ctx) {
	case 's':
		raise(SIGSEGV);
		break;
	case 'a':
		abort();
	case 'f': {
		volatile int *volatile nowhere = NULL;
		*nowhere = 1;
		break;
	}
	case 'm':
		for (;;) {
			char *p = malloc(1 << 24);
			if (!p)
				return pugmark_diag_set(diag, -ENOMEM, "it", PUGMARK_NO_OFFSET,
							"out of memory");
			memset(p, 1, 1 << 24);
			__asm__ volatile("" : : "r"(p) : "memory"); /* or nothing is asked for */
		}
	case 'l':
		getrlimit(RLIMIT_CPU, &cpu);
		for (volatile unsigned i = 0;; i++)
			;
	case 'x':
		_exit(0);
	case 'y':
		_exit(3);
	case 'e':
		return pugmark_diag_set(diag, -ENOEXEC, "it", 42, "is none");
	case 'b':
		for (int i = 0; i < 1000; i++)
			fprintf(out, "%01000d", 0);
		break;
	default:
		memset(diag, 'x', sizeof(*diag));
		return 12345;
	}
	return 0;
}

static void however_it_ends(void **state)
{
	(void)state;
	static const struct {
		const char *how;
		int err;
		const char *text;
	} cases[] = {
		{"s", -EFAULT, "died of SIGSEGV"},
		{"a", -EFAULT, "died of SIGABRT"},
		{"l", -ETIME, "more than 1 s"},
		{"x", -EFAULT, "its analysis died"},
		{"y", -EFAULT, "its analysis died"},
		{"e", -ENOEXEC, "is none"},
		{"?", -EINVAL, "xxx"},
#ifndef __SANITIZE_ADDRESS__
		{"f", -EFAULT, "died of SIGSEGV"},
		{"m", -ENOMEM, "out of memory"},
#endif
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct sandbox s = ordinary();
		struct pugmark_diag diag = {.text = ""};
		char *out;
		/* A busy machine takes long for the rest. */
		s.seconds = *cases[i].how == 'l' ? 1 : 20;
		s.memory_bytes = 256 << 20;
		int err = run(&s, ends, (void *)cases[i].how, &out, &diag);
		if (err != cases[i].err || !strstr(diag.text, cases[i].text))
			fail_msg("%s: %d, %.200s", cases[i].how, err, diag.text);
	}
	struct sandbox s = ordinary();
	struct pugmark_diag diag;
	char *out;
	assert_int_equal(run(&s, ends, "b", &out, &diag), 0);
	assert_int_equal(strlen(out), 1000000);
	free(out);
}

/* What is handed back is the heap's, whatever its length. */
static int hands_back(void *ctx, FILE *out, struct pugmark_diag *diag)
{
	(void)diag;
	for (size_t i = 0; i < *(size_t *)ctx; i++)
		putc_unlocked((int)(i % 251), out);
	return 0;
}

static void bytes_of_every_length(void **state)
{
	(void)state;
	static const size_t lengths[] = {0,    1,    15,   16,	  4080,	  4095,
					 4096, 4097, 8192, 65536, 131072, 3 << 20};
	for (size_t i = 0; i < sizeof(lengths) / sizeof(*lengths); i++) {
		size_t len = lengths[i], got = 0, right = 0;
		struct sandbox s = ordinary();
		struct pugmark_diag diag;
		void *bytes = NULL;
		assert_int_equal(sandbox_run(&s, hands_back, &len, &bytes, &got, &diag), 0);
		assert_int_equal(got, len);
		while (right < len && ((uint8_t *)bytes)[right] == right % 251)
			right++;
		assert_int_equal(right, len);
		bytes = realloc(bytes, len + 5000); /* only the heap's can */
		assert_non_null(bytes);
		free(bytes);
	}
}

/* Where descriptors are used up there is no sandbox to be had now; what is to be read in one is not
 * read here. */
static void not_without_it(void **state)
{
	(void)state;
	struct rlimit before, few;
	struct sandbox s = ordinary();
	struct pugmark_diag diag;
	void *bytes = NULL;
	size_t len = 0, none = 0;
	int last = dup(0);
	getrlimit(RLIMIT_NOFILE, &before);
	for (int left = 0; left < 4; left++) {
		few = (struct rlimit){(rlim_t)(last + left), before.rlim_max};
		setrlimit(RLIMIT_NOFILE, &few);
		int err = sandbox_or_here(&s, hands_back, &none, &bytes, &len, &diag);
		setrlimit(RLIMIT_NOFILE, &before);
		if (err) {
			assert_int_equal(err, -EMFILE);
			assert_non_null(strstr(diag.text, "raise `ulimit -n`"));
		}
		assert_true(err || left == 3);
	}
	close(last);
	free(bytes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(it_reads_what_it_may),	 cmocka_unit_test(a_grant_by_number),
		cmocka_unit_test(it_sees_no_process),	 cmocka_unit_test(it_does_not_get_out),
		cmocka_unit_test(it_has_no_privileges),	 cmocka_unit_test(however_it_ends),
		cmocka_unit_test(bytes_of_every_length), cmocka_unit_test(not_without_it),
	};
	return cmocka_run_group_tests(tests, set_up, tear_down);
}
