# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck shell=bash disable=SC2154
# with_pg.sh: lua and sqlite3 built with -pg, as uftrace needs them; sourced by bench_*.sh behind lib.sh.

# Sources of the distribution for -pg builds, fetched into the build folder once.
sources=$BUILD/bench-sources pg_loads=$PWD/tests/bench/loads
fetch_source() { # PACKAGE: its folder
	local found
	found=$(find "$sources" -maxdepth 1 -type d -name "$1-*" 2>/dev/null | head -n 1)
	[ -z "$found" ] || { echo "$found"; return; }
	command -v dpkg-source >/dev/null && mkdir -p "$sources/lists/partial" || return
	(
		# shellcheck source=/dev/null
		. /etc/os-release
		cd "$sources" || exit
		chmod 755 .
		uri=$(awk '/^URIs:/ { u = $2 } /^Suites:/ && $2 == s { print u; exit }
			$1 == "deb" { print $2; exit }' s="$VERSION_CODENAME" \
			/etc/apt/sources.list.d/*.sources /etc/apt/sources.list 2>/dev/null)
		echo "deb-src [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $uri $VERSION_CODENAME main" >src.list
		apt() { apt-get -q -o Dir::Etc::sourcelist="$PWD/src.list" -o Dir::Etc::sourceparts=- \
			-o Dir::State::lists="$PWD/lists" "$@"; }
		{ apt update && apt source "$1"; } >log 2>&1
	) || return
	find "$sources" -maxdepth 1 -type d -name "$1-*" | head -n 1
}
lua_with_pg() { # OUT
	local dir files
	dir=$(fetch_source lua5.4) && [ -n "$dir" ] || return
	mapfile -t files < <(find "$dir/src" -name '*.c' ! -name luac.c)
	gcc -O2 -g -pg -DLUA_COMPAT_5_3 -DLUA_USE_POSIX -DLUA_USE_DLOPEN -o "$1" -Wl,-E \
		"${files[@]}" -lm -ldl 2>"$tmp/gcc.log"
}
sqlite_with_pg() { # OUT
	local dir
	command -v tclsh >/dev/null || return
	dir=$(fetch_source sqlite3) && [ -n "$dir" ] || return
	[ -e "$dir/sqlite3.c" ] || (cd "$dir" && ./configure && make sqlite3.c) >"$tmp/gcc.log" 2>&1 || return
	gcc -O2 -g -pg -DSQLITE_THREADSAFE=1 -I "$dir" -o "$1" "$pg_loads/sqlite_run.c" "$dir/sqlite3.c" \
		-lm 2>"$tmp/gcc.log"
}
