# SPDX-License-Identifier: LGPL-2.1-or-later
# functions that nothing but a weak word of data leads to: hosts/
BINARY=${TOOLS:-$here/../../build/oracle}/offsets_place
QUICK=1
prepare() { :; }
run() { traced >output && grep -q '^[0-9]' output; }
