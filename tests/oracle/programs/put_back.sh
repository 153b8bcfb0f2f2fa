# SPDX-License-Identifier: LGPL-2.1-or-later
# a setjmp that has returned by the time it is come back to: hosts/put_back.c
BINARY=${TOOLS:-$here/../../build/oracle}/put_back
QUICK=1 SWITCHES=1
prepare() { :; }
run() { traced >output && grep -q '^[0-9]' output; }
