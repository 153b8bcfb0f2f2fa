#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# style.sh: what can be checked of the style by machine: licence lines, trailing blanks, headers
# that stand alone, shell scripts, and the layout by the clang-format that the tree is written with.
set -u
shopt -s nullglob
cd "$(dirname "$0")/.." || exit 1

version=14 # clang-format's major version; others lay some lines out differently
passed=0 failed=0 skipped=0

# Runs COMMAND, whose every line of output is a finding.
check() { # CLAIM COMMAND...
	local findings
	findings=$("${@:2}" 2>&1)
	if [ -z "$findings" ]; then
		passed=$((passed + 1))
	else
		failed=$((failed + 1))
		printf 'FAIL %s:\n%s\n' "$1" "$findings"
	fi
}
skip() {
	skipped=$((skipped + 1))
	printf 'skip %s\n' "$1"
}

mapfile -t sources < <(find include offline user bpf tests \( -name '*.[ch]' -o -name '*.cc' \) 2>/dev/null |
	LC_ALL=C sort)
mapfile -t scripts < <({ find scripts tests -name '*.sh'; echo .ci/run; } | LC_ALL=C sort)

# One process for all files: bpf/protocol.h is not of bpf/'s licence, as user/ includes it as well.
licences() {
	awk 'FNR == 1 {
			if (file != "" && !named) print file ": not " want
			file = FILENAME
			named = 0
			want = file ~ /^bpf\// && file != "bpf/protocol.h" ? "GPL-2.0" : "LGPL-2.1-or-later"
		}
		FNR <= 2 && index($0, "SPDX-License-Identifier: " want) { named = 1 }
		FNR == 2 { nextfile }
		END { if (!named) print file ": not " want }' "${sources[@]}" "${scripts[@]}"
}

trailing_blanks() {
	grep -nE '[[:blank:]]$' "${sources[@]}" "${scripts[@]}" Makefile README.md docs/*.md
}

# What a source of the build has before all else compiles alone, or that source would not.
included_first() {
	awk 'FNR == 1 { seen = 0 }
		!seen && /^[[:blank:]]*#/ {
			seen = 1
			if (match($0, /^#include "[^"]*"$/)) print substr($0, 11, length($0) - 11)
		}' $(find offline user -name '*.c')
}

# One compiler for all others: each header is a translation unit of its own.
headers_alone() {
	find include offline user bpf/protocol.h -name '*.h' | LC_ALL=C sort |
		LC_ALL=C comm -23 - <(included_first | LC_ALL=C sort -u) |
		xargs ${CC:-cc} -std=gnu17 -D_GNU_SOURCE -Wall -Wextra -Iinclude -I. -fsyntax-only \
			-Wno-unused-function -x c
}

layout() {
	"$1" --dry-run "${sources[@]}" 2>&1 | grep -F 'warning:' | cut -d: -f1-2 | uniq
}

check 'the licence of its folder is named in the first two lines' licences
check 'no trailing blanks' trailing_blanks
check 'each header compiles alone' headers_alone

if command -v shellcheck >/dev/null; then
	check 'shellcheck' shellcheck -S error -s bash "${scripts[@]}"
else
	skip 'shell scripts: no shellcheck here'
fi

format=
for candidate in clang-format-$version clang-format; do
	if "$candidate" --version 2>/dev/null | grep -q "version $version\."; then
		format=$candidate
		break
	fi
done
if [ -n "$format" ]; then
	check "laid out as $format would" layout "$format"
else
	skip "layout: no clang-format $version here"
fi

printf '%d passed, %d failed, %d skipped\n' $passed $failed $skipped
[ $failed = 0 ]
