#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# exchanged.sh: a program is not harmed by probes on what the kernel takes for a nop and is none: opcode
# 0x90 with REX.B, an exchange with r8. Functions begin with it under each combination of prefixes, as
# Go's gcWriteBarrierR8 does, and the program prints what came out of them: recorded, it prints the
# same, in each mode.
set -u
. "$(dirname "$0")/../support/claims.sh"
needs_recording
work_in_own_folder

# Before its call, a function has nothing but the exchange.
cat >exchange.s <<'S'
	.section .note.GNU-stack, "", @progbits
	.text
	.type silent, @function
silent:	.cfi_startproc
	ret
	.cfi_endproc
	.size silent, .-silent
	.macro exchange name, bytes:vararg
	.globl \name
	.type \name, @function
\name:	.cfi_startproc
	.byte \bytes, 0x90
	call silent
	ret
	.cfi_endproc
	.size \name, .-\name
	.endm
S
forms='49 41 43 45 47 4b 4d 4f 66,41 66,49 f3,41 f3,49 f2,49 f3,4d 64,49'
for form in $forms; do echo "	exchange f${form/,/_} 0x${form/,/,0x}"; done >>exchange.s
{
	echo '#include <stdio.h>'
	for form in $forms; do echo "void f${form/,/_}(void);"; done
	echo 'static const struct { const char *name; void (*f)(void); } forms[] = {'
	for form in $forms; do echo "{\"$form\", f${form/,/_}},"; done
	cat <<'C'
};
int main(void)
{
	for (unsigned i = 0; i < sizeof(forms) / sizeof(*forms); i++) {
		register unsigned long rax __asm__("rax") = 0xa0a1a2a3a4a5a6a7;
		register unsigned long r8 __asm__("r8") = 0xb0b1b2b3b4b5b6b7;
		__asm__ volatile("call *%2" : "+r"(rax), "+r"(r8) : "r"(forms[i].f) : "memory", "cc");
		unsigned long a = rax, b = r8;
		printf("%s %lx %lx\n", forms[i].name, a, b);
	}
}
C
} >main.c
${CC:-cc} -O1 -o exchange main.c exchange.s 2>cc.err || skip "no compiler: $(head -n 1 cc.err)"
./exchange >plain
# With F3 it is a pause on some processors and an exchange on others.
claim 'each form exchanges, but for those that F3 may make a pause of' is \
	"$(awk '$2 ~ /b6b7$/ || $1 ~ /f3/ { n++ } END { print n }' plain)" "$(wc -w <<<"$forms")"

for mode in full casper best branch; do
	"$PUGMARK" record -q -o rec.$mode --mode $mode -- ./exchange >out 2>err </dev/null
	claim "$mode: the program ends well" is $? 0
	claim "$mode: and prints what it prints unrecorded" same plain out
	claim "$mode: the recording is complete" "$PUGMARK" verify rec.$mode
	"$PUGMARK" dump rec.$mode >dump 2>err
	silent=$(nm exchange | awk '$3 == "silent" { sub(/^0+/, "", $1); print $1 }')
	claim "$mode: and has each call" is "$(grep -c " call .*:$silent\( \|$\)" dump)" "$(wc -w <<<"$forms")"
done

# A plan that was made before the exchange was known places no probe there either.
echo "$(nm exchange | awk '$3 == "f49" { print $1 }') 0 0 1 0 0" >sites
fails 1 'a probe where none is safe' record -q -o rec.sites --sites sites -- ./exchange
conclude
