#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# demo.sh: shows what Pugmark does on a real program doing real work: `make demo`.
#
#   demo.sh PUGMARK
#
# First the static model of this machine's gzip. Then, if this build can record, every call of a
# lua5.4 (or else gzip) at work, with the tree of its first calls, the report and the certificate.
# Probes belong to a file, so the programs are copies in a temporary folder, removed at the end.
set -euo pipefail

pugmark=$(realpath "$1")
lines=30
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
trap 'exit 130' INT TERM

title() { printf '\n== %s\n' "$*"; }
# Runs pugmark, saying how a user would call it, and shows the first lines of what it prints.
shown() {
	local all=$dir/output
	title "pugmark $*"
	"$pugmark" "$@" >"$all"
	head -n $lines "$all"
	[ "$(wc -l <"$all")" -le $lines ] || printf '… %d lines in all\n' "$(wc -l <"$all")"
}

cd "$dir"
cp "$(command -v gzip)" gzip
shown cfg gzip
shown cfg --list gzip

if ! "$pugmark" --help | grep -q '^  record '; then
	exit 0
fi
if [ "$(id -u)" != 0 ]; then
	title 'Recording needs root (or CAP_BPF and CAP_PERFMON): sudo make demo'
	exit 0
fi

if lua=$(command -v lua5.4); then
	cp "$lua" lua5.4
	cat >work.lua <<'LUA'
-- Recursion, sorting with a Lua comparison (C calls back into Lua), strings.
local function fib(n) return n < 2 and n or fib(n - 1) + fib(n - 2) end
local words = {}
for i = 1, 2000 do words[i] = string.format("%x", i * 7919 % 10007) end
table.sort(words, function(a, b) return #a < #b or (#a == #b and a < b) end)
print(fib(18), words[1], words[#words], (table.concat(words):gsub("[a-f]", "")):len())
LUA
	program=(./lua5.4 work.lua)
else
	seq 1 100000 >numbers
	program=(./gzip -kf numbers)
fi
shown record -o pugmark.data -- "${program[@]}"
shown replay pugmark.data
shown report pugmark.data
shown verify pugmark.data
