#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# check.sh: is the trace of programs that leave the straight path exactly what their source says?
#
#   check.sh [--quick] [NAME...]
#
# NAME is a program of cases/; without one, all. Each is built in every way that compilers build
# programs (see builds() below; with --quick one of four in turn, or with LONG=1 all four), recorded, and what is recovered, in terms
# of the source (normal.awk), must be cases/NAME.trace to the last line. Numbers in there that depend
# on the C library, ${LIKE_THIS}, are what the program itself counted. A stripped program's addresses
# are named by its twin that was not stripped. Where there is a cases/NAME.lib.c, a library is made of
# it that the program is linked to, and that is not traced.
#
# Prints a line for each build that is not right, with the difference, and a table. JOBS=N runs so many
# at a time; REBASE=1 writes the golden files anew, by the first build; KEEP=DIR keeps what differs.
set -u -o pipefail
here=$(dirname "$(realpath "$0")")
export PUGMARK=${PUGMARK:-$(realpath "$here/../..")/build/pugmark}
limit=60

skip() {
	echo "SKIP check-programs: $*"
	exit 77
}

# COMPILER LEVEL FRAME-POINTERS PIE STRIPPED
builds() {
	echo truth
	if [ "$1" = quick ]; then
		set -- 'gcc -O2 nofp pie stripped' 'clang -O2 nofp pie whole' \
			'gcc -O0 fp nopie whole' 'clang -O3 fp nopie stripped'
		[ "${LONG:-}${REBASE:-}" ] || set -- "${@:turn % 4 + 1:1}"
		printf '%s\n' "$@"
		return
	fi
	for compiler in gcc clang; do
		for level in -O0 -O2 -O3; do
			for fp in nofp fp; do
				for pie in pie nopie; do
					printf '%s\n' "$compiler $level $fp $pie whole" \
						"$compiler $level $fp $pie stripped"
				done
			done
		done
	done
}

# Makes the library of source $1, if it has one; how to link it is in `linked`.
library() { # SOURCE COMPILER OPTIONS...
	local from=${1%.*}.lib.c
	linked=()
	[ -f "$from" ] || return 0
	# shellcheck disable=SC2016 # the dynamic linker's word
	linked=(./libcase.so '-Wl,-rpath,$ORIGIN' -rdynamic)
	"${@:2}" -fPIC -shared "$from" -o libcase.so
}

# Builds cases/$1 as $2... into the current folder: `case` to be run, `named` with symbols.
build() { # SOURCE COMPILER LEVEL FP PIE STRIPPED
	local compiler=$2 flags=("$3" -pthread "-I$here/cases")
	case $1:$2 in
	*.cc:gcc) compiler=g++ ;;
	*.cc:clang) compiler=clang++ ;;
	esac
	[ "$4" = fp ] && flags+=(-fno-omit-frame-pointer) || flags+=(-fomit-frame-pointer)
	library "$1" "$2" "${flags[@]}" || return
	[ "$5" = pie ] && flags+=(-fpie -pie) || flags+=(-fno-pie -no-pie)
	"$compiler" "${flags[@]}" "$1" -o named "${linked[@]}" || return
	[ "$6" = stripped ] && strip -o case named || cp named case
}

# One program in one build; what is wrong is in `wrong`.
try() { # NAME SOURCE BUILD...
	local name=$1 status=0
	build "$2" "${@:3}" >wrong 2>&1 || return
	timeout -k 5 $limit "$PUGMARK" record -q -o rec -- ./case >out 2>err </dev/null || status=$?
	if [ $status != "$(cat "$here/cases/$name.status" 2>/dev/null || echo 0)" ]; then
		{ echo "exit status $status"; tail -n 5 out err; } >wrong
		return 1
	fi
	"$PUGMARK" dump rec >dump 2>err
	[ ! -s err ] || { cp err wrong; return 1; }
	awk -f "$here/normal.awk" <(nm -C named) dump >got
	[ -z "${REBASE:-}" ] || awk 'FILENAME == ARGV[1] { if (split($0, part, "=") == 2) name["x" part[2]] = part[1]; next }
		$NF in name { $NF = "x${" name[$NF] "}" }
		{ print }' out got >"$here/cases/$name.trace"
	fill_in "$name" >want
	diff want got >wrong || return 1
}

# The golden trace with the numbers that the program printed.
fill_in() { # NAME
	awk 'FILENAME == ARGV[1] { if (split($0, part, "=") == 2) value["${" part[1] "}"] = part[2]; next }
		{ for (v in value) while (i = index($0, v))
			$0 = substr($0, 1, i - 1) value[v] substr($0, i + length(v))
		print }' out "$here/cases/$1.trace"
}

# A normal trace as plain calls and returns: what the compiler's instrumentation can tell. It takes
# an exception for a return, and does not see a longjmp, nor functions written in assembly, asm_*.
plain() { # SOURCE
	awk '/^repeat/ { again = $2; n = 0; next }
		/^end/ { while (again--) for (i = 1; i <= n; i++) print line[i]; again = 0; next }
		again { line[++n] = $0; next }
		{ print }' | awk -v exceptions="${1/*.cc/1}" '/^thread/ { print; next }
		/^gap/ || /^switch/ || $2 ~ /^asm_/ || $1 ~ /^asm_/ || /^\. / || (/^! / && exceptions != 1) { next }
		/^> .* resumed/ { next } # it was called by another thread
		/ resumed/ { sub(/\(\)$/, "", $1); $0 = "< " $1 }
		{ times = 1
		  if ($NF ~ /^x[0-9]+$/) times = substr($NF, 2)
		  sub(/^!/, "<")
		  while (times--)
			if (sub(/\(\)$/, "", $1)) { print "> " $1; print "< " $1; $1 = $1 "()" }
			else print $1, $2 }'
}

# Whether the golden trace is right: the same program under another observer.
try_truth() { # NAME SOURCE
	local status=0
	case $2 in *.cc) compiler=g++ ;; *) compiler=gcc ;; esac
	library "$2" gcc -O1 "-I$here/cases" >wrong 2>&1 || return
	mkdir truth
	gcc -O1 -c "$here/truth.c" -o truth.o >wrong 2>&1 &&
		$compiler -O0 -pthread -finstrument-functions -no-pie -Wl,-z,now "$2" truth.o \
			-o named "${linked[@]}" >wrong 2>&1 || return
	TRUTH_DIR=truth ./named >out 2>err </dev/null || status=$?
	find truth -type f | sort -V | xargs cat | tr -d '\0' >dump
	awk -v truth=1 -f "$here/normal.awk" <(nm -C named) dump | plain "$2" >got
	fill_in "$1" | plain "$2" >want
	diff want got >wrong
}

one() { # DIR NAME BUILD: in a folder of its own; a line with the verdict
	local name=$2 source dir
	read -ra build <<<"$3"
	source=$(echo "$here/cases/$name".c*)
	dir=$1/$name.${3// /.}
	mkdir "$dir" && cd "$dir" || return
	if [ "$3" = truth ]; then
		try_truth "$name" "$source"
	else
		try "$name" "$source" "${build[@]}"
	fi
	if [ $? = 0 ]; then
		echo "$name right"
		rm -rf "$dir"
		return
	fi
	echo "$name WRONG"
	{
		echo "--- $name $3"
		head -n 12 wrong
	} >&2
	[ -z "${KEEP:-}" ] || { mkdir -p "$KEEP" && rm -rf "${KEEP:?}/${dir##*/}" && mv "$dir" "$KEEP"; }
}

if [ "${1:-}" = --one ]; then
	one "${@:2}"
	exit
fi
[ "$(id -u)" = 0 ] || skip "recording needs root"
for compiler in gcc g++ clang clang++; do
	command -v $compiler >/dev/null || skip "$compiler is not installed"
done
which=all
if [ "${1:-}" = --quick ]; then
	which=quick
	shift
fi
[ $# -gt 0 ] || set -- $(cd "$here/cases" && ls ./*.trace | sed 's,^\./,,; s/\.trace$//')
[ -z "${REBASE:-}" ] || which=quick JOBS=1
dir=$(mktemp -d "${TMPDIR:-/tmp}/pugmark-programs.XXXXXX") || exit 1
trap 'rm -rf "$dir"' EXIT
export XDG_CACHE_HOME=$dir/cache
turn=0
for name in "$@"; do
	turn=$((turn + 1))
	builds $which | sed "s/^/$name\n/; ${REBASE:+1d; 2q}"
done | xargs -d '\n' -n 2 -P "${JOBS:-$(nproc)}" "$0" --one "$dir" >"$dir/verdicts"
awk '{ all[$1]++; bad[$1] += $2 != "right" } END {
	for (n in all) { printf "%-14s %3d builds, %s\n", n, all[n], bad[n] ? bad[n] " WRONG" : "all exact" | "sort"
		total += all[n]; wrong += bad[n] }
	close("sort")
	printf "%d traces, %d not exact\n", total, wrong
	exit !total || wrong }' "$dir/verdicts"
