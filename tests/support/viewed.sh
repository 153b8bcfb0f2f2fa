# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck shell=bash disable=SC2154
# viewed.sh: the programs whose recordings are exported to viewers; sourced behind claims.sh, in a folder
# of one's own. compile_viewed makes prog (every call is known), thrower (C++ exceptions), threads (64).
compile() { # SOURCE OUT OPTION...
	case $1 in
	*.cc) ${CXX:-c++} -std=c++20 -O2 "$tests/programs/$1" -o "$2" "${@:3}" 2>err ;;
	*) ${CC:-cc} -O2 -Wno-attributes "$tests/programs/$1" -o "$2" "${@:3}" 2>err ;;
	esac || skip "does not compile: $(head -n 1 err)"
}
compile_viewed() {
	compile views.c prog
	compile cases/exceptions.cc thrower
	compile many_threads.c threads -pthread
}
