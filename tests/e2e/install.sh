#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# install.sh: `make install` gives a library that a program outside of this tree builds and runs
# against, shared and static; the shared one exports nothing but its API; `make uninstall` leaves
# no file.
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
