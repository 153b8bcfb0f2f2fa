#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# safe_names.sh: what a file names is opened only if it is a file. A needed library that is a FIFO does
# not hang `plan` and `record`, an SONAME that is a device opens none, nor does a debug link.
set -u
. "$(dirname "$0")/../support/claims.sh"
needs_recording
needs python3 objcopy
work_in_own_folder
echo 'int given(void) { return 1; }' >lib.c
echo 'int given(void); int main(void) { return !given(); }' >main.c
mkdir device fifo
mknod device/null c 1 3 && mkfifo fifo/libgiven.so || skip 'no device nodes here'
${CC:-cc} -shared -fPIC -o libgiven.so lib.c &&
	${CC:-cc} -shared -fPIC -Wl,-soname,"$dir/device/null" -o libdevice.so lib.c &&
	${CC:-cc} -shared -fPIC -Wl,-soname,"$dir/fifo/libgiven.so" -o libfifo.so lib.c &&
	${CC:-cc} -o by_path main.c -L. -lgiven -Wl,-rpath,"$dir/fifo" &&
	${CC:-cc} -o by_soname main.c ./libfifo.so &&
	${CC:-cc} -o by_device main.c ./libdevice.so &&
	${CC:-cc} -g -o linked main.c ./libgiven.so || skip 'no compiler for the programs'

quick() { # ARGUMENT...: it ends, whatever it says; a busy machine takes its time
	timeout 60 "$PUGMARK" "$@" >out 2>err </dev/null
	[ $? -lt 124 ]
}
for program in by_path by_soname; do
	claim "$program: plan does not wait for a FIFO" quick plan --fresh -o plan $program
	claim "$program: the plan is there" [ -s plan ]
	rm -f plan
	# Without running it, for then its dynamic linker would wait.
	claim "$program: record does not wait for a FIFO" quick record -q -o rec --duration 0.5 -a ./$program
done
LD_LIBRARY_PATH=$dir claim 'by_path: and records what there is' quick record -q -o rec -- ./by_path
claim 'a FIFO as a plugin is no module' quick plan --fresh -o plan --plugin fifo/libgiven.so by_path
claim 'a FIFO as a plugin is said' grep -q 'libgiven.so' err
claim 'a folder with a FIFO in it' quick plan --fresh -o plan --plugin fifo by_path

"$tests/support/opened.py" device/null >opened &
started+=($!)
for _ in $(seq 50); do grep -q ready opened && break; sleep 0.1; done
claim 'the watch of the device works' eval 'cat device/null; sleep 0.3; [ "$(grep -c null opened)" = 1 ]'
claim 'an SONAME that is a device: plan' quick plan --fresh -o plan by_device
claim 'an SONAME that is a device: record' quick record -q -o rec --duration 0.5 -a ./by_device

# A debug link to a FIFO and to a device, beside the file.
objcopy --only-keep-debug linked linked.debug
cp linked linked2
objcopy --strip-debug --add-gnu-debuglink=linked.debug linked
rm linked.debug
mkfifo linked.debug
claim 'a debug link to a FIFO: cfg' quick cfg linked
LD_LIBRARY_PATH=$dir quick record -q -o rec --level paths -- ./linked
claim 'a debug link to a FIFO: report' quick report --lines rec
rm linked.debug
ln -s device/null linked.debug
claim 'a debug link to a device: cfg' quick cfg linked
claim 'a debug link to a device: report' quick report --lines rec
sleep 0.3
claim 'and nobody has opened it' is "$(grep -c null opened)" 1
conclude
