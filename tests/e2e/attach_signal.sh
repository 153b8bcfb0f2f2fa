#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# attach_signal.sh: attaching to a process that waits, as a shell does for its children: the first that
# is seen of it is a signal. Its trace begins in the functions that the signal finds open, has the
# handler on top of them, and goes on where that returns to (where it is not known what comes next there,
# the innermost function is seen when its next event comes, which may be behind a second signal): in
# modes full, casper and best, without a gap; on the stack that the signal finds and on one of the
# handler's own, out of a callback, in code of the program itself, with a handler that is not traced but
# calls back, and without one; and below 100,000 frames. By process, by program, and by program with
# --cgroup and --pid-namespace.
set -u
. "$(dirname "$0")/../support/claims.sh"
needs_recording
needs "${CC:-cc}" nm
group=
at_end() { [ -z "$group" ] || rmdir "$group/below" "$group"; }
work_in_own_folder
source=$tests/programs/blocked.c

cc=("${CC:-cc}" -g0 -O2 -fno-optimize-sibling-calls)
"${cc[@]}" -fPIC -shared -DLIBRARY "$source" -o libblocked.so 2>err &&
	"${cc[@]}" "$source" -o program -L. -lblocked -Wl,-rpath,"$dir" 2>err ||
	skip "no compiler for the program: $(head -n 1 err)"

# What the program does by its own functions, one step a line.
steps() { # MODULE
	"$PUGMARK" dump --module "$1" rec | awk '
		BEGIN { while (("nm program" | getline line) > 0) {
			split(line, f, " ")
			sub(/^0+/, "", f[1])
			if (f[3] ~ /^(main|begin|waits|spins|rounds|dive|leaf|middle|handler|called)$/) name[f[1]] = f[3]
		} }
		$2 == "gap" { print "gap", $3 }
		$2 == "call" { sub(/.*:/, "", $5); if ($5 in name) print "call", name[$5] }
		$2 == "enter" && $4 in name { print $5, name[$4] }
		$2 ~ /^(ret|unwind)$/ && $4 in name { print $2, name[$4] }'
}
attach() { # HOW WHAT OPTION...: to a program that waits, which gets a signal, and goes on to its end
	local how=$1 what=$2
	./program "$how" >ready &
	record_until_end $! $! "$what" "${@:3}"
}
how=
record_until_end() { # PID CHILD WHAT OPTION...: what is to be recorded, and our child that ends with it
	local pid=$1 child=$2 what=$3 recorder
	started+=("$child")
	until [ -s ready ]; do sleep 0.02; done
	shift 3
	rm -rf rec
	if [ "$what" = process ]; then set -- -p "$pid" "$@"; else set -- -a ./program "$@"; fi
	"$PUGMARK" record -q -o rec "$@" >out 2>err </dev/null &
	recorder=$!
	started+=("$recorder")
	until [ -e rec/events ] || ! kill -0 $recorder 2>/dev/null; do sleep 0.05; done
	sleep 0.3
	if [[ $how = *again ]]; then
		kill -USR1 "$pid"
		sleep 0.3
	fi
	kill -USR1 "$pid"
	wait "$child"
	[ "$what" = process ] || kill -INT $recorder
	wait $recorder
	rm ready
}

leaf='call leaf
ret leaf'
middle="call middle
$leaf
$leaf
ret middle"
handler="signal handler
$middle
ret handler"
waits="attach main
attach begin
attach waits"
goes_on="$leaf
ret waits
$leaf
ret begin
ret main"
declare -A expected=(
	[pause]="$waits
$handler
$goes_on"
	[foreign]="$waits
signal called
$leaf
ret called
$goes_on"
	[callback]="attach main
attach begin
attach waits
$handler
$leaf
ret waits
$leaf
ret begin
ret main"
	[spin]="attach main
attach begin
attach spins
$handler
$middle
ret spins
$leaf
ret begin
ret main"
	[rounds]="attach main
attach begin
$handler
$leaf
$leaf
$middle
$leaf
$leaf
$middle
ret rounds
$leaf
ret begin
ret main"
	[default]="$waits"
)
expected[rounds-again]=${expected[rounds]/"$handler"/"$handler
$handler"}
expected[alt-rounds-again]=${expected[rounds-again]}
expected[deep]="attach main
attach begin
$(yes 'attach dive' | head -n 100001)
attach waits
$handler
$leaf
ret waits
ret dive
$(yes "$leaf
ret dive" | head -n 300000)
$leaf
ret begin
ret main"
expected[alt]=${expected[pause]}
expected[alt-spin]=${expected[spin]}

for how in pause alt callback foreign spin alt-spin rounds rounds-again alt-rounds-again deep default; do
	attach "$how" process --mode full --twin casper --twin best
	for module in 0 1 2; do
		steps $module >did
		if [[ $how = *rounds* ]]; then # seen before the handler or behind it
			claim "$how, plan $module: it was there before" is "$(grep -c '^attach rounds' did)" 1
			sed -i '/^attach rounds/d' did
		fi
		claim "$how, plan $module: what was done, from the signal on" \
			same <(echo "${expected[$how]}") did
	done
done
by_name=(alt)
[ -z "${LONG:-}" ] || by_name=(pause alt spin)
for how in "${by_name[@]}"; do
	attach "$how" program --mode best
	steps 0 >did
	claim "$how, by the program's name: what was done, from the signal on" \
		same <(echo "${expected[$how]}") did
done

# Chosen by a filter, beside one that it keeps out.
./program pause >ready &
started+=("$!")
until [ -s ready ]; do sleep 0.02; done
rm ready
chosen() { # HOW
	steps 0 >did
	claim "by $1: what was done, from the signal on" same <(echo "${expected[pause]}") did
	claim "by $1: of that one alone" grep -q '"tasks": 1,' rec/meta.json
}
group=$(awk '$3 == "cgroup2" { print $2; exit }' /proc/mounts)/pugmark-test-$$
if mkdir -p "$group/below" 2>/dev/null; then
	(echo 0 >"$group/below/cgroup.procs" && exec ./program pause) >ready &
	record_until_end $! $! program --cgroup "pugmark-test-$$"
	chosen 'its cgroup'
else
	group=
	skipped=$((skipped + 1))
fi
# shellcheck disable=SC2016 # for the shell that is started
unshare -p sh -c './program pause >ready & echo $! >pid; wait' 2>err &
child=$!
for _ in $(seq 100); do
	[ ! -s pid ] || break
	sleep 0.02
done
if [ -s pid ]; then
	record_until_end "$(cat pid)" $child program --pid-namespace "$(cat pid)"
	chosen 'its pid namespace'
else
	skipped=$((skipped + 1))
fi
conclude
