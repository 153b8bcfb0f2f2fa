#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# values_stack.sh: a stack that grows while it is recorded, beyond what the process had of it at the start, has exact
# values; and one that has no room left ends there in the replay as well: the program itself notes in a file how deep
# it has come.
set -u
. "$(dirname "$0")/../support/claims.sh"
needs_recording
work_in_own_folder

cat >deep.c <<'C'
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
static volatile int *come;
__attribute__((noinline)) static int deep(int n)
{
	*come = n;
	volatile char here[3000];
	here[0] = (char)n;
	return n > 1 ? deep(n - 1) + here[0] : here[0];
}
__attribute__((noinline)) static int wide(int n)
{
	volatile char here[1 << 20];
	here[n] = 3;
	return here[n] + n;
}
int main(int argc, char **argv)
{
	int fd = open("come", O_RDWR | O_CREAT | O_TRUNC, 0600);
	if (argc != 2 || ftruncate(fd, 4096))
		return 9;
	come = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	printf("%d\n", wide(100));
	printf("%d\n", deep(atoi(argv[1])));
	return 0;
}
C
"${CC:-cc}" -O1 -g -fno-optimize-sibling-calls -o deep deep.c || exit 1
record() { # NAME DEPTH OPTION...
	"$PUGMARK" record --level values -q -o "$1" "${@:3}" -- ./deep "$2" >printed 2>err
}
all_exact() { "$PUGMARK" values "$1" | grep -q ', 0 with something assumed, 0 unknown; up to its end'; }
last_depth() { "$PUGMARK" values "$1" deep --limit 100000 2>/dev/null | sed -n 's/.*deep(n=\([0-9]*\)).*/\1/p' | tail -n 1; }
noted_depth() { od -An -td4 -N4 come | tr -d ' '; }

claim 'a program that uses 3 MB of its stack is recorded' record used 1000
claim 'and all of it is exact' all_exact used
claim 'down to its deepest call' is "$(last_depth used)" 1
claim 'with patched system calls too' record patched 1000 --carrier patch
claim 'all of it is exact' all_exact patched

ulimit -s 2048
claim 'with less room it dies of its stack, as without a recorder' eval '! record over 100000'
claim 'which is said' grep -q 'died of SIGSEGV' err
depth=$(noted_depth)
claim 'the replay ends in the same call' eval 'told=$(last_depth over); [ "$told" = "$depth" ] || [ "$told" = $((depth - 1)) ]'
conclude
