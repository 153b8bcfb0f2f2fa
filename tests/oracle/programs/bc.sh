# SPDX-License-Identifier: LGPL-2.1-or-later
# bc: long numbers
BINARY=/usr/bin/bc
QUICK=1
prepare() {
	scaled >work.bc <<'BC'
scale = 60
define f(n) { if (n < 2) return (1); return (n * f(n - 1)) }
f(N60)
4 * a(1)
for (i = 1; i < N40; i++) { x = sqrt(i) + e(l(i) / 3) }
x
obase = 16
2 ^ 200
BC
}
run() { traced -l work.bc </dev/null >out && grep -q '^3.14159265358979' out; }
