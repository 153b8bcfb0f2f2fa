#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# costs.sh: what a probe costs is measured on a machine that others keep busy, where it is first needed
# as likely as not, without the time that the others had.
set -u
. "$(dirname "$0")/../support/claims.sh"
needs_recording
needs jq
work_in_own_folder

measure() { # FILE
	XDG_CACHE_HOME=$dir/$1 "$PUGMARK" doctor >out 2>err || skip "nothing can be measured here: $(grep missing out)"
	jq -r '"\(.emulated) \(.stepped)"' "$1/pugmark/costs.json"
}
alone=$(measure alone)
for _ in $(seq $((3 * $(nproc)))); do
	(while :; do :; done) &
	started+=("$!")
done
busy=$(measure busy)
# A probe that the kernel emulates spares the second trap that single-stepping takes: whatever else runs,
# it is the cheaper one, and what another process was given of the processor is in neither.
for costs in "$alone" "$busy"; do
	claim "of the costs $costs ns (emulated, stepped) the second is the dearer one" \
		awk '{ exit !(0 < $1 && $1 < $2) }' <<<"$costs"
done
# Of $(nproc) processors 4 * $(nproc) processes get a quarter each: time that others had, if it were
# counted, would make a probe at least three times as dear.
claim "alone a probe costs $alone ns, on a machine that is full $busy: what others got is not counted" \
	awk '{ exit !($3 < 3 * $1 && $4 < 3 * $2) }' <<<"$alone $busy"
conclude
