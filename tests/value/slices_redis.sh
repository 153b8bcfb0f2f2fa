#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# slices_redis.sh: slices.sh of redis' reader of snapshots, with nothing beside it. The reader asks for the time,
# and so does not always execute the same instructions twice: then, and only then, it is tried again.
set -u
TOOLS=${TOOLS:-${BUILD:?}/value} ORACLE=${ORACLE:-${BUILD:?}/oracle}
export TOOLS ORACLE
for _ in 1 2 3 4 5; do
	said=$("$(dirname "$0")/slices.sh" redis 2>&1)
	status=$?
	[[ $said == *'does not hold: redis: the same instructions'* ]] || break
	sleep 4
done
printf '%s\n' "$said"
exit $status
