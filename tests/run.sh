#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# run.sh: runs tests, several side by side, and says how they went.
#
#   run.sh [-l LOGDIR] [-j JOBS] [-i]
#          {[-t SECONDS] TEST | -c NAME COMMAND | -q TEST | -r TEST | -b NAME COMMAND}...
#
# TEST is a program; -c runs a shell command under a name; -q is a test that asks how long things take:
# it runs when all others have ended, with nothing beside it. -t is the time limit of those that follow.
# JOBS run at a time; with -i up to twice as many, because many tests mostly wait: one more after each
# second in which half a processor was idle, one fewer after each in which none was.
# -b is a command that builds: it begins at once, is beside the JOBS, and has what processor time they
# leave, which counts as idle. Tests named behind it need what it builds, and begin when it has ended. They are to compute
# alone, and to record nothing.
# -r is a test that another recorder would disturb: it runs when all those named before -b have ended,
# one such test at a time, with as many of those behind -b beside it as make up JOBS.
# Each runs with no stdin and an empty TMPDIR of its own, which is removed afterwards.
# Scripts (*.sh) race with real programs: one that fails is run once more, alone, and what held only
# then is said as unsteady at the end, with what had not. More than five such are no accident: none
# of them is run again.
# Exit status 0 is a pass, 77 a skip whose reason is the last line, anything else a failure, whose
# log is shown. A test that counts for itself counts as many: cmocka's summary is read, and so is
# a last line "N passed, N failed, N skipped"; a skip in a cmocka test prints its reason first.
# The last line is the sum in that same form. Exit status 0 if nothing failed, else 1.
set -u

limit=120
jobs=1 most=
logs=
passed=0 failed=0 skipped=0
failures=() skips=() took=()
# Scripts that failed at their first try, what did not hold then, and whether this is the second try.
again=() unsteady=() second=
# What is to run, by number; what runs, number by process.
names=() programs=() commands=() limits=() kinds=() began=()
declare -A running=()

scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT
trap '[ ${#running[@]} = 0 ] || kill "${!running[@]}"; wait; exit 130' INT TERM
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

fail() { # NAME WHY LOG: what of it does not hold is said again at the end
	local line
	failures+=("$1: $2")
	while IFS= read -r line; do
		failures+=("  $line")
	done < <(grep -E '^(does not hold: |\[  FAILED  \] [a-z])' "$3" | head -n 20)
	printf '%-28s FAIL  %s\n' "$1" "$2"
	printf -- '--- log of %s' "$1"
	[ "$(wc -l <"$3")" -le 200 ] || printf ' (last 200 lines)'
	printf ' ---\n'
	tail -n 200 "$3"
	printf -- '--- end of log ---\n'
}

# Runs its arguments, and writes what processor time they took, in seconds of user and system, to $0.
# It outlives a signal that ends them. Descriptors 3 and 4 are make's, by which several share the JOBS.
timed='trap : TERM; TIMEFORMAT="%1U %1S"; { time "$@" 2>&19 19>&-; } 19>&2 2>"$0"'

# Sets busy to the seconds of processor time that test NUMBER took; none where it was killed.
read_busy() { # NUMBER
	local user system
	busy=
	[ -s "$scratch/busy$1" ] && read -r user system < <(tail -n 1 "$scratch/busy$1") || return 0
	busy=$(((10#${user/./} + 10#${system/./}) / 10))
}

start() { # NUMBER
	local n=$1 keeps=() last=()
	mkdir "$scratch/tmp$n" || exit 1
	# A unit test makes thousands of small worlds one after the other: what one has freed is the next
	# one's, instead of going back to the kernel and coming page by page.
	[[ ${programs[n]} != */tests/test_* ]] ||
		keeps=(MALLOC_TRIM_THRESHOLD_=1000000000 MALLOC_MMAP_THRESHOLD_=1000000000)
	[ "${kinds[n]}" != build ] || last=(nice -n 19)
	env TMPDIR="$scratch/tmp$n" CMOCKA_MESSAGE_OUTPUT=STDOUT "${keeps[@]}" "${last[@]}" \
		timeout --kill-after=10 "${limits[n]}" bash -c "$timed" "$scratch/busy$n" \
		"${programs[n]}" ${commands[n]:+-c "${commands[n]}"} \
		</dev/null >"$logs/${names[n]}.log" 2>&1 &
	running[$!]=$n
	began[n]=$SECONDS
}

ended() { # NUMBER STATUS [tried]: its only try was told before
	local n=$1 status=$2 tried=${3-} name=${names[$1]} log=$logs/${names[$1]}.log tally p f s reason
	rm -rf "$scratch/tmp$n"
	tally=$(counts "$log")

	if [ "$status" = 77 ] && [ -z "$tally" ]; then
		reason=$(tail -n 1 "$log")
		skipped=$((skipped + 1))
		skips+=("$name: ${reason:-no reason given}")
		printf '%-28s skip  %s\n' "$name" "${reason:-no reason given}"
		return
	fi
	read -r p f s <<<"${tally:-$((status == 0)) $((status != 0)) 0}"
	if [ "$status" != 0 ] && [ "$f" = 0 ]; then
		f=1
	fi
	read_busy "$n"
	[ "$tried" ] || took+=("$((SECONDS - began[n])) s${busy:+, $busy busy}: $name")
	if [ "$f" != 0 ] && [ ! "$second" ] && [[ $name == *.sh ]]; then
		cp "$log" "$log.first"
		again+=("$n")
		printf '%-28s FAIL  %s: once more at the end\n' "$name" "exit status $status"
		return
	fi
	if [ "$status" = 0 ] && [ $((p + f + s)) = 0 ]; then
		f=1
		fail "$name" "ran no test" "$log"
	elif [ "$status" = 124 ] || [ "$status" = 137 ]; then
		fail "$name" "not done after ${limits[n]} s" "$log"
	elif [ "$f" != 0 ]; then
		fail "$name" "exit status $status" "$log"
	else
		printf '%-28s ok    %d passed%s, %d s%s\n' "$name" "$p" \
			"$([ "$s" = 0 ] || echo ", $s skipped")" $((SECONDS - began[n])) "${busy:+, $busy busy}"
	fi
	passed=$((passed + p)) failed=$((failed + f)) skipped=$((skipped + s))
	if [ "$s" != 0 ]; then
		while IFS= read -r reason; do
			skips+=("$name: $reason")
		done < <(if grep -q '^\[=' "$log"; then cmocka_skips "$log"; else grep '^skip' "$log"; fi)
	fi
}

logs=$scratch/log behind=any
add() { # KIND NAME PROGRAM [COMMAND]
	kinds+=("$1") names+=("$2") programs+=("$3") commands+=("${4-}") limits+=("$limit")
}
while [ $# -gt 0 ]; do
	case $1 in
	-l) logs=$2; shift 2 ;;
	-j) jobs=$2; shift 2 ;;
	-i) most=yes; shift ;;
	-t) limit=$2; shift 2 ;;
	-b) add build "$2" bash "$3"; behind=built; shift 3 ;;
	-c) add $behind "$2" bash "$3"; shift 3 ;;
	-q) add quiet "$(basename "$2")" "$2"; shift 2 ;;
	-r) add recorder "$(basename "$2")" "$2"; shift 2 ;;
	*) add $behind "$(basename "$1")" "$1"; shift ;;
	esac
done
mkdir -p "$logs" || exit 1

# Sets next to the number of the first test of kind $1 that waits; fails if none does.
next_of() { # KIND
	local n
	for n in "${!waiting[@]}"; do
		next=$n
		[ "${kinds[n]}" != "$1" ] || return 0
	done
	return 1
}

# Sets jobs_running, and runs[KIND] to how many of that kind run.
declare -A runs=()
count_running() {
	local n
	runs=([any]=0 [build]=0 [built]=0 [recorder]=0 [quiet]=0)
	for n in "${running[@]}"; do
		runs[${kinds[n]}]=$((runs[${kinds[n]}] + 1))
	done
	jobs_running=$((${#running[@]} - runs[build]))
}

# Sets next to the number of the test to start; fails if none may.
pick() {
	[ "${runs[quiet]}" = 0 ] || return 1
	next_of any && return
	# A recorder's neighbours compute alone.
	[ $((runs[any] + runs[recorder])) = 0 ] && next_of recorder && return
	if [ "${runs[build]}" = 0 ] && { [ "${runs[recorder]}" = 0 ] || [ $jobs_running -lt "$jobs" ]; }; then
		next_of built && return
	fi
	[ ${#running[@]} = 0 ] && next_of quiet
}

# Sets idle to the hundredths of seconds of processor time that nobody has had since the machine began, but
# those that gave way. PROC_STAT is for who tests this.
read_idle() {
	local nice unused waits
	read -r _ _ nice _ unused waits _ <"${PROC_STAT:-/proc/stat}" && idle=$((nice + unused + waits))
}

# Sets lanes, how many may run, by what was idle since this was done the last time, a second ago or longer.
lanes=$jobs idle='' asked=
set_lanes() {
	local now=${EPOCHREALTIME/[.,]/} was=$idle since=$asked left
	[ "$most" ] && [ $((now - ${since:-0})) -ge 1000000 ] && read_idle || return 0
	asked=$now
	[ "$since" ] || return 0
	left=$(((idle - was) * 10000))
	if [ $((left * 2)) -ge $((now - since)) ]; then
		lanes=$((lanes < 2 * jobs ? lanes + 1 : lanes))
	elif [ $((left * 20)) -lt $((now - since)) ]; then
		lanes=$((lanes > jobs ? lanes - 1 : lanes))
	fi
}

room() {
	count_running
	set_lanes
	[ $jobs_running -lt "$lanes" ]
}

run_waiting() {
	local pid tick= n
	while next_of build; do
		unset "waiting[$next]"
		start "$next"
	done
	while [ ${#waiting[@]} != 0 ] || [ ${#running[@]} != 0 ]; do
		while room && pick; do
			unset "waiting[$next]"
			start "$next"
		done
		# Until one has ended, or for a second.
		[ "$tick" ] && kill -0 "$tick" 2>/dev/null || { sleep 1 & tick=$!; }
		wait -n "${!running[@]}" "$tick" 2>/dev/null
		for pid in "${!running[@]}"; do
			kill -0 "$pid" 2>/dev/null && continue
			n=${running[$pid]}
			unset "running[$pid]"
			wait "$pid" 2>/dev/null
			ended "$n" $?
		done
	done
}

waiting=("${names[@]}") next=
run_waiting

second=yes
for n in "${again[@]}"; do
	log=$logs/${names[n]}.log
	if [ ${#again[@]} -gt 5 ]; then
		ended "$n" 1 tried
		continue
	fi
	kinds[n]=quiet waiting=([n]=${names[n]})
	before=$failed
	run_waiting
	[ "$failed" != "$before" ] || unsteady+=("${names[n]}:
$(grep '^does not hold: ' "$log.first" | head -n 5 | sed 's/^/    /')")
done

if [ ${#took[@]} -gt 5 ]; then
	printf '\nin %d s, of which longest:\n' "$SECONDS"
	printf '%s\n' "${took[@]}" | sort -rn | head -n 10 | sed 's/^/  /'
fi
if [ ${#unsteady[@]} != 0 ]; then
	printf '\nunsteady:\n'
	printf '  %s\n' "${unsteady[@]}"
fi

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
