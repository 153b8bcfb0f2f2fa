#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# check.sh: is the recovered trace exactly what happened?
#
#   check.sh [--paths | --mixed SEEDS] [--quick] [NAME...]
#
# NAME is a program of tests/oracle/programs; without one, all that are listed below, or the quick
# ones, on an eighth of their work (with LONG=1 all of it). A copy of the program does its work under QEMU, which gives the true sequence of calls, tail
# jumps and returns (tests/oracle), and then natively under `pugmark record` in each mode; what
# `pugmark dump` prints of each process must be that sequence, to the last event, without a gap.
#
# Programs marked `twin` do not run the same way twice: natively, one and the same run is recorded
# by the plans of all modes at once (record --twin), and the traces of the modes must be the same.
# `twin+` ones are deterministic as well, and go both ways.
#
# With --paths, what is recorded are all blocks (--level paths) by each placement of witnesses, and
# what is compared is the sequence of blocks, to the last one.
#
# With --mixed, a half of the witnesses by lot are patched instructions and the other half probes, by
# each seed from 1 (or FIRST_SEED) on: of the programs that run the same way twice, on a tenth of the work.
#
# Prints a table: processes, call-and-return events, witness events, their share, the verdict. Exit
# status 1 if any is not identical, 77 if nothing could run. PUGMARK and TOOLS say where the command
# and the oracle's tools are; KEEP=DIR keeps what differs.
set -u -o pipefail
here=$(dirname "$(realpath "$0")")
top=$(realpath "$here/../..")
export PUGMARK=${PUGMARK:-$top/build/pugmark} TOOLS=${TOOLS:-$top/build/oracle}
tools=$TOOLS
modes="full casper best" level=calls

# NAME HOW [quick] [SCALE]: the work is divided by SCALE
programs() {
	if [ $level = paths ]; then
		paths_programs
		return
	fi
	if [ "$mixed" -gt 0 ]; then
		every_program | awk '$2 == "same" { print $1, $2, $3 == "quick" ? $3 : "-", 10 }'
		return
	fi
	every_program
}
every_program() {
	cat <<'LIST'
gzip-c same
gzip-d same quick
bzip2 same quick
zstd twin - 5
lua twin - 10
bash twin
mawk same
sed same
grep same quick
sort same
openssl same
sqlite3 same quick
git twin
python twin - 10
perl twin
gdb twin
bc same quick
offsets same quick
offsets_place same quick
offsets_fixed same quick
packed same quick
packed_calls same quick
relative_vtables same quick
packed_records same quick
leaves same quick
code_model_large same quick
code_model_large_place same quick
code_model_clang_large same quick
nested_gotos same quick
put_back same quick
thread_ends same quick
thread_ends_deeper same quick
LIST
}

# The same for --paths; the quick ones at a smaller scale. lib* are programs of ours around Debian's static libraries, so that the
# library is of the module; liblua's make it run the same way twice, which lua itself does not.
paths_programs() {
	if [ $quick = 1 ]; then
		printf '%s\n' 'gzip-c same quick 1000' 'libbz2 same quick 1000' 'mawk same quick 250'
		return
	fi
	cat <<'LIST'
gzip-c same - 100
gzip-d same - 10
lua twin - 10
liblua same - 10
libbz2 same - 40
mawk same - 20
libsqlite same - 20
LIST
}

skip() {
	echo "SKIP check-exact: $*"
	exit 77
}
command -v qemu-x86_64 >/dev/null || skip "qemu-x86_64 is not installed (package qemu-user)"
[ "$(id -u)" = 0 ] || skip "recording needs root"

tmp=$(mktemp -d "${TMPDIR:-/tmp}/pugmark-exact.XXXXXX") || exit 1
child=
cleanup() {
	[ -z "$child" ] || { kill -- "-$child" 2>/dev/null; wait "$child"; }
	rm -rf "$tmp"
}
trap cleanup EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
export XDG_CACHE_HOME=$tmp/cache

# Runs the program's work under a tracer; its log is in $tmp/log. What is made of the environment
# and of paths is the same each time.
run_work() { # NAME BINARY DIR HOW WHAT
	rm -rf "$tmp/work" "$3"
	mkdir -p "$tmp/work" "$3"
	set -m
	env -i PATH="$PATH" HOME="$tmp/work" PUGMARK="$PUGMARK" XDG_CACHE_HOME="$XDG_CACHE_HOME" SCALE="${SCALE:-1}" \
		BINARY="$2" timeout -k 5 "$seconds" \
		"$top/tests/oracle/run.sh" "$1" "$tmp/work" "$here/tracer.sh" "$3" "$4" "$5" \
		>"$tmp/log" 2>&1 </dev/null &
	child=$!
	set +m
	wait "$child"
	local status=$?
	child=
	return $status
}

row() { # NAME MODE PROCESSES EVENTS WITNESSES VERDICT
	printf '%-10s %-13s %9s %12s %12s %7s  %s\n' "$1" "$2" "$3" "$4" "$5" \
		"$(awk -v w="$5" -v e="$4" 'BEGIN { if (e > 0) printf "%.1f%%", 100 * w / e }')" "$6"
	total=$((total + 1))
	case $6 in identical*) ;; *) failed=$((failed + 1)) ;; esac
}

keep() { # DIR NAME
	[ -z "${KEEP:-}" ] || { mkdir -p "$KEEP" && rm -rf "${KEEP:?}/$2" && cp -r "$1" "$KEEP/$2"; }
}

events_of() { # what a process did, by the oracle or by a recording's module
	case $level-$1 in
	calls-oracle) "$tools/calls" "$tmp/model" "$binary" "$2/trace" 2>/dev/null ;;
	paths-oracle) "$tools/blocks" "$tmp/model" "$binary" "$2/trace" 2>/dev/null ;;
	calls-*) "$PUGMARK" dump --format text --module "$1" "$2/recording" ;;
	paths-*)
		"$PUGMARK" dump --format text --module "$1" "$2/recording" |
			grep -E '^[0-9]+ (block|gap) '
		;;
	esac
}

# Compares each process that is in @1 with the one in @2; prints the row.
compare_all() { # NAME MODE DIR-A MODULE-A DIR-B MODULE-B TRUTH
	local name=$1 mode=$2 a=$3 ma=$4 b=$5 mb=$6 verdict="identical to $7" n=0 id line status
	local events=0 witnesses=0 gaps=0 blocks=0 e w g
	for at in "$a"/*; do
		id=${at##*/}
		n=$((n + 1))
		if [ ! -e "$b/$id/recording/meta.json" ]; then
			verdict="NOT RECORDED: $(cat "$at/command")"
			continue
		fi
		line=$("$PUGMARK" dump --module "$mb" --count "$b/$id/recording")
		read -r _ e _ w _ g <<<"$line"
		events=$((events + e)) witnesses=$((witnesses + w)) gaps=$((gaps + g))
		"$tools/compare" <(events_of "$ma" "$at") <(events_of "$mb" "$b/$id") >"$tmp/result"
		status=$?
		if [ $level = paths ]; then # blocks instead of calls and returns
			read -r _ e _ <"$tmp/result"
			[ $status != 0 ] || blocks=$((blocks + e))
		fi
		if [ $status != 0 ]; then
			[ "${verdict:0:9}" != identical ] || verdict="DIFFERENT"
			if [ "$shown" -lt 3 ]; then
				{
					echo "--- $name $mode: $(head -c 200 "$at/command")"
					cat "$tmp/result"
				} >>"$tmp/differences"
				keep "$at" "$name.$mode.$id.expected"
				keep "$b/$id" "$name.$mode.$id.actual"
				[ -z "${KEEP:-}" ] || cp "$binary" "$KEEP/"
			fi
			shown=$((shown + 1))
		fi
	done
	[ $gaps = 0 ] || verdict="$gaps GAPS"
	[ $level = calls ] || events=$blocks
	[ $n -gt 0 ] && [ $events -gt 0 ] || [ "${verdict:0:9}" != identical ] || verdict="NOTHING RAN"
	row "$name" "$mode" $n $events $witnesses "$verdict"
}

work_failed() { # NAME MODE STATUS
	row "$1" "$2" - 0 0 "FAILED: exit status $3"
	tail -n 20 "$tmp/log" | sed 's/^/    /'
}

check_same() { # NAME
	run_work "$1" "$binary" "$tmp/oracle" qemu "$tools/blocktrace.so" || {
		work_failed "$1" oracle $?
		return
	}
	for mode in $modes; do
		if run_work "$1" "$binary" "$tmp/native" record "$mode"; then
			compare_all "$1" "$mode" "$tmp/oracle" oracle "$tmp/native" 0 "the oracle's"
		else
			work_failed "$1" "$mode" $?
		fi
	done
}

check_twin() { # NAME
	local i=0 modes=$modes
	[ $level = calls ] || modes="paths-blocks paths-nodes paths-edges paths-best"
	run_work "$1" "$binary" "$tmp/native" record "${modes// /,}" || {
		work_failed "$1" "${modes// /,}" $?
		return
	}
	for mode in $modes; do
		compare_all "$1" "$mode" "$tmp/native" 0 "$tmp/native" $i "${modes%% *}'s, same run"
		i=$((i + 1))
	done
}

check_program() { # NAME HOW
	local file module quick
	read -r file module seconds quick _ < <("$top/tests/oracle/run.sh" "$1")
	if [ ! -x "$file" ]; then
		printf '%-10s %-13s SKIP: %s is not installed\n' "$1" - "$file"
		skipped=$((skipped + 1))
		return
	fi
	seconds=$((seconds * 4)) shown=0
	rm -rf "$tmp/bin"
	mkdir "$tmp/bin"
	binary=$tmp/bin/$(basename "$file")
	cp "$file" "$binary"
	"$PUGMARK" cfg "$binary" --export "$tmp/model"
	case $2 in
	same) check_same "$1" ;;
	twin) check_twin "$1" ;;
	twin+) check_same "$1" && check_twin "$1" ;;
	esac
	[ ! -s "$tmp/differences" ] || sed 's/^/    /' "$tmp/differences"
	rm -rf "$tmp/differences" "$tmp/oracle" "$tmp/native" "$tmp/work"
}

total=0 failed=0 skipped=0 binary= seconds=120 shown=0 share=1
wanted=
quick=0 what=events
if [ "${1:-}" = --paths ]; then
	level=paths modes="paths-blocks paths-targets paths-edges paths-nodes paths-best" what=blocks
	shift
fi
mixed=0
if [ "${1:-}" = --mixed ]; then
	mixed=$2 modes=
	for ((seed = ${FIRST_SEED:-1}; seed < ${FIRST_SEED:-1} + mixed; seed++)); do
		modes="$modes best@$seed"
	done
	shift 2
fi
if [ "${1:-}" = --quick ]; then
	quick=1
	[ -n "${LONG:-}" ] || share=8
	shift
fi
for name in "$@"; do
	wanted="$wanted $name "
done
printf '%-10s %-13s %9s %12s %12s %7s  %s\n' program mode processes $what witnesses share verdict
while read -r name how is_quick scale; do
	[ $quick = 0 ] || [ "$is_quick" = quick ] || continue
	[ -z "$wanted" ] || [ "${wanted/ $name / }" != "$wanted" ] || continue
	SCALE=${scale:-$share} check_program "$name" "${HOW:-$how}" </dev/null
done < <(programs)
echo "$total traces compared, $failed not identical, $skipped programs skipped"
[ $failed = 0 ] && [ $total -gt 0 ]
