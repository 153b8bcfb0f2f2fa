#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# check.sh CHECK [OPTION...]: whether the table of probe classes refuses all that a probe changes on this
# kernel, and all that cannot be tried. Skips where probes cannot be placed many at a time.
set -u
check=$1
cd "$(dirname "$0")/../.." || exit 1
skip() { echo "SKIP: $1"; exit 77; }
[ "$(uname -m)" = x86_64 ] || skip 'x86-64 only'
[ "$(id -u)" = 0 ] || skip 'probes need root here'
[ -e /sys/kernel/btf/vmlinux ] || skip 'this kernel has no BTF'
if "$check" "${@:2}" tests/shapes/seen.txt tests/shapes/others.txt; then
	echo '1 passed, 0 failed, 0 skipped'
else
	echo '0 passed, 1 failed, 0 skipped'
	exit 1
fi
