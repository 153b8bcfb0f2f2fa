#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# docs.sh: every command has a man page, the options of its help are those of that page, the pages are
# well formed, and the completion offers what the program has.
set -u
cd "$(dirname "$0")/../.." || exit 1
failed=0
say() { echo "$*"; failed=1; }

mapfile -t commands < <("$PUGMARK" --help | sed -nE 's/^  ([a-z]+) .*/\1/p')
[ ${#commands[@]} -ge 1 ] || say 'no commands in --help'
for command in "${commands[@]}"; do
	page=docs/man/pugmark-$command.1
	[ -f "$page" ] || { say "no $page"; continue; }
	grep -q "pugmark-$command 1" docs/man/pugmark.1 || say "pugmark.1 does not name pugmark-$command"
	help=$("$PUGMARK" "$command" --help)
	for option in $(grep -E '^\.It ' "$page" | grep -oE 'Fl Fl [a-z][a-z-]*' | sed 's/.* /--/'); do
		[ "$option" = --help ] || grep -qE -- "(^|[ ,[])$option( |,|\]|$)" <<<"$help" ||
			say "$command --help does not have $option"
	done
	for option in $(echo "$help" | grep -oE -- '(^|[ ,|[(])--[a-z][a-z-]*' | grep -oE -- '--.*' | sort -u); do
		[ "$option" = --help ] || grep -qE "^\.(It )?Fl +Fl ${option#--}( |$)| Fl Fl ${option#--}( |$)" "$page" ||
			say "$page does not have $option"
	done
done

if command -v mandoc >/dev/null; then
	lint=$(mandoc -T lint -W warning docs/man/*.1)
elif command -v groff >/dev/null; then
	lint=$(groff -mdoc -Tutf8 -ww -z docs/man/*.1 2>&1)
else
	echo 'no mandoc and no groff to check man pages with'
	[ $failed = 0 ] && exit 77
	exit 1
fi
[ -z "$lint" ] || say "$lint"
# The second Ql of a line would be quoted inside of the first: (‘a, ‘b’’).
nested=$(grep -nE '^\.(Pq )?Ql .* Ql ' docs/man/*.1)
[ -z "$nested" ] || say "quotes in quotes: $nested"

# What the completion offers after WORD... (the last of them incomplete).
offers() {
	PATH=$(dirname "$PUGMARK"):$PATH bash -c '
		. docs/completion/pugmark.bash
		COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
		_pugmark
		printf "%s\n" "${COMPREPLY[@]}"' completion "$@"
}
[ "$(offers pugmark '' | sort)" = "$(printf '%s\n' "${commands[@]}" --help --version | sort)" ] ||
	say "completion of the command offers: $(offers pugmark '')"
[ "$(offers pugmark cf)" = cfg ] || say "completion of cf offers: $(offers pugmark cf)"
offers pugmark cfg --li | grep -qx -- --list || say 'completion of cfg --li does not offer --list'
offers pugmark cfg --format '' | grep -qx json || say 'completion of --format does not offer json'
offers pugmark cfg Make | grep -qx Makefile || say 'completion of cfg Make does not offer Makefile'
offers pugmark dump --format '' | grep -qx ndjson || say 'completion of dump --format does not offer ndjson'
[ "$(offers pugmark report --sort ca)" = calls ] || say 'completion of report --sort ca is not calls'
[ "$(offers pugmark plan --mode '' | sort | tr '\n' ' ')" = 'best branch casper full ' ] ||
	say 'completion of plan --mode does not offer the modes'
exit $failed
