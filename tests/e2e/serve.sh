#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# serve.sh: `pugmark serve` in a real browser: the timeline is asked for by ranges and shows what
# report counts; nobody without the token, of another host's name or of another site gets anything;
# bad requests neither end it nor hold it; nothing of it is left.
set -u
. "$(dirname "$0")/../support/claims.sh"
needs_recording
needs jq python3 curl
browser=
for candidate in chromium chromium-browser google-chrome; do
	command -v $candidate >/dev/null && browser=$candidate && break
done
work_in_own_folder

serve() { # ARGUMENTS...: in the background; its address is in $url
	: >address
	"$PUGMARK" serve "$@" >address 2>serve.err &
	server=$!
	started+=($server)
	await test -s address || { echo 'serve did not begin:'; cat serve.err; }
	url=$(cat address)
}
ends() { # SIGNAL: its exit status is in $status
	kill -"$1" $server
	wait $server
	status=$?
}
status_of() { # CURL ARGUMENTS...
	curl -s -o /dev/null -m 20 -w '%{http_code}' --path-as-is "$@"
}

${CC:-cc} -O2 -Wno-attributes "$tests/programs/views.c" -o prog 2>err || skip 'no compiler'
run 0 record -q -o rec -- ./prog
run 0 report --format json rec
cp out report.json
calls=$(jq .calls report.json)

serve rec
first=$server first_url=$url
host=${url#http://}
host=${host%%/*}
base=http://$host
claim 'its address is of this machine alone, with a token' grep -Eqx 'http://127\.0\.0\.1:[0-9]+/[0-9a-f]{32}/' address
claim 'it listens nowhere else' is "$(ss -Hltnp 2>/dev/null | grep "pid=$server," | awk '{ print $4 }')" "$host"
claim 'root has no capability left either' is "$(awk '/^CapEff/ { print $2 }' /proc/$server/status)" 0000000000000000
claim 'the page comes' is "$(status_of "$url")" 200
claim 'a range comes' is "$(status_of "${url}range?from=0&to=1000000000&width=1000")" 200
claim 'HEAD has no body' is "$(curl -sI -m 20 "$url" -w '%{size_download}' -o head)" 0
for header in 'cache-control: no-store' 'referrer-policy: no-referrer' 'x-content-type-options: nosniff' "frame-ancestors 'none'"; do
	claim "it says $header" grep -qi "$header" head
done

bound_of() { awk '/^Max cpu time/ { print $4 }' /proc/$1/limits; }
claim 'its time is bounded anew with each answer, and not for as long as it runs' \
	test "$(bound_of $server)" -ge 600 -a "$(bound_of $server)" -lt 900
(ulimit -S -t 99 && exec "$PUGMARK" serve rec) >lower 2>&1 &
lower=$!
started+=($lower)
await test -s lower
claim "the user's own bound stays" is "$(status_of "$(cat lower)") $(bound_of $lower)" '200 99'

# ---- strangers ----
claim 'without the token nothing' is "$(status_of "$base/")" 403
claim 'with another token nothing' is "$(status_of "$base/00000000000000000000000000000000/")" 403
claim 'a host of another name gets nothing' is "$(status_of -H 'Host: evil.example' "$url")" 403
claim 'nor one with our port' is "$(status_of -H "Host: evil.example:${host#*:}" "$url")" 403
claim 'nor one that begins like ours' is "$(status_of -H "Host: 127.0.0.1.evil.example:${host#*:}" "$url")" 403
claim 'a page of another site gets nothing' is "$(status_of -H 'Origin: http://evil.example' "$url")" 403
claim 'nor one without an origin' is "$(status_of -H 'Origin: null' "$url")" 403
claim 'nor one that the browser calls of another site' is "$(status_of -H 'Sec-Fetch-Site: cross-site' "$url")" 403
claim 'no other file' is "$(status_of "${url}../../etc/passwd")" 404
claim 'nothing is written' is "$(status_of -d x "$url")" 400
claim 'a range must be one' is "$(status_of "${url}range?from=5&to=5&width=10")" 400

cat >bad.py <<'PY'
import os, random, socket, sys, time
host, token = sys.argv[1], sys.argv[2]
where = (host.split(':')[0], int(host.split(':')[1]))
def send(data, wait=True):
    s = socket.create_connection(where, timeout=20)
    try:
        s.sendall(data)
        if wait:
            return s.recv(100)
    except (ConnectionResetError, BrokenPipeError):
        return b''
    finally:
        s.close()
chance = random.Random(1)
whole = f'GET /{token}/range?from=0&to=9&width=9 HTTP/1.1\r\nHost: {host}\r\n\r\n'.encode()
got = 0
for i in range(300): # a byte that is another, none that is random
    data = bytearray(whole)
    for _ in range(chance.randrange(1, 4)):
        data[chance.randrange(len(data) - 4)] = chance.randrange(256)
    got += (send(bytes(data)) or b'HTTP')[:4] == b'HTTP'
send(b'GET /' + b'x' * 100000)
send(b'\0' * 9000)
for i in range(50):
    send(os.urandom(100), wait=False)
    send(whole, wait=False) # hangs up before the answer
print('answered' if got == 300 else f'{got} of 300')
PY
claim 'bad requests are answered' is "$(timeout 60 python3 bad.py "$host" "$(basename "$url")" 2>&1)" answered
# ---- what is seen ----
run 0 record -q -o still --no-times -- ./prog
run 0 report --format json still
cp out still.json
cat >union.py <<'PY'
import collections, json, re, sys, urllib.request
url, report = sys.argv[1], json.load(open(sys.argv[2]))
def get(what):
    return urllib.request.urlopen(url + what, timeout=20).read()
data = json.loads(re.search('<script type="application/json" id="data">(.*?)</script>', get('').decode(), re.S)[1])
def numbers(data):
    value = shift = 0
    for b in data:
        value |= (b & 127) << shift
        shift += 7
        if b < 128:
            yield value
            value = shift = 0
seen, step = {}, 100
for at in range(0, data['end'] + 1, step): # without times the n-th event is at n: each call is as wide as pixels
    n = numbers(get(f'range?from={at}&to={at + step}&width=200'))
    for track in range(next(n)):
        next(n), next(n), next(n)
        for _ in range(3 * next(n)):
            next(n)
        for depth in range(next(n)):
            begin = 0
            for _ in range(next(n)):
                begin += next(n)
                length, frame, _ = next(n), next(n), next(n)
                seen[track, depth, begin] = (length, data['frames'][frame]['n'])
print(json.dumps(sorted(f'{name} {n}' for name, n in collections.Counter(n for _, n in seen.values()).items())))
PY
serve still
claim 'what ranges show is every call, as often as report counts it' is \
	"$(timeout 60 python3 union.py "$url" still.json 2>&1)" \
	"$(jq -r '[.functions[] | select(.calls > 0) | "\(.function) \(.calls)"] | sort | "[" + (map("\"" + . + "\"") | join(", ")) + "]"' still.json)"
cat >full.py <<'PY'
import socket, sys, time
host = sys.argv[1]
where = (host.split(':')[0], int(host.split(':')[1]))
began = time.monotonic()
held = [socket.create_connection(where, timeout=20) for i in range(32)] # say nothing, and take all places
s = socket.create_connection(where, timeout=60)
s.sendall(f'GET / HTTP/1.1\r\nHost: {host}\r\n\r\n'.encode())
print(s.recv(12).decode(), 'later' if time.monotonic() - began > 5 else 'at once')
PY
held=$server
timeout 60 python3 full.py "$(cut -d / -f 3 address)" >full.out 2>&1 &
full=$!
started+=($full)

# ---- in the browser ----
shows() { # CLAIM URL WIDTH SCRIPT EXPECTED
	claim "$1" is "$(timeout 100 python3 "$tests/support/browser.py" "$browser" "$dir/profile" "$3" "$2" "$4" 2>&1)" "$5"
}
server=$first url=$first_url
pixels='const ink = () => { const c = document.getElementById("timeline-canvas"), d = c.getContext("2d").getImageData(0, 0, c.width, c.height).data; let n = 0; for (let i = 3; i < d.length; i += 4) n += d[i] > 0; return n; };'
if [ -z "$browser" ]; then
	skipped=$((skipped + 1))
	echo 'SKIP: no chromium here: the page is not looked at'
else
	shows 'it counts as report does; the timeline is asked for, drawn, and zooms by key; nobody else may be asked' "$url" 1280 "$pixels"'
		const asked = () => performance.getEntriesByType("resource").map((e) => e.name).filter((n) => n.includes("range?"));
		const until = async (n) => { for (let i = 0; i < 500 && +(document.body.dataset.drawn || 0) < n; i++) await wait(20); };
		document.getElementById("tab-timeline").click();
		await until(1);
		document.getElementById("zoom-all").click(); // now there is a scroll bar, or not
		await until(2);
		const c = document.getElementById("timeline-canvas"), first = c.toDataURL(), drawn = ink() > 1000;
		c.dispatchEvent(new KeyboardEvent("keydown", { key: "+" }));
		await until(3);
		const zoomed = c.toDataURL() !== first;
		c.dispatchEvent(new KeyboardEvent("keydown", { key: "Home" }));
		await until(4);
		const others = await fetch("http://127.0.0.1:9/").then(() => "asked", (e) => e.name);
		return [+document.querySelectorAll("#overview .facts b")[1].textContent.replaceAll(",", ""), drawn, zoomed, c.toDataURL() === first, asked().length, asked().every((n) => n.startsWith(location.href)), others]' \
		"[$calls,true,true,true,4,true,\"TypeError\"]"
	shows 'when it does not answer the page says so' "$url" 1280 "
		document.getElementById('tab-timeline').click();
		const note = document.getElementById('timeline-note'), before = note.textContent;
		globalThis.fetch = () => Promise.reject(new TypeError('gone'));
		document.getElementById('zoom-in').click();
		for (let i = 0; i < 500 && !note.textContent; i++) await wait(20);
		return [before, note.textContent.includes('does pugmark serve still run')]" '["",true]'
	serve --request leaf --longer 1us --against still rec
	shows 'requests and another recording have a tab each, and a key' "$url" 1280 '
		const key = (k) => document.body.dispatchEvent(new KeyboardEvent("keydown", { key: k, bubbles: true }));
		const shown = () => document.querySelector("[role=tab][aria-selected=true]").textContent;
		key("6");
		const six = shown(), requests = +document.querySelector("#requests .facts b").textContent, limit = document.querySelectorAll("#requests .facts div")[1].textContent;
		key("7");
		return [six, shown(), requests, limit.includes("slow, from 1.000us on"), document.querySelector("#against h2").textContent]' \
		"[\"Requests\",\"Against\",$(jq '.functions[] | select(.function == "leaf").calls' report.json),true,\"Against still\"]"
	ends TERM
	server=$first
fi
fails 2 '--socket: which path?' serve --socket '' rec
fails 2 '--longer goes with --request' serve --longer 5ms rec
fails 1 'nowhere' serve --against nowhere rec
ends INT
claim 'Ctrl-C ends it' is $status 0
wait $full
claim 'who says nothing holds a place for ten seconds' is "$(cat full.out)" 'HTTP/1.1 403 later'
server=$held
ends TERM
claim 'it ends when it is told to' is $status 0

# ---- a Unix socket ----
umask 0
serve --socket page.sock rec
umask 022
claim 'a socket of its owner alone' is "$(stat -c '%F %a' page.sock)" 'socket 600'
claim 'which has the page' is "$(status_of --unix-socket page.sock "$url")" 200
claim 'but with the token' is "$(status_of --unix-socket page.sock http://localhost/)" 403
claim 'and not for another name' is "$(status_of --unix-socket page.sock -H 'Host: evil.example' "$url")" 403
fails 1 'is there already' serve --socket page.sock rec
ends TERM
claim 'the socket is gone with it' test ! -e page.sock
fails 2 'one of' serve --socket page.sock --port 8000 rec
fails 2 'not a number' serve --port 99999 rec
fails 1 'nowhere' serve nowhere

# ---- as the recording's owner ----
if who=$(getent passwd nobody | cut -d : -f 3) && [ -n "$who" ]; then
	chmod 755 .
	cp -r rec theirs && chown -R nobody theirs
	TMPDIR=/var/tmp serve theirs # nobody cannot write where tests may
	claim 'root serves as the owner of the recording' is "$(awk '/^Uid/ { print $3 }' /proc/$server/status)" "$who"
	claim 'without a capability' is "$(awk '/^CapEff/ { print $2 }' /proc/$server/status)" 0000000000000000
	claim 'and may make no other socket' is "$(awk '/^Seccomp:/ { print $2 }' /proc/$server/status)" 2
	claim 'it still answers' is "$(status_of "$url")" 200
	ends TERM
fi
conclude
