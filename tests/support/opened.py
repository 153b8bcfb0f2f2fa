#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""opened.py FILE...: a line of a FILE's name each time that somebody opens it (inotify), after a first
line "ready". An open() with O_PATH, which opens nothing, is not told."""
import ctypes
import os
import struct
import sys

IN_OPEN = 0x20
libc = ctypes.CDLL(None, use_errno=True)
fd = libc.inotify_init()
names = {}
for name in sys.argv[1:]:
    watch = libc.inotify_add_watch(fd, os.fsencode(name), IN_OPEN)
    if watch < 0:
        sys.exit(f"{name}: {os.strerror(ctypes.get_errno())}")
    names[watch] = name
print("ready", flush=True)
while True:
    data = os.read(fd, 65536)
    while data:
        watch, _, _, length = struct.unpack_from("iIII", data)
        print(names.get(watch, "?"), flush=True)
        data = data[16 + length:]
