# SPDX-License-Identifier: LGPL-2.1-or-later
# redis-server under redis-benchmark
BINARY=/usr/bin/redis-server
SECONDS_MAX=300
prepare() { port=$(free_port); }
run() {
	traced_server --port "$port" --bind 127.0.0.1 --save '' --appendonly no --dir "$PWD" \
		--daemonize no --logfile server.log
	wait_for redis-cli -p "$port" ping
	redis-benchmark -p "$port" -q -n 400 -c 8 >bench
	redis-benchmark -p "$port" -q -n 200 -c 4 -P 8 eval 'return redis.call("incr", "k")' 0 >>bench
	redis-cli -p "$port" config set save '' >/dev/null
	redis-cli -p "$port" >replies <<'R'
set a 1 ex 100
incrbyfloat a 1.5
append a xyz
setrange a 10 q
bitcount a
pfadd h a b c
pfcount h
lpush l 1 2 3 4
linsert l before 2 x
lrange l 0 -1
sort l alpha desc
sadd s 1 2 3 a
sadd t 2 3 b
sinterstore u s t
sunion s t
zadd z 1 a 2 b 3 c
zrangebyscore z (1 +inf withscores
zunionstore y 2 z z weights 1 2
hset k f v g w
hincrby k n 5
hgetall k
geoadd g 13.361389 38.115556 Palermo 15.087269 37.502669 Catania
geodist g Palermo Catania km
xadd x * f v
xrange x - +
xgroup create x grp 0
xreadgroup group grp c count 1 streams x >
multi
incr n
lpop l
exec
object encoding k
debug sleep 0
dump k
scan 0 count 100
eval "local s = 0 for i = 1, 100 do s = s + i end return {s, redis.call('get', 'a'), cjson.encode({1, 2, {x = 'y'}})}" 0
eval "return redis.call('nosuch')" 0
type z
wrong arguments
expire a 1
persist a
copy k k2
command count
client list
slowlog get
memory usage k
latency doctor
R
	redis-cli -p "$port" bgsave >/dev/null
	redis-cli -p "$port" info >info
	wait_for grep -q 'Background saving terminated with success' server.log
	redis-cli -p "$port" shutdown nosave
	wait "$server"
	grep -q 'LRANGE_600.*per second' bench && grep -q '^redis_version' info && grep -q 166.2742 replies
}
