# SPDX-License-Identifier: LGPL-2.1-or-later
# mawk: fields, arrays, functions, regular expressions. It reads files only: how much of a pipe one
# read brings is not the same twice.
BINARY=/usr/bin/mawk
QUICK=1
prepare() { make_text 5000 >text; }
run() {
	traced 'function f(n) { return n < 2 ? n : f(n - 1) + f(n - 2) }
		{ for (i = 1; i <= NF; i++) n[$i]++; gsub(/[aeiou]+/, "<&>"); len += length($0) }
		/b.*d$/ { hits++ }
		END { for (w in n) k++; printf "%d %d %d %d\n", k, len, hits, f(18)
		      system("sort text >sorted")
		      while ((getline l <"sorted") > 0) m++; print substr("abcdef", 2, 3), m }' \
		text >out
	grep -q "^bcd $((5000 / ${SCALE:-1}))\$" out
}
