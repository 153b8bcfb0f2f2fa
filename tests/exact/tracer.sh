#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# tracer.sh: runs one process of a program's work under what check.sh asks for:
#
#   tracer.sh DIR qemu PLUGIN PROGRAM [ARGS]        its blocks in DIR/ID/trace
#   tracer.sh DIR record MODE[,TWIN...] PROGRAM [ARGS]  its recording in DIR/ID/recording
#   tracer.sh DIR record MODE@SEED PROGRAM [ARGS]       half of the witnesses are patched instructions
#
# ID names the invocation: a checksum of the program and its arguments, and how many such there
# were before, so that the same invocation has the same ID under every tracer, also where several
# run at once. DIR/ID/command says which it was. The address space is laid out the same each time.
set -eu
dir=$1 how=$2 what=$3
shift 3
id=$(printf '%s\0' "$@" | cksum | cut -d ' ' -f 1)
n=1
until mkdir "$dir/$id.$n" 2>/dev/null; do
	n=$((n + 1))
	[ $n -lt 10000 ] || { echo "tracer.sh: $dir cannot be written to" >&2; exit 99; }
done
at=$dir/$id.$n
printf '%s\n' "$*" >"$at/command"
# QEMU hands the environment on the other way round.
env=()
while IFS= read -r -d '' variable; do
	case $variable in
	_=* | PLUGINS=*) ;;
	*) if [ "$how" = qemu ]; then env=("$variable" "${env[@]}"); else env+=("$variable"); fi ;;
	esac
done < <(env -0)
case $how in
qemu)
	mkdir "$at/trace"
	exec env -i "${env[@]}" qemu-x86_64 -plugin "$what,dir=$at/trace" "$@"
	;;
record)
	IFS=, read -ra modes <<<"$what"
	twins=()
	IFS=: read -ra folders <<<"${PLUGINS:-}"
	for folder in "${folders[@]}"; do
		[ ! -d "$folder" ] || twins+=(--plugin "$folder")
	done
	for mode in "${modes[@]:1}"; do
		twins+=(--twin "$mode")
	done
	how=(--mode "${modes[0]}")
	[ "${modes[0]#paths-}" = "${modes[0]}" ] || how=(--level paths --placement "${modes[0]#paths-}")
	case $what in
	*@*)
		how[1]=${modes[0]%@*}
		twins=(--carrier mixed --on-full wait)
		env+=("PUGMARK_PATCH_SEED=${what#*@}")
		;;
	esac
	exec env -i "${env[@]}" setarch -R "$PUGMARK" record -q -o "$at/recording" "${how[@]}" "${twins[@]}" \
		-- "$@"
	;;
esac
