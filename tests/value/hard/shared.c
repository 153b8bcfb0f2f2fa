// SPDX-License-Identifier: LGPL-2.1-or-later
/* Two processes that share memory: by mmap() and by shmat(). */
#include "note.h"
#include <sys/mman.h>
#include <sys/shm.h>
#include <sys/wait.h>
struct both {
	volatile long turn, value;
};
static void play(struct both *b)
{
	long s = 0;
	if (!fork()) {
		for (long i = 1; i <= 50; i++) {
			while (b->turn != 2 * i - 1)
				usleep(10);
			b->value = b->value * 3 + i;
			b->turn = 2 * i;
		}
		_exit(0);
	}
	for (long i = 1; i <= 50; i++) {
		b->turn = 2 * i - 1;
		while (b->turn != 2 * i)
			usleep(10);
		s = s * 5 + b->value;
	}
	wait(NULL);
	note(10, b->value);
	note(11, s);
}
int main(void)
{
	note(1, 5);
	struct both *b =
		mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	play(b);
	int id = shmget(IPC_PRIVATE, 4096, 0600);
	b = shmat(id, NULL, 0);
	shmctl(id, IPC_RMID, NULL);
	if (b != (void *)-1) {
		note(12, b->value);
		play(b);
	}
	return 0;
}
