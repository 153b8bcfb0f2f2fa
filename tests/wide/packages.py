# SPDX-License-Identifier: LGPL-2.1-or-later
"""packages.py: takes a package, and what it depends on and is not here, out of the archive into a
folder. Nothing is installed: isolation.py lays the folder over /usr and /etc of one namespace."""
import os
import re
import subprocess

MOST_PACKAGES = 20
ELF_X86_64 = b"\x7fELF\x02\x01\x01"


class Skip(Exception):
    """Why a package gives no row."""


def missing(package):
    """NAME=VERSION of all that an installation would bring."""
    said = subprocess.run(
        ["apt-get", "install", "-s", "--no-install-recommends", package], capture_output=True, text=True
    )
    if said.returncode:
        raise Skip("cannot be installed here")
    return re.findall(r"^Inst (\S+) (?:\[\S+\] )?\((\S+)", said.stdout, re.M)


def unpack(package, root):
    """All of it in the folder @root, the maintainers' scripts in @root/DEBIAN.PACKAGE."""
    wanted = [f"{n}={v}" for n, v in missing(package)] or [package]
    if len(wanted) > MOST_PACKAGES:
        raise Skip(f"needs {len(wanted)} packages that are not here")
    debs = os.path.join(root, "debs")
    os.makedirs(debs)
    got = subprocess.run(["apt-get", "download", "-qq", *wanted], cwd=debs, capture_output=True, text=True)
    if got.returncode:
        raise Skip("cannot be downloaded")
    for deb in os.listdir(debs):
        path = os.path.join(debs, deb)
        subprocess.run(["dpkg-deb", "-x", path, root], check=True)
        subprocess.run(["dpkg-deb", "-e", path, f"{root}/DEBIAN.{deb.split('_')[0]}"], check=True)
        os.unlink(path)
    # /bin, /sbin and /lib are links into /usr.
    for old in ("bin", "sbin", "lib", "lib64"):
        if os.path.isdir(f"{root}/{old}"):
            os.makedirs(f"{root}/usr/{old}", exist_ok=True)
            subprocess.run(["cp", "-a", f"{root}/{old}/.", f"{root}/usr/{old}/"], check=True)
    subprocess.run(["chmod", "755", root], check=True)


def is_program(path):
    """An x86-64 ELF executable that gives nobody other rights, and no script."""
    if os.path.islink(path) or not os.path.isfile(path) or not os.access(path, os.X_OK):
        return False
    if os.stat(path).st_mode & 0o6000:
        return False
    with open(path, "rb") as f:
        head = f.read(20)
    return head.startswith(ELF_X86_64) and head[16] in (2, 3) and head[18] == 62


def files_of(package, root):
    """What the package @package itself has, as paths below @root."""
    listing = subprocess.run(["dpkg", "-L", package], capture_output=True, text=True)
    if listing.returncode == 0:
        return [p for p in listing.stdout.splitlines() if not p.startswith("/usr/share/doc")]
    sums = os.path.join(root, f"DEBIAN.{package}", "md5sums")
    if not os.path.exists(sums):
        return []
    with open(sums) as f:
        return ["/" + line.split(None, 1)[1].rstrip("\n") for line in f]


def programs_of(package, root):
    """Paths as installed (/usr/bin/NAME) of the package's programs, and where they lie now."""
    found = []
    for path in sorted(files_of(package, root)):
        if re.match(r"(/usr)?/(bin|games)/[^/]+$", path):
            now = root + path if os.path.exists(root + path) else path
            if is_program(now):
                found.append((path, now))
    return found
