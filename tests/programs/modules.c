// SPDX-License-Identifier: LGPL-2.1-or-later
/* modules.c: a program, two libraries and a plugin that call one another in every way that a linker
 * knows, and a fourth library that writes down each entry and exit, by -finstrument-functions. What
 * is to be built is said by a macro: PROGRAM, PART, PLUGIN or LOG. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <elf.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline))
#define SILENT __attribute__((no_instrument_function))

typedef int compare(const void *, const void *);
typedef int operation(int);
extern int part_add(int, int);
extern int part_apply(operation *, int);
extern void part_sort(int *, size_t, compare *);
extern int part_chosen(int);
extern int part_ask(int);
extern int part_two_names(int), part_other_name(int);
extern int part_rounds(int);
extern operation *part_operation(int);
extern void *part_thread(void *);
extern void *part_forever(void *);
extern int shared_answer(int);
extern int program_twice(int), program_thrice(int);

#ifdef LOG
SILENT static void say(char what, void *func)
{
	char line[300];
	Dl_info info;
	if (!dladdr(func, &info))
		return;
	const Elf64_Ehdr *elf = info.dli_fbase;
	const char *slash = strrchr(info.dli_fname, '/');
	char *base = elf->e_type == ET_EXEC ? NULL : info.dli_fbase;
	int len =
		snprintf(line, sizeof(line), "%d %c %s %lx\n", gettid(), what,
			 slash ? slash + 1 : info.dli_fname, (unsigned long)((char *)func - base));
	if (write(1, line, len) != len)
		abort();
}

SILENT void __cyg_profile_func_enter(void *func, void *site)
{
	(void)site;
	say('>', func);
}

SILENT void __cyg_profile_func_exit(void *func, void *site)
{
	(void)site;
	say('<', func);
}
#endif

#ifdef PART
NOINLINE int part_add(int a, int b)
{
	return a + b;
}

NOINLINE static int minus_one(int n)
{
	return n - 1;
}

NOINLINE static int half(int n)
{
	return shared_answer(n) / 2; /* the program's, which comes first */
}

NOINLINE operation *part_operation(int n)
{
	return n % 2 ? minus_one : half;
}

NOINLINE int part_apply(operation *f, int n)
{
	int sum = 0;
	for (int i = 0; i < n; i++)
		if (i % 3)
			sum += f(i);
	return sum;
}

NOINLINE void part_sort(int *at, size_t n, compare *f)
{
	qsort(at, n, sizeof(*at), f);
}

NOINLINE int shared_answer(int n)
{
	return n + 1000000; /* never called: the program has one, too */
}

NOINLINE int part_ask(int n)
{
	return shared_answer(n) + (n % 4 ? 0 : program_twice(n));
}

NOINLINE static int fast(int n)
{
	return 3 * n;
}

NOINLINE static int slow(int n)
{
	return n + n + n;
}

SILENT static operation *choose(void)
{
	return getenv("SLOW") ? slow : fast;
}
int part_chosen(int) __attribute__((ifunc("choose")));

NOINLINE int part_two_names(int n)
{
	return n ^ 5;
}
extern int part_other_name(int) __attribute__((alias("part_two_names")));

NOINLINE int part_rounds(int n)
{
	return n < 1 ? 0 : 1 + program_twice(n - 1);
}

NOINLINE void *part_thread(void *arg)
{
	long n = (long)arg, sum = 0;
	for (long i = 0; i < 20; i++)
		sum += program_twice((int)(i + n));
	return (void *)sum;
}

NOINLINE static void stay(const volatile int *stop)
{
	char untouched[40000]; /* its pages are not there, and what called this lies above them */
	__asm__ volatile("" ::"r"(untouched));
	while (!*stop) {
		program_twice(3);
		usleep(200);
	}
}

NOINLINE void *part_forever(void *arg)
{
	stay(arg);
	return NULL;
}

NOINLINE static void at_exit(void)
{
	part_add(1, 2);
}

__attribute__((constructor)) static void begin(void)
{
	atexit(at_exit);
}
#endif

#ifdef PLUGIN
NOINLINE int plugin_work(int n)
{
	return part_add(n, part_ask(n)) + program_twice(n) + program_thrice(n);
}
#endif

#ifdef PROGRAM
NOINLINE int shared_answer(int n)
{
	return n + 42;
}

NOINLINE static int by_value(const void *a, const void *b)
{
	return part_add(*(const int *)a, -*(const int *)b);
}

NOINLINE static int square(int n)
{
	return part_add(n * n, 0);
}

NOINLINE int program_twice(int n)
{
	return n > 7 ? 2 * n : 2 * n + part_rounds(n - 1);
}

NOINLINE int program_thrice(int n) /* only the plugin names it */
{
	return program_twice(n) + n;
}

NOINLINE static int plugin(const char *path, int n)
{
	void *handle = dlopen(path, RTLD_NOW);
	operation *work = handle ? (operation *)dlsym(handle, "plugin_work") : NULL;
	int sum = 0;
	if (!work)
		exit(3);
	for (int i = 0; i < n; i++)
		sum += work(i);
	dlclose(handle);
	return sum;
}

NOINLINE static int round_of_all(const char *path)
{
	int values[] = {5, 3, 9, 1, 7, 2, 8}, sum = 0;
	pthread_t threads[4];
	for (int i = 0; i < 9; i++)
		sum += part_add(i, part_ask(i));
	sum += part_apply(square, 10) + part_apply(part_chosen, 5);
	sum += part_apply(part_operation(1), 7) + part_apply(part_operation(2), 7);
	part_sort(values, 7, by_value);
	qsort(values, 7, sizeof(int), by_value);
	sum += part_chosen(4) + part_two_names(3) + part_other_name(2) + part_rounds(6);
	sum += part_operation(3)(4);
	for (long i = 0; i < 4; i++)
		pthread_create(&threads[i], NULL, part_thread, (void *)i);
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	if (path)
		sum += plugin(path, 6) + plugin(path, 2);
	return sum == 12345678;
}

static volatile int stop;

SILENT static void on_term(int number)
{
	(void)number;
	stop = 1;
}

/* Once; or, with one argument more, until SIGTERM. */
int main(int argc, char **argv)
{
	int status = round_of_all(argv[1]);
	if (argc > 2) {
		pthread_t thread;
		dlopen(argv[1], RTLD_NOW); /* stays: it is closed as often as it is opened */
		signal(SIGTERM, on_term);
		pthread_create(&thread, NULL, part_forever, (void *)&stop);
		while (!stop) {
			status += round_of_all(argv[1]);
			usleep(2000);
		}
		pthread_join(thread, NULL);
	}
	return status > 0;
}
#endif
