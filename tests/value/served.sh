#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# served.sh: servers that are attached to while they run: what their replay finds in memory when it sends
# is, byte for byte, what a client has received (served.c). How much of it is exact is printed; a byte
# that is changed has to be found.
set -u
. "$(dirname "$0")/../support/claims.sh"
. "$(dirname "$0")/../support/nginx.sh"
needs_recording
needs python3
work_in_own_folder
TOOLS=${TOOLS:?the built tests/value tools}
chmod 755 "$dir"

# client.py PORT FILE END [OTHERS]: sends FILE, with a pause in its middle in which frequent probes are taken away, and
# keeps what comes until END, or until the server has done. OTHERS: so many ask redis beside it, all the time.
cat >client.py <<'PY'
import socket, sys, threading, time
s = socket.create_connection(('127.0.0.1', int(sys.argv[1])))
s.settimeout(60)
others = int((sys.argv[4:] or ['0'])[0])
def send(asked):
	s.sendall(asked[:len(asked) // 2])
	time.sleep(0 if others else 1.5)
	s.sendall(asked[len(asked) // 2:])
def ask():
	other = socket.create_connection(('127.0.0.1', int(sys.argv[1])))
	while True:
		other.sendall(b'*1\r\n$4\r\nPING\r\n')
		other.recv(100)
for i in range(others):
	threading.Thread(target=ask, daemon=True).start()
threading.Thread(target=send, args=(open(sys.argv[2], 'rb').read(),)).start()
got, end = b'', sys.argv[3].encode()
while not (end and got.endswith(end)):
	some = s.recv(65536)
	if not some:
		break
	got += some
open('received', 'wb').write(got)
PY
python3 - <<'PY'
import random
random.seed(5)
def command(*words):
	return b'*%d\r\n' % len(words) + b''.join(b'$%d\r\n%s\r\n' % (len(w), w.encode()) for w in words)
for name, n in ('redis', 1200), ('redis_threads', 120):
	with open(name + '.asked', 'wb') as f:
		for i in range(n):
			f.write(command('SET', 'k%d' % i, 'v%d' % random.randrange(10 ** 9)))
			f.write(command('RPUSH', 'l', str(random.random())))
			f.write(command('GET', 'k%d' % random.randrange(i + 1)))
			f.write(command('ZADD', 'z', str(random.random()), 'm%d' % i))
			if i == 40:
				f.write(command('SORT', 'l', 'DESC') + command('ZRANGE', 'z', '0', '-1', 'WITHSCORES'))
		f.write(command('ECHO', 'the end'))
request = 'GET /%s HTTP/1.1\r\nHost: here\r\nAccept-Encoding: %s\r\nConnection: %s\r\n\r\n'
with open('nginx.asked', 'w') as f:
	for i in range(600):
		f.write(request % ('index.html?%d' % i, 'gzip' if i % 2 else 'identity', 'keep-alive'))
	f.write(request % ('nowhere', 'identity', 'close'))
PY

free_port() {
	python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'
}
answers() { (: <"/dev/tcp/127.0.0.1/$port") 2>/dev/null; }
ended() { ! kill -0 "$1" 2>/dev/null; }
thinned() { # NAME: of the calls out that were watched at first, frequent ones are no longer
	local name=$1
	"$PUGMARK" raw --captures "rec.$name" | grep -v '^#' >captures
	of_calls() { grep ' result ' | grep -vc 'of=[^ ]*time'; } # nothing else tells what time it was
	local first last
	first=$(head -n 1000 captures | of_calls) last=$(tail -n 1000 captures | of_calls)
	claim "$name: calls out are watched" test "$first" -gt 250
	claim "$name: frequent ones no longer" test "$((2 * last))" -lt "$first"
	echo "$name: ends of calls out in a thousand records: $first, then $last"
}
others=0
compare() { # NAME END OPTION...: the server $server on $port
	local name=$1 end=$2 recorder
	started+=("$server")
	await answers
	: >err
	"$PUGMARK" record -o "rec.$name" -p "$server" --level values --check-every 64 "${@:3}" 2>err >out &
	recorder=$!
	await grep -q ': recording' err
	python3 client.py "$port" "$name.asked" "$end" "$others"
	kill -INT $recorder
	wait $recorder
	kill "$server"
	claim "$name: it has answered" test -s received
	claim "$name: the replay has sent what was received" "$TOOLS/served" "rec.$name" received
	cat said
	python3 -c 'b = bytearray(open("received", "rb").read()); b[len(b) // 2] ^= 1; open("changed", "wb").write(b)'
	claim "$name: and not what differs by a bit" \
		grep -q 'no replay has sent' <("$TOOLS/served" "rec.$name" changed)
	"$PUGMARK" verify "rec.$name" | grep '^values of task' | grep -v ': 0 instructions'
}

redis() { # OPTION...
	port=$(free_port)
	./redis-server --bind 127.0.0.1 --port "$port" --save '' --dir "$dir" --jemalloc-bg-thread no \
		"$@" >server.log 2>&1 &
	server=$!
}
if command -v redis-server >/dev/null; then
	cp "$(command -v redis-server)" .
	redis
	compare redis $'the end\r\n'
	thinned redis
	# Its threads tell each other by spinning what is to be read and sent.
	redis --io-threads 4 --io-threads-do-reads yes
	others=16
	compare redis_threads $'the end\r\n' --one-processor
	others=0
else
	echo 'skip redis: not installed' && skipped=$((skipped + 1))
fi
if nginx=$(PATH=$PATH:/usr/sbin command -v nginx); then
	cp "$nginx" .
	port=$(free_port)
	make_nginx_site "$port"
	./nginx -c "$dir/nginx.conf" >server.log 2>&1 &
	server=$!
	compare nginx ''
	thinned nginx
else
	echo 'skip nginx: not installed' && skipped=$((skipped + 1))
fi
conclude
