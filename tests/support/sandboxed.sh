# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck shell=bash
# sandboxed.sh: finds the children in which files are analysed; to be sourced.
# The child that analyses has a filter. Nothing is started to look, for it may be over soon.
has_filter() { # PID
	local key value
	while read -r key value; do
		[ "$key" != Seccomp: ] || { [ "$value" = 2 ] && return; }
	done <"/proc/$1/status"
	return 1
}
