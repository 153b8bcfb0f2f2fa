# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck shell=bash
# cluster.sh: a Slurm cluster of four nodes on this host, on ports of 127.0.0.1, for a script that has
# sourced claims.sh and called work_in_own_folder. All of it lies in $dir/cluster, and its processes are
# ended with the script's.

# shellcheck disable=SC2154 # $dir is claims.sh's
start_cluster() { # exports SLURM_CONF; nodes n1 to n4, whose slurmd is ${slurmd[n]}
	local cluster=$dir/cluster host n base
	host=$(uname -n)
	base=$((20000 + $$ % 20000))
	mkdir -p "$cluster/state" && mkdir -m 700 "$cluster/munge" || return 1
	head -c 1024 /dev/urandom >"$cluster/munge/key"
	chmod 400 "$cluster/munge/key"
	cat >"$cluster/slurm.conf" <<-C
		ClusterName=claims
		SlurmctldHost=$host(127.0.0.1)
		SlurmctldPort=$base
		SlurmUser=root
		SlurmdUser=root
		AuthType=auth/munge
		AuthInfo=socket=$cluster/munge/socket
		CredType=cred/munge
		StateSaveLocation=$cluster/state
		SlurmdSpoolDir=$cluster/spool-%n
		SlurmctldPidFile=$cluster/slurmctld.pid
		SlurmdPidFile=$cluster/slurmd-%n.pid
		ProctrackType=proctrack/linuxproc
		TaskPlugin=task/none
		SwitchType=switch/none
		MpiDefault=none
		SelectType=select/linear
		SlurmdTimeout=5
		KillWait=1
		NodeName=n[1-4] NodeHostname=$host NodeAddr=127.0.0.1 Port=[$((base + 1))-$((base + 4))] CPUs=1 State=UNKNOWN
		PartitionName=all Nodes=n[1-4] Default=YES State=UP
	C
	munged --force --foreground --key-file="$cluster/munge/key" --socket="$cluster/munge/socket" \
		--pid-file="$cluster/munge/pid" --seed-file="$cluster/munge/seed" \
		--log-file="$cluster/munge/log" >"$cluster/munged" 2>&1 &
	started+=($!)
	until [ -S "$cluster/munge/socket" ]; do
		kill -0 "${started[-1]}" || return 1
		sleep 0.05
	done
	export SLURM_CONF=$cluster/slurm.conf
	slurmctld -D >"$cluster/slurmctld" 2>&1 &
	started+=($!)
	for n in 1 2 3 4; do
		slurmd -D -N "n$n" >"$cluster/slurmd-$n" 2>&1 &
		slurmd[n]=$!
		started+=($!)
	done
	for n in $(seq 100); do
		[ "$(sinfo -h -N -t idle -o %N 2>/dev/null | wc -l)" = 4 ] && return
		sleep 0.1
	done
	return 1
}

descendants() { # PID: it, and all below it
	local child
	echo "$1"
	for child in $(ps -o pid= --ppid "$1"); do
		descendants "$child"
	done
}
node_of() { # PID of something that a task runs: the node's number, and its slurmstepd
	local pid=$1 node
	while [ "$pid" -gt 1 ]; do
		node=$(tr '\0' '\n' <"/proc/$pid/environ" | sed -n 's/^SLURMD_NODENAME=n//p')
		[ -n "$node" ] && [ "$(cat "/proc/$(ps -o ppid= "$pid" | tr -d ' ')/comm")" = slurmstepd ] && break
		pid=$(ps -o ppid= "$pid" | tr -d ' ')
	done
	echo "$node $(ps -o ppid= "$pid" | tr -d ' ')"
}
kill_node() { # PID of something that a task runs there: all of the node ends at once
	local node step
	read -r node step < <(node_of "$1")
	[ -n "$node" ] && [ -n "$step" ] || return 1
	# shellcheck disable=SC2046
	kill -9 "${slurmd[node]}" $(descendants "$step")
}
