#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# safe_races.sh: files that change while they are read. A plan of a recording is rewritten in place
# while `verify` reads it, an ELF file is cut short and restored while it is analysed, a library while
# it is looked through; a folder that is recorded into while its owner swaps what appears there; a file
# that a stranger has mapped, cut short beside a recording. Whatever is told then, nothing crashes, and
# nothing elsewhere is written to. Each is tried for 15 seconds, with LONG=1 for 30, all side by side.
set -u
. "$(dirname "$0")/../support/claims.sh"
needs_recording
needs setpriv
seconds=${SAFE_SECONDS:-$((${LONG:+15} + 15))} stranger=54321 # of no account
TMPDIR=/tmp work_in_own_folder # that others can reach
chmod 755 .
compile_plugged
${CC:-cc} -O2 -o mangle "$tests/programs/mangle.c" &&
	${CC:-cc} -O2 -o swapped "$tests/programs/swapped.c" &&
	${CC:-cc} -O1 -o stranger "$tests/programs/stranger.c" &&
	${CC:-cc} -O1 -g -o target "$tests/programs/views.c" || skip 'no compiler for the programs'
# Large enough for a reader to be in the midst of it.
lua=$(command -v lua5.4) || skip 'no lua5.4 here'
cp "$lua" lua
"$PUGMARK" record -q -o rec -- ./lua -e 'local function f(n) return n < 2 and n or f(n-1) + f(n-2) end print(f(15))' \
	>out 2>err || skip "recording does not work here: $(cat err)"

race() { # NAME MANNER FILE COMMAND...: how its runs ended, in NAME.ends
	local name=$1 manner=$2 file=$3 end=$((SECONDS + seconds)) mangler
	shift 3
	./mangle "$manner" "$file" &
	mangler=$!
	while [ $SECONDS -lt $end ]; do
		timeout 20 "$@" >"$name.out" 2>&1 </dev/null
		echo $?
	done >"$name.ends"
	kill -9 $mangler
	wait $mangler 2>/dev/null
}
# A needed library, and the reader of DWARF: cut short while each is looked at.
cat >lib.c <<'EOF'
int given(void) { return 1; }
static const char padding[4 << 20] = {1};
const char *more(void) { return padding; }
EOF
echo 'int given(void); int main(void) { return !given(); }' >main.c
${CC:-cc} -shared -fPIC -g -o libgiven.so lib.c &&
	${CC:-cc} -g -o main main.c -L. -lgiven -Wl,-rpath,"$dir" || skip 'no compiler for a library'
cp target lined
"$PUGMARK" record -q -o lines --level paths -- ./lined >out 2>err
cp -r rec rec2
cp lua whole

# A folder of a stranger's that is recorded into: everything that appears in it is swapped for links to a
# folder of root's, as fast as he can. At least so often, however slow the machine is.
least=$((seconds / 2))
mkdir -m 755 victim theirs
for name in plan-0.pmp meta.json meta.json.new events reserve other; do echo "precious $name" >victim/$name; done
cp -r victim as_it_was
chown $stranger:$stranger theirs
into_his_folder() {
	local end=$((SECONDS + seconds)) last=$((SECONDS + 300)) swapper
	setpriv --reuid $stranger --regid $stranger --clear-groups ./swapped "$dir/theirs" "$dir/victim" &
	swapper=$!
	: >folder.ends
	while { [ $SECONDS -lt $end ] || { [ "$(wc -l <folder.ends)" -lt $least ] && [ $SECONDS -lt $last ]; }; } &&
		diff -r victim as_it_was >folder.changed; do
		timeout 60 "$PUGMARK" record -q -o theirs/rec -- ./target >folder.out 2>&1 </dev/null
		echo $? >>folder.ends
	done
	kill -9 $swapper
	wait $swapper 2>/dev/null
}
# A file that a process maps which nobody traces, large, so that a reader would be in the midst of it.
cp "$(readlink -f /lib/x86_64-linux-gnu/libc.so.6)" large.so
beside_a_stranger() {
	local cutter
	./stranger cut large.so &
	cutter=$!
	"$PUGMARK" record -q -o stranger.rec -- ./program $((seconds * 1000000)) ./none.so >stranger.out 2>&1 </dev/null
	echo $? >stranger.ends
	kill -9 $cutter
	wait $cutter 2>/dev/null
}

races=()
race plan garbage rec2/plan-0.pmp "$PUGMARK" verify rec2 &
races+=($!)
race elf cut whole "$PUGMARK" cfg whole &
races+=($!)
race library cut libgiven.so "$PUGMARK" plan --fresh -o library.plan main &
races+=($!)
race lines cut lined "$PUGMARK" report --lines lines &
races+=($!)
into_his_folder &
races+=($!)
beside_a_stranger &
races+=($!)
started+=("${races[@]}") # with each goes what it has started
wait "${races[@]}"
started=()
for name in plan elf; do
	claim "$name: it was tried often" [ "$(wc -l <$name.ends)" -ge $((seconds / 2)) ]
	claim "$name: no run crashed or hung" is "$(awk '$1 > 3' $name.ends | sort | uniq -c)" ''
	claim "$name: some runs saw a whole file, and some did not" [ "$(sort -u $name.ends | wc -l)" -ge 2 ]
done

for name in library lines; do
	claim "$name: no run crashed or hung" is "$(awk '$1 > 3' $name.ends | sort | uniq -c)" ''
done
claim 'folder: it was tried often' [ "$(wc -l <folder.ends)" -ge $least ]
claim 'folder: nothing outside of it is changed' diff -r victim as_it_was
claim 'folder: no run crashed or hung' is "$(awk '$1 > 3' folder.ends | sort | uniq -c)" ''
claim 'stranger: the recorder lives' is "$(cat stranger.ends)" 0
"$PUGMARK" verify stranger.rec >certificate 2>&1
claim 'stranger: the recording is complete, with nothing to be said' \
	is "$? $(grep -c ^note certificate)" '0 0'
conclude
