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
	redis-cli -p "$port" bgsave >/dev/null
	redis-cli -p "$port" info >info
	wait_for grep -q 'Background saving terminated with success' server.log
	redis-cli -p "$port" shutdown nosave
	wait "$server"
	grep -q 'LRANGE_600.*per second' bench && grep -q '^redis_version' info
}
