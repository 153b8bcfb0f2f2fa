#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# deps.sh: installs what building and testing Pugmark needs, and only what is missing.
#
#   deps.sh           build packages and test programs
#   deps.sh --build   build packages only
#   deps.sh --list    print the package names of this distribution, install nothing; also with --build
#
# Debian and Ubuntu (apt), Fedora (dnf). libbpf must be 1.3 or newer (uprobe_multi): where the
# candidate is older, the backports suite of the machine's own package source is added. Services
# that come with a test program are not started.
set -euo pipefail

# apt name            dnf name (-: none there)
build_table='
gcc                   gcc
clang                 clang
llvm                  llvm
make                  make
pkg-config            pkgconf-pkg-config
binutils              binutils
libc6-dev             glibc-devel
libiberty-dev         binutils-devel
libelf-dev            elfutils-libelf-devel
libdw-dev             elfutils-devel
libdebuginfod1        elfutils-debuginfod-client
libbpf-dev            libbpf-devel
bpftool               bpftool
zlib1g-dev            zlib-devel
libzstd-dev           libzstd-devel
libzydis-dev          zydis-devel
libcmocka-dev         libcmocka-devel
libjansson-dev        jansson-devel
libsqlite3-dev        sqlite-devel
libncurses-dev        ncurses-devel
nettle-dev            nettle-devel
'
test_table='
qemu-user             qemu-user
libcapstone-dev       capstone-devel
clang-format          clang-tools-extra
shellcheck            ShellCheck
mandoc                mandoc
procps                procps-ng
python3               python3
lcov                  lcov
-                     libasan
-                     libubsan
-                     compiler-rt
-                     util-linux-script
jq                    jq
lua5.4                lua
liblua5.4-dev         -
libbz2-dev            bzip2-static
sqlite3               sqlite
redis-server          redis
redis-tools           redis
nginx-light           nginx
git                   git
gron                  -
gdb                   gdb
gzip                  gzip
bzip2                 bzip2
zstd                  zstd
xz-utils              xz
openssl               openssl
mawk                  mawk
postgresql            postgresql-server
libc6-dbg             -
python3.11            python3.11
python3.11-dbg        -
wrk                   wrk
bc                    bc
memcached             memcached
lighttpd              lighttpd
haproxy               haproxy
curl                  curl
util-linux            util-linux
sudo                  sudo
apache2-utils         httpd-tools
uftrace               uftrace
bpftrace              bpftrace
valgrind              valgrind
graphviz              graphviz
chromium              chromium
npm                   nodejs-npm
babeltrace2           babeltrace2
protobuf-compiler     protobuf-compiler
golang-go             golang-bin
etcd-server           etcd
restic                restic
tcl                   tcl
tmux                  tmux
less                  less
dpkg-dev              -
slurm-wlm             slurm-slurmctld
munge                 munge
upx-ucl               upx
debuginfod            elfutils-debuginfod
'
# What no distribution has, for tests alone: speedscope, to open what `export` writes, and DuckDB. It
# goes to build/node; without npm or its registry these tests say SKIP.
node_packages='
speedscope@1.25.0
puppeteer-core@24.43.1
@duckdb/node-bindings-linux-x64@1.5.6-r.1
'
min_libbpf=1.3

say() { printf 'deps: %s\n' "$*" >&2; }
die() { say "$*"; exit 1; }

column() { awk -v c="$1" 'NF >= c && $c != "-" { print $c }'; }

as_root() {
	if [ "$(id -u)" = 0 ]; then "$@"; else sudo "$@"; fi
}

# Keeps the packages' services from being started while it stands, unless the machine has its own.
policy=/usr/sbin/policy-rc.d
policy_made=
hold_services() {
	[ -e "$policy" ] && return
	printf '#!/bin/sh\nexit 101\n' | as_root tee "$policy" >/dev/null
	as_root chmod 755 "$policy"
	policy_made=1
}
release_services() {
	if [ -n "$policy_made" ]; then
		as_root rm -f "$policy"
		policy_made=
	fi
}
trap release_services EXIT

apt_get() { as_root env DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=120 -y "$@"; }
apt_installed() { [ "$(dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null)" = installed ]; }
apt_candidate() { LC_ALL=C apt-cache policy "$1" | awk '/Candidate:/ { print $2 }'; }
# The sanitizers of the clang that is the default here; nothing depends on them.
clang_runtime() {
	LC_ALL=C apt-cache depends clang 2>/dev/null |
		sed -nE 's/.*Depends: clang-([0-9]+)$/libclang-rt-\1-dev/p'
}
# An epoch says nothing about libbpf's own version.
new_enough() { [ "$1" != "(none)" ] && dpkg --compare-versions "${1#*:}" ge "$min_libbpf"; }

# Prints "URI<TAB>SIGNED-BY" of the apt source that has the suite $1, from both forms of source.
apt_source_of() {
	local suite=$1 file
	for file in /etc/apt/sources.list.d/*.sources; do
		[ -e "$file" ] || continue
		awk -v suite="$suite" '
			function flush(   i, n, s) {
				n = split(suites, s, " ")
				for (i = 1; i <= n; i++)
					if (s[i] == suite && types ~ /(^| )deb( |$)/ && on) {
						split(uris, u, " ")
						print u[1] "\t" signed
						exit
					}
				types = suites = uris = signed = ""; on = 1
			}
			BEGIN { on = 1 }
			/^[ \t]*$/ { flush(); next }
			/^#/ { next }
			/^Types:/ { sub(/^[^:]*:[ \t]*/, ""); types = $0 }
			/^Suites:/ { sub(/^[^:]*:[ \t]*/, ""); suites = $0 }
			/^URIs:/ { sub(/^[^:]*:[ \t]*/, ""); uris = $0 }
			/^Signed-By:/ { sub(/^[^:]*:[ \t]*/, ""); signed = $0 }
			/^Enabled:[ \t]*no/ { on = 0 }
			END { flush() }' "$file"
	done
	for file in /etc/apt/sources.list /etc/apt/sources.list.d/*.list; do
		[ -e "$file" ] || continue
		awk -v suite="$suite" '
			$1 != "deb" { next }
			{
				signed = ""
				line = $0
				if (match(line, /\[[^]]*\]/)) {
					opts = substr(line, RSTART + 1, RLENGTH - 2)
					line = substr(line, 1, RSTART - 1) substr(line, RSTART + RLENGTH)
					n = split(opts, o, " ")
					for (i = 1; i <= n; i++)
						if (sub(/^signed-by=/, "", o[i]))
							signed = o[i]
				}
				split(line, f, " ")
				if (f[3] == suite)
					print f[2] "\t" signed
			}' "$file"
	done
}

add_backports() {
	local codename uri signed
	codename=$(. /etc/os-release && echo "${VERSION_CODENAME:-}")
	[ -n "$codename" ] || die "libbpf $min_libbpf is needed, and this release has no code name"
	backports=$codename-backports
	if [ -n "$(apt_source_of "$backports")" ]; then
		return
	fi
	IFS=$'\t' read -r uri signed < <(apt_source_of "$codename" | head -n 1) || true
	[ -n "${uri:-}" ] || die "no apt source has the suite $codename: add $backports by hand"
	say "adding the suite $backports from this machine's own source"
	{
		printf 'Types: deb\nURIs: %s\nSuites: %s\nComponents: main\n' "$uri" "$backports"
		if [ -n "$signed" ]; then
			printf 'Signed-By: %s\n' "$signed"
		fi
	} | as_root tee "/etc/apt/sources.list.d/pugmark-backports.sources" >/dev/null
	apt_get -q update
}

# All in one step, because packages of one source must be of one version. A machine that has a library
# from backports already gets what goes with it from there too.
install_together() {
	[ $# = 0 ] && return
	apt_get install --no-install-recommends "$@" && return
	add_backports
	say "trying again, with all of it from $backports where that has it"
	apt_get install --no-install-recommends -t "$backports" "${@%%/*}"
}

install_apt() {
	local pkg missing=() absent=() have
	have=$(dpkg-query -W -f '${Version}' libbpf-dev 2>/dev/null || true)
	for pkg in "$@" $(clang_runtime); do
		apt_installed "$pkg" || missing+=("$pkg")
	done
	if [ ${#missing[@]} = 0 ] && new_enough "${have:-(none)}"; then
		say "nothing is missing"
		return
	fi
	apt_get -q update
	hold_services
	local wanted=() newer=()
	if ! new_enough "${have:-(none)}"; then
		if new_enough "$(apt_candidate libbpf-dev)"; then
			wanted=(libbpf-dev bpftool)
		else
			add_backports
			newer=("libbpf-dev/$backports" "libbpf1/$backports" "bpftool/$backports")
		fi
	fi
	for pkg in "${missing[@]}" $(clang_runtime); do
		apt_installed "$pkg" && continue
		[[ $pkg == libbpf-dev || $pkg == bpftool ]] && [ ${#newer[@]} != 0 ] && continue
		if [ "$(apt_candidate "$pkg")" = "(none)" ] || [ -z "$(apt_candidate "$pkg")" ]; then
			absent+=("$pkg")
		else
			wanted+=("$pkg")
		fi
	done
	install_together "${wanted[@]}" "${newer[@]}"
	[ ${#absent[@]} = 0 ] || say "this release does not have: ${absent[*]} (tests that need them say SKIP)"
}

install_dnf() {
	local pkg missing=()
	for pkg in "$@"; do
		rpm -q --whatprovides "$pkg" >/dev/null 2>&1 || missing+=("$pkg")
	done
	if [ ${#missing[@]} = 0 ]; then
		say "nothing is missing"
		return
	fi
	as_root dnf install -y --setopt=install_weak_deps=False --skip-unavailable "${missing[@]}"
}

node_folder=$(dirname "$0")/../build/node
install_node() {
	local pkg missing=()
	for pkg; do
		[ "$(sed -n 's/^ *"version": "\(.*\)",*$/\1/p' "$node_folder/node_modules/${pkg%@*}/package.json" 2>/dev/null)" = \
			"${pkg##*@}" ] || missing+=("$pkg")
	done
	[ ${#missing[@]} != 0 ] || return 0
	mkdir -p "$node_folder"
	timeout 300 npm install --prefix "$node_folder" --no-save --no-audit --no-fund --ignore-scripts \
		--omit=optional --loglevel=error "$@" ||
		say "npm could not install: ${missing[*]} (tests that need them say SKIP)"
}

if command -v apt-get >/dev/null; then
	col=1 install=install_apt
elif command -v dnf >/dev/null; then
	col=2 install=install_dnf
else
	die "neither apt-get nor dnf here; needed are: $(column 1 <<<"$build_table" | tr '\n' ' ')"
fi

build_only='' list_only=''
for option; do
	case $option in
	--build) build_only=1 ;;
	--list) list_only=1 ;;
	*) die "no option $option (--build, --list)" ;;
	esac
done
mapfile -t packages < <(column $col <<<"$build_table")
if [ -z "$build_only" ]; then
	mapfile -t -O ${#packages[@]} packages < <(column $col <<<"$test_table")
fi
# One that came from elsewhere, with its node, may not go together with the distribution's.
if command -v npm >/dev/null; then
	for i in "${!packages[@]}"; do
		[[ ${packages[i]} != npm && ${packages[i]} != nodejs-npm ]] || unset "packages[$i]"
	done
fi
if [ -n "$list_only" ]; then
	printf '%s\n' "${packages[@]}"
	exit 0
fi
$install "${packages[@]}"
if [ -z "$build_only" ] && command -v npm >/dev/null; then
	mapfile -t packages < <(column 1 <<<"$node_packages")
	install_node "${packages[@]}"
fi
