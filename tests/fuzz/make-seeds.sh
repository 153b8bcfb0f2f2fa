#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# make-seeds.sh: makes tests/fuzz/seeds/model/ anew, with gcc: small ELF files that between them
# have every part that the reader and the model look at. The results are in the tree, so that a run
# of the fuzzer does not depend on the compiler at hand.
set -eu
out=$(cd "$(dirname "$0")" && pwd)/seeds/model
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
mkdir -p "$out"
cd "$dir"

cat >calls.c <<'C'
/* Direct, indirect and tail calls, recursion, a switch table, a call that never returns. */
int external(int);
void leaves(void) __attribute__((noreturn));
static int (*volatile hook)(int) = external;
int table[4];
__attribute__((noinline)) static int fact(int n) { return n < 2 ? 1 : n * fact(n - 1); }
__attribute__((noinline)) int which(int n)
{
	switch (n) {
	case 0: return fact(3);
	case 1: return external(7);
	case 2: return hook(n) + 1;
	case 3: return table[n & 3];
	case 4: leaves();
	case 5: return external(n) * fact(n);
	case 6: return hook(3) ^ 5;
	default: return external(n);
	}
}
#ifdef ALONE
int external(int n) { return n + 1; }
void leaves(void) { for (;;) __asm__ volatile("ud2"); }
void _start(void) { __asm__ volatile("syscall" ::"a"(60), "D"(which(table[0]))); __builtin_unreachable(); }
#endif
C
cat >dispatch.c <<'C'
/* A computed goto, its table of relocated labels, and a frame whose size is not static. */
int sink(void *);
int dispatch(const unsigned char *code)
{
	static const void *const labels[] = {&&op_inc, &&op_dec, &&op_frame, &&op_end};
	int acc = 0;
	goto *labels[*code & 3];
op_inc: acc++; code++; goto *labels[*code & 3];
op_dec: acc--; code++; goto *labels[*code & 3];
op_frame: acc += sink(__builtin_alloca(acc)); code++; goto *labels[*code & 3];
op_end: return acc;
}
C
cat >throws.cc <<'C'
// Exceptions: an LSDA with two landing pads, a cold part, a virtual call.
struct Guard { ~Guard(); };
struct Base { virtual int go(int) = 0; };
int may_throw(int);
int caught(Base *b, int n)
{
	Guard guard;
	try {
		if (n < 0)
			throw n;
		return b->go(may_throw(n));
	} catch (int e) {
		return e;
	} catch (...) {
		return may_throw(-n);
	}
}
C
cat >bare.s <<'S'
# No CFI at all, calls over a label in the middle of an instruction, a jump out of the section.
	.globl _start
_start:	call 1f
	jmp _start
1:	.byte 0x74, 0x01
	lock
	cmpxchg %ecx, (%rdi)
	jrcxz 1b
	jmp *%rax
	.fill 3, 1, 0x0e
S

cat >go.S <<'S'
# The table of Go's linker in two of its layouts (offline/elf/elf_golang.c): a frame that grows and
# shrinks, where a panic goes on, a function that sets the stack pointer, and a type with two methods.
	.globl first
	.text
first:	sub $24, %rsp
pad:	call second
	add $24, %rsp
	ret
	.balign 32, 0xcc
second:	ret
	.balign 32, 0xcc
third:	mov %rdi, %rsp
	ret
	.balign 32, 0xcc
end:
	.section .rodata
	.long -1, second - first, second - first
	.section .gopclntab, "a"
	.balign 32
table:
#ifdef OLD
#define HEADER 0xfffffffa
#define TEXT
#define ENTRY(f) .quad f
#define LINE
#else
#define HEADER 0xfffffff1
#define TEXT .quad first
#define ENTRY(f) .long f - first
#define LINE .long 7
#endif
	.long HEADER
	.byte 0, 0, 1, 8
	.quad 3, 0
	TEXT
	.quad names - table, 0, 0, pcs - table, records - table
names:	.asciz "main.first", "main.second", "main.third"
pcs:	.byte 0
in_first: .byte 2, 4, 48, 9, 47, 1, 0
in_second: .byte 2, 1, 0
in_third: .byte 2, 4, 0
	.balign 8
#ifdef OLD
#define OFFSET(r) .quad r - records
#else
#define OFFSET(r) .long r - records
#endif
records: ENTRY(first); OFFSET(r1); ENTRY(second); OFFSET(r2); ENTRY(third); OFFSET(r3); ENTRY(end)
r1:	ENTRY(first)
	.long 0, 0, pad - first, in_first - pcs, 0, 0, 0, 0
	LINE
	.long 0
r2:	ENTRY(second)
	.long 11, 0, 0, in_second - pcs, 0, 0, 0, 0
	LINE
	.long 0
r3:	ENTRY(third)
	.long 23, 0, 0, in_third - pcs, 0, 0, 0, 0
	LINE
	.byte 0, 2, 0, 0
S

# What a file does not need is stripped, and pages are small: a byte that the fuzzer changes should
# matter.
# shellcheck disable=SC2054 # the commas are the linker's
cc=(gcc -Os -g0 -fno-ident -nostdlib -Wl,-z,max-page-size=4096,-z,noseparate-code,--build-id=sha1)
"${cc[@]}" -DALONE -static -no-pie -fno-pie calls.c -o "$out/static"
"${cc[@]}" -DALONE -static-pie -fPIE -fno-jump-tables calls.c -o "$out/pie"
"${cc[@]}" -O2 -shared -fPIC -fcf-protection calls.c -o "$out/plt.so"
"${cc[@]}" -O2 -shared -fPIC -Wl,-z,now calls.c dispatch.c -o "$out/dispatch.so"
"${cc[@]}" -O2 -shared -fPIC -x c++ throws.cc -o "$out/throws.so"
"${cc[@]}" -s -O2 -shared -fPIC -x c++ throws.cc -o "$out/stripped.so"
gcc -nostdlib -static -g0 -Wl,-z,max-page-size=4096,-z,noseparate-code,--build-id=none bare.s -o "$out/bare"
"${cc[@]}" -s -static -no-pie -Wl,-e,first go.S -o "$out/go"
"${cc[@]}" -s -static -no-pie -Wl,-e,first -DOLD go.S -o "$out/go-old"
"${cc[@]}" -Wl,-z,pack-relative-relocs -shared -fPIC dispatch.c -o "$out/relr.so" 2>/dev/null ||
	echo 'this linker packs no relative relocations: relr.so is not made' >&2
# A program header table alone, as a packer leaves it.
cp "$out/static" "$out/no-sections"
printf '\0\0\0\0\0\0\0\0' | dd of="$out/no-sections" bs=1 seek=40 conv=notrunc status=none
printf '\0\0\0\0\0\0' | dd of="$out/no-sections" bs=1 seek=58 conv=notrunc status=none
printf 'not an ELF file\n' >"$out/text"
gcc -m32 -nostdlib -static -g0 -Wl,--build-id=none -x assembler - -o "$out/elf32" <<<'.globl _start
_start: ret' 2>/dev/null || echo 'no 32-bit linker here: elf32 is not made' >&2
chmod 644 "$out"/*
ls -l "$out"
