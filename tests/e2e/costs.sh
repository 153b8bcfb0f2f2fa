#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# costs.sh: what a probe costs is measured the same on a machine that others keep busy, where it is
# first needed as likely as not, as on one that they do not.
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
claim "alone a probe costs $alone ns (emulated, stepped), on a machine that is full $busy" \
	awk '{ exit !($1 > 50 && $2 > 50 && $3 < 2 * $1 && $1 < 2 * $3 && $4 < 2 * $2 && $2 < 2 * $4) }' \
	<<<"$alone $busy"
conclude
