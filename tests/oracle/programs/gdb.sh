# SPDX-License-Identifier: LGPL-2.1-or-later
# gdb --batch: reads a binary's symbols and debug information, lists, disassembles, evaluates
BINARY=/usr/bin/gdb
SECONDS_MAX=300
prepare() { gdb_prepare; }
run() { gdb_work; }
