# SPDX-License-Identifier: LGPL-2.1-or-later
# libstdc++ under gdb: streams, containers, the unwinder's personality routine
BINARY=/usr/bin/gdb
MODULE=/usr/lib/x86_64-linux-gnu/libstdc++.so.6
SECONDS_MAX=300
prepare() { gdb_prepare; }
run() { gdb_work; }
