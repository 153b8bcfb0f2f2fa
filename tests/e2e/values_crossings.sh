#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# values_crossings.sh: level values of a program that goes through libraries by every way: callbacks,
# longjmp, signals at any instruction, forks, memory that comes and goes, memory that others write.
# What the program prints of its arguments is what `pugmark values` says of them.
set -u
. "$(dirname "$0")/../support/claims.sh"
needs_recording
work_in_own_folder

cp "$tests/value/hard/note.h" . || exit 1
cat >target.c <<'C'
#define _GNU_SOURCE
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>
#include "note.h"
volatile long ticks;
static int compare(const void *a, const void *b)
{
	return strcasecmp(*(char *const *)a, *(char *const *)b);
}
static void on_tick(int signal)
{
	ticks++;
}
static jmp_buf back;
static void deep(int n)
{
	if (!n)
		longjmp(back, 7);
	deep(n - 1);
}
static long sum(const char *p, long n)
{
	long s = 0;
	for (long i = 0; i < n; i++)
		s = s * 31 + p[i];
	return s;
}
int main(void)
{
	static char *words[300], *key = "Word-77";
	char **found;
	long total = 0;
	for (int i = 0; i < 300; i++)
		asprintf(&words[i], i % 2 ? "word-%d" : "WORD-%d", i * 7919 % 300);
	qsort(words, 300, sizeof(*words), compare);
	found = bsearch(&key, words, 300, sizeof(*words), compare);
	note(1, found - words);
	note(2, sum(words[150], strlen(words[150])));
	note(3, setjmp(back) ?: (deep(20), 0));
	for (int i = 1; i < 40; i++) {
		char *p = mmap(NULL, i * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		memset(p, i, i * 4096);
		p = mremap(p, i * 4096, 2 * i * 4096, MREMAP_MAYMOVE);
		total += sum(p, 2 * i * 4096);
		munmap(p, 2 * i * 4096);
	}
	note(4, total);
	struct itimerval every = {{0, 1000}, {0, 1000}};
	signal(SIGVTALRM, on_tick);
	setitimer(ITIMER_VIRTUAL, &every, NULL);
	for (int i = 0; i < 300000 || ticks < 9; i++)
		total += sum(words[i % 300], 5);
	memset(&every, 0, sizeof(every));
	setitimer(ITIMER_VIRTUAL, &every, NULL);
	note(5, total);
	note(6, ticks);
	if (!fork()) {
		note(7, sum(words[9], 6));
		_exit(3);
	}
	int status;
	wait(&status);
	note(8, status);
	volatile int *shared = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	*shared = 5;
	if (*shared == 5)
		note(10, 7);
	else
		note(10, 8);
	if (!fork()) {
		*shared = 41;
		_exit(0);
	}
	wait(NULL);
	note(9, *shared + 1);
	return 0;
}
C
${CC:-cc} -O1 -g -w -o target target.c || skip 'no compiler'
"$PUGMARK" record -q --level values -o rec -- ./target >printed 2>err
claim 'the program runs' is $? 0
"$PUGMARK" values rec note >got 2>>err
sed -nE 's/^1 [0-9]+ (note\([^)]*\)).*/\1/p' got >parent
sed -nE 's/^2 [0-9]+ (note\([^)]*\)).*/\1/p' got >child
# What another process wrote into shared memory is in nobody's captures: the last one is marked.
claim 'arguments are as printed: callbacks, longjmp, mappings, signals' \
	same <(grep -vE 'kind=([79]|10)' printed) <(grep -vE 'kind=(9|10)' parent)
claim 'a forked child begins where its parent was' same <(grep kind=7 printed) child
claim 'what comes from shared memory is not called exact' is "$(grep -c 'kind=9~*, value=[0-9]*~' parent)" 1
claim 'nor what a branch on it chose' is "$(grep -c 'kind=10~*, value=7~' parent)" 1
"$PUGMARK" verify rec >certificate
claim 'verify counts what is behind that branch' \
	grep -qE 'values of task 1: .* [1-9][0-9]* behind a branch on something assumed' certificate
claim 'children are replayed to their end' is "$(grep -cE 'values of task [23]: .* up to its end' certificate)" 2
# snprintf() made one digit of two, which the capture behind it contradicts.
claim 'what follows from the wrong assumption is a gap' grep -qE 'values of task 1: .* a gap after' certificate

# A function that was entered by a pointer for a second, and never from outside, is watched no longer with
# --check-every; when a library calls it then, that follows from the library's own code.
cat >often.c <<'C'
#include <stdio.h>
#include <stdlib.h>
__attribute__((noinline)) static int compare(const void *a, const void *b)
{
	return *(const int *)a - *(const int *)b;
}
static int (*volatile by)(const void *, const void *) = compare;
__attribute__((noinline)) static void note(int i, int value) { printf("note(i=%d, value=%d)\n", i, value); }
int main(void)
{
	int numbers[50], all = 0;
	for (int i = 0; i < 400000; i++)
		all += by(&i, &all);
	for (int i = 0; i < 50; i++)
		numbers[i] = i * 37 % 50;
	qsort(numbers, 50, sizeof(*numbers), by);
	for (int i = 0; i < 50; i++)
		note(i, numbers[i]);
	note(50, all);
	return 0;
}
C
${CC:-cc} -O1 -g -w -o often often.c || skip 'no compiler'
for every in 1 64; do
	"$PUGMARK" record -q --level values --check-every $every -o often.$every -- ./often >printed 2>err
	claim "every $every: the program runs" is $? 0
	"$PUGMARK" values often.$every note >got 2>>err
	sed -nE 's/^1 [0-9]+ (note\([^)]*\)).*/\1/p' got >told
	claim "every $every: arguments are as printed" same printed told
	"$PUGMARK" verify often.$every >certificate
	claim "every $every: up to its end" grep -qE 'values of task 1: .*, 0 assumed, .* up to its end' certificate
done
entered() { "$PUGMARK" verify "$1" | sed -nE 's/values of task 1: ([0-9]+) instructions.*/\1/p'; }
claim 'as many instructions' is "$(entered often.64)" "$(entered often.1)"

# A function that is watched no longer becomes a handler: what it writes was not seen, so it is not known; and the
# end of a call that is watched no longer tells nothing of code in shared memory, which is not executed.
cat >becomes.c <<'C'
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
static volatile int last;
__attribute__((noinline)) static void handler(int n) { last = 1000 * n + last % 1000 + 1; }
static void (*volatile by)(int) = handler;
__attribute__((noinline)) static long plain(long x) { return 5 * x + 1; }
static long (*volatile count)(long) = plain;
__attribute__((noinline)) static long counted(long x) { return count(x) ^ 1; }
__attribute__((noinline)) static void note(int i, long value)
{
	printf("note(i=%d, value=%ld)\n", i, value);
}
int main(void)
{
	for (int i = 0; i < 700; i++) {
		by(i & 7);
		note(i, counted(last));
		usleep(1000);
	}
	signal(SIGUSR1, handler);
	for (int i = 700; i < 710; i++) {
		raise(SIGUSR1);
		note(i, last);
	}
	char *code = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	memcpy(code, "\x48\x8d\x44\x3f\x03\xc3", 6); /* lea 3(%rdi,%rdi),%rax; ret */
	count = (long (*)(long))code;
	for (int i = 710; i < 720; i++)
		note(i, counted(i));
	return 0;
}
C
${CC:-cc} -O1 -g -w -o becomes becomes.c || skip 'no compiler'
"$PUGMARK" record -q --level values --check-every 64 -o becomes.64 -- ./becomes >printed 2>err
claim 'a function that becomes a handler: the program runs' is $? 0
"$PUGMARK" values becomes.64 note --limit 1000 2>>err | sed -nE 's/^1 [0-9]+ (note\([^)]*\)).*/\1/p' >told
claim 'what it was called with before is as printed' same <(head -n 700 printed) <(head -n 700 told)
claim 'no value that is called exact is another one' is "$(grep -v '~' told | grep -vxFf printed)" ''
"$PUGMARK" verify becomes.64 >certificate
claim 'what code of no file gave that others may write is a gap where its end is watched no longer' \
	grep -qE 'values of task 1: .*code of no file.* watched no longer' certificate

# Code of no file that is there from the beginning: ends of calls out are watched on.
cat >jits.c <<'C'
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
__attribute__((noinline)) static void note(int i, long value) { printf("note(i=%d, value=%ld)\n", i, value); }
int main(void)
{
	char *code = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	memcpy(code, "\x48\x8d\x44\x3f\x03\xc3", 6);
	mprotect(code, 4096, PROT_READ | PROT_EXEC);
	for (int i = 0; i < 700; i++) {
		note(i, ((long (*)(long))code)(i));
		usleep(1000);
	}
	return 0;
}
C
${CC:-cc} -O1 -g -w -o jits jits.c || skip 'no compiler'
"$PUGMARK" record -q --level values --check-every 64 -o jits.64 -- ./jits >printed 2>err
"$PUGMARK" values jits.64 note --limit 1000 2>>err | sed -nE 's/^1 [0-9]+ (note\([^)]*\)).*/\1/p' >told
claim 'all results of code of no file are there, and known' same printed told

# A token of a regular expression has bits beside others that nobody has set: libc's jumps on them.
cat >searches.c <<'C'
#include <regex.h>
#include <stdio.h>
#include <string.h>
__attribute__((noinline)) static void note(int i, int value) { printf("note(i=%d, value=%d)\n", i, value); }
int main(void)
{
	const char *lines[] = {"some of it", "none", "much of all of it", "off"};
	const char *asked[] = {"of", "[m-o]+u*", "f$", "(a|i)(t|l+)"};
	for (int k = 0; k < 4; k++) {
		regex_t r;
		regmatch_t at[4];
		if (regcomp(&r, asked[k], REG_EXTENDED))
			return 1;
		for (int i = 0; i < 4; i++)
			if (!regexec(&r, lines[i], 4, at, 0))
				note(10 * k + i, 100 * at[0].rm_so + at[0].rm_eo);
		regfree(&r);
	}
	return 0;
}
C
${CC:-cc} -O1 -g -w -o searches searches.c || skip 'no compiler'
"$PUGMARK" record -q --level values -o searches.rec -- ./searches >printed 2>err
claim 'regular expressions: the program runs' is $? 0
"$PUGMARK" values searches.rec note >got 2>>err
sed -nE 's/^1 [0-9]+ (note\([^)]*\)).*/\1/p' got | tr -d '~' >told
claim 'regular expressions: arguments are as printed' same printed told
"$PUGMARK" verify searches.rec >certificate
claim 'regular expressions: up to its end' grep -q 'values of task 1: .* up to its end' certificate
conclude
