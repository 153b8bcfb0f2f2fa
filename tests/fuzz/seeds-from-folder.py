#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Packs files into a seed of a target that takes a folder (as_folder.h): OUT NUMBER=FILE...

NUMBER is the file's place in the target's list of names. Segments are expanded, so that a changed
byte reaches what is behind the compression. The results are in the tree."""
import struct
import subprocess
import sys
import zlib


def expand(codec, data):
    if codec == 1:
        return zlib.decompress(data)
    if codec == 2:
        return subprocess.run(["zstd", "-dc"], input=data, capture_output=True, check=True).stdout
    return data


def expanded(data):
    out, at = b"", 0
    while at + 64 <= len(data):
        header, stored = bytearray(data[at : at + 64]), struct.unpack_from("<I", data, at + 32)[0]
        raw = expand(header[11], data[at + 64 : at + 64 + stored])
        header[11] = 0
        struct.pack_into("<II", header, 28, len(raw), len(raw))
        out += bytes(header) + raw
        at += 64 + stored
    return out


def main():
    out = b""
    for word in sys.argv[2:]:
        number, name = word.split("=", 1)
        data = open(name, "rb").read()
        if name.endswith(("events", "captures")):
            data = expanded(data)
        out += struct.pack("<I", int(number) | len(data) << 8) + data
    with open(sys.argv[1], "wb") as f:
        f.write(out)


main()
