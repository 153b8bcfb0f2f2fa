# SPDX-License-Identifier: LGPL-2.1-or-later
"""exported.py FORMAT FILE: reads what `pugmark export` wrote, with the format's own rules, and prints
how often each function was called, `CALLS NAME` a line, and gaps as `CALLS [gap]`. Ends with status 1
where the file breaks a rule of its format: what does not nest, runs backwards or is not named."""
import json
import re
import subprocess
import sys
from collections import Counter, defaultdict
from pathlib import Path

GAP = "[gap]"


def wrong(text):
    sys.exit(f"{sys.argv[1]}: {text}")


def chrome(path):
    calls, open_, last = Counter(), defaultdict(list), defaultdict(float)
    for e in json.load(open(path))["traceEvents"]:
        at = (e["pid"], e["tid"])
        if e["ph"] in "Me":  # a gap's end may lie anywhere
            continue
        if e["ts"] < last[at]:
            wrong(f"thread {at} runs backwards at {e['ts']}")
        last[at] = e["ts"]
        if e["ph"] == "B":
            calls[e["name"]] += 1
            open_[at].append(e["name"])
        elif e["ph"] == "E":
            if not open_[at] or open_[at].pop() != e["name"]:
                wrong(f"thread {at} ends what it has not begun, at {e['ts']}")
        elif e["ph"] == "b":
            calls[GAP] += 1
        else:
            wrong(f"an event of phase {e['ph']}")
    for at, names in open_.items():
        if names:
            wrong(f"thread {at} has {names[-1]} open at the end")
    return calls


def speedscope(path):
    whole, calls = json.load(open(path)), Counter()
    frames = whole["shared"]["frames"]
    for p in whole["profiles"]:
        open_, at = [], p["startValue"]
        for e in p["events"]:
            if e["at"] < at or e["at"] > p["endValue"]:
                wrong(f"{p['name']} runs backwards at {e['at']}")
            at = e["at"]
            if e["type"] == "O":
                open_.append(e["frame"])
                name = frames[e["frame"]]["name"]
                calls[GAP if name.startswith("[gap: ") else name] += 1
            elif open_.pop() != e["frame"]:
                wrong(f"{p['name']} closes another frame than it opened, at {at}")
        if open_:
            wrong(f"{p['name']} has frames open at its end")
    return calls


def folded(path):
    calls = Counter()
    for line in open(path):
        stack, weight = line.rstrip("\n").rsplit(" ", 1)
        calls[stack.split(";")[-1]] += int(weight)
    return calls


def pprof(path):
    raw = subprocess.run(["go", "tool", "pprof", "-symbolize=demangle=none", "-raw", path], capture_output=True, text=True,
                         check=True).stdout
    calls, names = Counter(), {}
    samples, locations = raw.split("Samples:\n")[1].split("Locations\n")
    for line in locations.split("Mappings")[0].splitlines():
        m = re.match(r"\s*(\d+): 0x0 (?:M=\d+ )?(.*?) (?:\S+)?:0(?::0)? s=0", line)
        if not m:
            wrong(f"a location of another form: {line}")
        names[m[1]] = m[2]
    for line in samples.splitlines()[1:]:
        values, stack = line.split(":")
        calls[names[stack.split()[0]]] += int(values.split()[0])
    return calls


def callgrind(path):
    """By callgrind_annotate: the cost `Calls` of each function is what it was called."""
    text = subprocess.run(["callgrind_annotate", "--threshold=100", "--show=Calls", path],
                          capture_output=True, text=True, check=True)
    if text.stderr.strip() or "WARNING" in text.stdout:
        wrong(text.stderr or text.stdout)
    calls = Counter()
    for line in text.stdout.split("file:function")[1].splitlines():
        m = re.match(r"\s*([\d,]+)(?: \([ \d.]+%\))?\s+\?\?\?:(.*?)(?:'\S+)? \[\S+\]$", line)
        if m:
            calls[m[2]] += int(m[1].replace(",", ""))
    return calls


def ctf(path):
    out = subprocess.run(["babeltrace2", "--fields=loglevel", path], capture_output=True, text=True)
    if out.returncode or "rror" in out.stderr:
        wrong(out.stderr)
    calls = Counter()
    for line in out.stdout.splitlines():
        m = re.search(r"\bcall: .*func = \( \"?(.*?)\"? : container", line)
        if m:
            calls[m[1]] += 1
        elif re.search(r"\bgap: ", line):
            calls[GAP] += 1
    return calls


def sqlite(path):
    import sqlite3
    db = sqlite3.connect(path)
    if db.execute("PRAGMA integrity_check").fetchone() != ("ok",):
        wrong("the database is not whole")
    loose = db.execute("""SELECT count(*) FROM calls c LEFT JOIN calls p ON p.id = c.parent
        WHERE c.parent IS NOT NULL AND (p.id IS NULL OR p.begin_earliest > c.begin_earliest OR
        p.thread <> c.thread OR p.level + 1 <> c.level)""").fetchone()[0]
    if loose:
        wrong(f"{loose} calls do not lie within their parents")
    calls = Counter()
    for name, n in db.execute("SELECT name, sum(calls) FROM by_function GROUP BY 1"):
        calls[name] += n
    for (n,) in db.execute("SELECT count(*) FROM gaps HAVING count(*) > 0"):
        calls[GAP] += n
    return calls


def perfetto(path):
    proto = Path(__file__).with_name("perfetto.proto")
    text = subprocess.run(["protoc", f"--proto_path={proto.parent}", "--decode=Trace", str(proto)],
                          stdin=open(path, "rb"), capture_output=True, text=True)
    if text.returncode:
        wrong(text.stderr)
    if re.search(r"^\s*\d+[:{ ]", text.stdout, re.M):
        wrong("a field that the format does not have")
    calls, names, tracks = Counter(), {}, {}
    open_, last = defaultdict(list), defaultdict(int)
    flows, ends = Counter(), Counter()
    for packet in text.stdout.split("\npacket {")[0:]:
        for iid, name in re.findall(r"event_names \{\s+iid: (\d+)\s+name: \"(.*)\"", packet):
            if iid in names:
                wrong(f"name {iid} is given twice")
            names[iid] = name
        m = re.search(r"track_descriptor \{\s+uuid: (\d+)", packet)
        if m:
            tracks[m[1]] = packet
        if "track_event {" not in packet:
            continue
        at = int(re.search(r"timestamp: (\d+)", packet)[1])
        kind = re.search(r"type: (\w+)", packet)[1]
        uuid = re.search(r"track_uuid: (\d+)", packet)[1]
        if uuid not in tracks:
            wrong(f"an event of a track {uuid} that was not described")
        flows.update(re.findall(r"(?<!terminating_)flow_ids: (\w+)", packet))
        ends.update(re.findall(r"terminating_flow_ids: (\w+)", packet))
        if kind == "INSTANT":
            continue
        if at < last[uuid]:
            wrong(f"track {uuid} runs backwards at {at}")
        last[uuid] = at
        if kind == "SLICE_BEGIN":
            iid = re.search(r"name_iid: (\d+)\n    track_uuid|track_event \{(?:.*\n)*?    name_iid: (\d+)",
                            packet)
            name = names[iid[1] or iid[2]]
            open_[uuid].append(name)
            calls[GAP if name.startswith("gap: ") else name] += 1
        elif not open_[uuid]:
            wrong(f"track {uuid} ends what it has not begun, at {at}")
        else:
            open_[uuid].pop()
    if any(open_.values()):
        wrong("slices are open at the end")
    if flows - ends or any(n > 1 for n in flows.values()):
        wrong(f"flows that end nowhere: {flows - ends}")
    return calls


def main():
    calls = globals()[sys.argv[1]](sys.argv[2])
    for name, n in sorted(calls.items()):
        print(n, name)


main()
