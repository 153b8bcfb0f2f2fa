# SPDX-License-Identifier: LGPL-2.1-or-later
# gzip, compressing
BINARY=/usr/bin/gzip
QUICK=1
prepare() { make_text 30000 >text; }
run() {
	traced -9c text >text.gz
	gunzip -c text.gz | cmp - text
}
