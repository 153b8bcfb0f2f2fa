// SPDX-License-Identifier: LGPL-2.1-or-later
/* packed.c: see packed.h. */
#include "user/file/packed.h"

#include "offline/base/open_regular.h"

#include <elf.h>
#include <math.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

/* Of 1,808 programs and libraries the densest, a video codec, has 6.79; programs packed by UPX have
 * over 7.8. */
#define PACKED_BITS 7.2

enum {
	SEGMENTS_MAX = 64,
	BYTES_MAX = 4 << 20, /* that are looked at: what follows is of the same kind */
	BYTES_MIN = 1 << 10, /* of fewer the entropy says nothing */
};

struct byte_counts {
	uint64_t of[256], n;
};

static void count_bytes(int fd, uint64_t offset, uint64_t len, struct byte_counts *counts)
{
	unsigned char bytes[16 << 10];

	while (len && counts->n < BYTES_MAX) {
		ssize_t got =
			pread(fd, bytes, len < sizeof(bytes) ? len : sizeof(bytes), (off_t)offset);

		if (got <= 0)
			return;
		for (ssize_t i = 0; i < got; i++)
			counts->of[bytes[i]]++;
		counts->n += (uint64_t)got;
		offset += (uint64_t)got;
		len -= (uint64_t)got;
	}
}

/* Shannon's, in bits a byte. */
static double entropy(const struct byte_counts *counts)
{
	double bits = 0;

	for (int i = 0; i < 256; i++) {
		double p = (double)counts->of[i] / (double)counts->n;

		bits -= p > 0 ? p * log2(p) : 0;
	}
	return bits;
}

static void count_code(int fd, struct byte_counts *counts)
{
	Elf64_Ehdr eh;

	if (pread(fd, &eh, sizeof(eh), 0) != sizeof(eh) || memcmp(eh.e_ident, ELFMAG, SELFMAG) ||
	    eh.e_ident[EI_CLASS] != ELFCLASS64)
		return;
	for (unsigned i = 0; i < eh.e_phnum && i < SEGMENTS_MAX; i++) {
		Elf64_Phdr ph;

		if (pread(fd, &ph, sizeof(ph), (off_t)(eh.e_phoff + i * sizeof(ph))) != sizeof(ph))
			return;
		if (ph.p_type == PT_LOAD && ph.p_flags & PF_X)
			count_bytes(fd, ph.p_offset, ph.p_filesz, counts);
	}
}

bool file_is_packed(const char *path)
{
	struct byte_counts counts = {0};
	int fd = open_regular(path, NULL);

	if (fd < 0)
		return false;
	count_code(fd, &counts);
	close(fd);
	return counts.n >= BYTES_MIN && entropy(&counts) > PACKED_BITS;
}
