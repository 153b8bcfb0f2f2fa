# SPDX-License-Identifier: LGPL-2.1-or-later
# zstd, several levels, one thread and two
BINARY=/usr/bin/zstd
prepare() { make_text 20000 >text; }
run() {
	for level in 1 3 9 19; do
		traced -q --single-thread -$level -c text >text.zst
		traced -q --single-thread -dc text.zst | cmp - text
	done
	traced -q -T2 -5 --long -c text >text.zst
	zstd -q -dc text.zst | cmp - text
	traced -q -t text.zst
}
