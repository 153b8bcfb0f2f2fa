/* SPDX-License-Identifier: GPL-2.0 */
/* vmlinux.h: the few kernel types that the BPF programs use, for CO-RE: every field access is
 * relocated against the running kernel's BTF, so only names matter here, not layout (pt_regs, which
 * the context is, excepted: that is ABI). Written by hand; add a field when a program needs it. */
#ifndef VMLINUX_X86_64_H
#define VMLINUX_X86_64_H

typedef signed char __s8;
typedef unsigned char __u8;
typedef short __s16;
typedef unsigned short __u16;
typedef int __s32;
typedef unsigned int __u32;
typedef long long __s64;
typedef unsigned long long __u64;
typedef __u8 u8;
typedef __u16 u16;
typedef __s32 s32;
typedef __u32 u32;
typedef __s64 s64;
typedef __u64 u64;
typedef __u16 __be16;
typedef __u32 __be32;
typedef __u32 __wsum;
typedef _Bool bool;
typedef int pid_t;
typedef unsigned long size_t;
enum { false = 0, true = 1 };

enum bpf_map_type {
	BPF_MAP_TYPE_HASH = 1,
	BPF_MAP_TYPE_ARRAY = 2,
	BPF_MAP_TYPE_PROG_ARRAY = 3,
	BPF_MAP_TYPE_PERCPU_ARRAY = 6,
	BPF_MAP_TYPE_CGROUP_ARRAY = 8,
	BPF_MAP_TYPE_LRU_HASH = 9,
	BPF_MAP_TYPE_RINGBUF = 27,
	BPF_MAP_TYPE_TASK_STORAGE = 29,
};

enum {
	BPF_ANY = 0,
	BPF_NOEXIST = 1,
	BPF_F_NO_PREALLOC = 1,
	BPF_F_RDONLY_PROG = 128,
	BPF_F_MMAPABLE = 1024,
	BPF_LOCAL_STORAGE_GET_F_CREATE = 1,
	BPF_RB_NO_WAKEUP = 1,
	BPF_RB_FORCE_WAKEUP = 2,
	BPF_RB_AVAIL_DATA = 0,
	BPF_RB_RING_SIZE = 1,
};

struct pt_regs {
	unsigned long r15, r14, r13, r12, bp, bx, r11, r10, r9, r8, ax, cx, dx, si, di, orig_ax;
	unsigned long ip, cs, flags, sp, ss;
};

#ifndef BPF_NO_PRESERVE_ACCESS_INDEX
#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)
#endif

typedef struct {
	int counter;
} atomic_t;

struct ns_common {
	unsigned int inum;
};

struct pid_namespace {
	unsigned int level;
	struct ns_common ns;
};

struct upid {
	int nr;
	struct pid_namespace *ns;
};

struct pid {
	unsigned int level;
	struct upid numbers[1];
};

struct signal_struct {
	atomic_t live;
};

struct super_block {
	u32 s_dev;
	unsigned long s_magic;
};

struct inode {
	unsigned short i_mode;
	unsigned long i_ino;
	long long i_size;
	struct super_block *i_sb;
	u32 i_generation;
	s64 i_mtime_sec;
	u32 i_mtime_nsec;
};

/* Before Linux 6.11, and before 6.7. */
struct timespec64 {
	s64 tv_sec;
	long tv_nsec;
};
struct inode___apart {
	struct timespec64 __i_mtime;
};
struct inode___plain {
	struct timespec64 i_mtime;
};

struct qstr {
	const unsigned char *name;
};

struct dentry {
	struct dentry *d_parent;
	struct qstr d_name;
};

struct vfsmount {
	struct dentry *mnt_root;
};

struct mount {
	struct mount *mnt_parent;
	struct dentry *mnt_mountpoint;
	struct vfsmount mnt;
};

struct path {
	struct vfsmount *mnt;
	struct dentry *dentry;
};

struct file {
	struct path f_path;
	struct inode *f_inode;
	void *private_data;
	unsigned int f_flags;
	unsigned int f_mode;
	long long f_pos;
};

struct net {
	struct ns_common ns;
};

typedef struct {
	struct net *net;
} possible_net_t;

struct in6_addr {
	u32 s6_addr32[4]; /* in a union, which is no matter to its bytes */
};

struct sock_common {
	__be32 skc_daddr, skc_rcv_saddr;
	__be16 skc_dport;
	u16 skc_num;
	unsigned short skc_family;
	possible_net_t skc_net;
	struct in6_addr skc_v6_daddr, skc_v6_rcv_saddr;
};

struct socket;

struct sock {
	struct sock_common __sk_common;
	u16 sk_type, sk_protocol;
	struct socket *sk_socket;
};

struct socket {
	struct file *file;
	struct sock *sk;
};

struct unix_sock {
	struct sock sk;
	struct sock *peer;
};

struct tcp_sock {
	u32 copied_seq, write_seq;
};

struct fdtable {
	unsigned int max_fds;
	struct file **fd;
};

struct files_struct {
	struct fdtable *fdt;
};

struct vm_area_struct {
	unsigned long vm_end;
	struct file *vm_file;
};

struct mm_struct {
	unsigned long start_brk, brk, start_stack, env_end, mmap_base, start_code, end_code;
	struct file *exe_file;
};

struct cgroup_subsys_state {
	struct cgroup_subsys_state *parent;
};

struct kernfs_node {
	u64 id;
};

struct cgroup {
	struct cgroup_subsys_state self;
	struct kernfs_node *kn;
};

struct css_set {
	struct cgroup *dfl_cgrp;
};

struct uprobe;

struct arch_uprobe_task {
	unsigned long saved_scratch_register;
};

struct uprobe_task {
	struct arch_uprobe_task autask; /* in a union, as is this: */
	unsigned long vaddr;
	struct uprobe *active_uprobe;
	unsigned long xol_vaddr;
};

struct rseq;

struct thread_struct {
	unsigned long fsbase;
};

typedef struct {
	unsigned long sig[1];
} sigset_t;

struct task_struct {
	struct mm_struct *mm;
	struct files_struct *files;
	pid_t pid;
	pid_t tgid;
	int exit_code;
	u64 start_boottime;
	u32 self_exec_id;
	char comm[16];
	struct task_struct *group_leader;
	struct task_struct *real_parent;
	struct signal_struct *signal;
	struct pid *thread_pid;
	struct css_set *cgroups;
	sigset_t blocked;
	unsigned long sas_ss_sp;
	size_t sas_ss_size;
	struct thread_struct thread;
	unsigned int flags;
	struct uprobe_task *utask;
	struct rseq *rseq;
	struct completion *vfork_done;
	struct robust_list_head *robust_list;
	int *clear_child_tid;
};

union __sifields {
	struct {
		void *_addr;
	} _sigfault;
};

struct kernel_siginfo {
	int si_code;
	union __sifields _sifields;
};

struct sigaction {
	void *sa_handler;
	unsigned long sa_flags;
};

struct k_sigaction {
	struct sigaction sa;
};

struct linux_binprm {
	const char *filename;
};

struct seq_file;

struct bpf_iter_meta {
	struct seq_file *seq;
};

struct bpf_iter__task {
	struct bpf_iter_meta *meta;
	struct task_struct *task;
};

#ifndef BPF_NO_PRESERVE_ACCESS_INDEX
#pragma clang attribute pop
#endif

/* On the program's own stack, where the size matters: that of bpf_for(). Since Linux 6.4. */
struct bpf_iter_num {
	__u64 opaque[1];
} __attribute__((aligned(8)));

#endif
