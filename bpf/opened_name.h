/* SPDX-License-Identifier: GPL-2.0 */
/* opened_name.h: what a descriptor of the current task leads to: the names of the path, from the
 * file up to the root of its mounts, a zero byte behind each. (bpf_d_path() may not be called from
 * the exit of a system call.) */
#ifndef BPF_OPENED_NAME_H
#define BPF_OPENED_NAME_H

#define NAME_BYTES 256 /* NAME_MAX and its zero byte */
#define NAME_DEPTH 64  /* folders and mounts on the way up */
#define PROC_SUPER_MAGIC 0x9fa0
#define FMODE_WRITE 2

/* A pointer of which the verifier knows no type as one to a kernel's object: its fields are read by
 * plain loads, as zeros where there is none. (Linux 6.2; uprobe_multi needs more.) */
#define kernel_object(type, pointer)                                                               \
	((type *)bpf_rdonly_cast((pointer), bpf_core_type_id_kernel(type)))
/* The current task as such a one. Of a pointer in a task that the verifier trusts it looks through
 * all of the kernel's types by name, some milliseconds each time that it comes by. */
#define current_object() kernel_object(struct task_struct, bpf_get_current_task_btf())

/* Of the kernel's types one that begins with a pointer. */
struct list_head {
	struct list_head *next;
} __attribute__((preserve_access_index));

/* NULL: it is not open. */
static __always_inline struct file *opened_file(__u64 fd)
{
	struct fdtable *table = current_object()->files->fdt;
	/* By a plain load, where a helper would take longer than all else here. */
	struct list_head *slot = NULL;

	if ((__u32)fd < table->max_fds)
		slot = kernel_object(struct list_head, table->fd + (__u32)fd);
	return kernel_object(struct file, slot ? slot->next : NULL);
}

/* Whether @fd leads to the memory of a process, /proc/PID/mem, and may be written. */
static __always_inline bool opened_memory(__u64 fd)
{
	struct file *file = opened_file(fd);
	char name[sizeof("mem")] = {};

	if (!file || !(file->f_mode & FMODE_WRITE) ||
	    file->f_inode->i_sb->s_magic != PROC_SUPER_MAGIC)
		return false;
	bpf_probe_read_kernel(name, sizeof(name), BPF_CORE_READ(file, f_path.dentry, d_name.name));
	return name[0] == 'm' && name[1] == 'e' && name[2] == 'm' && !name[3];
}

struct name_walk {
	__u8 *out; /* CAPTURE_CHUNK_BYTES */
	struct dentry *at;
	struct vfsmount *mnt;
	__u32 len;
	bool whole;
};

/* From the root of a mount to where it is mounted. */
static __always_inline bool name_leave_mount(struct name_walk *w)
{
	void *mount = (void *)w->mnt - __builtin_preserve_field_info(((struct mount *)0)->mnt,
								     BPF_FIELD_BYTE_OFFSET);
	struct mount *m = mount, *parent = BPF_CORE_READ(m, mnt_parent);

	if (parent == m || !parent)
		return false;
	w->at = BPF_CORE_READ(m, mnt_mountpoint);
	w->mnt = &parent->mnt;
	return true;
}

static long name_step(__u32 step, struct name_walk *w)
{
	struct vfsmount *mnt = w->mnt;
	struct dentry *at = w->at, *parent;

	if (at == BPF_CORE_READ(mnt, mnt_root)) {
		w->whole = !name_leave_mount(w);
		return w->whole;
	}
	__u32 len = w->len;
	if (len > CAPTURE_CHUNK_BYTES - NAME_BYTES)
		return 1;
	long n =
		bpf_probe_read_kernel_str(w->out + len, NAME_BYTES, BPF_CORE_READ(at, d_name.name));
	if (n <= 0)
		return 1;
	w->len += n;
	parent = BPF_CORE_READ(at, d_parent);
	w->whole = parent == at; /* a socket or pipe, which lies nowhere */
	w->at = parent;
	return w->whole;
}

#endif
