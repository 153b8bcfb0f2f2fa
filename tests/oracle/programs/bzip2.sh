# SPDX-License-Identifier: LGPL-2.1-or-later
# bzip2 there and back; the work is in libbz2
BINARY=/usr/bin/bzip2
MODULE=/usr/lib/x86_64-linux-gnu/libbz2.so.1.0
prepare() { make_text 10000 >text; }
run() {
	traced -9c text >text.bz2
	traced -dc text.bz2 | cmp - text
}
