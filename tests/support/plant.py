#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""plant.py PROGRAM OUT N: a copy of the program with its Nth candidate changed: the number in an arithmetic
instruction, or the condition of a jump. Prints the instruction's address. Status 9: there are not so many."""
import re
import subprocess
import sys

ARITHMETIC = re.compile(r"(add|sub|shr|shl|sar|and|imul|or|xor)")
NOT_THE_PROGRAMS = ("_", "register", "deregister", "frame")


def lines(*command):
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()


def candidates(program):
    """(address, offset of the byte, its new value)"""
    function = ""
    for line in lines("objdump", "-d", "-w", program):
        begins = re.match(r"[0-9a-f]+ <(.+)>:", line)
        function = begins[1] if begins else function
        insn = re.match(r"\s+([0-9a-f]+):\t([0-9a-f ]+)\t(\S+)\s*(.*)", line)
        if not insn or function.startswith(NOT_THE_PROGRAMS) or "plt" in function:
            continue
        address, code, operands = int(insn[1], 16), bytes.fromhex(insn[2]), insn[4]
        number = re.match(r"\$0x([0-9a-f]{1,2}),", operands)
        if ARITHMETIC.match(insn[3]) and number and "%rsp" not in operands:
            if code[-1] == int(number[1], 16):
                yield address, len(code) - 1, code[-1] ^ 1
        elif code[0] & 0xf0 == 0x70:
            yield address, 0, code[0] ^ 1
        elif code[0] == 0x0f and code[1] & 0xf0 == 0x80:
            yield address, 1, code[1] ^ 1


def place_in_file(program, address):
    for line in lines("readelf", "-lW", program):
        load = re.match(r"\s+LOAD\s+(\S+) (\S+) \S+ (\S+)", line)
        if load and 0 <= address - int(load[2], 16) < int(load[3], 16):
            return address - int(load[2], 16) + int(load[1], 16)
    raise ValueError(hex(address))


program, out, n = sys.argv[1], sys.argv[2], int(sys.argv[3])
found = list(candidates(program))
if n >= len(found):
    sys.exit(9)
address, off, value = found[n]
with open(program, "rb") as file:
    code = bytearray(file.read())
code[place_in_file(program, address) + off] = value
with open(out, "wb") as file:
    file.write(code)
print("%x" % address)
