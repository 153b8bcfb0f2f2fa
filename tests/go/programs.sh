# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck shell=bash disable=SC2034
# programs.sh: the Go programs that check.sh runs with and without probes, from Debian's packages. In
# a folder of each one's own, as a copy; servers on loopback.
#
#   programs   NAME PACKAGE FILE-IN-IT, one a line; -: busy.go, built here; quick: also in `make check`
#   NAME_set   what it needs, before its first run
#   NAME_run   one run of a command: its standard output is the same each time ($by: what runs it)
#   NAME_serve a server in its place: starts it by $by in the background
#   NAME_load  a second of load or less, to a server; its standard output is the same each time

port=$((20000 + $$ % 20000))
url=http://127.0.0.1:$port
programs='
busy         -                         -                                quick
gron         gron                      usr/bin/gron                     quick
gofmt        golang-1.19-go            usr/lib/go-1.19/bin/gofmt        quick
compile      golang-1.19-go            usr/lib/go-1.19/pkg/tool/linux_amd64/compile
restic       restic                    usr/bin/restic                   quick
rclone       rclone                    usr/bin/rclone
fzf          fzf                       usr/bin/fzf
age          age                       usr/bin/age
shfmt        shfmt                     usr/bin/shfmt
minify       minify                    usr/bin/minify
gitlfs       git-lfs                   usr/bin/git-lfs
elvish       elvish                    usr/bin/elvish
direnv       direnv                    usr/bin/direnv
mtail        mtail                     usr/bin/mtail
kubectl      kubernetes-client         usr/bin/kubectl
promtool     prometheus                usr/bin/promtool
etcd         etcd-server               usr/bin/etcd                     quick
caddy        caddy                     usr/bin/caddy
prometheus   prometheus                usr/bin/prometheus
nodeexporter prometheus-node-exporter  usr/bin/prometheus-node-exporter
alertmanager prometheus-alertmanager   usr/bin/prometheus-alertmanager
pushgateway  prometheus-pushgateway    usr/bin/prometheus-pushgateway
natsserver   nats-server               usr/sbin/nats-server
'
unset by # what a program is run by: nothing, or the recorder
some_text() { # FILES of text, in the folder $1
	mkdir -p "$1" && cp "$tests"/e2e/*.sh "$tests"/../docs/*.md "$1/"
}

# --- commands -------------------------------------------------------------------------------------------
busy_set() { go build -o busy "$tests/go/busy.go" 2>go.err; }
busy_run() { $by ./busy $((less ? 1 : 6)); }

gron_set() { jq -n --argjson n "$((less ? 300 : 3000))" '[range($n) | {a: ., b: "x\(.)", c: [., {d: null}]}]' >many.json; }
gron_run() { $by ./gron many.json; }

gofmt_set() { cp "$tests/go/busy.go" one.go; }
gofmt_run() { $by ./gofmt -s one.go; }

compile_set() { mkdir -p made && cp "$tests/go/busy.go" one.go; }
compile_run() { GOROOT=/usr/lib/go-1.19 $by ./compile -p main -complete -o made/one.o one.go && sha256sum made/one.o; }

export RESTIC_PASSWORD=tracks
restic_set() {
	some_text text && head -c $((less ? 800000 : 8000000)) /dev/zero | openssl enc -aes-128-ctr -K 0 -iv 0 >text/noise 2>/dev/null
	export RESTIC_CACHE_DIR=$PWD/cache
}
restic_run() {
	rm -rf store
	./restic -q -r store init && $by ./restic -q -r store backup text >/dev/null &&
		$by ./restic -q -r store dump latest "/text/noise" | sha256sum
}

rclone_set() { some_text text; }
rclone_run() { rm -rf to; $by ./rclone --config none copy text to >/dev/null && $by ./rclone --config none sha1sum to | sort; }

fzf_set() { find /usr/share /usr/lib -xdev 2>/dev/null | sort | head -n 60000 >paths; }
fzf_run() { $by ./fzf -f pugdo <paths; }

age_set() { dpkg-deb --fsys-tarfile "$deb" | tar xO ./usr/bin/age-keygen >keygen && chmod +x keygen && ./keygen -o key 2>/dev/null &&
	head -c 3000000 /dev/zero >zeros && ./age -r "$(./keygen -y key)" -o zeros.age zeros; }
age_run() { $by ./age -d -i key zeros.age | sha256sum; }

shfmt_set() { some_text text; }
shfmt_run() { $by ./shfmt -s -mn text/*.sh; }

minify_set() { cp "$tests/../user/page/app.js" "$tests/../user/page/app.css" .; }
minify_run() { $by ./minify app.js && $by ./minify app.css; }

gitlfs_set() { head -c 20000000 /dev/zero >zeros; }
gitlfs_run() { $by ./gitlfs pointer --file=zeros 2>/dev/null; }

elvish_set() {
	cat >script.elv <<-'ELV'
		fn fib {|n| if (< $n 2) { put $n } else { + (fib (- $n 1)) (fib (- $n 2)) } }
		fib 7
		var words = [(range 200 | each {|i| put a(% (* $i 7919) 203) })]
		all $words | order | count
		range 40 | each {|i| echo $i } | slurp | count (one)
	ELV
}
elvish_run() { $by ./elvish -norc script.elv; }

direnv_run() { $by ./direnv stdlib | sha256sum; }

mtail_set() {
	mkdir -p progs && printf 'counter lines\ncounter words by w\n/(?P<w>[a-z]+)/ {\n lines++\n words[$w]++\n}\n' >progs/count.mtail
	cat "$tests"/e2e/*.sh >one.log
}
mtail_run() { $by ./mtail --one_shot --logtostderr --progs progs --logs "$PWD/one.log" 2>/dev/null | tail -n +2 | grep -v '[tT]ime\|[0-9]T[0-9]' | sort; }

kubectl_run() { KUBECONFIG=none $by ./kubectl create deployment tracks --image=paw --replicas=3 --dry-run=client -o yaml; }

promtool_set() {
	cat >rules.yml <<-'YML'
		groups:
		- name: g
		  rules:
		  - {record: "r", expr: "sum by (a) (rate(m[5m]))"}
	YML
	cat >tests.yml <<-'YML'
		rule_files: [rules.yml]
		evaluation_interval: 10s
		tests:
		- interval: 10s
		  input_series: [{series: 'm{a="x"}', values: '0+10x2000'}]
		  promql_expr_test:
		  - {expr: r, eval_time: 5h, exp_samples: [{labels: 'r{a="x"}', value: 1}]}
	YML
}
promtool_run() { $by ./promtool test rules tests.yml; }

# --- servers --------------------------------------------------------------------------------------------
etcd_serve() {
	rm -rf data
	./etcd --data-dir data --log-level error --listen-client-urls "$url" --advertise-client-urls "$url" \
		--listen-peer-urls "http://127.0.0.1:$((port + 1))" --initial-advertise-peer-urls "http://127.0.0.1:$((port + 1))" \
		--initial-cluster "default=http://127.0.0.1:$((port + 1))" >server.log 2>&1 &
}
etcd_put() { # N: a key and its value, in base64
	local key
	key=$(printf 'key%03d' "$1" | base64)
	curl -sf "$url/v3/kv/put" -d "{\"key\":\"$key\",\"value\":\"$(head -c 600 "$tests/go/busy.go" | base64 -w 0)\"}" >/dev/null
}
etcd_load() {
	local i
	for i in {1..40}; do etcd_put "$i" & [ $((i % 8)) != 0 ] || wait -n; done
	wait $(jobs -p | grep -vxF "${started[*]:-none}") 2>/dev/null
	curl -sf "$url/v3/kv/range" -d '{"key":"a2V5","range_end":"a2V6"}' | jq -c '[.count, (.kvs | map(.value) | unique | length)]'
}

caddy_set() { some_text www; printf ':%s {\n root * www\n encode gzip\n file_server\n templates\n}\n' "$port" >Caddyfile; }
caddy_serve() { XDG_CONFIG_HOME=$PWD XDG_DATA_HOME=$PWD ./caddy run --config Caddyfile >server.log 2>&1 & }
caddy_load() {
	ab -q -n 300 -c 8 -H 'Accept-Encoding: gzip' "$url/walk.md" 2>/dev/null | grep -E '^(Complete|Failed|Non-2xx)'
	curl -sf --compressed "$url/walk.md" | sha256sum
}

prometheus_set() { printf 'scrape_configs:\n- job_name: me\n  scrape_interval: 200ms\n  scrape_timeout: 200ms\n  static_configs: [{targets: ["127.0.0.1:%s"]}]\n' "$port" >conf.yml; }
prometheus_serve() { ./prometheus --config.file=conf.yml --storage.tsdb.path=data --web.listen-address=127.0.0.1:$port --log.level=error >server.log 2>&1 & }
prometheus_load() {
	ab -q -n 100 -c 4 "$url/api/v1/query?query=count(up)" 2>/dev/null | grep -E '^(Complete|Non-2xx)'
	curl -sf "$url/api/v1/query?query=vector(7*6)" | jq -c '.data.result[0].value[1]'
}

nodeexporter_serve() { ./nodeexporter --web.listen-address=127.0.0.1:$port >server.log 2>&1 & }
nodeexporter_load() { ab -q -n 30 -c 4 "$url/metrics" 2>/dev/null | grep -E '^(Complete|Non-2xx)'; curl -sf "$url/metrics" | grep -c '^# TYPE node_load'; }

alertmanager_set() { printf 'route: {receiver: none}\nreceivers: [{name: none}]\n' >conf.yml; }
alertmanager_serve() { ./alertmanager --config.file=conf.yml --storage.path=data --cluster.listen-address= --web.listen-address=127.0.0.1:$port --log.level=error >server.log 2>&1 & }
alertmanager_load() {
	local i
	for i in {1..20}; do curl -sf "$url/api/v2/alerts" -H 'Content-Type: application/json' -d "[{\"labels\":{\"alertname\":\"a$i\"}}]"; done
	curl -sf "$url/api/v2/alerts" | jq -c '[length, (map(.labels.alertname) | sort | .[0])]'
}

pushgateway_serve() { ./pushgateway --web.listen-address=127.0.0.1:$port --log.level=error >server.log 2>&1 & }
pushgateway_load() {
	local i
	for i in {1..20}; do echo "m$i $i" | curl -sf --data-binary @- "$url/metrics/job/j$i"; done
	curl -sf "$url/metrics" | grep -c '^m[0-9]'
}

natsserver_serve() { ./natsserver -a 127.0.0.1 -p "$port" >server.log 2>&1 & }
natsserver_load() {
	local i
	exec 6<>"/dev/tcp/127.0.0.1/$port" || return 1
	{
		printf 'CONNECT {"verbose":false}\r\nSUB tracks 1\r\n'
		for i in {1..500}; do printf 'PUB tracks 5\r\nhello\r\n'; done
		printf 'PING\r\n'
	} >&6
	timeout 10 sed -n '/PONG/q;p' <&6 | grep -c hello
	exec 6>&-
}
