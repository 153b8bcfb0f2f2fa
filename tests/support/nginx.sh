# SPDX-License-Identifier: LGPL-2.1-or-later
# nginx.sh: one process of nginx that serves what lies in www, for scripts of values.
# shellcheck shell=bash

# Makes www/index.html and nginx.conf here.
make_nginx_site() { # PORT [DIRECTIVE]: more of http
	mkdir -p www
	seq 2000 >www/index.html
	cat >nginx.conf <<-CONF
		daemon off; master_process off; worker_processes 1; pid $PWD/nginx.pid; error_log $PWD/nginx.log;
		events { worker_connections 64; }
		http {
			access_log $PWD/access.log; sendfile off; ${2:-}
			client_body_temp_path $PWD/b; proxy_temp_path $PWD/p; fastcgi_temp_path $PWD/f;
			uwsgi_temp_path $PWD/u; scgi_temp_path $PWD/s;
			server { listen 127.0.0.1:$1; root $PWD/www; }
		}
	CONF
}
