#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# safe_races.sh: files that change while they are read. A plan of a recording is rewritten in place
# while `verify` reads it, an ELF file is cut short and restored while it is analysed, a library while
# it is looked through: whatever is told then, nothing crashes. Each is tried for 30 seconds, side by
# side.
set -u
. "$(dirname "$0")/../support/claims.sh"
needs_recording
seconds=${SAFE_SECONDS:-30}
work_in_own_folder
${CC:-cc} -O2 -o mangle "$tests/programs/mangle.c" &&
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
races=()
race plan garbage rec2/plan-0.pmp "$PUGMARK" verify rec2 &
races+=($!)
race elf cut whole "$PUGMARK" cfg whole &
races+=($!)
race library cut libgiven.so "$PUGMARK" plan --fresh -o library.plan main &
races+=($!)
race lines cut lined "$PUGMARK" report --lines lines &
races+=($!)
wait "${races[@]}"
for name in plan elf; do
	claim "$name: it was tried often" [ "$(wc -l <$name.ends)" -ge $((seconds / 2)) ]
	claim "$name: no run crashed or hung" is "$(awk '$1 > 3' $name.ends | sort | uniq -c)" ''
	claim "$name: some runs saw a whole file, and some did not" [ "$(sort -u $name.ends | wc -l)" -ge 2 ]
done

for name in library lines; do
	claim "$name: no run crashed or hung" is "$(awk '$1 > 3' $name.ends | sort | uniq -c)" ''
done
conclude
