#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""edges.py: the rooms of offline/ and user/ are walls. tests/edges.txt says which room may use which;
whatever a file includes, and whatever symbol an object takes from another (nm), is an edge that stands
there. Nor may files need each other in a circle, but for those of which the room's README says why they
are one thing ("One thing: a.c b.c: ...").

  edges.py            check (BUILD: the build folder, whose objects are looked at)
  edges.py --cycles   list the cycles between files, of the sources alone
"""
import collections
import os
import re
import subprocess
import sys

TOPS = ("offline", "user")
INCLUDE = re.compile(r'^\s*#\s*include\s+(?:"([^"]+)"|<([^>]+)>)', re.M)
# The libraries that only one side may see.
NOT_OFFLINE = re.compile(r"^bpf/|^linux/(bpf|perf_event)|^sys/ptrace\.h$")


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def read_table(text):
    """Rooms to what they may use, in order."""
    table = {}
    for line in text.splitlines():
        line = line.split("#")[0].strip()
        if line:
            room, uses = line.split(":")
            table[room] = uses.split()
    return table


def sources():
    found = {}
    for top in TOPS:
        for folder, _, names in os.walk(top):
            for name in names:
                if name.endswith((".c", ".h")):
                    path = os.path.join(folder, name)
                    found[path] = read(path)
    return found


def room_of(path):
    return os.path.dirname(path)


def allowed(table, room, used):
    """Who may use a folder may use what is in it; a folder in a folder may use what that may."""
    rows = table.get(room, [])
    if used == room or used in rows or any(used.startswith(row + "/") for row in rows):
        return True
    parent = os.path.dirname(room)
    outside = {parent: [row for row in table.get(parent, []) if not row.startswith(parent + "/")]}
    return parent in table and used != parent and allowed(outside, parent, used)


def table_faults(table):
    seen = set()
    for room, uses in table.items():
        for used in uses:
            if used not in seen and used != "bpf":
                yield f"{room} uses {used}, which is not below it"
            if room.startswith("offline/") and not used.startswith("offline/"):
                yield f"{room} of the library uses {used}"
        seen.add(room)


def include_edges(files):
    """(file, room, what room is used, by which header)."""
    for path, text in sorted(files.items()):
        for match in INCLUDE.finditer(text):
            header = match[1] or match[2]
            top = header.split("/")[0]
            if top in TOPS:
                yield path, room_of(path), room_of(header), header
            elif match[1] and top == "bpf":
                yield path, room_of(path), "bpf", header
            elif path.startswith("offline/") and NOT_OFFLINE.match(header):
                yield path, room_of(path), header, header


def include_faults(files, table):
    for path, room, used, header in include_edges(files):
        if used == os.path.dirname(room):
            continue  # the door of its own folder
        if not allowed(table, room, used):
            yield f"{path} includes {header}: {room} may not use {used}"


# Of the C library, whoever replaces it: user/stack/heap_bound.c.
LIBC = {"malloc", "calloc", "realloc"}


def symbols(build):
    """What each object defines, and what it takes from elsewhere."""
    defined, wanted, paths = {}, {}, []
    for top in TOPS:
        for folder, _, names in os.walk(os.path.join(build, top)):
            for name in sorted(names):
                path = os.path.relpath(os.path.join(folder, name), build)
                # an object whose source is gone is of an earlier build
                if name.endswith(".o") and os.path.exists(path[:-2] + ".c"):
                    paths.append(path)
    out = subprocess.run(["nm", "-gA", *paths], check=True, capture_output=True, text=True, cwd=build).stdout
    for line in out.splitlines():
        path, rest = line.split(":", 1)
        kind, symbol = rest.split()[-2:]
        if kind == "U":
            wanted.setdefault(path, set()).add(symbol)
        elif symbol not in LIBC:
            defined[symbol] = path
    return defined, wanted


def symbol_faults(defined, wanted, table):
    for path, names in sorted(wanted.items()):
        room = room_of(path)
        taken = collections.defaultdict(list)
        for name in sorted(names):
            used = room_of(defined.get(name, path))
            if room.startswith("user/") and used.startswith("offline/") and name.startswith("pugmark_"):
                continue
            if not allowed(table, room, used):
                taken[used].append(name)
        for used, some in taken.items():
            yield f"{path} takes {' '.join(some)}: {room} may not use {used}"


def all_rooms(files):
    """The folders with files, and the halls: folders of at least two such folders."""
    rooms = {room_of(path) for path in files}
    above = collections.Counter(room_of(room) for room in rooms)
    return rooms | {hall for hall, inner in above.items() if inner > 1 and "/" in hall}


def room_faults(files, table):
    rooms = all_rooms(files)
    for room in sorted(rooms - set(table)):
        yield f"{room} is not in tests/edges.txt"
    for room in sorted(set(table) - rooms):
        yield f"tests/edges.txt has {room}, which is not there"
    for room in sorted(rooms):
        if not any(os.path.exists(f"{room}/{name}") for name in ("README", "README.md")):
            yield f"{room} has no README"


def readme_faults(readmes):
    for room, text in readmes.items():
        if "May use" not in text:
            yield f"{room}/README does not say what it may use"


def public_faults():
    """What the public headers declare begins with pugmark_ or PUGMARK_."""
    for name in sorted(os.listdir("include/pugmark")):
        text = re.sub(r"/\*.*?\*/", "", read(f"include/pugmark/{name}"), flags=re.S)
        names = re.findall(r"^#define (\w+)", text, re.M)
        names += re.findall(r"\b(?:struct|enum|union)\s+(\w+)\s*[{;]", text)
        names += re.findall(r"^\w[\w \t*]*?\b(\w+)\(", text, re.M)
        for body in re.findall(r"\benum\s*\w*\s*\{(.*?)\}", text, re.S):
            names += re.findall(r"(?:^|,)\s*(\w+)", re.sub(r"=[^,]*", "", body))
        for declared in names:
            if not re.match(r"pugmark_|PUGMARK_|static_assert$", declared):
                yield f"include/pugmark/{name} declares {declared}"


def components(uses):
    """Tarjan's strongly connected components of more than one node, without recursion."""
    index, low, on_stack, stack, found = {}, {}, set(), [], []
    for root in sorted(uses):
        if root in index:
            continue
        work = [(root, iter(sorted(uses[root])))]
        index[root] = low[root] = len(index)
        stack.append(root)
        on_stack.add(root)
        while work:
            node, rest = work[-1]
            for to in rest:
                if to not in index:
                    index[to] = low[to] = len(index)
                    stack.append(to)
                    on_stack.add(to)
                    work.append((to, iter(sorted(uses.get(to, ())))))
                    break
                if to in on_stack:
                    low[node] = min(low[node], index[to])
            else:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[node])
                if low[node] == index[node]:
                    group = []
                    while not group or group[-1] != node:
                        group.append(stack.pop())
                        on_stack.discard(group[-1])
                    if len(group) > 1:
                        found.append(sorted(group))
    return sorted(found)


def file_cycles(build):
    """A file needs another whose symbols its object takes."""
    defined, wanted = symbols(build)
    uses = {}
    for path, names in wanted.items():
        uses[path] = {defined[n] for n in names if n in defined} - {path}
    return components(uses)


def said_to_be_one(readme):
    """The groups of files that a room's README says are one thing."""
    for match in re.finditer(r"^One thing: ([\w. ]+\.c): \w", readme, re.M):
        yield sorted(match[1].split())


def cycle_faults(groups, readmes):
    """@groups: the circles, of paths of objects. @readmes: room to text."""
    said = {(room, *group) for room, text in readmes.items() for group in said_to_be_one(text)}
    for group in groups:
        rooms = {room_of(path) for path in group}
        names = sorted(os.path.basename(path)[:-2] + ".c" for path in group)
        row = (next(iter(rooms)), *names)
        if len(rooms) > 1 or row not in said:
            yield "need each other: " + " ".join(path[:-2] + ".c" for path in group)
        said.discard(row)
    for room, *names in sorted(said):
        yield f"{room}/README says that {' '.join(names)} are one thing: they need not each other"


def room_readmes(table):
    found = {}
    for room in table:
        for name in ("README", "README.md"):
            if os.path.exists(f"{room}/{name}"):
                found[room] = read(f"{room}/{name}")
    return found


def walk_faults(text, rooms, paths):
    """docs/walk.md names each room once, and no room nor file that is not there."""
    named = collections.Counter(re.findall(r"\b(?:offline|user)(?:/[a-z_]+)+\b(?![./])", text))
    for room in sorted(set(rooms) | set(named)):
        if room not in rooms:
            yield f"{room} is not there"
        elif named[room] != 1:
            yield f"{room} is named {named[room]} times"
    for file in sorted(set(re.findall(r"[\w/]+\.[ch]\b", text))):
        if not any(("/" + path).endswith("/" + file) for path in paths):
            yield f"{file} is not there"


def plants():
    """That each of the checks above finds what it looks for."""
    table = read_table("offline/low:\noffline/high: offline/low\nuser/top: offline/high\n")
    claims = {
        "an include that climbs": list(include_faults({"offline/low/a.c": '#include "offline/high/b.h"\n'}, table)),
        "an include of BPF": list(include_faults({"offline/low/a.c": "#include <bpf/libbpf.h>\n"}, table)),
        "a symbol that climbs": list(symbol_faults(
            {"b": "offline/high/b.o", "c": "offline/high/c.o"}, {"offline/low/a.o": {"b", "c"}}, table)),
        "a private symbol of the library": list(symbol_faults(
            {"a": "offline/low/a.o"}, {"user/top/c.o": {"a"}}, table)),
        "an include of a deeper folder that climbs": list(include_faults(
            {"offline/low/a/x.c": '#include "offline/low/b/y.h"\n#include "offline/low/z.h"\n'},
            read_table("offline/low: offline/low/a offline/low/b\noffline/low/a:\noffline/low/b: offline/low/a\n"))),
        "a hall that no row names": list(room_faults(
            {"user/view/a/x.c": "", "user/view/b/y.c": ""}, {"user/view/a": [], "user/view/b": []}))[:1],
        "a table with a way back": list(table_faults(read_table("offline/a: offline/b\noffline/b:\n"))),
        "a circle": components({"a": {"b"}, "b": {"c"}, "c": {"a"}, "d": {"a"}}),
        "a README that does not say what its room may use": list(readme_faults({"r": "r: a room.\nBegin with a.h."})),
        "a circle that no README names": list(cycle_faults([["r/a.o", "r/b.o"]], {"r": "One thing: a.c c.c"})),
        "a README that names no circle": list(cycle_faults([], {"r": "One thing: a.c b.c: as they are"})),
        "a circle that grew": list(cycle_faults(
            [["r/a.o", "r/b.o", "r/c.o"]], {"r": "One thing: a.c b.c: as they are"}))[:1],
        "a walk that leaves a room out": list(walk_faults("user/top", {"offline/low", "user/top"}, {})),
        "a walk of a room twice": list(walk_faults("user/top, user/top", {"user/top"}, {})),
        "a walk into a room that is gone": list(walk_faults("user/top, user/old", {"user/top"}, {})),
        "a walk to a file that is gone": list(walk_faults("user/top, top/b.c", {"user/top"}, {"user/top/a.c"})),
    }
    for claim, found in claims.items():
        if len(found) != 1:
            yield f"{claim} is not found once but {len(found)} times"
    walk = "offline/low, and user/top: see low/a.c, offline/low/a.c"
    named = list(walk_faults(walk, {"offline/low", "user/top"}, {"offline/low/a.c"}))
    if named:
        yield f"a walk of all rooms is refused: {named[0]}"
    allowed = list(symbol_faults({"pugmark_a": "offline/low/a.o"}, {"user/top/c.o": {"pugmark_a"}}, table))
    if allowed:
        yield f"a public symbol is refused: {allowed[0]}"
    kept = list(cycle_faults([["r/a.o", "r/b.o"]], {"r": "r: a room.\nOne thing: a.c b.c: as they are"}))
    if kept:
        yield f"a circle that a README names is refused: {kept[0]}"


def main():
    os.chdir(os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
    build = os.environ.get("BUILD", "build")
    if sys.argv[1:] == ["--cycles"]:
        groups = file_cycles(build)
        for group in groups:
            print(f"{len(group)} files: " + " ".join(p[:-2] + ".c" for p in group))
        print(f"{len(groups)} cycles between files, of {sum(map(len, groups))} files")
        return 0
    files, table = sources(), read_table(read("tests/edges.txt"))
    defined, wanted = symbols(build)
    checks = {
        "the checks find what is planted": plants(),
        "the table has no way back": table_faults(table),
        "each room is in the table, and has a README": room_faults(files, table),
        "each README says what its room may use": readme_faults(room_readmes(table)),
        "includes are in the table": include_faults(files, table),
        "symbols are in the table": symbol_faults(defined, wanted, table),
        "no files need each other in a circle": cycle_faults(file_cycles(build), room_readmes(table)),
        "docs/walk.md names each room once": walk_faults(
            read("docs/walk.md"), all_rooms(files), files),
        "public headers declare pugmark_ names alone": public_faults(),
    }
    failed = 0
    if not defined:
        sys.exit(f"no objects in {build}: build first")
    for claim, faults in checks.items():
        faults = list(faults)
        failed += bool(faults)
        if faults:
            print(f"FAIL {claim}:\n  " + "\n  ".join(faults))
    print(f"{len(checks) - failed} passed, {failed} failed, 0 skipped")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
