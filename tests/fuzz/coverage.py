#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""How many lines of its readers each fuzz target has run: coverage.py README BUILD NAME...

README's table says which files a target gives bytes to. BUILD is of `make COVER=1`: BUILD/tests/replay_NAME
is the program, BUILD/NAME.profraw what ran. Prints a row a file, and one a target of all its files."""
import json
import os
import re
import subprocess
import sys


def readers(readme):
    """The files and folders of each target, by its name."""
    found = {}
    with open(readme) as f:
        rows = [line.split("|")[1:-1] for line in f if line.startswith("| `")]
    for names, _, files in rows:
        folder, paths = "", []
        for word in re.findall(r"`([^`]+)`", files):
            path = word if "/" in word else os.path.join(folder, word)
            folder = path if os.path.isdir(path) else os.path.dirname(path)
            if not os.path.exists(path):
                sys.exit("%s: no such file: %s" % (readme, path))
            paths.append(path)
        for name in re.findall(r"`([^`]+)`", names):
            found[name] = paths
    return found


def covered(build, name):
    """Lines that ran and lines that there are, by file."""
    raw, merged = "%s/%s.profraw" % (build, name), "%s/%s.profdata" % (build, name)
    subprocess.run(["llvm-profdata", "merge", "-sparse", raw, "-o", merged], check=True)
    out = subprocess.run(["llvm-cov", "export", "-summary-only", "-instr-profile", merged,
                          "%s/tests/replay_%s" % (build, name)], check=True, capture_output=True).stdout
    here = os.getcwd() + "/"
    return {f["filename"].removeprefix(here): (f["summary"]["lines"]["covered"], f["summary"]["lines"]["count"])
            for f in json.loads(out)["data"][0]["files"]}


def row(target, name, ran, lines):
    print("%-10s %-42s %6d of %6d  %5.1f %%" % (target, name, ran, lines, 100 * ran / max(lines, 1)))


def main():
    readme, build, names = sys.argv[1], sys.argv[2], sys.argv[3:]
    table = readers(readme)
    print("%-10s %-42s %s" % ("target", "file", "lines covered"))
    for name in names:
        if name not in table:
            sys.exit("%s: it says nothing of %s" % (readme, name))
        lines = covered(build, name)
        ours = sorted({f for f in lines if f.endswith(".c") for path in table[name]
                       if f == path or f.startswith(path + "/")})
        for f in ours:
            row(name, f, *lines[f])
        row(name, "all", sum(lines[f][0] for f in ours), sum(lines[f][1] for f in ours))


main()
