#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# no_frames.sh: stripped static programs without call frame information of their own: functions that
# nothing names but an instruction that takes their address, and code that only a jump table leads to.
# Plans of modes casper and best tell what that of mode full tells, without a gap. A table that lies
# among such code, and that code points to as well, is not taken for code.
set -u
. "$(dirname "$0")/../support/claims.sh"
needs_recording
needs "${CC:-cc}" strip nm
work_in_own_folder

cat >program.c <<'C'
#define FN __attribute__((noipa)) static
int table_word(int i);
__asm__(".text\n.globl table_word\ntable_word:\n"
	"lea among_code(%rip), %rax\nmovslq %edi, %rdi\nmov (%rax,%rdi,8), %rax\nret\n"
	".globl among_code\namong_code:\n"
	".quad 0x55c3c3c3905548c3, 0x0f05c35389e5c3e8, 0xc39090c3e8ff1020, 0x4889e5c35b5d90c3\n");
FN int leaf(int i) { return i ^ 9; }
FN int hidden_leaf(int i) { return leaf(i) + 1; }
FN int hidden(int i) { return i > 2 ? hidden_leaf(i) : leaf(i) - 1; }
FN int apply(int (*f)(int), int i) { return f(i) + leaf(i); }
FN int by_number(int i)
{
	switch (i) {
	case 0: return leaf(1);
	case 1: return apply(leaf, 2) + leaf(3);
	case 2: leaf(4); return hidden_leaf(5);
	case 3: return leaf(leaf(6));
	case 4: hidden_leaf(1); return 7;
	case 5: return leaf(2) + leaf(3);
	case 6: return hidden_leaf(leaf(8)) * 3;
	case 7: leaf(1); leaf(2); return leaf(9);
	}
	return 0;
}
int main(void)
{
	int n = 0;
	for (int i = 0; i < 200; i++) {
		n += apply(hidden, i % 5) + by_number(i % 9);
		n += table_word(i % 4);
	}
	return n == 12345;
}
C
builds=0
for flags in '-Os -fpie -static-pie' '-O1 -no-pie -fno-pie -static' '-Os -fpie -static'; do
	# shellcheck disable=SC2086
	"${CC:-cc}" -g0 $flags -fno-asynchronous-unwind-tables -fno-unwind-tables -fno-exceptions \
		-o whole program.c 2>err || continue
	builds=$((builds + 1))
	read -r table _ < <(nm whole | grep ' among_code$')
	strip -o program whole
	record_in_three_modes --ring 64 -- ./program
	claim "$flags: recording works" is $? 0
	tell_the_same "$flags"
	claim "$flags: all calls are told" [ "$(grep -c ' call ' 0)" -gt 1500 ]
	"$PUGMARK" plan --mode full --list program >list
	claim "$flags: no probe in the table" awk -v from="$table" 'function value(hex, n, i) {
			for (i = 1; i <= length(hex); i++)
				n = n * 16 + index("0123456789abcdef", substr(hex, i, 1)) - 1
			return n
		}
		$1 ~ /^[0-9a-f]+$/ && value($1) >= value(from) && value($1) < value(from) + 32 {
			print; bad = 1
		}
		END { exit bad || NR < 100 }' list
	echo "$flags: $(wc -l <0) events, the same by three plans"
done
[ $builds -gt 0 ] || skip "no static program can be built: $(head -n 1 err)"
conclude
