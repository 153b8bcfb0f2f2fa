# SPDX-License-Identifier: LGPL-2.1-or-later
# sort: keys, numbers, merging, uniqueness
BINARY=/usr/bin/sort
prepare() { make_text 6000 >text; }
run() {
	export LC_ALL=C
	traced --parallel=1 text >a
	traced --parallel=1 -k3,3 -k2nr -t' ' text >b
	traced --parallel=1 -S 64k -T . -u text >c
	traced -m a c >d
	traced --parallel=2 -S 1M -R --random-source=text text >/dev/null
	traced -c a
}
