#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# jumping_code.sh: code of a compiler whose functions have a stack of their own, which rbp points to, as GHC's have: they
# have no call frame information, are entered and left by jumps, and lie behind words of data. A function in C
# enters the first of them by a jump, with its frame on the stack, of which its call frame information tells by an
# expression for rsp; the last jumps back behind that. Such code is taken for another module's, which is
# said: what it calls in C is entered from it, in order, and there is no gap. So it is where its functions are
# exported by name, and where what lies between them could be code as well; a table of stubs in the same program, which are exported and leave by jumps too, is traced.
set -u
. "$(dirname "$0")/../support/claims.sh"
needs cc
needs_recording
work_in_own_folder

cat >main.c <<'C'
#include <stdio.h>
extern const void *const codes[];
extern const int n_codes;
extern int enter(const void *code, void **stack, int n);
extern void *const stops_at;
#define FN __attribute__((noipa))
FN int called(int x) { return x * 3 + 1; }
FN int other(int x) { return x * 5 + 1; }
FN int own(int x) { return called(x) ^ 1; }
FN int deeper(const void *code, int n)
{
	void *stack[64];
	stack[63] = stops_at;
	return enter(code, stack + 63, n) + own(n);
}
FN int comes_in(int n) { return n % 3 ? n : deeper(codes[1], n); }
int main(void)
{
	int s = 0;
	for (int i = 0; i < 300; i++)
		s += deeper(codes[i % n_codes], i);
	return printf("%d\n", s) < 0;
}
C
assemble() { # HOW MANY
	# 16440 is what enter's frame takes, with its return address.
	cat <<-'S'
		.text
		.globl enter
		.type enter, @function
	enter:	.cfi_startproc
		sub $0x30, %rsp
		mov %rsp, %rax
		sub $0x4000, %rsp
		mov %rbx, (%rax)
		mov %rbp, 8(%rax)
		mov %r12, 16(%rax)
		.cfi_def_cfa rsp, 0
		.cfi_offset rbx, 0x4000
		.cfi_escape 0x16, 7, 4, 0x77, 0xb8, 0x80, 0x01
		mov %rsi, %rbp
		mov %edx, %r12d
		mov %rdi, %rax
		xor %ebx, %ebx
		jmp *%rax
	back:	mov %rbx, %rax
		add $0x4000, %rsp
		mov (%rsp), %rbx
		mov 8(%rsp), %rbp
		mov 16(%rsp), %r12
		add $0x30, %rsp
		ret
		.cfi_endproc
		.size enter, .-enter
		.balign 8
		.quad 0x1e
	stop:	jmp back
	S
	local calls=(called other comes_in)
	for ((i = 0; i < $1; i++)); do
		# codeI leaves contI on its stack and goes on, by a pointer or, where r12 is odd, directly.
		cat <<-S
			.balign 8
			.quad 0x100000003, 0xe
		code$i:	lea cont$i(%rip), %rax
			sub \$8, %rbp
			mov %rax, (%rbp)
			lea codes(%rip), %rax
			test \$1, %r12b
			jne cont$i
			$( ((i)) && echo "jmp *$((i / 2 * 8))(%rax)" || echo 'jmp *(%rbp)')
			.balign 8
			.quad 0x1e
		cont$i:	add \$8, %rbp
			sub \$8, %rsp
			mov %r12d, %edi
			call ${calls[i % 3]}
			add \$8, %rsp
			add %eax, %ebx
			jmp *(%rbp)
		S
	done
	printf '\t.section .data.rel.ro,"aw"\n\t.globl codes, stops_at\nstops_at: .quad stop\ncodes:\n'
	for ((i = 0; i < $1; i++)); do
		echo "	.quad code$i"
	done
	printf '\t.section .rodata\n\t.globl n_codes\nn_codes: .int %d\n' "$1"
	echo '	.section .note.GNU-stack,"",@progbits'
}
assemble 80 >code.s
cc -O1 -o named main.c code.s || skip 'no compiler for the program'
strip -o program named

run 0 record -o rec -- ./program
claim 'it is said' grep -Eq 'note: .*: 82 functions have no call frame information' err
claim 'the program is not changed' is "$(cat out)" "$(./program)"
run 0 verify rec
claim 'no gap' grep -q '^complete:' out
address() { nm named | awk -v name="$1" '$3 == name { sub(/^0+/, "", $1); print $1 }'; }
"$PUGMARK" dump rec >dump

# What runs, as the assembler's text says.
cat >follow.awk <<'A'
function go(code, n,    c) {
	for (c = code; ; c = int(c / 2)) {
		from[depth, ++held[depth]] = c
		if (n % 2 || !c)
			break
	}
	while (held[depth]) {
		c = from[depth, held[depth]--]
		print c % 3 == 0 ? "called" : c % 3 == 1 ? "other" : "comes_in"
		if (c % 3 == 2 && n % 3 == 0) {
			depth++
			go(1, n)
			depth--
		}
	}
}
BEGIN {
	depth = 0
	for (i = 0; i < 300; i++)
		go(i % 80, i)
}
A
awk -f follow.awk >expected
told() { # the callbacks, by name
	awk -v called="$(address called)" -v other="$(address other)" -v comes_in="$(address comes_in)" '
		$2 == "enter" && $5 == "callback" && $4 == called { print "called" }
		$2 == "enter" && $5 == "callback" && $4 == other { print "other" }
		$2 == "enter" && $5 == "callback" && $4 == comes_in { print "comes_in" }' "$1"
}
told dump >callbacks
claim 'some hundred callbacks' [ "$(wc -l <expected)" -gt 500 ]
claim 'each is an entry, in order' cmp expected callbacks
claim 'and what C calls is a call' is "$(grep -c " call program .* program:$(address own)$" dump)" \
	"$(grep -c " call program .* program:$(address enter)$" dump)"

run 0 record -q -o quiet -N called -- ./named
claim 'nothing is said with -q' [ ! -s err ]
run 0 verify quiet
claim 'but the recording says it, also of a scope' grep -Eq ': 82 functions have no call frame information' out
run 0 plan program
claim 'a plan does' grep -Eq '^  functions +[0-9]+ of [0-9]+: 82 are taken for another module' out
run 0 plan -N enter named
claim 'beside its scope' grep -Eq '^  functions +[0-9]+ of [0-9]+: the scope; 82 are taken for another module' out
run 0 plan --format json program
claim 'in JSON as well' grep -q '"foreign":82,' out

for mode in full casper; do
	run 0 record -q -o rec.$mode --mode $mode -- ./program
	run 0 verify rec.$mode
	claim "no gap in mode $mode" grep -q '^complete:' out
	"$PUGMARK" dump rec.$mode >dump.$mode
	claim "and the same in mode $mode" cmp <(cut -d' ' -f2- dump) <(cut -d' ' -f2- dump.$mode)
done

# The same with each code exported, words before it that read as instructions, data that leads to where code comes
# back to, and a table of 80 stubs, which jump on through a slot.
{
	sed 's/\.quad 0x1e/.quad 0xc3c3c3c3c3c38950/' code.s
	printf '\t.globl back\n\t.section .data.rel.ro,"aw"\n\t.quad back\n'
	for ((i = 0; i < 80; i++)); do
		printf '\t.globl code%d\n\t.type code%d, @function\n' $i $i
	done
} >exported.s
stubs() {
	echo '	.text'
	for ((i = 0; i < 80; i++)); do
		cat <<-S
			.globl stub$i
			.type stub$i, @function
		stub$i:	mov slots+$((i * 8))(%rip), %rax
			jmp *%rax
			.size stub$i, .-stub$i
			.balign 16
		S
	done
	printf '\t.section .data.rel.ro,"aw"\n\t.balign 8\n\t.globl stubs\nslots:\n'
	for ((i = 0; i < 80; i++)); do
		echo "	.quad $( ((i % 2)) && echo called || echo other)"
	done
	echo 'stubs:'
	for ((i = 0; i < 80; i++)); do
		echo "	.quad stub$i"
	done
	echo '	.section .note.GNU-stack,"",@progbits'
}
stubs >stubs.s
{
	echo 'extern int (*const stubs[])(int);'
	sed 's/s += deeper/s += stubs[i % 80](i) + deeper/' main.c
} >with_stubs.c
cc -O1 -rdynamic -o named stubs.s with_stubs.c exported.s || skip 'no compiler for the program'
strip -o program named
claim 'the codes and the stubs are exported' is "$(nm -D program | grep -c ' T \(code\|stub\)[0-9]')" 160
run 0 record -o rec.exported -- ./program
claim 'exported code is taken for foreign as well' grep -Eq 'note: .*: 82 functions have no call frame information' err
claim 'what lies between is none that may be traced' eval '! grep -q "code of no known function" err'
claim 'the program with it is not changed' is "$(cat out)" "$(./program)"
run 0 verify rec.exported
claim 'no gap with it' grep -q '^complete:' out
"$PUGMARK" dump rec.exported >dump
told dump >callbacks
claim 'its callbacks are told, in order' cmp expected callbacks
"$PUGMARK" dump --format ndjson rec.exported >dump
claim 'a table of exported stubs is traced' is "$(grep -c '"function":"stub[0-9]' dump)" 300
claim 'exported code is not' is "$(grep -c '"function":"code[0-9]' dump)" 0
for mode in full casper; do
	run 0 record -q -o rec.exported.$mode --mode $mode -- ./program
	run 0 verify rec.exported.$mode
	claim "no gap with it in mode $mode" grep -q '^complete:' out
done
# Functions in C that end by calling another one, without call frame information: they keep to its convention.
{
	echo '#include <stdio.h>'
	echo '#define FN __attribute__((noipa)) static'
	for i in {0..29}; do
		echo "FN int work$i(int x) { return x * $i ^ 3; }"
	done
	echo 'int (*volatile table[])(int) = {'
	for i in {0..29}; do
		echo "work$i,"
	done
	echo '};'
	for i in {0..89}; do
		echo "FN int on$i(int x) { return table[$i % 30](x + $i); }"
	done
	printf 'int main(void) { int s = 0;'
	for i in {0..89}; do
		printf 's += on%d(s);' "$i"
	done
	echo 'return printf("%d\n", s) < 0; }'
} >forwards.c
cc -O2 -fno-asynchronous-unwind-tables -fno-unwind-tables -o forwards forwards.c || skip 'no compiler for the program'
run 0 record -o rec.forwards -- ./forwards
claim 'functions in C that jump on are none of another module' eval '! grep "no call frame information" err'
"$PUGMARK" dump --format ndjson rec.forwards >dump
claim 'what they jump to is told, too, with its return' is "$(grep -c '"function":"on[0-9]' dump) $(grep -c '"function":"work[0-9]' dump)" '90 180'
conclude
