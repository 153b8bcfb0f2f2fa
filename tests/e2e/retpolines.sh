#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# retpolines.sh: a program whose indirect calls, and returns, go by calls of thunks that replace their return address or
# take it off (retpolines): three modes, and patches, tell each call that the same program without them makes, and no gap.
set -u
. "$(dirname "$0")/../support/claims.sh"
needs_recording
needs "${CC:-cc}" nm
work_in_own_folder

cat >program.c <<'C'
#include <stdio.h>
#include <stdlib.h>
#include <setjmp.h>
#define FN __attribute__((noinline)) static
FN int leaf(int i) { return i ^ 5; }
FN int one(int i) { return leaf(i) + 1; }
FN int two(int i) { return leaf(i) + leaf(i + 1); }
FN int three(int i) { return i & 1 ? leaf(i) : one(i); }
static int (*volatile table[])(int) = {leaf, one, two, three};
FN int apply(int (*f)(int), int i) { return f(i) + leaf(i); }
FN int by_number(int i)
{
	switch (i) {
	case 0: return leaf(1);
	case 1: return apply(leaf, 2) + leaf(3);
	case 2: leaf(4); return one(5);
	case 3: return leaf(leaf(6));
	case 4: one(1); return 7;
	case 5: return leaf(2) + leaf(3);
	case 6: return one(leaf(8)) * 3;
	}
	return 0;
}
static jmp_buf back;
FN int deeper(int n) { if (!n) longjmp(back, 1); return deeper(n - 1) + leaf(n); }
FN int tried(int i) { if (setjmp(back)) return leaf(i); return i % 7 == 3 ? deeper(i % 4) : three(i); }
FN int compare(const void *a, const void *b) { return leaf(*(int *)a) - leaf(*(int *)b); }
int main(void)
{
	int n = 0, a[9];
	for (int i = 0; i < 60; i++) {
		n += table[i % 4](i) + by_number(i % 8) + tried(i);
		for (int k = 0; k < 9; k++)
			a[k] = k * 7 % (i + 2);
		if (i % 10 == 0)
			qsort(a, 9, sizeof *a, compare);
	}
	printf("%d\n", n);
	return 0;
}
C
calls_of_leaf() { # PROGRAM MODE: how many calls of leaf() the trace tells
	local leaf
	leaf=$(nm "$1" | awk '$3 == "leaf" { sub(/^0+/, "", $1); print $1 }')
	"$PUGMARK" dump --format text "$1.$2" | grep -cE " (call|tail) $1 [0-9a-f]+ $1:$leaf\$"
}
tried=0
build() { # NAME COMPILER FLAG...
	"${@:2}" -O1 -fno-inline -o "$1" program.c 2>err && "$2" -O1 -fno-inline -o plain program.c 2>err || return
	tried=$((tried + 1))
	./plain >expected
	"$PUGMARK" record -q -o plain.full --mode full -- ./plain >printed 2>err
	for mode in full casper best; do
		"$PUGMARK" record -q -o "$1.$mode" --mode $mode -- "./$1" >printed 2>err
		claim "$1 $mode: no gap" "$PUGMARK" verify "$1.$mode"
		claim "$1 $mode: it prints what it prints without thunks" same expected printed
		claim "$1 $mode: each call of leaf()" is "$(calls_of_leaf "$1" $mode)" "$(calls_of_leaf plain full)"
	done
	"$PUGMARK" record -q -o "$1.patch" --carrier patch --mode full -- "./$1" >printed 2>err
	claim "$1 patched: no gap" "$PUGMARK" verify "$1.patch"
	claim "$1 patched: it prints what it prints without thunks" same expected printed
	claim "$1 patched: each call of leaf()" is "$(calls_of_leaf "$1" patch)" "$(calls_of_leaf plain full)"
}
build thunks gcc -mindirect-branch=thunk
build register_thunks gcc -mindirect-branch=thunk -mindirect-branch-register
build return_thunks gcc -mindirect-branch=thunk -mfunction-return=thunk
build clangs clang -mretpoline
# Those that stand where they are used, with call frame information that goes wrong there, and without.
inline=-mindirect-branch=thunk-inline
build inline_thunks gcc $inline
build inline_return_thunks gcc -mfunction-return=thunk-inline
build inline_both gcc $inline -mfunction-return=thunk-inline
build inline_imports gcc $inline -fno-plt # setjmp() and longjmp() as well
build inline_undescribed gcc $inline -mfunction-return=thunk-inline -fno-asynchronous-unwind-tables
[ $tried -gt 0 ] || skip 'no compiler that makes them'
echo "$tried ways to compile it"
conclude
