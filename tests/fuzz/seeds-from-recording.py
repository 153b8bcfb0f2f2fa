#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Takes a recording apart into seeds for fuzz_segment and fuzz_recording: DIR PREFIX [MAX].

At most MAX segments of each kind; the results are in the tree."""
import os
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


def write(name, data):
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "seeds", name)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as f:
        f.write(data)


def main():
    prefix, most = sys.argv[2], int(sys.argv[3]) if len(sys.argv) > 3 else 3
    with open(os.path.join(sys.argv[1], "events"), "rb") as f:
        data = f.read()
    if len(data) < 40000:
        write("recording/%s.events" % prefix, data)
    at, counts = 0, {1: 0, 2: 0}
    while at + 64 <= len(data):
        kind, codec, n, stored = data[at + 10], data[at + 11], *struct.unpack_from("<I4xI", data, at + 24)
        columns = 0x8000 if data[at + 8] == 4 else 0
        raw = expand(codec, data[at + 64 : at + 64 + stored])
        if counts[kind] < most and len(raw) < 40000:
            counts[kind] += 1
            if kind == 1:
                write("segment/%s-%d" % (prefix, counts[1]), struct.pack("<H", min(n, 32767) | columns) + raw)
            else:
                write("recording/%s-%d.lines" % (prefix, counts[2]), raw)
        at += 64 + stored


main()
