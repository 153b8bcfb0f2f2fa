# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck shell=bash disable=SC2154
# runbook.sh: what the scripts share that follow the pages of docs/runbooks; sourced behind claims.sh.
# $input: what the commands read, /dev/null unless told.
input=/dev/null

command_is_pugmark() { # as the pages write it; in a folder of one's own
	ln -s "$PUGMARK" pugmark
	PATH=$dir:$PATH
}

# The commands of a page, one after another; each ends with its STATUS (those not given: 0).
follow() { # PAGE [STATUS...]
	local line n=0 want=("${@:2}")
	while IFS= read -r line; do
		bash -c "$line" >"said.$((n + 1))" 2>err <"$input"
		claim "$1: $line" is $? "${want[n]:-0}"
		n=$((n + 1))
	done < <(sed -nE 's/^ *\$ (pugmark .*)/\1/p' "$tests/../docs/runbooks/$1")
	claim "$1: has commands" test $n -ge 2
	cat said.[0-9]* >answers
}
