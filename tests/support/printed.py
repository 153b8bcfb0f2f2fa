#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""printed.py: whether files that a command wrote have a byte of a hostile name as it is. Reads lines
"KIND FILE"; KIND is text, json, ndjson, xml, html, or binary. Answers each with what is found, a line
each, and a line "none" or "found"."""
import json
import re
import sys
import xml.etree.ElementTree


def look(kind, data):
    found = []

    def find(what, pattern, where=data):
        for match in list(re.finditer(pattern, where))[:3]:
            around = where[max(0, match.start() - 30) : match.end() + 20]
            found.append(f"{what} at {match.start()}: {around!r}")

    if kind == "binary":
        find("an escape sequence", rb"\x1b\[31m")
        find("a turned direction", "\u202e".encode())
        find("a C1 control", b"\xc2\x9b")
        find("a byte that is not UTF-8", rb"\xff\xfe\"")
        find("a line of its own", rb"\nINJECTED")
    else:
        find("a C0 control", rb"[\x00-\x08\x0b-\x1f\x7f]")
        find("a line of its own", rb"(?m)^INJECTED")
        text = data.decode("utf-8", "surrogateescape")
        invisible = "[\udc80-\udcff\x80-\x9f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]"
        find("what is no UTF-8, hides or turns text", invisible, text)
    if kind in ("html", "xml"):
        find("a tag", rb"<script>\$")
    try:
        if kind == "json":
            json.loads(data)
        elif kind == "ndjson":
            [json.loads(line) for line in data.splitlines()]
        elif kind == "xml":
            xml.etree.ElementTree.fromstring(data)
    except Exception as error:  # whatever the reader says of it
        found.append(f"not {kind}: {error}")
    if not data:
        found.append("nothing")
    return found


for line in sys.stdin:
    kind, path = line.rstrip("\n").split(" ", 1)
    try:
        found = look(kind, open(path, "rb").read())
    except OSError as error:
        found = [str(error)]
    print(*found, "found" if found else "none", sep="\n", flush=True)
