# SPDX-License-Identifier: LGPL-2.1-or-later
# threads that pthread_exit() ends, main()'s too, from a function that shows nothing before: hosts/
BINARY=${TOOLS:-$here/../../build/oracle}/thread_ends
QUICK=1
prepare() { :; }
run() { traced deeper >output && grep -q '^bye' output; }
