#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# demo.sh: `make demo`'s script works to its end and leaves nothing behind.
set -eu
cd "$(dirname "$0")/../.."
export TMPDIR=${TMPDIR:-/tmp}
command -v gzip >/dev/null || { echo 'no gzip here'; exit 77; }

before=$(ls "$TMPDIR")
out=$(scripts/demo.sh "$PUGMARK")
printf '%s\n' "$out"
[ "$(ls "$TMPDIR")" = "$before" ] || { echo "left behind in $TMPDIR: $(ls "$TMPDIR")"; exit 1; }
grep -qx '== pugmark cfg gzip' <<<"$out"
# A binary that is no gzip must not do: the model has functions, more than a handful.
[ "$("$PUGMARK" cfg --list "$(command -v gzip)" | wc -l)" -gt 50 ]
