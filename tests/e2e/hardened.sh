#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# hardened.sh: how the command and the library are built, as readelf sees it: no lazy binding, nothing
# writable that need not be, canaries, checked string functions, and CET in every object of ours. A
# build with sanitizers or without an optimiser has none of this, and is not looked at.
set -u
. "$(dirname "$0")/../support/claims.sh"
needs readelf nm
grep -q -- '-D_FORTIFY_SOURCE=3' "$BUILD/flags" || skip 'a build without (SAN, DEBUG or -O0)'
work_in_own_folder

for file in "$PUGMARK" "$BUILD/libpugmark.so"; do
	name=$(basename "$file")
	readelf -dlW "$file" >headers
	claim "$name: all is bound at the start" grep -qE 'FLAGS.*BIND_NOW|FLAGS_1.* NOW' headers
	claim "$name: what was relocated is read-only" grep -q GNU_RELRO headers
	claim "$name: no stack is executable" eval 'grep GNU_STACK headers | grep -q "RW  "'
	claim "$name: nothing is writable and executable" eval '! grep -qE "LOAD.* RWE " headers'
	claim "$name: no text is relocated" eval '! grep -q TEXTREL headers'
	nm -D "$file" >symbols
	claim "$name: has canaries" grep -q __stack_chk_fail symbols
	claim "$name: has checked functions" grep -qE '__(memcpy|snprintf|vsnprintf|fprintf|printf)_chk' symbols
done
claim 'the command may lie anywhere' eval 'readelf -dW "$PUGMARK" | grep -q "FLAGS_1.*PIE"'

without_cet() {
	find "$BUILD/offline" "$BUILD/user" -name '*.o' | while read -r object; do
		readelf -nW "$object" | grep -q 'IBT.*SHSTK' || echo "$object"
	done
}
without_cet >bare
claim 'every object knows CET' is "$(cat bare)" ''
conclude
