# SPDX-License-Identifier: LGPL-2.1-or-later
# sqlite3: the shell
BINARY=/usr/bin/sqlite3
prepare() { sqlite_script >work.sql; }
run() {
	traced -batch db <work.sql >out 2>errors || grep -q "no such column" errors
	grep -q '^total|' out
}
