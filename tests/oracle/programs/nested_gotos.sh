# SPDX-License-Identifier: LGPL-2.1-or-later
# gotos out of nested functions, and __builtin_longjmp: hosts/nested_gotos.c
BINARY=${TOOLS:-$here/../../build/oracle}/nested_gotos
QUICK=1
prepare() { :; }
run() { traced >output && grep -q '^[0-9]' output; }
