# SPDX-License-Identifier: LGPL-2.1-or-later
# threads that pthread_exit() ends, main()'s too: hosts/
BINARY=${TOOLS:-$here/../../build/oracle}/thread_ends
QUICK=1
prepare() { :; }
run() { traced >output && grep -q '^bye' output; }
