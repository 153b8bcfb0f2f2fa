// SPDX-License-Identifier: LGPL-2.1-or-later
/* Makes code and calls it, changes it, and calls it again; the code calls back. */
#include "note.h"
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
static volatile long seen;
__attribute__((noinline)) static long back(long v)
{
	seen = seen * 31 + v;
	return v + 1;
}
int main(void)
{
	unsigned char *code = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
				   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	/* push rbx; mov rbx, rdi; imul rbx, rbx, N; mov rdi, rbx; mov rax, back; call rax;
	 * add rax, rbx; pop rbx; ret */
	static const unsigned char body[] = {
		0x53, 0x48, 0x89, 0xfb, 0x48, 0x6b, 0xdb, 0,	0x48, 0x89, 0xdf, 0x48, 0xb8, 0,
		0,    0,    0,	  0,	0,    0,    0,	  0xff, 0xd0, 0x48, 0x01, 0xd8, 0x5b, 0xc3};
	long s = 0, turn = 0;
	if (code == MAP_FAILED)
		return 77;
	note(1, 17);
	do {
		memcpy(code, body, sizeof(body));
		code[7] = turn % 100;
		memcpy(code + 13, &(void *){(void *)back}, 8);
		s = s * 3 + ((long (*)(long))code)(turn);
	} while (++turn < 300 || goes_on());
	note(2, s);
	note(3, seen);
	note(4, turn);
	return 0;
}
