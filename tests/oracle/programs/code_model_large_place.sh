# SPDX-License-Identifier: LGPL-2.1-or-later
# code that may lie anywhere: hosts/code_models.c
BINARY=${TOOLS:-$here/../../build/oracle}/code_model_large_place
QUICK=1 SWITCHES=1
prepare() { :; }
run() { traced >output && grep -q '^[0-9]' output; }
