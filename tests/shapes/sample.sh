#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# sample.sh: writes user/shapes/sample_shapes.inc: the 128 shapes of seen.txt that occur in most files.
set -eu
cd "$(dirname "$0")/../.."
{
	echo '/* The shapes that occur in most of the files of tests/shapes/seen.txt. */'
	grep -v '^#' tests/shapes/seen.txt | sort -k2,2nr -k1,1 | head -n 128 |
		awk '{ n = length($1) / 2; printf "{%d, {", n
			for (i = 0; i < n; i++) printf "%s0x%s", i ? ", " : "", substr($1, 2 * i + 1, 2)
			print "}}," }'
} >user/shapes/sample_shapes.inc
