// SPDX-License-Identifier: LGPL-2.1-or-later
/* Reads a file by io_uring: the kernel writes when it likes, and tells by shared memory. Exit
 * status 77: there is none here. */
#include "note.h"
#include <fcntl.h>
#include <linux/io_uring.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
static char own[256];
int main(int argc, char **argv)
{
	struct io_uring_params p = {0};
	int ring = syscall(SYS_io_uring_setup, 8, &p), fd = open(argv[0], O_RDONLY);
	if (ring < 0 || fd < 0)
		return 77;
	char *sq = mmap(0, p.sq_off.array + p.sq_entries * 4 + 4096, PROT_READ | PROT_WRITE,
			MAP_SHARED, ring, IORING_OFF_SQ_RING);
	char *cq = mmap(0, p.cq_off.cqes + p.cq_entries * 16 + 4096, PROT_READ | PROT_WRITE,
			MAP_SHARED, ring, IORING_OFF_CQ_RING);
	struct io_uring_sqe *sqes = mmap(0, 8 * sizeof(*sqes), PROT_READ | PROT_WRITE, MAP_SHARED,
					 ring, IORING_OFF_SQES);
	if (sq == MAP_FAILED || cq == MAP_FAILED || sqes == MAP_FAILED)
		return 77;
	volatile unsigned *tail = (void *)(sq + p.sq_off.tail),
			  *array = (void *)(sq + p.sq_off.array);
	note(1, own[1]);
	for (int k = 0; k < 3; k++) {
		memset(&sqes[0], 0, sizeof(*sqes));
		sqes[0].opcode = IORING_OP_READ;
		sqes[0].fd = fd;
		sqes[0].addr = (unsigned long)own;
		sqes[0].len = 4 + k;
		array[*tail & (p.sq_entries - 1)] = 0;
		__atomic_store_n(tail, *tail + 1, __ATOMIC_RELEASE);
		if (syscall(SYS_io_uring_enter, ring, 1, 1, IORING_ENTER_GETEVENTS, NULL, 0) != 1)
			return 77;
		struct io_uring_cqe *cqe = (void *)(cq + p.cq_off.cqes);
		note(10 + k, cqe[k].res);
		note(20 + k, own[1]); /* 'E' of ELF */
	}
	return 0;
}
