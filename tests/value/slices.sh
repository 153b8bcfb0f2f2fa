#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# slices.sh: backward and forward slices of instances of real programs against those of a naive slicer
# over QEMU's trace of the same run: every load, every store, to the instance.
set -u
. "$(dirname "$0")/../support/claims.sh"
needs_recording
needs qemu-x86_64 gzip bc python3
work_in_own_folder
TOOLS=${TOOLS:?the built tests/value tools} ORACLE=${ORACLE:?deptrace.so}

for i in $(seq 400); do echo "line $i of what is packed $((i * i % 977))"; done >text
gzip -c text >text.gz
echo 'scale=30; a(1)*4; for (i = 0; i < 40; i++) s += i^3 % 7; s; obase=16; 2^100' >sums
# What QEMU and the recording say of one command; its standard input is $2.
compare() { # NAME INPUT NUMBER PROGRAM ARGUMENT...
	local name=$1 input=$2 number=$3 program=$4
	rm -rf rec addresses trace
	"$PUGMARK" record -q --level values -o rec -- "./$program" "${@:5}" <"$input" >out1 2>err
	"$TOOLS/slices" rec "$number" addresses >ours 2>said1
	qemu-x86_64 -plugin "$ORACLE/deptrace.so,out=trace" "./$program" "${@:5}" <"$input" >out2 2>err
	claim "$name: both print the same" cmp -s out1 out2
	claim "$name: the same instructions" "$TOOLS/naive_slices" trace "$program" "$number" addresses
	"$TOOLS/naive_slices" trace "$program" "$number" addresses >naive 2>err
	claim "$name: there are slices" test "$(wc -l <ours)" -gt "$number"
	claim "$name: the same slices" same naive ours
	echo "$name: $(head -n 1 ours), $(($(wc -l <ours) - 1)) slices; $(cat said1)"
}
cp "$(command -v gzip)" packer
cp "$(command -v bc)" calc
compare 'gzip -c' text 100 packer -cn
compare 'gzip -d' text.gz 100 packer -d
compare bc sums 100 calc -lq
# Not here: programs that sort by qsort(). The table says that it writes the whole array, so an element
# that stays where it was has another maker than in the naive slicer: a few instances differ.
conclude
