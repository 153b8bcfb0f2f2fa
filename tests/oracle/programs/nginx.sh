# SPDX-License-Identifier: LGPL-2.1-or-later
# nginx serving a few hundred requests
BINARY=/usr/sbin/nginx
SECONDS_MAX=300
prepare() {
	port=$(free_port)
	mkdir logs html && make_text 2000 >html/big.txt && echo hello >html/index.html
	chmod -R a+rX . && touch logs/error.log
	cat >nginx.conf <<CONF
daemon off; master_process off; worker_processes 1; pid $PWD/nginx.pid;
error_log $PWD/logs/error.log info;
events { worker_connections 64; }
http {
	access_log $PWD/logs/access.log; root $PWD/html; gzip on; gzip_types text/plain;
	client_body_temp_path $PWD/body; proxy_temp_path $PWD/proxy;
	fastcgi_temp_path $PWD/fcgi; uwsgi_temp_path $PWD/uwsgi; scgi_temp_path $PWD/scgi;
	types { text/html html; text/plain txt; }
	server {
		listen 127.0.0.1:$port;
		location /old { rewrite ^/old/(.*)\$ /\$1 last; }
		location /proxy/ { proxy_pass http://127.0.0.1:$port/; }
		location /secret { deny all; }
	}
}
CONF
}
run() {
	url=http://127.0.0.1:$port
	traced_server -p "$PWD" -c "$PWD/nginx.conf"
	wait_for curl -sf -o /dev/null "$url/"
	for i in 1 2 3 4 5 6 7 8 9 10; do
		curl -sf --compressed "$url/big.txt" | cmp - html/big.txt
		curl -s -o /dev/null -r 100-900 "$url/big.txt" "$url/[1-9]" "$url/index.html" \
			"$url/old/index.html" "$url/secret" "$url/proxy/big.txt" -I "$url/"
		curl -s -o /dev/null "$url/index.html?[1-20]" -X POST -d abc "$url/index.html"
	done
	kill -QUIT "$server"
	wait "$server"
	[ "$(wc -l <logs/access.log)" -gt 300 ]
}
