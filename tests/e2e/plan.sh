#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# plan.sh: what `pugmark plan` says of finished plans and of bad input: --check proves the plans of
# this machine's programs in every mode; a damaged, cut or foreign plan file, a function that
# nothing matches and a scope that leaves nothing are clear errors; two planners at once leave one
# whole plan in the cache.
set -u
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
export XDG_CACHE_HOME=$dir/cache
failed=0
say() { echo "$*"; failed=1; }

# refuses STATUS TEXT COMMAND...: it exits so, and says that in one line.
refuses() {
	local want=$1 text=$2 got
	shift 2
	"$@" >"$dir/out" 2>"$dir/err"
	got=$?
	[ $got = "$want" ] || say "$*: exit status $got, not $want"
	grep -q -- "$text" "$dir/err" || say "$*: says '$(cat "$dir/err")', not '$text'"
	[ "$(wc -l <"$dir/err")" -le 2 ] || say "$*: $(wc -l <"$dir/err") lines of error"
}

checked=0
for name in gzip lua5.4 redis-server bash; do
	program=$(command -v $name) || continue
	for mode in full branch casper best; do
		result=$("$PUGMARK" plan --check --format json --mode $mode "$program" 2>&1)
		faults=$(jq .faults <<<"$result" 2>/dev/null)
		[ "$faults" = 0 ] || say "$name, $mode: $result"
		checked=$((checked + 1))
	done
done
# A conditional jump out to a function that never returns: nothing of it can be probed but the jump,
# and what it leads to begins with a probe that shows as much.
cat >"$dir/stop.s" <<'S'
	.globl _start
	.text
	.type _start, @function
_start:	.cfi_startproc
	call branches
	call branches
	hlt
	.cfi_endproc
	.size _start, .-_start
	.type branches, @function
branches:
	.cfi_startproc
	test %edi, %edi
	js ends
	ret
	.cfi_endproc
	.size branches, .-branches
	.type ends, @function
ends:	.cfi_startproc
	push %rax
	.cfi_def_cfa_offset 16
	call stops
	.cfi_endproc
	.size ends, .-ends
	.type stops, @function
stops:	.cfi_startproc
	ud2
	.cfi_endproc
	.size stops, .-stops
S
if gcc -nostdlib -static -o "$dir/stop" "$dir/stop.s" 2>"$dir/err"; then
	result=$("$PUGMARK" plan --check "$dir/stop" 2>&1) || say "a jump to what never returns: $result"
fi
program=$(command -v gzip) || { echo 'no gzip'; exit 77; }

"$PUGMARK" plan -o "$dir/good.plan" "$program" >/dev/null || say 'cannot plan gzip'
"$PUGMARK" plan --check --plan "$dir/good.plan" "$program" >/dev/null || say 'a good plan is refused'
size=$(stat -c %s "$dir/good.plan")

# Cut anywhere, or with any bit of it turned, it is no plan.
for part in 0 1 7 8 11 12 50 99; do
	head -c $((size * part / 100)) "$dir/good.plan" >"$dir/cut.plan"
	refuses 1 'cut.plan: ' "$PUGMARK" plan --check --plan "$dir/cut.plan" "$program"
done
for offset in 0 8 12 16 24 60 112 $((size / 2)) $((size - 9)); do
	cp "$dir/good.plan" "$dir/flip.plan"
	byte=$(od -An -tu1 -j "$offset" -N1 "$dir/good.plan")
	printf '%b' "\\x$(printf %02x $((byte ^ 16)))" |
		dd of="$dir/flip.plan" bs=1 seek="$offset" conv=notrunc status=none
	refuses 1 'flip.plan: ' "$PUGMARK" plan --check --plan "$dir/flip.plan" "$program"
done
cat "$dir/good.plan" "$program" >"$dir/long.plan"
refuses 1 'long.plan: damaged: ' "$PUGMARK" plan --check --plan "$dir/long.plan" "$program"
mkfifo "$dir/fifo.plan"
refuses 1 'not a regular file' \
	timeout 20 "$PUGMARK" plan --check --plan "$dir/fifo.plan" "$program"
refuses 1 'this share is missing' "$PUGMARK" plan --check --plan "$dir" "$program"
cp "$program" "$dir/elf.plan"
refuses 1 'not a plan file' "$PUGMARK" plan --check --plan "$dir/elf.plan" "$program"
refuses 1 'cannot open' "$PUGMARK" plan --check --plan "$dir/none.plan" "$program"
if other=$(command -v lua5.4); then
	refuses 1 'of another binary: its build-id is' \
		"$PUGMARK" plan --check --plan "$dir/good.plan" "$other"
fi

# Modules below the folder lib beside it are found, of a program that loads some and is called by them;
# for one that loads nothing this host's folders are not looked through.
mkdir -p "$dir/bin" "$dir/lib/extras"
cat >"$dir/host.c" <<'C'
#include <dlfcn.h>
#include <stdio.h>
int by_module(int x) { return x + 1; }
int main(int n, char **v) { char p[99]; snprintf(p, 99, "%s/extras/m", v[0]); return !LOADS; }
C
echo 'int by_module(int); int made(void) { return by_module(1); }' >"$dir/made.c"
if gcc -shared -fPIC -o "$dir/lib/extras/made.so" "$dir/made.c" 2>"$dir/err" &&
	gcc -rdynamic '-DLOADS=dlopen(p, 1)' -o "$dir/bin/host" "$dir/host.c" 2>"$dir/err" &&
	gcc -rdynamic -DLOADS=puts -o "$dir/bin/alone" "$dir/host.c" 2>"$dir/err"; then
	"$PUGMARK" plan "$dir/bin/host" 2>&1 | grep -q "extras/made.so, for one, is made for this file" ||
		say 'a module that is made for the program is not found'
	command -v strace >"$dir/out" &&
		strace -f -e trace=openat -o "$dir/calls" "$PUGMARK" plan "$dir/bin/alone" >"$dir/out" 2>&1
	grep -qs '"/usr/lib".*O_DIRECTORY' "$dir/calls" &&
		say 'folders are looked through for a program that loads nothing'
fi

# A cache with rubbish in it is one that has nothing.
plan=$("$PUGMARK" plan --format json "$program" | jq -r .plan)
head -c 100 "$dir/good.plan" >"$plan"
"$PUGMARK" plan --check "$program" >/dev/null || say 'a damaged plan in the cache is used'
if [ -n "${other:-}" ]; then
	"$PUGMARK" plan -o "$plan" "$other" >/dev/null
	"$PUGMARK" plan --check "$program" >/dev/null || say 'a foreign plan in the cache is used'
fi

refuses 1 "no function matches 'nothing_is_named_so'" "$PUGMARK" plan -F nothing_is_named_so "$program"
function=$("$PUGMARK" plan --list "$program" | awk 'NR == 2 { print $NF }')
"$PUGMARK" plan --stats --format json -F "$function" "$program" >"$dir/out"
grep -q '"functions":1,' "$dir/out" || say "the scope's functions are not counted: $(cat "$dir/out")"
if [ -e /dev/full ]; then
	"$PUGMARK" plan --list "$program" 2>"$dir/err" >/dev/full && say 'a full disk is no error'
	grep -q 'cannot write: No space left' "$dir/err" || say "of a full disk: $(cat "$dir/err")"
fi
refuses 1 'the scope leaves no function' "$PUGMARK" plan -N '*' "$program"
refuses 1 "no function 'nothing_is_named_so'" "$PUGMARK" plan --explain nothing_is_named_so "$program"
refuses 2 'goes with --check' "$PUGMARK" plan --plan "$dir/good.plan" "$program"
for shaping in '--mode best' --sites '-F main' '--exports all' --fresh; do
	# shellcheck disable=SC2086
	refuses 2 'is for a plan that is made now' "$PUGMARK" plan --check --plan "$dir/good.plan" \
		$shaping "$program"
done
refuses 2 "no mode 'worst'" "$PUGMARK" plan --mode worst "$program"

# A call below a frame that grows at run time says where its callee's frame is, so something else has
# to say that it is in its own, behind a call that may go anywhere (an IFUNC's, in a static program).
cat >"$dir/grows.c" <<'END'
#include <string.h>
__attribute__((noinline)) void use(char *at, const char *from, size_t len) { memcpy(at, from, len); }
__attribute__((noinline)) void grow(const char *text, size_t (*length)(const char *))
{
	size_t len = length(text);
	use(__builtin_alloca(len), text, len);
}
int main(int n, char **args) { grow(args[0], strlen); return n - 1; }
END
if gcc -O1 -static -o "$dir/grows" "$dir/grows.c" 2>"$dir/err"; then
	left=$("$PUGMARK" plan --format json "$dir/grows" | jq .unresolved)
	[ "$left" = 0 ] || say "a static program's plan names $left unresolved places"
else
	echo "no static program: $(head -1 "$dir/err")"
fi

# Several at once, with nothing in the cache.
rm -rf "$dir/cache"
pids=()
for _ in 1 2 3 4; do
	"$PUGMARK" plan "$program" >/dev/null 2>>"$dir/together" &
	pids+=($!)
done
for pid in "${pids[@]}"; do
	wait "$pid" || say 'a planner beside others fails'
done
[ ! -s "$dir/together" ] || say "$(cat "$dir/together")"
[ "$(find "$dir/cache" -type f | wc -l)" = 1 ] || say "left in the cache: $(find "$dir/cache" -type f)"
"$PUGMARK" plan --check "$program" >/dev/null || say 'what four planners left is no plan'

# What doctor has measured is what a plan is chosen by, and the plan says so; what is no cost is not
# taken.
costs_are() { # TEXT-OF-THE-FILE EMULATED STEPPED MEASURED
	echo "$1" >"$dir/cache/pugmark/costs.json"
	local got
	got=$("$PUGMARK" plan --format json "$program" |
		jq -c '[.emulated_ns, .stepped_ns, .costs_measured]')
	[ "$got" = "[$2,$3,$4]" ] || say "with the costs $1: $got"
}
costs_are '{"emulated": 801, "stepped": 16400}' 801 16400 true
costs_are '{"emulated": -1, "stepped": 16400}' 600 16400 false
costs_are '{"emulated": 801' 600 6500 false

echo "$checked plans of real programs are proven"
exit $failed
