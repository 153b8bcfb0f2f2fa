# SPDX-License-Identifier: LGPL-2.1-or-later
# libsqlite3: the library under the shell
BINARY=/usr/bin/sqlite3
MODULE=/usr/lib/x86_64-linux-gnu/libsqlite3.so.0
QUICK=1
prepare() { sqlite_script >work.sql; }
run() {
	traced -batch db <work.sql >out 2>errors || grep -q "no such column" errors
	grep -q '^total|' out
}
