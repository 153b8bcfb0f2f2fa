#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# bench_recovery.sh: how fast this build recovers beside an older one: one recording of each of the
# five loads, made and checked by both.
#
#   OLD=/path/to/older/pugmark bench_recovery.sh [NAME...]    gzip-c gzip-d lua sqlite3 git-log
#
# The older one records, without times; then both recover it (`verify`) in turn, ROUNDS=5 rounds, and
# the medians of their processor times are compared. Where valgrind is there, their instructions are
# counted as well. Of both is taken off what the start takes: the same of the recording cut to its
# first events. Fails where old / new is below 0.97 in either.
# shellcheck disable=SC2317 # functions that are called by a name in a variable
set -u -o pipefail
cd "$(dirname "$0")/../.." || exit 1
pieces='gzip-c gzip-d lua sqlite3 git-log'
. tests/bench/lib.sh
. tests/bench/five_loads.sh
needs_recording
[ -x "${OLD:-}" ] || skip 'OLD names no older pugmark to compare with'

in_turn() { # RECORDING OUT: seconds of processor time of the older and of this one, a line each
	ANY_STATUS=1 "$measure" "$rounds" "$OLD" verify "$1" --- "$PUGMARK" verify "$1" 2>/dev/null |
		awk '{ print $2 }' >"$2"
}
instructions() { # RECORDING OUT: likewise
	local way
	for way in "$OLD" "$PUGMARK"; do
		valgrind --tool=callgrind --callgrind-out-file=/dev/null "$way" verify "$1" >"$tmp/callgrind" 2>&1
		sed -nE 's/.*Collected : ([0-9]+).*/\1/p' "$tmp/callgrind"
	done >"$2"
}
beyond_start() { # WAY: sets old and new
	local all start
	"$1" "$tmp/rec" "$tmp/all" && "$1" "$tmp/rec.start" "$tmp/start"
	mapfile -t all <"$tmp/all" && mapfile -t start <"$tmp/start"
	[ ${#all[@]} = 2 ] && [ ${#start[@]} = 2 ] || return
	old=$(calc "${all[0]} - ${start[0]}" 9) new=$(calc "${all[1]} - ${start[1]}" 9)
}
compare() { # NAME
	local e old new
	rm -rf "$tmp"/rec*
	"$OLD" record -q --no-times -o "$tmp/rec" "${what[@]}" -- "$program" "${args[@]}" >/dev/null || return
	[ "$("$OLD" dump --count "$tmp/rec")" = "$("$PUGMARK" dump --count "$tmp/rec")" ] || {
		echo "$1: the two do not recover the same"
		return 1
	}
	cp -r "$tmp/rec" "$tmp/rec.start"
	truncate -s 1500 "$tmp/rec.start/events"
	read -r _ e _ < <("$PUGMARK" dump --count "$tmp/rec")
	beyond_start in_turn || return
	record "$1" best recovery_old_by_new "$(calc "$old / $new")" times
	printf '%s, %s events: %s s before, %s s now: %s' "$1" "$e" "$old" "$new" "$(calc "$old / $new" 3)"
	slower "$old" "$new" && failed=1
	command -v valgrind >/dev/null && {
		beyond_start instructions || return
		record "$1" best recovery_instructions_old_by_new "$(calc "$old / $new")" times
		printf '; %s instructions an event before, %s now: %s' "$(calc "$old / $e")" \
			"$(calc "$new / $e")" "$(calc "$old / $new" 3)"
		slower "$old" "$new" && failed=1
	}
	echo
}
slower() { # OLD NEW
	awk -v o="$1" -v n="$2" 'BEGIN { exit !(o / n < 0.97) }' && printf ' (SHORT of 0.97)'
}

failed=0
# shellcheck disable=SC2086 # they are words
[ $# -gt 0 ] || set -- $pieces
for name in "$@"; do
	{ set_up_load "$name" && compare "$name"; } || {
		failed=1
		printf '%s: FAILED\n' "$name"
	}
done
exit $failed
