# SPDX-License-Identifier: LGPL-2.1-or-later
# libcrypto under openssl: much hand-written assembly
BINARY=/usr/bin/openssl
MODULE=/usr/lib/x86_64-linux-gnu/libcrypto.so.3
prepare() { make_text 3000 >text; }
run() { openssl_work; }
