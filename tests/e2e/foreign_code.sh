#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# foreign_code.sh: a program with code in its file that no compiler of C has made, as V8's built-in
# functions are in node's: a hundred functions without call frame information, whose frames are as large as
# they are told, and which jump into one another to addresses that they reckon. It is taken for another
# module's, which is said: each of its callbacks is one entry, in order, what C calls is told, and there is no
# gap. A few functions that an assembler has made are traced as ever.
set -u
. "$(dirname "$0")/../support/claims.sh"
needs cc
needs_recording
work_in_own_folder

cat >main.c <<'C'
#include <stdio.h>
extern int (*const enters[])(int (*f)(int), int n);
extern const int n_enters;
#define FN __attribute__((noipa))
FN int called(int x) { return x * 3 + 1; }
FN int other(int x) { return x * 5 + 1; }
FN int own(int x) { return called(x) ^ 1; }
int main(void)
{
	int s = 0;
	for (int i = 0; i < 300; i++) {
		s += enters[i % n_enters](i % 2 ? called : other, i % 7);
		s += own(i);
	}
	return printf("%d\n", s) < 0;
}
C
assemble() { # HOW MANY
	echo '	.text'
	for ((i = 0; i < $1; i++)); do
		# enterI pushes n words and jumps to takeI, which calls back and takes them off again.
		cat <<-S
			.type enter$i, @function
		enter$i: push %rbx
			mov %rdi, %rbx
			mov %rsi, %rcx
			lea 1f(%rip), %rax
			mov %rsi, %rdx
		2:	test %rdx, %rdx
			je 3f
			push %rdx
			dec %rdx
			jmp 2b
		3:	push %rax
			lea enter$i(%rip), %rax
			add \$take$(((i + 1) % $1)) - enter$i, %rax
			jmp *%rax
		1:	pop %rbx
			ret
			.size enter$i, .-enter$i
			.type take$i, @function
		take$i:	push %r12
			push %rcx
			mov %rsp, %r12
			mov %rcx, %rdi
			and \$-16, %rsp
			call *%rbx
			mov %r12, %rsp
			pop %rcx
			pop %r12
			pop %rdx
			lea (%rsp,%rcx,8), %rsp
			push %rdx
			ret
			.size take$i, .-take$i
		S
	done
	printf '\t.section .data.rel.ro,"aw"\n\t.globl enters\nenters:\n'
	for ((i = 0; i < $1; i++)); do
		echo "	.quad enter$i"
	done
	printf '\t.section .rodata\n\t.globl n_enters\nn_enters: .int %d\n' "$1"
	echo '	.section .note.GNU-stack,"",@progbits'
}
for n in 50 3; do
	assemble $n >code$n.s
	cc -O1 -o program$n main.c code$n.s || skip 'no compiler for the program'
done

run 0 record -o rec -- ./program50
claim 'it is said' grep -Eq 'note: .*: 1[0-9]{2} functions have no call frame information' err
claim 'the program is not changed' is "$(cat out)" "$(./program50)"
run 0 verify rec
claim 'no gap' grep -q '^complete:' out
address() { nm program50 | awk -v name="$1" '$3 == name { sub(/^0+/, "", $1); print $1 }'; }
"$PUGMARK" dump rec >dump
claim 'each callback is an entry' is "$(grep -c "enter program50 \($(address called)\|$(address other)\) callback" dump)" 300
claim 'in their order' is "$(grep "enter program50 .* callback" dump | awk -v a="$(address called)" -v b="$(address other)" \
	'$4 == a || $4 == b { printf "%s", $4 == a }')" "$(printf '01%.0s' {1..150})"
claim 'and what C calls is a call' is "$(grep -c " call program50 .* program50:$(address own)$" dump)" 300
claim 'foreign code itself is not told' is "$("$PUGMARK" dump --format ndjson rec | grep -c '"function":"\(take\|enter\)[0-9]')" 0

run 0 record -o few -- ./program3
claim 'of a few functions nothing is said' eval '! grep -q "no call frame information" err'
claim 'and they are traced' [ "$("$PUGMARK" dump --format ndjson few | grep -c '"function":"enter[0-9]')" -ge 100 ]
conclude
