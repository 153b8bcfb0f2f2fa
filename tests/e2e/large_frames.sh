#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# large_frames.sh: functions that are called back with frames larger than what is copied of a stack: where
# they return to is still known, so that there is no gap, in any mode; of a program's own, against what
# it counts itself.
set -u
. "$(dirname "$0")/../support/claims.sh"
needs_recording
needs "${CC:-cc}" nm strip
work_in_own_folder
"${CC:-cc}" -O2 -o large "$tests/programs/large_frames.c" 2>cc.err || skip "no compiler: $(head -n 1 cc.err)"
strip -o stripped large
address_of() { nm large | awk -v s="$1" '$3 == s { sub(/^0+/, "", $1); print $1 }'; }
compare=$(address_of compare) main=$(address_of main)
for program in large stripped; do
	for mode in full casper best; do
		claim "$program, $mode: recorded" eval '"$PUGMARK" record -q --mode $mode -o rec ./$program >out 2>err'
		claim "$program, $mode: complete" "$PUGMARK" verify rec
		"$PUGMARK" dump rec >trace 2>err
		claim "$program, $mode: called back as often as it counts" \
			is "$(grep -c " enter .* $compare callback$" trace)" "$(cut -d' ' -f1 out)"
		claim "$program, $mode: main once" is "$(grep -c " enter .* $main callback$" trace)" 1
	done
done
conclude
