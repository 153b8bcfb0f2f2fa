# SPDX-License-Identifier: LGPL-2.1-or-later
# openssl: digests, a cipher both ways, a key
BINARY=/usr/bin/openssl
prepare() { make_text 3000 >text; }
run() { openssl_work; }
