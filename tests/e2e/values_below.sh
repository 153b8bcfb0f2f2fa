#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# values_below.sh: what functions of glibc that have variants leave on the stack below their caller. The
# replay executes another variant than the processor did, or a model, so it is not what that leaves there:
# nothing that is another one is called exact.
set -u
. "$(dirname "$0")/../support/claims.sh"
needs_recording
needs cc od
work_in_own_folder

cat >below.c <<'C'
#define _GNU_SOURCE
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>
#include <wchar.h>
#define FN __attribute__((noipa))
enum { WORDS = 100 };
static unsigned long left[WORDS];
static char text[400], other[400];
static wchar_t wide[200];
static unsigned long all[5000];
static int n;
/* What is not known is not looked at, so that nothing is decided by it. */
FN void note(int number, unsigned long word) { all[number] = word; }
/* A pattern below the stack pointer, and what is there later. */
FN void fill(void)
{
	__asm__ volatile("lea -800(%%rsp), %%rdi\n\tmov $100, %%ecx\n\tmov $0x5a5a5a5a5a, %%rax\n\trep stosq"
			 ::: "rdi", "rcx", "rax", "memory");
}
FN void look(void)
{
	__asm__ volatile("lea -800(%%rsp), %%rsi\n\tlea %0, %%rdi\n\tmov $100, %%ecx\n\trep movsq"
			 : "=m"(left) :: "rdi", "rsi", "rcx", "memory");
}
#define TRY(name, ...)                                                                             \
	do {                                                                                       \
		for (int twice = 0; twice < 2; twice++) { /* once the linker has bound it */       \
			fill();                                                                    \
			keep += (unsigned long)(__VA_ARGS__) != 0;                                 \
			look();                                                                    \
		}                                                                                  \
		for (int i = 0; i < WORDS; i++)                                                    \
			note(n++, left[i]);                                                        \
	} while (0)
int main(void)
{
	volatile unsigned long keep = 0;
	for (int i = 0; i < 399; i++)
		text[i] = 'a' + i * i % 23, other[i] = 'A' + i * i % 23;
	for (int i = 0; i < 199; i++)
		wide[i] = text[i];
	fill(), look();
	TRY("strstr", strstr(text, "qxz"));
	TRY("strstr", strstr(text, text + 150));
	TRY("strcasecmp", strcasecmp(text, other) + 1);
	TRY("strncasecmp", strncasecmp(text, other, 300) + 1);
	TRY("strcspn", strcspn(text, "z9"));
	TRY("strspn", strspn(text, "abcdefghijk"));
	TRY("strpbrk", strpbrk(text, "9z"));
	TRY("strlen", strlen(text));
	TRY("strncat", strncat(other, text, 0));
	TRY("memrchr", memrchr(text, 'x', 399));
	TRY("wcsncmp", wcsncmp(wide, wide + 1, 100));
	TRY("wcsrchr", wcsrchr(wide, L'q'));
	TRY("wcscpy", wcscpy(wide + 100, wide + 150));
	TRY("stpncpy", stpncpy(other, text, 300));
	return write(1, all, n * sizeof(*all)) != n * sizeof(*all);
}
C
${CC:-cc} -O1 -fno-builtin -g -w -o below below.c || exit 1
"$PUGMARK" record -q --level values -o rec -- ./below >printed 2>err
claim 'it ends as it does alone' is $? 0
"$PUGMARK" values rec note --limit 100000 2>>err |
	sed -nE 's/^1 [0-9]+ note\(number=([0-9]+), word=(.*)\).*/\1 \2/p' >told
od -An -v -w8 -tu8 printed | awk '{ print NR - 1, $1 }' >words
claim 'all is told' is "$(wc -l <told)" "$(wc -l <words)"
claim 'what leaves nothing there is known' test "$(grep -vc '[~?]' told)" -ge 400
claim 'and nothing that is called exact is another number' is "$(grep -v '[~?]' told | grep -vxFf words | head -n 5)" ''
conclude
