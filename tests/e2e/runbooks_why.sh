#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# runbooks_why.sh: the commands of docs/runbooks/wrong-value.md and crash.md, as they stand there, on Lua
# as the distribution ships it. The bytes of input that are at fault are named, and no others of that file.
set -u
. "$(dirname "$0")/../support/claims.sh"
. "$(dirname "$0")/../support/runbook.sh"
needs_recording
needs python3 lua5.4 luac5.4
work_in_own_folder
command_is_pugmark
cp "$(command -v lua5.4)" lua-copy
export PROGRAM=./lua-copy

cat >totals.lua <<'L'
-- what each customer has spent: NAME AMOUNT a line
local total = {}
for line in io.lines() do
  local name, amount = line:match("(%a+) +(%d+)")
  if name then total[name] = (total[name] or 0) + tonumber(amount) end
end
for _, name in ipairs { "alice", "bob", "carol" } do
  print(name, total[name])
end
L
printf '%s\n' 'alice 12' 'bob 7' 'carol 120' 'bob 4' 'alice 31' 'bob 0x10' 'carol 5' 'alice 3' >orders
from_input() { # NUMBER-OF-ANSWER: which bytes of standard input a slice comes down to
	sed -n 's/^input: bytes \(.*\) of descriptor 0$/\1/p' "said.$1" | tr '\n' ' '
}
not() { ! "$@"; }
places() { # NUMBER-OF-ANSWER
	sed -nE '1s/.*: ([0-9]+) places .*/\1/p' "said.$1"
}

follow wrong-value.md 0 0 3
claim 'the program prints what the page says' grep -qx "bob$(printf '\t')11" printed
claim 'the wrong total comes from the 7, the 4 and the 0 of the orders' \
	is "$(from_input 3)" '13 to 13 29 to 29 44 to 44 '
claim 'of the x behind the 0 less is left than of the page' test "$(places 4)" -le 40
printed() { grep -q 'snprintf' "$1"; }
claim 'it is not in what is printed' not printed said.4
"$PUGMARK" 'then' wrong-value --input 0:44 --limit 1000 >forward
claim 'as the 0 is' printed forward
rm said.*

# A word of code that Lua jumps by: the one of TFORPREP, as luac lists it.
luac5.4 -o right.luac totals.lua
at=$(python3 - <<'P'
code = open('right.luac', 'rb').read()
for at in range(len(code) - 4):
    word = int.from_bytes(code[at:at + 4], 'little')
    if word == 0x000780cb: # TFORPREP 1 15
        broken = bytearray(code)
        broken[at + 3] ^= 0x40
        open('broken.luac', 'wb').write(broken)
        print(at)
        break
P
)
[ -n "$at" ] || skip 'this luac compiles the program in another way'
follow crash.md 139
claim 'the address that failed comes from the damaged word, and from nothing else' \
	is "$(from_input 3)" "$at to $((at + 3)) "
claim 'its slice is a page' test "$(places 3)" -le 40
claim 'the value of the word is in it' grep -q '0x400780cb$' said.3
claim 'the damaged byte did nothing else' test "$(places 4)" -le 40
claim 'a turned jump keeps it from crashing' grep -q '^critical jump: ' said.5
conclude
