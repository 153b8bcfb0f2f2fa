#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# command.sh: what the command line promises whatever the command: exit statuses, where text goes,
# one line for an error, and that output which cannot be written is an error.
set -u
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir" || exit 1
failed=0

# expect STATUS ARGUMENT...: runs pugmark, its output in out and err.
expect() {
	local want=$1 status=0
	shift
	"$PUGMARK" "$@" >out 2>err </dev/null || status=$?
	if [ $status != "$want" ]; then
		echo "pugmark $*: status $status, wanted $want; stderr: $(cat err)"
		failed=1
	fi
}
holds() { # CLAIM COMMAND...
	"${@:2}" || { echo "does not hold: $1"; cat out err; failed=1; }
}
empty() { [ ! -s "$1" ]; }
one_line() { [ "$(wc -l <"$1")" = 1 ]; }

expect 0 --help
holds 'help goes to stdout' grep -q '^usage: pugmark' out
holds 'help is no error' empty err
cp out help
expect 0 --version
holds 'the version is a number' grep -Eqx 'pugmark [0-9]+\.[0-9]+\.[0-9]+' out
expect 2
holds 'nothing on stdout' empty out
expect 2 frobnicate
holds 'names what it does not know' grep -qF "no command 'frobnicate'" err
holds 'in one line' one_line err
holds 'and guesses at nothing that is not near' eval '! grep -q "did you mean" err'
expect 2 recrod
holds 'a slip is told what was meant' grep -qF "did you mean 'record'?" err

mapfile -t commands < <(sed -nE 's/^  ([a-z]+) .*/\1/p' help)
holds 'there are commands' [ ${#commands[@]} -ge 1 ]
for command in "${commands[@]}"; do
	expect 0 "$command" --help
	holds "$command --help goes to stdout" grep -q 'usage: pugmark' out
	holds "$command --help is no error" empty err
	expect 2 "$command" --no-such-option
	holds "$command: nothing on stdout on wrong usage" empty out
	holds "$command: says what is wrong" grep -q "^pugmark" err
done

expect 1 cfg "$dir/does-not-exist"
holds 'an error is one line' one_line err
holds 'it names the file' grep -qF "pugmark: $dir/does-not-exist: " err
printf 'text' >$'no\nelf'
expect 1 cfg $'no\nelf'
holds 'a file name cannot break the line' one_line err

if [ -e /dev/full ]; then
	status=0
	"$PUGMARK" --help >/dev/full 2>err || status=$?
	holds 'a full disk is an error' [ $status = 1 ]
	holds 'and says so' grep -q 'cannot write' err
	for action in --list --call-graph '--export -' '--list --format json'; do
		status=0
		# shellcheck disable=SC2086
		"$PUGMARK" cfg $action "$(command -v /bin/true)" >/dev/full 2>err || status=$?
		holds "so it is of cfg $action" [ $status = 1 ]
		holds "cfg $action says so once" one_line err
		holds "cfg $action says what of" grep -q 'standard output: cannot write: No space' err
	done
fi
exit $failed
