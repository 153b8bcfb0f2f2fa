# SPDX-License-Identifier: LGPL-2.1-or-later
# names.awk: in an event stream, sites and targets by the function that holds them: reads `nm -n`,
# then the stream.
function value(hex,   i, v) {
	for (i = 1; i <= length(hex); i++)
		v = v * 16 + index("0123456789abcdef", substr(hex, i, 1)) - 1
	return v
}
function name(hex,   i, v, best) {
	v = value(hex)
	for (i = 0; i < n && start[i] <= v; i++)
		best = symbol[i]
	return best
}
NR == FNR { if ($2 ~ /[tT]/) { start[n] = value($1); symbol[n++] = $3 }; next }
$2 == "ret" { print $1, $2, name($4); next }
$6 == "handed" { split($7, t, ":"); print $1, $2, name($4), "- handed", name(t[2]); next }
$5 == "-" { print $1, $2, name($4), $6; next }
{ split($5, t, ":"); print $1, $2, name($4), name(t[2]) }
