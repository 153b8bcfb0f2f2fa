#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# signals.sh: signals that come at any instruction, thousands of them, on the stack that they find and
# on one of their own: what is recovered of one run by the plans of modes full, casper and best is the
# same, event by event, and so are the places of the handlers. Each signal that came is there. In a
# static program handlers return to a function of the program itself.
set -u
. "$(dirname "$0")/../support/claims.sh"
needs_recording
needs "${CC:-cc}"
source=$tests/exact/timer.c
work_in_own_folder
"${CC:-cc}" -O2 -g0 "$source" -o timer 2>err || skip "no compiler for the program: $(head -n 1 err)"
static=static
"${CC:-cc}" -O2 -g0 -static "$source" -o static 2>err || {
	echo "a static program is left out: $(head -n 1 err)"
	skipped=$((skipped + 1)) static=
}

of() { "$PUGMARK" dump --module "$1" rec; }
signals_in() { # PROGRAM same|own
	local what="$1, $2 stack" args=(3) module entry
	[ "$2" = same ] || args+=(own)
	"$PUGMARK" record -q --ring 256 -o rec --mode full --twin casper --twin best -- \
		"./$1" "${args[@]}" >came 2>err
	claim "$what: recording works" is $? 0
	of 0 >full 2>err
	for module in 1 2; do
		of $module >other 2>err
		claim "$what: plan $module tells what mode full tells" same full other
		claim "$what: plan $module has no gap" is "$(grep -c ' gap ' other)" 0
		entry=$(awk '$2 == "enter" && $5 == "signal" { print $4 }' other | sort | uniq -c |
			sort -rn | awk 'NR == 1 { print $1 }')
		claim "$what: plan $module has every signal" is "$entry" "$(cat came)"
	done
	claim "$what: signals came by the hundred" [ "$(cat came)" -gt 300 ]
	echo "$what: $(cat came) signals, $(wc -l <full) events, the same by three plans"
}
for program in timer $static; do
	signals_in $program same
	signals_in $program own
done
conclude
