#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# run.sh: runs tests one after another and says how they went.
#
#   run.sh [-l LOGDIR] {[-t SECONDS] TEST | -c NAME COMMAND}...
#
# TEST is a program; -c runs a shell command under a name; -t is the time limit of those that
# follow. Each runs with no stdin and an empty TMPDIR of its own, which is removed afterwards.
# Exit status 0 is a pass, 77 a skip whose reason is the last line, anything else a failure, whose
# log is shown. A test that counts for itself counts as many: cmocka's summary is read, and so is
# a last line "N passed, N failed, N skipped"; a skip in a cmocka test prints its reason first.
# The last line is the sum in that same form. Exit status 0 if nothing failed, else 1.
set -u

limit=120
logs=
passed=0 failed=0 skipped=0
failures=() skips=()

scratch=$(mktemp -d) || exit 1
child=
trap 'rm -rf "$scratch"' EXIT
trap '[ -z "$child" ] || kill "$child"; wait; exit 130' INT TERM
# Job control: each test is a group of its own, in which SIGINT is not ignored, and a Ctrl-C is for
# this script, which ends the group.
set -m

# Prints "passed failed skipped" of the log $1, or nothing where the test did not count.
counts() {
	local line
	line=$(tail -n 1 "$1" | sed -nE 's/^([0-9]+) passed, ([0-9]+) failed, ([0-9]+) skipped$/\1 \2 \3/p')
	if [ -n "$line" ]; then
		echo "$line"
		return
	fi
	awk '/^\[=+\] .* run\.$/ { ran = 1 }
		/^\[  PASSED  \] [0-9]+ test/ { pass += $4 }
		/^\[  FAILED  \] [0-9]+ test/ { fail += $4 }
		/^\[  SKIPPED \] [0-9]+ test/ { skip += $4 }
		END { if (ran) print pass + 0, fail + 0, skip + 0 }' "$1"
}

# Prints "TEST: REASON" for each test that cmocka's log $1 says was skipped.
cmocka_skips() {
	awk '/^\[ RUN/ { reason = "no reason given"; next }
		/^\[  SKIPPED \] [0-9]+ test/ { exit }
		/^\[  SKIPPED \]/ { print $4 ": " reason; next }
		/^\[/ { next }
		NF { reason = $0 }' "$1"
}

fail() { # NAME WHY LOG
	failures+=("$1: $2")
	printf '%-28s FAIL  %s\n' "$1" "$2"
	printf -- '--- log of %s' "$1"
	[ "$(wc -l <"$3")" -le 200 ] || printf ' (last 200 lines)'
	printf ' ---\n'
	tail -n 200 "$3"
	printf -- '--- end of log ---\n'
}

run_one() { # NAME COMMAND...
	local name=$1 log=$logs/$1.log started=$SECONDS status tally p f s reason
	shift
	mkdir "$scratch/tmp" || exit 1
	TMPDIR=$scratch/tmp CMOCKA_MESSAGE_OUTPUT=STDOUT \
		timeout --kill-after=10 "$limit" "$@" </dev/null >"$log" 2>&1 &
	child=$!
	wait "$child" 2>/dev/null
	status=$?
	child=
	rm -rf "$scratch/tmp"
	tally=$(counts "$log")

	if [ $status = 77 ] && [ -z "$tally" ]; then
		reason=$(tail -n 1 "$log")
		skipped=$((skipped + 1))
		skips+=("$name: ${reason:-no reason given}")
		printf '%-28s skip  %s\n' "$name" "${reason:-no reason given}"
		return
	fi
	read -r p f s <<<"${tally:-$((status == 0)) $((status != 0)) 0}"
	if [ $status != 0 ] && [ "$f" = 0 ]; then
		f=1
	fi
	if [ $status = 0 ] && [ $((p + f + s)) = 0 ]; then
		f=1
		fail "$name" "ran no test" "$log"
	elif [ $status = 124 ] || [ $status = 137 ]; then
		fail "$name" "not done after $limit s" "$log"
	elif [ "$f" != 0 ]; then
		fail "$name" "exit status $status" "$log"
	else
		printf '%-28s ok    %d passed%s, %d s\n' "$name" "$p" \
			"$([ "$s" = 0 ] || echo ", $s skipped")" $((SECONDS - started))
	fi
	passed=$((passed + p)) failed=$((failed + f)) skipped=$((skipped + s))
	if [ "$s" != 0 ]; then
		while IFS= read -r reason; do
			skips+=("$name: $reason")
		done < <(if grep -q '^\[=' "$log"; then cmocka_skips "$log"; else grep '^skip' "$log"; fi)
	fi
}

logs=$scratch/log
while [ $# -gt 0 ]; do
	case $1 in
	-l) logs=$2; shift 2 ;;
	-t) limit=$2; shift 2 ;;
	-c)
		mkdir -p "$logs" || exit 1
		run_one "$2" bash -c "$3"
		shift 3
		;;
	*)
		mkdir -p "$logs" || exit 1
		run_one "$(basename "$1")" "$1"
		shift
		;;
	esac
done

if [ ${#skips[@]} != 0 ]; then
	printf '\nskipped:\n'
	printf '  %s\n' "${skips[@]}"
fi
if [ ${#failures[@]} != 0 ]; then
	printf '\nfailed:\n'
	printf '  %s\n' "${failures[@]}"
fi
printf '\n%d passed, %d failed, %d skipped\n' "$passed" "$failed" "$skipped"
[ "$failed" = 0 ] && [ $((passed + skipped)) != 0 ]
