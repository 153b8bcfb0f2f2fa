#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# threads.sh [THREADS [SECONDS]]: many threads at once, each on a random way of its own: one run is
# recorded by the plans of modes full, casper and best at once (record --twin), and what is recovered
# must be the same, event by event, for each thread. 64 threads for ten seconds.
set -u -o pipefail
here=$(dirname "$(realpath "$0")")
export PUGMARK=${PUGMARK:-$(realpath "$here/../..")/build/pugmark}
threads=${1:-64} seconds=${2:-10}
[ "$(id -u)" = 0 ] || { echo 'SKIP check-threads: recording needs root'; exit 77; }
dir=$(mktemp -d "${TMPDIR:-/tmp}/pugmark-threads.XXXXXX") || exit 1
trap 'rm -rf "$dir"' EXIT
cd "$dir" || exit 1
export XDG_CACHE_HOME=$dir/cache
${CC:-cc} -O2 -pthread "$here/threads.c" -o threads || exit 1
# With the ring that everybody has: so many busy threads are no reason to lose an event.
"$PUGMARK" record -q -o rec --mode full --twin casper --twin best -- \
	./threads "$threads" "$seconds" || { echo "recording failed: $?"; exit 1; }
of() { "$PUGMARK" dump --module "$1" rec; }
failed=0
module=0
for mode in full casper best; do
	read -r _ events _ witnesses _ gaps < <("$PUGMARK" dump --module $module --count rec)
	verdict='as in full'
	if [ $module = 0 ]; then
		tasks=$(of 0 | cut -d ' ' -f 1 | uniq | sort -u | wc -l)
		verdict="$tasks threads"
		[ "$tasks" = $((threads + 1)) ] || { verdict="$tasks THREADS"; failed=1; }
	else
		cmp <(of 0) <(of $module) || { verdict=DIFFERENT; failed=1; }
	fi
	[ "$gaps" = 0 ] || { verdict="$gaps GAPS"; failed=1; }
	[ "$events" -gt $((threads * 1000)) ] || { verdict='TOO FEW'; failed=1; }
	printf '%-8s %12s events %12s witnesses  %s\n' $mode "$events" "$witnesses" "$verdict"
	module=$((module + 1))
done
exit $failed
