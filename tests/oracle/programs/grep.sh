# SPDX-License-Identifier: LGPL-2.1-or-later
# grep: fixed strings, extended and Perl expressions
BINARY=/usr/bin/grep
prepare() { make_text 6000 >text; }
run() {
	traced -c -E '(a|b)[lp]*h.[ a-h]{1,3}' text >out
	traced -n -i -w -e 'OMEGA' -e 'delta' text >>out
	traced -F -v -f <(head -n 30 text) text >>out || true
	traced -P -o '\b(\w)\w*\1\b' text >>out
	traced -E '(.)\1.*(.)\2' text >>out
	[ -s out ]
}
