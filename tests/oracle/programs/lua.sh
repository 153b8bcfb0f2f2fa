# SPDX-License-Identifier: LGPL-2.1-or-later
# lua5.4: recursion, sorting, strings, closures, errors, coroutines
BINARY=/usr/bin/lua5.4
QUICK=1
prepare() { lua_script >work.lua; }
run() { traced work.lua >out && grep -q '^77' out; }
