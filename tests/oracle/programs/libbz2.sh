# SPDX-License-Identifier: LGPL-2.1-or-later
# libbz2, linked in: there and back, and damage
BINARY=${TOOLS:-$here/../../build/oracle}/libbz2
prepare() { make_text 10000 >text; }
run() { traced text; }
