# SPDX-License-Identifier: LGPL-2.1-or-later
# libsqlite3, linked in
BINARY=${TOOLS:-$here/../../build/oracle}/libsqlite
prepare() { sqlite_script >work.sql; }
run() {
	traced db work.sql >out 2>errors
	grep -q '^total|' out && grep -q 'no such column' errors
}
