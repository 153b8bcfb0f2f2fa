#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# install.sh: `make install` gives a library that a program outside of this tree builds and runs
# against, shared and static; the shared one exports nothing but its API; `make uninstall` leaves
# no file. And without zstd, zlib does.
set -eu
cd "$(dirname "$0")/../.."
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

make -s install DESTDIR="$dir/root" PREFIX=/opt/pugmark
prefix=$dir/root/opt/pugmark
"$prefix/bin/pugmark" --version
export PKG_CONFIG_PATH=$prefix/lib/pkgconfig PKG_CONFIG_SYSROOT_DIR=$dir/root

cat >"$dir/user.c" <<'C'
#include <stdio.h>
#include <pugmark/model.h>
int main(int argc, char **argv)
{
	struct pugmark_diag diag;
	struct pugmark_model *model;
	int err = pugmark_model_open(argv[argc - 1], &model, &diag);
	if (err) {
		fprintf(stderr, "%s: %s\n", diag.file, diag.text);
		return 1;
	}
	printf("%u functions\n", model->n_funcs);
	pugmark_model_free(model);
	return 0;
}
C
flags=()
case $BUILD in *san*) flags=('-fsanitize=address,undefined') ;; esac
# shellcheck disable=SC2046 # words are wanted
${CC:-cc} "${flags[@]}" -o "$dir/shared" "$dir/user.c" $(pkg-config --cflags --libs pugmark)
# shellcheck disable=SC2046
${CC:-cc} "${flags[@]}" -o "$dir/static" "$dir/user.c" $(pkg-config --cflags pugmark) "$prefix/lib/libpugmark.a" \
	$(pkg-config --libs --static pugmark | sed "s|-lpugmark||")

if command -v c++ >/dev/null; then # the headers are C++ as well
	for header in "$prefix"/include/pugmark/*.h; do
		echo "#include <pugmark/$(basename "$header")>"
	done >"$dir/user.cc"
	echo 'int main() { pugmark_trace_free(nullptr); }' >>"$dir/user.cc"
	# shellcheck disable=SC2046
	c++ "${flags[@]}" -o "$dir/plusplus" "$dir/user.cc" $(pkg-config --cflags --libs pugmark)
	LD_LIBRARY_PATH=$prefix/lib "$dir/plusplus"
fi

readelf -d "$dir/shared" | grep -q 'NEEDED.*\[libpugmark\.so\.[0-9]*\]'
shared=$(LD_LIBRARY_PATH=$prefix/lib "$dir/shared" "$PUGMARK")
static=$("$dir/static" "$PUGMARK")
echo "shared: $shared; static: $static"
[ "$shared" = "$static" ]
[ "${shared% functions}" -gt 100 ]

others=$(nm -D --defined-only "$prefix/lib/libpugmark.so" | awk '$3 !~ /^(pugmark|recording)_/ { print $3 }')
[ -z "$others" ] || { echo "exported, but not of the API: $others"; exit 1; }

make -s uninstall DESTDIR="$dir/root" PREFIX=/opt/pugmark
left=$(find "$dir/root" ! -type d)
[ -z "$left" ] || { echo "left by uninstall: $left"; exit 1; }

# As where zstd is not installed: all other libraries are still found, and the command that comes out
# writes what the usual one reads.
unset PKG_CONFIG_PATH PKG_CONFIG_SYSROOT_DIR
mkdir "$dir/pc"
for name in libelf libdw nettle zlib jansson libbpf; do
	cp "$(pkg-config --variable=pcfiledir $name)/$name.pc" "$dir/pc"
done
export PKG_CONFIG_LIBDIR=$dir/pc
pkg-config --exists libelf || { echo 'libelf needs zstd itself here: not tried without'; exit 0; }
make -n BUILD="$dir/none" "$dir/none/pugmark" CC="${CC:-cc}" >"$dir/commands"
compile_of() { grep -- "-c $1 " "$dir/commands" | sed 's| -o .*||; s|-MMD -MP||'; }
libs=$(grep -- "-o $dir/none/pugmark " "$dir/commands" | grep -oE -- ' -l[A-Za-z0-9]+' | tr -d '\n')
case $libs in *zstd*) echo "linked with zstd, which is missing: $libs"; exit 1 ;; esac
cp "$BUILD/libpugmark.a" "$dir/libpugmark.a"
know=$(grep -rlF '<zstd.h>' user offline)
objects=() n_without=0
while read -r object; do
	source=${object#"$BUILD/"}
	source=${source%.o}.c
	[ -f "$source" ] || continue # of a tree before
	if grep -qF "$know" "${object%.o}.d"; then
		n_without=$((n_without + 1))
		object=$dir/$(basename "$object")
		eval "$(compile_of "$source") ${flags[*]} -o '$object'"
	fi
	case $source in
	user/*) objects+=("$object") ;;
	*) [ "$(dirname "$object")" != "$dir" ] || ar rcs "$dir/libpugmark.a" "$object" ;;
	esac
done < <(find "$BUILD/user" "$BUILD/offline" -name '*.o')
[ "$n_without" -ge 1 ]
# shellcheck disable=SC2086 # words are wanted
${CC:-cc} "${flags[@]}" -o "$dir/without" "${objects[@]}" "$dir/libpugmark.a" $libs
echo "without zstd: linked with$libs"
if "$PUGMARK" doctor >/dev/null 2>&1; then
	cp "$(command -v gzip)" "$dir/traced"
	"$dir/without" record -q -o "$dir/rec" -- "$dir/traced" -c README.md >/dev/null
	"$PUGMARK" verify "$dir/rec"
	"$dir/without" dump "$dir/rec" | cmp - <("$PUGMARK" dump "$dir/rec")
	"$PUGMARK" record -q -o "$dir/rec" -- "$dir/traced" -c README.md >/dev/null
	"$dir/without" verify "$dir/rec" >"$dir/said" && { echo 'zstd is read without it'; exit 1; }
	grep 'compressed by what this program was built without' "$dir/said"
fi
