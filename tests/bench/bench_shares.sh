#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# bench_shares.sh: the tables of tests/shares/tables.sh by estimated frequencies. And what it takes to merge
# the runs of gzip -c under 4 shares, where this user may record: events put out a second of one core, and the
# bytes of events of the parts and of what is merged.
set -u -o pipefail
cd "$(dirname "$0")/../.." || exit 1
. tests/bench/lib.sh
programs=${PROGRAMS:-gzip-c bzip2 lua mawk}

if [ "${1:-}" = --pieces ]; then
	printf '%s\n' $programs
	exit 0
fi
[ $# = 0 ] || programs=$*
folder=$(mktemp -d) || exit 1
trap 'rm -rf "$folder"' EXIT

# shellcheck disable=SC2086 # they are words
BENCH_OUT=$(realpath -m "${BENCH_OUT:-/dev/null}") WEIGHTS=estimates tests/shares/tables.sh $programs || failed=1

bytes_of() { stat -c %s "$@" | awk '{ n += $1 } END { print n + 0 }'; }
merge_runs() { # LEVEL
	local k parts=() events seconds from to
	rm -rf "$folder/set" "$folder"/part-* "$folder/whole"
	"$PUGMARK" plan --level "$1" --shares 4 -o "$folder/set" "$folder/gzip" >/dev/null || return
	for k in 1 2 3 4; do
		setarch -R "$PUGMARK" record -q --plan "$folder/set/share-$k.pmp" -o "$folder/part-$k" -- \
			"$folder/gzip" -9c "$folder/text" >/dev/null || return
		parts+=("$folder/part-$k")
	done
	"$PUGMARK" merge --format json -o "$folder/whole" "${parts[@]}" >"$folder/said" || return
	read -r events seconds < <(python3 -c 'import json, sys
j = json.load(open(sys.argv[1])); print(j["events"], j["seconds"])' "$folder/said")
	from=$(bytes_of "${parts[@]/%//events}") to=$(bytes_of "$folder/whole/events")
	echo "gzip -c, 4 shares, $1: $events events merged, $(calc "$events / $seconds / 1e6") M a second;" \
		"$from bytes of the parts became $to"
	record 'gzip -c m=4' "$1" merge_speed "$(calc "$events / $seconds / 1e6")" Mevents/s
	record 'gzip -c m=4' "$1" merged_bytes "$(calc "100 * $to / $from")" '% of the parts'
}
if [[ " $programs " == *' gzip-c '* ]] && [ "$(id -u)" = 0 ]; then
	. tests/oracle/inputs.sh
	cp -L "$(command -v gzip)" "$folder/gzip" && make_text "${LINES_OF_TEXT:-6000}" >"$folder/text"
	for level in calls paths; do
		merge_runs $level || failed=1
	done
fi
exit ${failed:-0}
