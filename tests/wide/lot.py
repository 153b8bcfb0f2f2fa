# SPDX-License-Identifier: LGPL-2.1-or-later
"""lot.py: which packages are tried. Packages are ranked by a hash of seed and name, so that nobody
chooses them and everybody who has the seed gets the same ones; a package that is new or gone moves no other.
Nothing is downloaded here.

A program is what its maintainers tag as a command line program; a service what they tag or describe as a daemon or
a server, and what depends on that which starts services or makes their users. What is large, or part of how a machine
is administered, is left out of the programs."""
import hashlib
import re
import subprocess

LARGEST_KB = {"program": 4000, "service": 8000}


def index():
    """Each package of the index: a dictionary of its fields, once."""
    text = subprocess.run(["apt-cache", "dumpavail"], capture_output=True, text=True).stdout
    seen = set()
    for paragraph in text.split("\n\n"):
        fields = dict(re.findall(r"^([A-Z][\w-]*): ?(.*(?:\n .*)*)", paragraph, re.M))
        if fields.get("Package") and fields["Package"] not in seen:
            seen.add(fields["Package"])
            yield fields


def is_started(fields):
    """Whether a package needs what a unit, a script of init or a user of a service needs."""
    needs = fields.get("Pre-Depends", "") + fields.get("Depends", "")
    return any(name in needs for name in ("init-system-helpers", "lsb-base", "adduser"))


def fits(fields, kind):
    tags = set(re.split(r"[,\s]+", fields.get("Tag", "")))
    daemon = tags & {"interface::daemon", "network::server"}
    if kind == "service":
        suits = is_started(fields) and (daemon or re.search(r"\b(daemon|server)\b", fields.get("Description", ""), re.I))
    else:
        suits = tags >= {"role::program", "interface::commandline"} and not daemon
    return bool(suits) and (
        fields.get("Architecture") == "amd64"
        and fields.get("Priority") in ("optional", "extra")
        and fields.get("Section") not in ("kernel", "debug", "libs", "oldlibs")
        and (kind == "service" or fields.get("Section") != "admin")
        and int(fields.get("Size", 0)) < LARGEST_KB[kind] * 1000
    )


def rank(*words):
    """Where what is named by @words stands in the lot."""
    return hashlib.sha256(" ".join(map(str, words)).encode()).digest()


def draw(seed, kind):
    """Names of packages, in the order in which they are tried."""
    names = (f["Package"] for f in index() if fits(f, kind))
    return sorted(names, key=lambda name: rank(seed, kind, name))


def draw_installed(seed):
    """The same among programs that are installed: (package, program), without the index."""
    owners = subprocess.run(["dpkg", "-S", "/usr/bin/*"], capture_output=True, text=True).stdout
    pairs = (
        (package.split(",")[0].split(":")[0], path)
        for package, path in (line.split(": ", 1) for line in owners.splitlines() if line.count(": ") == 1)
        if path.count("/") == 3 and "diversion" not in package
    )
    return sorted(pairs, key=lambda pair: rank(seed, "installed", *pair))
