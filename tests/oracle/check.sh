#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# check.sh: is everything that real programs execute in the model of them?
#
#   check.sh [--quick] [NAME...]     all programs of programs/, the quick ones, or those named
#
# Each program runs its work under QEMU with the blocktrace plugin; edges then compares the trace
# with `pugmark cfg --export`. Prints a table and, for each miss, what is wrong. Exit status 1 if
# there is a miss, a program fails or runs over its time, or none could run at all.
# PUGMARK and TOOLS in the environment say where the command and the oracle's tools are; MISSES,
# if set, names a file that the misses are appended to.
set -u -o pipefail
here=$(dirname "$(realpath "$0")")
top=$(realpath "$here/../..")
pugmark=${PUGMARK:-$top/build/pugmark}
tools=${TOOLS:-$top/build/oracle}
tmp=$(mktemp -d "${TMPDIR:-/tmp}/pugmark-oracle.XXXXXX")
chmod 711 "$tmp" # postgres runs as another user
child=
cleanup() {
	[ -n "$child" ] && kill "$child" 2>/dev/null && wait "$child"
	rm -rf "$tmp"
}
trap cleanup EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

quick=0
if [ "${1:-}" = --quick ]; then
	quick=1
	shift
fi
if ! command -v qemu-x86_64 >/dev/null; then
	echo "SKIP oracle: qemu-x86_64 is not installed (package qemu-user)"
	exit 0
fi
if [ $# = 0 ]; then
	set -- $(cd "$here/programs" && ls ./*.sh | sed 's|^./||; s|[.]sh$||')
fi

# The table's cells of one program, or a reason why there are none.
check_program() {
	local name=$1 dir=$tmp/$1 binary module seconds is_quick switches start status
	read -r binary module seconds is_quick switches < <("$here/run.sh" "$name")
	[ $quick = 0 ] || [ "$is_quick" = 1 ] || return 0
	[ "$switches" = 0 ] || return 0 # edges.c follows one stack of a thread, call by call; tests/exact has these
	mkdir "$dir" "$dir/trace"
	chmod 777 "$dir" "$dir/trace"
	start=$(date +%s%N)
	timeout -k 5 "$seconds" "$here/run.sh" "$name" "$dir" qemu-x86_64 -plugin \
		"$tools/blocktrace.so,dir=$dir/trace,module=$(realpath -m "$module")" \
		>"$dir/log" 2>&1 &
	child=$!
	wait $child
	status=$?
	child=
	if [ $status = 77 ]; then
		printf '%-12s %-22s SKIP: not installed\n' "$name" "$(basename "$module")"
		skipped=$((skipped + 1))
		return 0
	elif [ $status != 0 ]; then
		printf '%-12s %-22s FAILED: exit status %d\n' "$name" "$(basename "$module")" $status
		tail -n 20 "$dir/log"
		failed=$((failed + 1))
		return 0
	fi
	"$pugmark" cfg "$module" --export "$dir/model" &&
		"$tools/edges" "$dir/model" "$module" "$dir/trace" >"$dir/result"
	status=$?
	if [ $status -gt 1 ]; then
		printf '%-12s %-22s FAILED: no result\n' "$name" "$(basename "$module")"
		failed=$((failed + 1))
		return 0
	fi
	ran=$((ran + 1))
	awk -v name="$name" -v module="$(basename "$(realpath "$module")")" \
		-v ms=$((($(date +%s%N) - start) / 1000000)) '
		NR == 1 { for (i = 1; i < NF; i += 2) v[$i] = $(i + 1)
			  h = v["heights"] + v["unknown-heights"]
			  printf "%-12s %-22s %9d %11d %7d %6d %7d %8d %9d %7.1f %6.1f\n", name,
				 module, v["distinct"], v["total"], v["misses"], v["open"],
				 v["threads"], v["unwound"], v["heights"],
				 h ? 100 * v["unknown-heights"] / h : 0, ms / 1000
			  if (v["undecoded"] + v["cuts"])
				printf "  %d blocks not decoded, %d cut\n", v["undecoded"], v["cuts"] }
		NR > 1 && $1 == "miss" && n++ < 20 { print "  " $0 }
		NR > 1 && $1 == "open" { targets[$2] = targets[$2] " " $3 }
		END { if (n > 20) printf "  and %d more\n", n - 20
		      for (j in targets) print "  open jump at " j ":" targets[j] }' "$dir/result"
	if [ $status != 0 ]; then
		failed=$((failed + 1))
		[ -z "${MISSES:-}" ] || sed -n "s/^miss/$name &/p" "$dir/result" >>"$MISSES"
	fi
	rm -rf "$dir"
}

ran=0 failed=0 skipped=0
printf '%-12s %-22s %9s %11s %7s %6s %7s %8s %9s %7s %6s\n' program module edges steps misses open \
	threads unwound heights unknown% sec
for name in "$@"; do
	check_program "$name"
done
echo "$ran programs checked, $failed with misses or failed, $skipped skipped"
[ $failed = 0 ] && [ $ran -gt 0 ]
