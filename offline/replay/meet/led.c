// SPDX-License-Identifier: LGPL-2.1-or-later
/* led.c: see led.h. The run's memory has what the call found there. */
#include "offline/replay/meet/led.h"

#include "offline/eval/memory/memory.h"
#include "offline/replay/run/run.h"

#include <limits.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>

enum led_by { BY_NOTHING, BY_IOVECS, BY_MSGHDR, BY_POINTERS };

/* Of the call with that number: the argument that leads to it, and the one that says how many. */
struct led_call {
	uint8_t by, at, n;
};

static const struct led_call calls[] = {
	[SYS_readv] = {BY_IOVECS, 1, 2},
	[SYS_preadv] = {BY_IOVECS, 1, 2},
	[SYS_preadv2] = {BY_IOVECS, 1, 2},
	[SYS_vmsplice] = {BY_IOVECS, 1, 2},
	[SYS_process_vm_readv] = {BY_IOVECS, 1, 2},
	[SYS_process_vm_writev] = {BY_IOVECS, 3, 4},
	[SYS_recvmsg] = {BY_MSGHDR, 1, 0},
	[SYS_clone3] = {BY_POINTERS, 0, 0},
};

/* Memory from @from up to @to. */
struct led_span {
	uint64_t from, to;
};

static bool meets(struct led_span a, struct led_span b)
{
	return a.from < b.to && b.from < a.to;
}

static struct led_span span_of(const void *addr, uint64_t len)
{
	return (struct led_span){(uint64_t)addr, (uint64_t)addr + len};
}

/* Whether @bytes that come by the @n vectors at @at are written over these, or over @head. */
static bool iovecs_met(struct value_run *run, uint64_t at, uint64_t n, uint64_t bytes,
		       struct led_span head)
{
	struct led_span array = {at, at + n * sizeof(struct iovec)};
	struct iovec v;

	if (n > IOV_MAX) /* the kernel takes no more: this is not the number that it had */
		return true;
	for (; bytes && n--; at += sizeof(v)) {
		if (value_memory_read(&run->memory, at, &v, sizeof(v), NULL))
			return false;
		uint64_t len = v.iov_len < bytes ? v.iov_len : bytes;
		struct led_span written = span_of(v.iov_base, len);
		if (len && (meets(written, array) || meets(written, head)))
			return true;
		bytes -= len;
	}
	return false;
}

/* Of the struct msghdr the kernel writes lengths and flags, and no pointer. */
static bool msghdr_met(struct value_run *run, uint64_t at, uint64_t bytes)
{
	struct led_span head = {at, at + sizeof(struct msghdr)};
	struct msghdr m;

	if (value_memory_read(&run->memory, at, &m, sizeof(m), NULL))
		return false;
	struct led_span name = span_of(m.msg_name, m.msg_name ? m.msg_namelen : 0);
	struct led_span control = span_of(m.msg_control, m.msg_control ? m.msg_controllen : 0);
	struct led_span array = span_of(m.msg_iov, m.msg_iovlen * sizeof(struct iovec));
	return meets(name, head) || meets(name, array) || meets(control, head) ||
	       meets(control, array) || iovecs_met(run, array.from, m.msg_iovlen, bytes, head);
}

/* struct clone_args: behind the flags pointers to where the kernel writes 4 bytes each. */
static bool pointers_met(struct value_run *run, uint64_t at)
{
	struct led_span array = {at + 8, at + 32};
	uint64_t to[3];

	if (value_memory_read(&run->memory, array.from, to, sizeof(to), NULL))
		return false;
	for (int i = 0; i < 3; i++)
		if (meets((struct led_span){to[i], to[i] + 4}, array))
			return true;
	return false;
}

bool value_run_led_astray(struct value_run *run, const struct capture *c)
{
	struct led_call call = {0};

	if (c->nr < sizeof(calls) / sizeof(*calls) && c->result >= 0)
		call = calls[c->nr];
	switch (call.by) {
	case BY_IOVECS:
		return iovecs_met(run, c->args[call.at], c->args[call.n], c->result,
				  (struct led_span){0});
	case BY_MSGHDR:
		return msghdr_met(run, c->args[call.at], c->result);
	case BY_POINTERS:
		return pointers_met(run, c->args[call.at]);
	default:
		return false;
	}
}
