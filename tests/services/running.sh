# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck shell=bash disable=SC2154
# running.sh: what a server that runs has served, and at what expense; sourced, with servers.sh, by
# check.sh and overhead.sh. Uses their variables: name, server, binary.

now_ms() { echo "$(($(date +%s%N) / 1000000))"; }
# Processor time of the server and of all that it has waited for, in ms.
cpu_ms() {
	local pid
	for pid in $(pids); do
		cat "/proc/$pid/stat" 2>/dev/null
	done | awk -v first="$server" -v hz="$(getconf CLK_TCK)" '{
		pid = $1
		sub(/.*\) /, "")
		n += $12 + $13 + (pid == first ? $14 + $15 : 0)
	} END { printf "%d\n", n * 1000 / hz }'
}
pids() { # those that run the copy
	find /proc -maxdepth 2 -path '/proc/[0-9]*/exe' -lname "$binary" 2>/dev/null | cut -d / -f 3
}
# Marks what has been served by now, and at what expense: TIME REQUESTS CPU.
mark() { echo "$(now_ms) $("${name}_served") $(cpu_ms)"; }
# Requests a second and µs of processor time a request between two marks.
between() {
	awk -v a="$1" -v b="$2" 'BEGIN { split(a, x); split(b, y); t = y[1] - x[1]; n = y[2] - x[2]
		printf("%.0f %.1f\n", (t > 0 ? n * 1000 / t : 0), (n > 0 ? (y[3] - x[3]) * 1000 / n : 0)) }'
}
