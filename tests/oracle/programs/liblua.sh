# SPDX-License-Identifier: LGPL-2.1-or-later
# the Lua library, linked in, the same way each time
BINARY=${TOOLS:-$here/../../build/oracle}/liblua
prepare() { lua_script >work.lua; }
run() { traced work.lua >out && grep -q '^77' out; }
