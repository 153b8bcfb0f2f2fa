#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""absurd_elf.py: ELF files that no linker makes, of one that a linker made.

    absurd_elf.py BASE FOLDER

Writes FOLDER/KIND for each kind below. BASE is an executable of 64 bits with debug information
(-gdwarf-4), a symbol table and a function work(). None of them is larger than 6 MB.
"""
import os
import struct
import sys
import zlib

HEADER = struct.Struct("<16sHHIQQQIHHHHHH")
SEGMENT = struct.Struct("<IIQQQQQQ")
SECTION = struct.Struct("<IIQQQQIIQQ")
KINDS = []


class Elf:
    """A file whose headers are lists: segments (type, flags, offset, vaddr, paddr, filesz, memsz,
    align) and sections (name, type, flags, addr, offset, size, link, info, align, entsize)."""

    def __init__(self, data):
        self.bytes = bytearray(data)
        self.header = list(HEADER.unpack_from(data))
        self.segments = [list(SEGMENT.unpack_from(data, self.header[5] + 56 * i)) for i in range(self.header[10])]
        self.sections = [list(SECTION.unpack_from(data, self.header[6] + 64 * i)) for i in range(self.header[12])]
        names = self.sections[self.header[13]][4]
        self.names = []
        for s in self.sections:
            at = names + s[0]
            self.names.append(data[at : data.index(b"\0", at)].decode())

    def section(self, name):
        return self.sections[self.names.index(name)]

    def data(self, name):
        s = self.section(name)
        return bytes(self.bytes[s[4] : s[4] + s[5]])

    def append(self, data, align=16):
        self.bytes += bytes(-len(self.bytes) % align)
        at = len(self.bytes)
        self.bytes += data
        return at

    def put(self, name, data):
        s = self.section(name)
        s[4], s[5] = self.append(data), len(data)

    def drop(self, *names):
        for name in names:
            if name in self.names:
                self.section(name)[1] = 8  # SHT_NOBITS

    def segment(self, kind):
        return next(p for p in self.segments if p[0] == kind)

    def map(self, data):
        """Has @data mapped, in place of what says of the stack; returns its address and offset."""
        at = self.append(data, 4096)
        self.segment(0x6474E551)[:] = [1, 4, at, 0x10000000 + at, 0x10000000 + at, len(data), len(data), 4096]
        return 0x10000000 + at, at

    def whole(self):
        at = self.append(b"".join(SECTION.pack(*s) for s in self.sections))
        self.header[6], self.header[12] = at, len(self.sections)
        for i, p in enumerate(self.segments):
            SEGMENT.pack_into(self.bytes, self.header[5] + 56 * i, *p)
        HEADER.pack_into(self.bytes, 0, *self.header)
        return bytes(self.bytes)


def kind(make):
    KINDS.append(make)
    return make


def changed(elf, at, value, fmt="<H"):
    data = bytearray(elf.whole())
    struct.pack_into(fmt, data, at, value)
    return bytes(data)


@kind
def segments_65535(elf):
    return changed(elf, 56, 0xFFFF)


@kind
def sections_65535(elf):
    return changed(elf, 60, 0xFFFF)


@kind
def sections_without_end(elf):
    elf.sections[0][5] = 1 << 58
    return changed(elf, 60, 0)


@kind
def segments_overlap(elf):
    loads = [p for p in elf.segments if p[0] == 1]
    for p in loads[1:]:
        p[3] = p[4] = loads[0][3]
    return elf.whole()


@kind
def more_in_the_file_than_in_memory(elf):
    for p in elf.segments:
        p[6] = p[5] // 2
    return elf.whole()


@kind
def no_end_of_memory(elf):
    for p in elf.segments:
        p[6] = 1 << 62
    return elf.whole()


@kind
def aligned_to_nothing(elf):
    for p in elf.segments:
        p[7] = 0
    return elf.whole()


@kind
def aligned_to_all(elf):
    for p in elf.segments:
        p[7] = 1 << 63
    return elf.whole()


@kind
def wraps_round(elf):
    for p in elf.segments:
        if p[0] == 1 and p[1] & 1:
            p[3] = p[4] = (1 << 64) - p[5] // 2
    return elf.whole()


@kind
def sections_beyond(elf):
    for s in elf.sections[1:]:
        s[4] += 1 << 40
    return elf.whole()


@kind
def sections_lead_to_themselves(elf):
    for i, s in enumerate(elf.sections):
        s[6] = s[7] = i
    return elf.whole()


@kind
def symbols_of_no_size(elf):
    for s in elf.sections:
        s[9] = 0
    return elf.whole()


@kind
def name_of_a_megabyte(elf):
    symbols, names = bytearray(elf.data(".symtab")), elf.data(".strtab")
    for at in range(24, len(symbols), 24):
        struct.pack_into("<I", symbols, at, len(names) + at % 999)
    elf.put(".symtab", bytes(symbols))
    elf.put(".strtab", names + b"n" * (1 << 20) + b"\0")
    return elf.whole()


@kind
def notes_without_end(elf):
    note = struct.pack("<III", 0xFFFFFFF4, 0xFFFFFFFF, 3) * 1000
    at = elf.append(note)
    for p in elf.segments:
        if p[0] == 4:
            p[2], p[5], p[6] = at, len(note), len(note)
    elf.section(".note.gnu.build-id")[4:6] = [at, len(note)]
    return elf.whole()


def dynamic(elf, changes):
    s = elf.section(".dynamic")
    for at in range(s[4], s[4] + s[5], 16):
        tag = struct.unpack_from("<Q", elf.bytes, at)[0]
        if tag in changes:
            struct.pack_into("<QQ", elf.bytes, at, *changes[tag](struct.unpack_from("<Q", elf.bytes, at + 8)[0]))
    return elf.whole()


@kind
def hash_in_a_circle(elf):
    s = elf.section(".gnu.hash")
    table = struct.pack("<7I", 1, 4, 1, 0, 2, 3, 1)
    elf.bytes[s[4] : s[4] + len(table)] = table
    s[1] = 5
    return dynamic(elf, {0x6FFFFEF5: lambda value: (4, value)})


@kind
def hash_without_end(elf):
    s = elf.section(".gnu.hash")
    table = struct.pack("<IIIIQI", 1, 1, 1, 0, (1 << 64) - 1, 1)
    elf.bytes[s[4] : s[4] + s[5]] = (table + bytes(s[5]))[: s[5]]
    return elf.whole()


@kind
def versions_in_a_circle(elf):
    s = elf.section(".gnu.version_r")
    table = bytearray(elf.data(".gnu.version_r"))
    aux = struct.unpack_from("<I", table, 8)[0]
    struct.pack_into("<H", table, 2, 0xFFFF)
    struct.pack_into("<I", table, 12, (1 << 32) - 16)
    struct.pack_into("<I", table, aux + 12, (1 << 32) - 16)
    elf.bytes[s[4] : s[4] + s[5]] = table
    return dynamic(elf, {0x6FFFFFFF: lambda _: (0x6FFFFFFF, 1 << 40)})


@kind
def debug_file_is_itself(elf):
    elf.drop(".debug_info", ".debug_line")
    name = b"debug_file_is_itself"
    s = elf.section(".comment")
    names = elf.sections[elf.header[13]]
    all_names = elf.bytes[names[4] : names[4] + names[5]] + b".gnu_debuglink\0"
    s[0] = names[5]
    names[4], names[5] = elf.append(all_names), len(all_names)
    s[4], s[5] = elf.append(name + bytes(8)), len(name) + 8
    return elf.whole()


def zeros(size):
    """A zlib stream of @size zeros, a multiple of 16 MiB."""
    pack = zlib.compressobj(9, zlib.DEFLATED, -15)
    block = pack.compress(bytes(1 << 24)) + pack.flush(zlib.Z_FULL_FLUSH)
    return b"\x78\x9c" + block * (size >> 24) + b"\x03\0" + struct.pack(">I", size % 65521 << 16 | 1)


@kind
def inflates(elf):
    size = 1280 << 20
    packed = struct.pack("<IIQQ", 1, 0, size, 1) + zeros(size)
    for name in (".debug_info", ".debug_line", ".debug_abbrev", ".debug_str"):
        elf.put(name, packed)
        elf.section(name)[2] |= 0x800  # SHF_COMPRESSED
    return elf.whole()


@kind
def inflates_to_more_than_there_is(elf):
    packed = struct.pack("<IIQQ", 1, 0, 1 << 50, 1) + zeros(16 << 20)
    for name in (".debug_info", ".debug_line", ".debug_abbrev", ".eh_frame"):
        elf.put(name, packed)
        elf.section(name)[2] |= 0x800
    return elf.whole()


def dies(elf, abbreviations, entries):
    unit = struct.pack("<HIB", 4, 0, 8) + entries
    elf.put(".debug_abbrev", abbreviations)
    elf.put(".debug_info", struct.pack("<I", len(unit)) + unit)
    elf.drop(".debug_aranges", ".debug_ranges", ".debug_loc")
    return elf.whole()


def code_range(elf):
    text = elf.section(".text")
    return struct.pack("<QQ", text[3], text[5])


@kind
def scopes_200000_deep(elf):
    ranged = b"\x11\x01\x12\x07\0\0"
    abbreviations = b"\x01\x11\1" + ranged + b"\x02\x2e\1\x03\x08" + ranged + b"\x03\x0b\1" + ranged + b"\0"
    n = 200000
    return dies(elf, abbreviations, b"\1" + code_range(elf) + b"\2work\0" + code_range(elf) + (b"\3" + code_range(elf)) * n + bytes(n + 2))


@kind
def origins_in_a_circle(elf):
    abbreviations = b"\x01\x11\1\x11\x01\x12\x07\0\0" + b"\x02\x2e\0\x47\x13\x31\x13\x11\x01\x12\x07\0\0" + b"\x03\x3d\0\x18\x13\0\0" + b"\0"
    at = 11 + 17
    entries = b"\1" + code_range(elf) + b"\2" + struct.pack("<II", at, at) + code_range(elf) + b"\3" + struct.pack("<I", 11) + b"\0"
    return dies(elf, abbreviations, entries)


@kind
def types_in_a_circle(elf):
    abbreviations = (
        b"\x01\x11\1\x11\x01\x12\x07\0\0" + b"\x02\x2e\1\x03\x08\x11\x01\x12\x07\0\0" + b"\x03\x05\0\x49\x13\x02\x18\0\0"
        b"\x04\x13\1\x0b\x0b\0\0" + b"\x05\x0d\0\x49\x13\x38\x0b\0\0" + b"\x06\x0f\0\x49\x13\0\0" + b"\0"
    )
    entries = b"\1" + code_range(elf)
    struct_at = 11 + len(entries)
    entries += b"\4\x10" + (b"\5" + struct.pack("<I", struct_at) + b"\0") * 8 + b"\0"
    pointer_at = 11 + len(entries)
    entries += b"\6" + struct.pack("<I", struct_at) + b"\2work\0" + code_range(elf)
    for reg, of in enumerate((pointer_at, struct_at)):
        entries += b"\3" + struct.pack("<I", of) + bytes([1, 0x50 + reg])
    return dies(elf, abbreviations, entries + b"\0\0")


def lines(elf, program, line_range=14):
    header = struct.pack("<BBBbBB", 1, 1, 1, -5, line_range, 13) + bytes([0, 1, 1, 1, 1, 0, 0, 0, 1, 0, 0, 1]) + b"\0f\0\0\0\0\0"
    body = struct.pack("<HI", 4, len(header)) + header + b"\0\x09\2" + code_range(elf)[:8] + program
    elf.put(".debug_line", struct.pack("<I", len(body)) + body)
    abbreviations = b"\x01\x11\0\x11\x01\x12\x07\x10\x17\0\0" + b"\0"
    return dies(elf, abbreviations, b"\1" + code_range(elf) + struct.pack("<I", 0))


@kind
def lines_in_a_range_of_none(elf):
    return lines(elf, b"\x14" * 100 + b"\0\1\1", 0)


@kind
def lines_far_away(elf):
    return lines(elf, (b"\2" + b"\xff" * 9 + b"\1\x14\3" + b"\x80" * 9 + b"\x7f\x14") * 1000 + b"\0\1\1")


@kind
def line_operation_without_end(elf):
    return lines(elf, b"\0" + b"\x80" * 8 + b"\x40\1")


def frames(elf, make):
    """Call frame information made by make(address, entries before), without a table."""
    cie = struct.pack("<II", 0x14, 0) + b"\1zR\0\1\x78\x10\1\x1b\x0c\7\x08\x90\1\0\0"
    rest = make(lambda at, start, length, rules=b"", base=0x10000000 + len(elf.bytes) + -len(elf.bytes) % 4096: fde(base, at, start, length, rules), len(cie))
    addr, at = elf.map(cie + rest + bytes(4))
    s = elf.section(".eh_frame")
    s[3:6] = [addr, at, len(cie) + len(rest)]
    table = elf.section(".eh_frame_hdr")
    struct.pack_into("<BBBBi", elf.bytes, table[4], 1, 0x1B, 0xFF, 0xFF, addr - (table[3] + 4))
    return elf.whole()


def fde(base, at, start, length, rules):
    body = struct.pack("<IiI", at + 4, start - (base + at + 8), length & 0xFFFFFFFF) + b"\0" + rules
    body += bytes(-len(body) % 4)
    return struct.pack("<I", len(body)) + body


@kind
def frames_of_no_length(elf):
    text = elf.section(".text")

    def make(entry, at):
        out = b""
        for i in range(100):
            out += entry(at + len(out), text[3] + i, -5 if i % 2 else 0)
        return out

    return frames(elf, make)


@kind
def frame_information_of_itself(elf):
    text = elf.section(".text")

    def make(entry, at):
        out = bytearray(entry(at, text[3], text[5]))
        struct.pack_into("<I", out, 4, 0x80)
        return bytes(out)

    return frames(elf, make)


@kind
def rules_remembered_2000000_times(elf):
    text = elf.section(".text")
    return frames(elf, lambda entry, at: entry(at, text[3], text[5], b"\x0a" * 2000000))


@kind
def rule_of_register_100000000(elf):
    text = elf.section(".text")
    return frames(elf, lambda entry, at: entry(at, text[3], text[5], b"\x05\x80\xc2\xd7\x2f\1"))


@kind
def cut_off(elf):
    return elf.whole()[: len(elf.whole()) // 2]


@kind
def no_more_than_a_header(elf):
    return elf.whole()[:64]


def main():
    base = open(sys.argv[1], "rb").read()
    for make in KINDS:
        path = os.path.join(sys.argv[2], make.__name__)
        with open(path, "wb") as out:
            out.write(make(Elf(base)))
        os.chmod(path, 0o755)


main()
