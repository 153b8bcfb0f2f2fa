# SPDX-License-Identifier: LGPL-2.1-or-later
# hostile_dwarf.s: debug information that leads round. f's frame is told by itself, types are made of
# themselves, a member lies before its structure, and of 48 blocks, each in the last one, each is also
# its parent's next sibling: who reads a block wherever it is named reads 2^48.
	.globl f
	.type f, @function
f:	mov %rdi, %rax
	ret
f_end:	.size f, . - f
	.section .debug_abbrev, "", @progbits
abbrev:
	.uleb128 1, 0x11 # the unit: name, low_pc, high_pc
	.byte 1
	.uleb128 3, 8, 0x11, 1, 0x12, 7, 0, 0
	.uleb128 2, 0x2e # a function: name, low_pc, high_pc, frame_base
	.byte 1
	.uleb128 3, 8, 0x11, 1, 0x12, 7, 0x40, 0x18, 0, 0
	.uleb128 3, 0x34 # a variable: name, type, location
	.byte 0
	.uleb128 3, 8, 0x49, 0x13, 2, 0x18, 0, 0
	.uleb128 4, 0x16 # a typedef: name, type
	.byte 0
	.uleb128 3, 8, 0x49, 0x13, 0, 0
	.uleb128 5, 0xb # a block with a sibling
	.byte 1
	.uleb128 1, 0x13, 0, 0
	.uleb128 6, 0x13 # a structure: size
	.byte 1
	.uleb128 0xb, 0xb, 0, 0
	.uleb128 7, 0xd # a member: name, type, offset
	.byte 0
	.uleb128 3, 8, 0x49, 0x13, 0x38, 7, 0, 0
	.uleb128 8, 0x24 # a base type: size, encoding
	.byte 0
	.uleb128 0xb, 0xb, 0x3e, 0xb, 0, 0
	.uleb128 9, 1 # an array: type
	.byte 0
	.uleb128 0x49, 0x13, 0, 0
	.byte 0
	.section .debug_info, "", @progbits
info:	.long info_end - 1f
1:	.short 4
	.long abbrev
	.byte 8
	.uleb128 1
	.asciz "hostile"
	.quad f, f_end - f
	.uleb128 2
	.asciz "f"
	.quad f, f_end - f
	.uleb128 2
	.byte 0x91, 0 # DW_OP_fbreg: of what it tells
	.uleb128 3
	.asciz "by_itself"
	.long number - info
	.uleb128 2
	.byte 0x91, 0
	.uleb128 3
	.asciz "named"
	.long name - info
	.uleb128 1
	.byte 0x55 # rdi
	.uleb128 3
	.asciz "before"
	.long structure - info
	.uleb128 1
	.byte 0x55
	.uleb128 3
	.asciz "nested"
	.long array - info
	.uleb128 1
	.byte 0x55
	.byte 0
name:	.uleb128 4
	.asciz "name"
	.long name - info
array:	.uleb128 9
	.long array - info
number:	.uleb128 8
	.byte 8, 5
structure: .uleb128 6
	.byte 8
	.uleb128 7
	.asciz "m"
	.long number - info
	.quad -8
	.byte 0
	.uleb128 2
	.asciz "blocks"
	.quad f, f_end - f
	.uleb128 1
	.byte 0x50
	.rept 48
	.uleb128 5
	.long 2f - info
2:
	.endr
	.fill 49, 1, 0
	.byte 0
	.byte 0
info_end:
	.section .note.GNU-stack, "", @progbits
	.section .debug_aranges, "", @progbits
	.long aranges_end - 1f
1:	.short 2
	.long 0
	.byte 8, 0
	.long 0
	.quad f, f_end - f, 0, 0
aranges_end:
