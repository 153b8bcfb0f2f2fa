#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# pager.sh: what replay, report and dump print on a terminal (tmux) goes through a pager, folded and no
# wider than the terminal; anywhere else, and with --no-pager, it does not.
set -u
. "$(dirname "$0")/../support/claims.sh"
needs_recording
needs tmux jq less
work_in_own_folder
export TMUX_TMPDIR=$dir
opened=0 session=none
at_end() { tmux -L $session kill-server 2>/dev/null; }

# Its status is in `left` when it has ended.
in_terminal() { # COLUMNS COMMAND...
	tmux -L $session kill-server 2>/dev/null
	opened=$((opened + 1))
	session=pugmark-pager-$$-$opened
	rm -f left
	tmux -L $session -f /dev/null new-session -d -x "$1" -y 24 "export LC_ALL=C.UTF-8; ${*:2}; echo \$? >left; sleep 60"
}
screen() { tmux -L $session capture-pane -p 2>&1; }
shows() { screen | grep -qF -- "$1"; }
has_left() { [ -s left ]; }

cat >prog.c <<'C'
static volatile int sink;
__attribute__((noipa)) static void leaf(void) { sink++; }
__attribute__((noipa)) static void a_function_whose_name_is_far_longer_than_any_terminal_of_eighty_columns_is_wide(void) { leaf(); }
__attribute__((noipa)) static void work(int n) { for (int i = 0; i < n; i++) leaf(); }
int main(void)
{
	work(412);
	for (int i = 0; i < 60; i++)
		a_function_whose_name_is_far_longer_than_any_terminal_of_eighty_columns_is_wide();
	return 0;
}
C
${CC:-cc} -O2 -fno-optimize-sibling-calls prog.c -o prog 2>err || skip "does not compile: $(head -n 1 err)"
run 0 record -q -o rec -- ./prog

export PAGER='cat >paged'
for command in replay report dump; do
	rm -f paged
	in_terminal 80 "$PUGMARK" $command rec
	claim "$command: it ends" await has_left
	claim "$command: a pager has got it" test -s paged
	claim "$command: its status is that of the command" is "$(cat left)" 0
	rm -f paged
	run 0 $command rec
	claim "$command: not where it is no terminal" test ! -e paged
	in_terminal 80 "$PUGMARK" $command --no-pager rec
	claim "$command --no-pager: it ends" await has_left
	claim "$command --no-pager: none" test ! -e paged
done
in_terminal 80 "$PUGMARK" replay rec
claim 'replay ends' await has_left
sed 's/\x1b\[[0-9;]*m//g' paged >plain
claim 'what is repeated is one line' is "$(grep -c '×412' plain)" 1
claim 'nothing is wider than the terminal' test "$(LC_ALL=C.UTF-8 wc -L <plain)" -le 80
claim 'what was cut says so' test "$(grep -c '…$' plain)" -ge 60
in_terminal 200 "$PUGMARK" replay rec
claim 'replay ends' await has_left
claim 'a wide terminal has all of it' test "$(grep -c 'eighty_columns_is_wide' paged)" -ge 60
claim 'and colours' grep -q $'\x1b\\[' paged
rm -f paged
in_terminal 80 "$PUGMARK" replay --help
claim 'help ends' await has_left
claim 'help: none' test ! -e paged
in_terminal 80 PAGER= "$PUGMARK" replay rec
claim 'an empty PAGER: it ends' await has_left
claim 'an empty PAGER: none' test ! -e paged

unset PAGER LESS
in_terminal 80 "$PUGMARK" replay rec
claim 'less, where nothing is said: it shows the beginning' await shows 'took'
claim 'and waits' test ! -e left
tmux -L $session send-keys G
claim 'a key goes to it' await shows '(END)'
tmux -L $session send-keys q
claim 'q leaves it' await has_left
claim 'with the status of the command' is "$(cat left)" 0
in_terminal 80 "$PUGMARK" report --top 3 rec
claim 'one screen is printed and left' await has_left
claim 'and is still there' await shows main
conclude
