# SPDX-License-Identifier: LGPL-2.1-or-later
# gzip, decompressing
BINARY=/usr/bin/gzip
prepare() { make_text 60000 >text && gzip -kn text; }
run() { traced -dc text.gz | cmp - text; }
