#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# packed.sh: a program that unpacks itself into memory: plan, doctor, the recorder before it begins and
# the recording say that only what unpacks it is recorded, and its output is the same; of the same
# program unpacked, and of programs with much else in them than code, nothing is said.
set -u
. "$(dirname "$0")/../support/claims.sh"
needs upx bc jq
work_in_own_folder
cp "$(type -P bc)" plain
upx -q -o packed plain >said 2>&1 || skip "upx cannot pack: $(tail -n 1 said)"
words='is packed or encrypted'

says() { "$PUGMARK" "$@" 2>err | grep -qF "$words"; }
packed() { "$PUGMARK" "$@" 2>err | jq -r .packed; }

claim 'plan says it' says plan --stats packed
claim 'in JSON' is "$(packed plan --format json packed)" true
claim 'doctor says it' says doctor packed
claim 'in JSON' is "$(packed doctor --format json packed)" true
for program in plain "$(type -P bash)" "$(type -P openssl)" "$(type -P gdb)"; do
	claim "of ${program##*/} nothing is said" is "$(packed doctor --format json "$program")" false
done

if ! (needs_recording) >err; then
	skipped=$((skipped + 1))
	conclude
	exit
fi
for program in plain packed; do
	claim "$program runs" eval 'echo "2^200; scale=30; e(1)" | "$PUGMARK" record -o rec.$program -- ./$program -l >out.$program 2>err.$program'
	"$PUGMARK" verify rec.$program >verified.$program 2>err
done
claim 'its output is the same' same out.plain out.packed
claim 'the recorder says it' grep -qF "note: ./packed $words" err.packed
claim 'and what to do' grep -qF 'upx -d' err.packed
claim 'and so does the recording' grep -qF "./packed $words" verified.packed
claim 'quietly, the recording alone' eval 'echo 1 | "$PUGMARK" record -q -o quiet -- ./packed >out 2>err && [ ! -s err ]'
echo '2^200; scale=30; e(1)' | "$PUGMARK" record -q --level values -o values -- ./packed -l >out.values 2>err
claim 'at level values it runs as well, and says the same' same out.plain out.values
claim 'unpacked, nothing is said' eval '! grep -F "$words" err.plain verified.plain'
conclude
