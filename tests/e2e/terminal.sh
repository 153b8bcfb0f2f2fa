#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# terminal.sh: `pugmark tui` in a real terminal (tmux), of 80x24 and 200x50 and while it is resized, with
# colours and without: what it shows is what report counts; search, jumps, keys; names that would move
# the cursor are text.
set -u
. "$(dirname "$0")/../support/claims.sh"
needs_recording
needs tmux jq objcopy
work_in_own_folder
export TMUX_TMPDIR=$dir # tmux leaves its sockets there
session=pugmark-$$ opened=0
at_end() { tmux -L $session kill-server 2>/dev/null; }

open_in() { # COLUMNS LINES COMMAND...
	tmux -L $session kill-server 2>/dev/null
	opened=$((opened + 1))
	session=pugmark-$$-$opened # a server that ends still has its name for a while
	tmux -L $session -f /dev/null new-session -d -x "$1" -y "$2" "LC_ALL=C.UTF-8 ${*:3}; echo left with \$?; sleep 60"
	waits_for 'arrows move'
}
screen() { tmux -L $session capture-pane -p 2>&1; }
waits_for() { # TEXT: until it is on the screen
	local i
	for ((i = 0; i < 100; i++)); do
		screen | grep -qF -- "$1" && return
		sleep .05
	done
	screen
	false
}
keys() { tmux -L $session send-keys "$@"; }

cat >prog.c <<'C'
#include <unistd.h>
static volatile int sink;
__attribute__((noipa)) static void leaf(void) { sink++; }
__attribute__((noipa)) void hostile(void) { leaf(); }
__attribute__((noipa)) static void work(int n) { for (int i = 0; i < n; i++) leaf(); }
__attribute__((noipa)) static void waits(void) { usleep(30000); }
int main(void) { work(300); waits(); hostile(); work(40); return 0; }
C
${CC:-cc} -O2 -fno-optimize-sibling-calls prog.c -o prog 2>err || skip "does not compile: $(head -n 1 err)"
objcopy --redefine-sym hostile=$'a\e[2Jb\u202ec' prog
run 0 record -q -o rec -- ./prog
run 0 report --format json rec
cp out report.json
calls=$(jq .calls report.json)

open_in 80 24 "$PUGMARK" tui rec
claim 'title: complete, and as many calls as report has' waits_for "rec: $calls calls"
claim 'title: complete' waits_for 'complete'
claim 'nothing is wider than the screen' test "$(screen | wc -l)" -le 24
keys 2
claim 'functions: leaf as often as report has it' waits_for "       341  "
keys / w a i t s Enter
claim 'search finds' waits_for ' waits'
screen >before
keys Enter
claim 'Enter: callers and callees' waits_for '<- main'
claim 'Enter: its callee' waits_for '-> usleep'
keys s
claim 's: the slowest' waits_for 'start  took'
keys g
claim 'g: no gaps' waits_for 'no gaps'
keys 1
claim 'the tree' waits_for 'total     self'
keys / l e a f Enter
claim 'search opens the tree' waits_for ' leaf'
claim 'the tree: calls of leaf in work' waits_for '       340  '
tmux -L $session resize-window -x 200 -y 50
claim 'resized: the strip is as wide' waits_for 'arrows move'
sleep .3
claim 'resized: fifty lines' test "$(screen | grep -n 'arrows move' | cut -d: -f1)" = 50
tmux -L $session resize-window -x 20 -y 5
sleep .3
claim 'resized to almost nothing: it runs on' test "$(screen | wc -l)" -le 5
tmux -L $session resize-window -x 120 -y 30
keys 2
claim 'a hostile name is text' waits_for 'a\x1b[2Jb\u{202e}c'
keys q
claim 'q leaves, with the status of a complete one' waits_for 'left with 0'

open_in 200 50 "$PUGMARK" tui rec
claim 'colours: the title has one' test "$(tmux -L $session capture-pane -pe | head -n 1 | grep -c $'\e\\[3[0-7]m')" = 1
open_in 80 24 NO_COLOR=1 "$PUGMARK" tui rec
claim 'NO_COLOR: none' test "$(tmux -L $session capture-pane -pe | grep -c $'\e\\[3[0-7]m')" = 0
open_in 80 24 TERM=vt100 "$PUGMARK" tui rec
claim 'a terminal without colours' waits_for "rec: $calls calls"
keys q
claim 'and it leaves' waits_for 'left with 0'

open_in 80 24 TERM=dumb "$PUGMARK" tui rec
claim 'a terminal whose cursor stays where it is is refused' waits_for 'no terminal whose cursor can be moved'
claim 'and that is an error' waits_for 'left with 1'

run 0 record -q -o still --no-times -- ./prog
open_in 80 24 "$PUGMARK" tui still
claim 'without times: calls' waits_for 'without times, complete'
fails 1 'needs a terminal' tui rec
run 2 tui
conclude
