#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# values_memory.sh: a replay that has no memory left, wherever that is, is an error: no call, access or
# result is left out or is another moment's without a word.
set -u
. "$(dirname "$0")/../support/claims.sh"
needs_recording
needs cc
! grep -q __asan_init "$PUGMARK" || skip 'the sanitizer has its own malloc()'
work_in_own_folder

# Of the allocations of at least a page those behind the first DENY fail; all are counted.
cat >denied.c <<'C'
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
void *__libc_malloc(size_t), *__libc_calloc(size_t, size_t), *__libc_realloc(void *, size_t), *__libc_memalign(size_t, size_t);
static long n;
static int denied(size_t size)
{
	const char *most = getenv("DENY");
	if (size < 4000 || ++n <= (most ? atol(most) : 1L << 40))
		return 0;
	errno = ENOMEM;
	return 1;
}
void *malloc(size_t size) { return denied(size) ? 0 : __libc_malloc(size); }
void *calloc(size_t k, size_t size) { return denied(k * size) ? 0 : __libc_calloc(k, size); }
void *realloc(void *old, size_t size) { return denied(size) ? 0 : __libc_realloc(old, size); }
void *aligned_alloc(size_t to, size_t size) { return denied(size) ? 0 : __libc_memalign(to, size); }
__attribute__((destructor)) static void tell(void) { dprintf(2, "\nallocated %ld\n", n); }
C
cat >spread.c <<'C'
#include <stdlib.h>
struct sum { int v; } *p;
__attribute__((noinline)) int add(int i) { p->v += i; return p->v; }
int main(void)
{
	char *pages = calloc(600, 4096);
	for (int i = 0; i < 30; i++) {
		for (int k = 0; k < 20; k++)
			pages[(i * 20 + k) * 4096 + 1] = i;
		if (i % 10 == 0)
			p = calloc(1, sizeof(*p));
		add(i);
	}
	return 0;
}
C
cc -O2 -w -shared -fPIC -o denied.so denied.c && cc -O1 -g -o spread spread.c || skip 'no compiler for the programs'
"$PUGMARK" record -q --level values -o rec -- ./spread 2>err
for what in 'values rec add' 'values rec --watch p->v' 'replay --values rec'; do
	# shellcheck disable=SC2086
	LD_PRELOAD=$PWD/denied.so "$PUGMARK" $what >all 2>err
	claim "$what: with memory all is there" is "$?, $(grep -c ' add[( ]' all | sed 's/^[3-9]0$/enough/')" '0, enough'
	n=$(sed -n 's/^allocated //p' err)
	claim "$what: it takes some" test "$n" -gt 600
	for part in 12 20 56 70 80 90 97; do
		# shellcheck disable=SC2086
		DENY=$((n * part / 100)) LD_PRELOAD=$PWD/denied.so "$PUGMARK" $what >got 2>err
		claim "$what: with $part % of it that is an error" is $? 1
		claim "$what: with $part % of it the error is said" grep -q 'annot allocate memory\|out of memory' err
	done
done

# What the lines of a slice have computed is executed once more at the end.
why="why rec add --time 29"
# shellcheck disable=SC2086
LD_PRELOAD=$PWD/denied.so "$PUGMARK" $why >all 2>err
claim "$why: with memory values are there" is "$?, $(grep -c ' = 0x' all | sed 's/^[1-9][0-9]*$/some/')" '0, some'
n=$(sed -n 's/^allocated //p' err)
for part in 30 60 75 90 95 97 98 99; do
	# shellcheck disable=SC2086
	DENY=$((n * part / 100)) LD_PRELOAD=$PWD/denied.so "$PUGMARK" $why >got 2>err
	claim "$why: with $part % of it all is there, or an error" test $? = 1 -o "$(diff all got | wc -l)" = 0
done

# gdb is told of what fails: to the end, a step back, a search back.
packets() { # TEXT...
	local text i sum
	for text; do
		sum=0
		for ((i = 0; i < ${#text}; i++)); do
			printf -v c %d "'${text:i:1}"
			sum=$(((sum + c) % 256))
		done
		printf '+$%s#%02x' "$text" $sum
	done
	printf +
}
answers() { # of the moves
	tr '$' '\n' | grep -aoE '^(T05|E)[^#]*'
}
packets 'Z0,1,1' c bs bc k >asked
LD_PRELOAD=$PWD/denied.so "$PUGMARK" gdb --serve rec <asked 2>err | answers >all
claim 'gdb: with memory it comes to the end, and back' \
	is "$(tr '\n' ' ' <all)" 'T05replaylog:end;thread:1; T05thread:1; T05replaylog:begin;thread:1; '
n=$(sed -n 's/^allocated //p' err)
for part in 56 70 80 90 97; do
	DENY=$((n * part / 100)) LD_PRELOAD=$PWD/denied.so "$PUGMARK" gdb --serve rec <asked 2>err | answers >got
	sed 's/^E.*/E/' got >short
	paste all short >both
	claim "gdb: with $part % of it each move is as it was, or an error" \
		is "$(awk '$1 != $2 && $2 != "E"' both | wc -l) $(wc -l <short)" '0 3'
	claim "gdb: with $part % of it one is an error" grep -q '^E.memory is out' got
done
conclude
