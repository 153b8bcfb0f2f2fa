# SPDX-License-Identifier: LGPL-2.1-or-later
# functions of the C library that call back all the same: hosts/
BINARY=${TOOLS:-$here/../../build/oracle}/leaves
QUICK=1
prepare() { :; }
run() { traced >output && grep -q 'of' output; }
