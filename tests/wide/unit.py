# SPDX-License-Identifier: LGPL-2.1-or-later
"""unit.py: how a package starts its service: its systemd unit, else its script in /etc/init.d, and the users that its maintainers'
scripts would make. What systemd would prepare is prepared here, in folders laid over the host's."""
import glob
import os
import pwd
import re
import shlex
import subprocess

import packages


def read(path):
    with open(path, errors="replace") as f:
        return f.read()


def settings(text):
    """KEY: values of a unit, whatever the section, in order."""
    found = {}
    text = re.sub(r"\\\n", " ", text)
    for key, value in re.findall(r"^([A-Za-z]+)=(.*)$", text, re.M):
        found.setdefault(key, []).append(value.strip())
    return found


def variables(unit):
    """The environment that the unit and its files set."""
    lines = [word for value in unit.get("Environment", []) for word in shlex.split(value)]
    for name in unit.get("EnvironmentFile", []):
        if os.path.exists(name.lstrip("-")):
            lines += [line.split("#")[0] for line in read(name.lstrip("-")).splitlines()]
    found = {}
    for line in lines:
        m = re.match(r"\s*(?:export\s+)?(\w+)=(.*)$", line)
        if m:
            found[m[1]] = m[2].strip().strip("\"'")
    return found


def configure(root):
    """Runs the maintainers' scripts, as an installation would; what fails of them is not told."""
    for script in sorted(glob.glob(f"{root}/DEBIAN.*/postinst")):
        name = script.split("/DEBIAN.")[1].split("/")[0]
        variables = {"DEBIAN_FRONTEND": "noninteractive", "DPKG_MAINTSCRIPT_PACKAGE": name,
                     "DPKG_MAINTSCRIPT_NAME": "postinst", "PATH": "/usr/sbin:/usr/bin:/sbin:/bin"}
        try:
            subprocess.run([script, "configure"], env=variables, cwd="/", timeout=15, stdin=subprocess.DEVNULL,
                           stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        except (subprocess.TimeoutExpired, OSError):
            pass


def add_users(unit, scripts):
    """Those that the unit or a script names, in the /etc that is laid over the host's."""
    names = unit.get("User", []) + unit.get("Group", [])
    for script in scripts:
        for line in re.findall(r"^[^#\n]*\b(?:adduser|addgroup|useradd)\b.*$", re.sub(r"\\\n", " ", read(script)), re.M):
            names += [w for w in re.findall(r"(?<![\w/.$-])[A-Za-z_][A-Za-z0-9_-]+", line)
                      if w not in ("adduser", "addgroup", "useradd", "true", "null", "sh")]
    known = {p.pw_name for p in pwd.getpwall()}
    for n, name in enumerate(dict.fromkeys(names)):
        if name not in known and n < 20:
            with open("/etc/passwd", "a") as f:
                f.write(f"{name}:x:{7000 + n}:{7000 + n}::/nonexistent:/usr/sbin/nologin\n")
            with open("/etc/group", "a") as f:
                f.write(f"{name}:x:{7000 + n}:\n")


def make_folders(package, root, unit):
    """Those that the unit names, and those that a maintainer's script would give to the service's user."""
    for below in ("/var/log", "/var/lib", "/var/cache", "/run"):
        os.makedirs(f"{below}/{package}", exist_ok=True)
        os.chmod(f"{below}/{package}", 0o777)
    for folder, _, _ in os.walk(f"{root}/var"):
        os.chmod(folder.removeprefix(root), 0o777)
    for key, below in (("RuntimeDirectory", "/run"), ("StateDirectory", "/var/lib"),
                       ("LogsDirectory", "/var/log"), ("CacheDirectory", "/var/cache")):
        for value in unit.get(key, []):
            for name in value.split():
                path = os.path.join(below, name)
                os.makedirs(path, exist_ok=True)
                os.chmod(path, 0o777)


def own_user(unit, start):
    """The command line before one that the unit runs as a user of its own, without more rights."""
    user = (unit.get("User") or [""])[0]
    privileged = "AmbientCapabilities" in unit or re.match(r"[-@:]*[+!]", start)
    if not user or user == "root" or "%" in user or privileged:
        return []
    try:
        found = pwd.getpwnam(user)
    except KeyError:
        return []
    return ["setpriv", f"--reuid={found.pw_uid}", f"--regid={found.pw_gid}", "--clear-groups"]


def by_script(package, root):
    """(program, command) of the package's script in /etc/init.d, if that names the program."""
    for path in sorted(packages.files_of(package, root)) + sorted(glob.glob(f"{root}/etc/init.d/*")):
        path = path.removeprefix(root)
        if not path.startswith("/etc/init.d/") or not os.path.isfile(path):
            continue
        for program in re.findall(r"^\s*\w+=[\"']?(/usr/s?bin/[\w.-]+)", read(path), re.M):
            if is_of(program, root) and packages.is_program(program):
                return program, [path, "start"]
    return None


def is_of(program, root):
    return os.path.exists(root + program)


def command_of(package, root):
    """(command line before it, program, command, environment) of how @package starts its service."""
    configure(root)
    for path in sorted(packages.files_of(package, root)):
        if not re.search(r"/systemd/system/[^@/]+\.service$", path):
            continue
        now = next((p for p in (path, "/usr" + path) if os.path.exists(p)), None)
        unit = settings(read(now)) if now else {}
        starts = [s for s in unit.get("ExecStart", []) if s]
        if not starts or (unit.get("Type") or [""])[0] == "oneshot":
            continue
        add_users(unit, glob.glob(f"{root}/DEBIAN.*/p*inst"))
        make_folders(package, root, unit)
        given = variables(unit)
        words = []
        for word in shlex.split(starts[-1].lstrip("-@+!:")):
            whole = re.fullmatch(r"\$(\w+)", word)
            if whole:
                words += shlex.split(given.get(whole[1], ""))
            else:
                words.append(re.sub(r"\$\{?(\w+)\}?", lambda m: given.get(m[1], ""), word.replace("%%", "%")))
        if words and packages.is_program(words[0]):
            return own_user(unit, starts[-1]), words[0], words, given
    found = by_script(package, root)
    if found:
        make_folders(package, root, {})
        return [], *found, {}
    raise packages.Skip("has no unit or script that starts a program")
