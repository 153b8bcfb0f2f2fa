/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* vdso_image.h: for programs that scripts write: whether the kernel's image of clock functions
 * (vDSO) is as it was. */
#ifndef TESTS_VDSO_IMAGE_H
#define TESTS_VDSO_IMAGE_H

#include <sys/auxv.h>

/* A sum of its first page; 0: there is none. */
static long image_sum(void)
{
	const unsigned char *image = (void *)getauxval(AT_SYSINFO_EHDR);
	long sum = 0;
	for (int i = 0; image && i < 4096; i++)
		sum = sum * 31 + image[i];
	return sum;
}

#endif
