/* SPDX-License-Identifier: GPL-2.0 */
/* channel.h: what the descriptor of a system call that moves bytes leads to, so that bytes that are
 * read can be told to be those that another call has written: which file, pipe or socket, which is
 * the other end, and where in it. See struct capture_channel. */
#ifndef BPF_CHANNEL_H
#define BPF_CHANNEL_H

#include <bpf/bpf_core_read.h>
#include "offline/capture/capture_ring.h"

#include "bpf/capture_send.h"
#include "bpf/opened_name.h"

#define O_NONBLOCK 04000
#define S_IFMT 0170000
#define S_IFIFO 0010000
#define S_IFREG 0100000
#define S_IFSOCK 0140000
#define AF_UNIX 1
#define AF_INET 2
#define AF_INET6 10
#define SOCK_STREAM 1
#define IPPROTO_TCP 6
#define SYS_PIPE 22
#define SYS_SENDMSG 46
#define SYS_SOCKETPAIR 53
#define SYS_PIPE2 293
#define NS 1000000000ull

/* In ns; 0: it is no file, or this kernel does not say. */
static __always_inline __u64 channel_changed(struct file *file)
{
	struct inode *inode = file->f_inode;

	if ((inode->i_mode & S_IFMT) != S_IFREG)
		return 0;
	if (bpf_core_field_exists(inode->i_mtime_sec))
		return inode->i_mtime_sec * NS + inode->i_mtime_nsec;
	struct inode___apart *apart = (void *)inode;
	if (bpf_core_field_exists(apart->__i_mtime))
		return BPF_CORE_READ(apart, __i_mtime.tv_sec) * NS +
		       BPF_CORE_READ(apart, __i_mtime.tv_nsec);
	struct inode___plain *plain = (void *)inode;
	if (bpf_core_field_exists(plain->i_mtime))
		return BPF_CORE_READ(plain, i_mtime.tv_sec) * NS +
		       BPF_CORE_READ(plain, i_mtime.tv_nsec);
	return 0;
}

/* Whether a call that reads there may be made to wait, for long. */
static __always_inline bool channel_waits(struct file *file)
{
	return !(file->f_flags & O_NONBLOCK) && (file->f_inode->i_mode & S_IFMT) != S_IFREG;
}

static __always_inline __u64 channel_address(const struct in6_addr *a)
{
	__u32 w[4] = {};

	bpf_probe_read_kernel(w, sizeof(w), a);
	return w[0] ^ w[1] * 3 ^ w[2] * 5 ^ w[3] * 7;
}

static __always_inline void channel_tcp(struct sock *sk, bool six, struct capture_channel *c)
{
	struct tcp_sock *tcp = kernel_object(struct tcp_sock, sk);
	__u64 self = six ? channel_address(&sk->__sk_common.skc_v6_rcv_saddr)
			 : sk->__sk_common.skc_rcv_saddr;
	__u64 other =
		six ? channel_address(&sk->__sk_common.skc_v6_daddr) : sk->__sk_common.skc_daddr;

	c->is = CHANNEL_TCP;
	c->device = sk->__sk_common.skc_net.net->ns.inum;
	c->end = self << 16 | sk->__sk_common.skc_num;
	c->peer = other << 16 | __builtin_bswap16(sk->__sk_common.skc_dport);
	c->position = (__u64)tcp->write_seq << 32 | tcp->copied_seq;
}

static __always_inline void channel_socket(struct file *file, struct capture_channel *c)
{
	struct socket *socket = kernel_object(struct socket, file->private_data);
	struct sock *sk = socket->sk;
	__u16 family = sk->__sk_common.skc_family;

	if (sk->sk_type != SOCK_STREAM)
		return;
	if (family == AF_UNIX && bpf_core_type_exists(struct unix_sock)) {
		struct unix_sock *own = (void *)sk;
		c->is = CHANNEL_UNIX;
		c->peer = BPF_CORE_READ(own, peer, sk_socket, file, f_inode, i_ino);
	}
	bool six = family == AF_INET6;
	if ((family == AF_INET || six) && sk->sk_protocol == IPPROTO_TCP)
		channel_tcp(sk, six, c);
}

static __always_inline void channel_of(struct file *file, struct capture_channel *c)
{
	struct inode *inode = file->f_inode;

	__builtin_memset(c, 0, sizeof(*c));
	c->end = inode->i_ino;
	c->device = (__u64)inode->i_generation << 32 | inode->i_sb->s_dev;
	switch (file ? inode->i_mode & S_IFMT : 0) {
	case S_IFREG:
		c->is = CHANNEL_FILE;
		c->position = file->f_pos;
		c->after = channel_changed(file);
		break;
	case S_IFIFO:
		c->is = CHANNEL_PIPE;
		c->device = (__u32)c->device;
		c->peer = c->end;
		break;
	case S_IFSOCK:
		c->device = (__u32)c->device;
		channel_socket(file, c);
		break;
	}
}

/* The descriptor that a call has made: of two the first. */
static __always_inline __u64 channel_made(const struct pt_regs *r, __u32 nr, long result)
{
	__u32 fd = result;

	if (nr == SYS_PIPE || nr == SYS_PIPE2)
		bpf_probe_read_user(&fd, sizeof(fd), (void *)r->di);
	else if (nr == SYS_SOCKETPAIR)
		bpf_probe_read_user(&fd, sizeof(fd), (void *)r->r10);
	return fd;
}

/* Fills the words of a note. */
static __always_inline void channel_note(struct capture_state *cs, struct capture_channel *c,
					 const struct pt_regs *r, __u32 nr, long result,
					 __u16 traits)
{
	struct capture_channel besides;
	bool moves = traits & CAPTURE_MOVES;
	struct file *file = opened_file(moves ? r->di : channel_made(r, nr, result));
	__u64 control[7] = {};

	channel_of(file, c);
	if (moves && (__u64)file != cs->channel)
		c->is |= CHANNEL_SHIFTED;
	c->before = moves ? cs->changed : 0;
	if (nr == SYS_SENDMSG && !bpf_probe_read_user(control, sizeof(control), (void *)r->si) &&
	    control[5])
		c->is |= CHANNEL_RIGHTS;
	if (traits & (CAPTURE_BESIDES_1 | CAPTURE_BESIDES_2)) {
		channel_of(opened_file(traits & CAPTURE_BESIDES_1 ? r->si : r->dx), &besides);
		c->besides = besides.is == CHANNEL_PIPE ? besides.end : 0;
		c->besides_device = besides.device;
		if (besides.is == CHANNEL_UNIX)
			c->is |= CHANNEL_RIGHTS; /* as little is known of what it holds then */
	}
}

#endif
