#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# speedscope.sh: speedscope itself, in a real browser, opens the five formats that it knows. What it
# then has, as it saves it, is what `report` counts: each function's calls, and the gaps. Of a
# program whose every call is known, of C++ exceptions, 64 threads, gaps and no times.
set -u
. "$(dirname "$0")/../support/claims.sh"
. "$(dirname "$0")/../support/viewed.sh"
needs_recording
needs jq python3 c++filt chromium node
modules=$tests/../build/node/node_modules
for module in speedscope puppeteer-core; do
	[ -d "$modules/$module" ] || skip "no $module here (make deps, which needs npm and its registry)"
done
work_in_own_folder

compile_viewed
run 0 record -q -o known -- ./prog
run 0 record -q -o still --no-times -- ./prog
"$PUGMARK" record -q -o thrown -- ./thrower >out 2>err
run 0 record -q -o many -- ./threads
cp -r many torn
dd if=/dev/zero of=torn/events bs=1 seek=$(($(stat -c %s torn/events) / 2)) count=16 conv=notrunc 2>err

recordings='known still thrown many torn' formats='speedscope chrome folded callgrind pprof' files=()
for recording in $recordings; do
	for format in $formats; do
		weight=
		[[ $format == folded || $format == pprof ]] && weight='--weight calls'
		"$PUGMARK" export --format $format $weight -o $recording.$format $recording >out 2>err
		files+=("$recording.$format")
	done
done
claim 'speedscope opens them' timeout 120 node "$tests/support/speedscope.js" "$modules" "$(command -v chromium)" "${files[@]}"

# `CALLS NAME` of each function that was called, as report counts it, and gaps.
reported() { # RECORDING GAPS?
	"$PUGMARK" report --format json "$1" >report.json 2>err
	jq -r '[.functions[] | select(.calls > 0) | {n: .function, c: .calls}] | group_by(.n)[] |
		"\(map(.c) | add) \(.[0].n)"' report.json | c++filt
	[ "$2" = no ] || [ "$(jq .gaps report.json)" = 0 ] || echo "$(jq .gaps report.json) [gap]"
}
for recording in $recordings; do
	for format in $formats; do
		# of a graph speedscope makes a tree, by estimate where functions call themselves through others
		[ "$recording $format" != 'thrown callgrind' ] || continue
		gaps=yes
		[ $format != chrome ] || gaps=no # there they are beside the calls, where speedscope does not look
		reported $recording $gaps | LC_ALL=C sort >should
		python3 "$tests/support/opened_by_speedscope.py" $format opened.$recording.$format 2>&1 | LC_ALL=C sort >is
		claim "$recording: speedscope has of $format what report counts" same should is
	done
done
conclude
