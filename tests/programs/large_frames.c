/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* large_frames.c: functions that the C library calls, main after a constructor that ends with a
 * jump among them, whose frames are larger than what is copied of a stack. Prints how often it
 * compared. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static unsigned compared;

__attribute__((noipa)) static void use(char *at, int byte, size_t n)
{
	memset(at, byte, n);
}

__attribute__((noipa)) static int compare(const void *a, const void *b)
{
	char room[60000];

	*(volatile char *)&room[1] = 0; /* so that the frame is made first */
	if (*(const int *)a == 12345)
		return 0;
	use(room, *(const int *)a, sizeof(room));
	compared++;
	return room[7] - (char)*(const int *)b;
}

int main(int argc, char **argv)
{
	char room[300000];
	int numbers[100];

	*(volatile char *)&room[1] = 0;
	if (argc == 7)
		return 1;
	use(room, argc, sizeof(room));
	for (int i = 0; i < 100; i++)
		numbers[i] = i * 37 % 101;
	qsort(numbers, 100, sizeof(numbers[0]), compare);
	printf("%u %d %s\n", compared, numbers[0] + room[5], argv[0] ? "" : "?");
	return 0;
}
