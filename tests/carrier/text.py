# SPDX-License-Identifier: LGPL-2.1-or-later
"""text.py PID FILE: executable bytes of FILE that process PID has otherwise than the file, its mappings of
trampolines and chunks, and all its mappings."""
import sys

pid, path = sys.argv[1], sys.argv[2]
with open(path, 'rb') as f:
    data = f.read()
different = left = n = 0
with open(f'/proc/{pid}/maps') as maps, open(f'/proc/{pid}/mem', 'rb') as memory:
    for line in maps:
        f = line.split(None, 5)
        n += 1
        left += 'memfd:pugmark' in line
        if 'x' not in f[1] or len(f) < 6 or not f[5].startswith(path):
            continue
        lo, hi = (int(x, 16) for x in f[0].split('-'))
        memory.seek(lo)
        have = memory.read(hi - lo)
        want = data[int(f[2], 16):][:hi - lo].ljust(hi - lo, b'\0')
        different += sum(a != b for a, b in zip(have, want)) if have != want else 0
print(different, left, n)
