# SPDX-License-Identifier: LGPL-2.1-or-later
"""unit.py: how a package starts its service: its systemd unit, else its script in /etc/init.d, and the users that its maintainers'
scripts would make. What systemd would prepare is prepared here, in folders laid over the host's."""
import difflib
import glob
import os
import pwd
import re
import shlex
import shutil
import subprocess

import packages

ON = {"no": "yes", "0": "1", "false": "true"}
SWITCHED_OFF = r"(?m)^(\w*(?:ENABLE|START|RUN)\w*=[\"']?)(?i:(no|0|false))([\"']?)$"
SCRIPT_SECONDS = 15


def quietly(command, **options):
    """Runs it; what fails of it is not told."""
    try:
        subprocess.run(command, cwd="/", timeout=SCRIPT_SECONDS, stdin=subprocess.DEVNULL,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, **options)
    except (subprocess.TimeoutExpired, OSError):
        pass


def read(path):
    with open(path, errors="replace") as f:
        return f.read()


def joined(text):
    """Lines that go on in the next one, as one line."""
    return re.sub(r"\\\n", " ", text)


def settings(text):
    """KEY: values of a unit, whatever the section, in order."""
    found = {}
    for key, value in re.findall(r"^([A-Za-z]+)=(.*)$", joined(text), re.M):
        found.setdefault(key, []).append(value.strip())
    return found


def variables(unit):
    """The environment that the unit and its files set."""
    lines = [word for value in unit.get("Environment", []) for word in split(value)]
    for name in unit.get("EnvironmentFile", []):
        if os.path.exists(name.lstrip("-")):
            lines += [line.split("#")[0] for line in joined(read(name.lstrip("-"))).splitlines()]
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
        quietly([script, "configure"], env=variables)


def add_users(unit, scripts):
    """Those that the unit or a script names, in the /etc that is laid over the host's."""
    names = unit.get("User", []) + unit.get("Group", [])
    for script in scripts:
        for line in re.findall(r"^[^#\n]*\b(?:adduser|addgroup|useradd)\b.*$", joined(read(script)), re.M):
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


def prepare(root, unit):
    """What systemd does before it starts a unit: its users, its files, and commands of its own."""
    for tool, below in (("systemd-sysusers", "sysusers.d"), ("systemd-tmpfiles", "tmpfiles.d")):
        named = [f.removeprefix(root) for f in glob.glob(f"{root}/usr/lib/{below}/*.conf")]
        if named and shutil.which(tool):
            quietly([tool, *(["--create"] if tool.endswith("files") else []), *named])
    for command in unit.get("ExecStartPre", []):
        quietly(split(command.lstrip("-@+!:").replace("%%", "%")))


def switch_on(package, root):
    """Turns what says in the package's /etc/default that nothing is to be started."""
    for path in glob.glob(f"{root}/etc/default/*"):
        path = path.removeprefix(root)
        if os.path.isfile(path):
            text = re.sub(SWITCHED_OFF, lambda m: m[1] + ON[m[2].lower()] + m[3], read(path))
            with open(path, "w") as f:
                f.write(text)


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


def spelt_out(text):
    """The script @text with the values of variables that it sets itself in their places."""
    for name, value in re.findall(r"^[ \t]*(\w+)=[\"']?([\w/.-]+)[\"']?[ \t]*$", text, re.M):
        text = re.sub(rf"\$(?:{name}\b|\{{{name}\}})", value, text)
    return text


def by_script(package, root):
    """(program, command) of the package's script in /etc/init.d, else of one that came with it, if that names
    the program."""
    listed = f"{root}/DEBIAN.{package}/conffiles"
    own = read(listed).split() if os.path.exists(listed) else []
    others = sorted(path.removeprefix(root) for path in glob.glob(f"{root}/etc/init.d/*"))
    for path in [p for p in own if p.startswith("/etc/init.d/")] + others:
        if not os.path.isfile(path):
            continue
        for program in re.findall(r"/usr/s?bin/[\w.-]+", spelt_out(read(path))):
            if is_of(program, root) and packages.is_program(program):
                return program, [path, "start"]
    return None


def is_of(program, root):
    return os.path.exists(root + program)


def started_by(words, root):
    """The program that the command @words runs: its first word, or a program of the package that a shell starts."""
    if words and packages.is_program(words[0]) and os.path.basename(words[0]) not in ("sh", "bash", "dash", "env"):
        return words[0]
    for word in " ".join(words).split():
        word = word.strip("\"';")
        if word.startswith("/") and is_of(word, root) and packages.is_program(word):
            return word
    return None


def by_likeness(package, paths):
    """Those first whose names are most like the package's: it may have several units."""
    likeness = {p: difflib.SequenceMatcher(None, package, os.path.basename(p).split(".")[0]).ratio() for p in paths}
    return sorted(paths, key=lambda p: (-likeness[p], p))


def split(text):
    """Words of a command line or of settings; as they are where quotes are not closed."""
    try:
        return shlex.split(text)
    except ValueError:
        return text.split()


def command_of(package, root):
    """(command line before it, program, command, environment) of how @package starts its service."""
    configure(root)
    switch_on(package, root)
    for path in by_likeness(package, packages.files_of(package, root)):
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
        for word in split(starts[-1].lstrip("-@+!:")):
            whole = re.fullmatch(r"\$(\w+)", word)
            if whole:
                words += split(given.get(whole[1], ""))
            else:
                words.append(re.sub(r"\$\{?(\w+)\}?", lambda m: given.get(m[1], ""), word.replace("%%", "%")))
        program = started_by(words, root)
        if program:
            prepare(root, unit)
            return own_user(unit, starts[-1]), program, words, given
    found = by_script(package, root)
    if found:
        make_folders(package, root, {})
        prepare(root, {})
        return [], *found, {}
    raise packages.Skip("has no unit or script that starts a program")
