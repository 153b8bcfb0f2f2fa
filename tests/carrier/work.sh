#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# work.sh: programs of Debian do real work, and what they print, write and end with is the same while
# they are patched.
#
#   work.sh [NAME...]     those rows of work.txt, or all of them
#
# A row is run three times in a folder made anew: twice plain, and under `record --carrier patch`. What
# is compared are its output, what it says on standard error, its status, and every file that is there
# then. The program is a copy of Debian's, since a patch belongs to a file. What it works on is made
# by work_input.sh, once. A row that is not the same twice by itself is unsteady; the table has none.
#
# Prints a line for each row, and the sums. Status 1 if one differs. KEEP=DIR keeps what differs.
set -u
. "$(dirname "$0")/../support/claims.sh"
needs_recording
needs "${CC:-cc}" sha256sum
here=$tests/carrier
work_in_own_folder
export LC_ALL=C TERM=dumb PAGER=cat TZ=UTC SOURCE_DATE_EPOCH=1600000000
mkdir bin input
(cd input && . "$here/work_input.sh") >input.log 2>&1 || { tail -n 5 input.log; exit 1; }
same=0 differ=0 unsteady=0 patched=0 gaps=0 slow=0 absent=0

# In the folder of a run: the program, under the recorder if there is one. In `_` bash would tell which.
r() {
	if [ "$how" = plain ]; then
		env -u _ "$program" "$@"
	else
		env -u _ "$PUGMARK" record -o "$dir/rec" --carrier patch -- "$program" "$@"
	fi
}
# Runs the row's command. What it does is in $1.out, $1.err, $1.status and $1.files.
run_row() { # TO HOW
	local to=$1 how=$2
	rm -rf run rec*
	cp -a input run
	(
		cd run || exit 125
		export HOME=$PWD XDG_CACHE_HOME=$dir/cache
		set -o pipefail
		export -f r
		export how program dir PUGMARK
		exec timeout -k 5 "${ROW_SECONDS:-300}" bash -c "$command"
	) >"$to.out" 2>"$to.raw" </dev/null
	echo $? >"$to.status"
	grep -v '^pugmark: ' "$to.raw" >"$to.err"
	(cd run && find . -type f ! -path './.cache/*' -print0 | sort -z | xargs -0 sha256sum) >"$to.files"
	# The recorder ends with 3 where the program ends with 0 and the trace is not whole: what the program
	# ended with is in the recording.
	if [ "$how" = patch ] && [ "$(cat "$to.status")" = 3 ]; then
		gaps=$((gaps + 1))
		grep -Eo '"exit_status": *[0-9]+' rec/meta.json | grep -Eo '[0-9]+$' >"$to.status"
	fi
}
is_same() { # A B
	local part
	for part in out err status files; do
		cmp -s "$1.$part" "$2.$part" || return
	done
}
row() { # NAME
	local verdict carried began
	run_row first plain
	run_row second plain
	if ! is_same first second; then
		verdict=unsteady unsteady=$((unsteady + 1))
		differences first second
	fi
	began=$SECONDS
	run_row patch patch
	carried=$(grep -Eo '[0-9]+ of [0-9]+ witnesses patched' patch.raw | head -n 1)
	carried=${carried% witnesses*}
	if [ "$(cat patch.status)" = 124 ]; then
		verdict=slow slow=$((slow + 1))
	elif [ -z "${verdict:-}" ] && is_same first patch; then
		verdict=same same=$((same + 1))
		[ -z "$carried" ] || patched=$((patched + 1))
	elif [ -z "${verdict:-}" ]; then
		verdict=DIFFERS differ=$((differ + 1))
	fi
	printf '%-12s %-20s %7s %6s  %s\n' "$1" "${carried:-none}" "$(cat patch.status)" $((SECONDS - began)) "$verdict"
	[ $verdict != DIFFERS ] || differences first patch
	if [ $verdict = DIFFERS ] && [ -n "${KEEP:-}" ]; then
		mkdir -p "$KEEP/$1" && cp first.* patch.* "$KEEP/$1"
		cp -r rec "$KEEP/$1" 2>/dev/null
	fi
}
differences() { # A B
	local part
	for part in out err status files; do
		diff -a "$1.$part" "$2.$part" | cut -c 1-200 | head -n 6 | sed "s/^/  $part: /"
	done
}

printf '%-12s %-20s %7s %6s  %s\n' row 'witnesses patched' status seconds verdict
while read -r name file command; do
	case $name in '' | '#'*) continue ;; esac
	[ $# = 0 ] || [[ " $* " = *" $name "* ]] || continue
	case $file in
	/*) ;;
	*) file=$(PATH=/usr/sbin:/usr/bin command -v "$file") ;;
	esac
	if [ ! -x "$file" ]; then
		absent=$((absent + 1))
		continue
	fi
	program=$dir/bin/$(basename "$file")
	rm -f bin/*
	cp "$(realpath "$file")" "$program"
	row "$name"
done <"$here/work.txt"
printf '%d rows the same (%d of them patched), %d differ, %d unsteady by themselves, %d slow, %d not traced whole, %d not installed\n' \
	$same $patched $differ $unsteady $slow $gaps $absent
claim 'no program does anything else' is $differ 0
claim 'each row does the same twice' is $unsteady 0
claim 'all were done in time' is $slow 0
[ $# != 0 ] || [ $absent -gt 20 ] || claim 'sixty programs were patched' [ $patched -ge 60 ]
conclude
