# SPDX-License-Identifier: LGPL-2.1-or-later
# sed: substitution, hold space, branches
BINARY=/usr/bin/sed
prepare() { make_text 3000 >text; }
run() {
	traced -E -n -e '/a/{s/([a-z]+) ([a-z]+)/\2 \1/g;h;G}' -e 's/\n/|/;t done;b' -e ':done' \
		-e 'y/abc/xyz/;$!N;P;D' text >out
	traced -e '10,20d;s/o/0/2;5i\' -e 'inserted' -e '$a\' -e 'last' text | tail -n 1 |
		grep -qx last
	[ -s out ]
}
