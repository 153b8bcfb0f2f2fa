// SPDX-License-Identifier: LGPL-2.1-or-later
/* libbz2.c: compresses a file with the static library and takes it apart again. */
#include <bzlib.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(int argc, char **argv)
{
	FILE *in = argc == 2 ? fopen(argv[1], "rb") : NULL;
	if (!in || fseek(in, 0, SEEK_END))
		return 2;
	unsigned bytes = ftell(in), packed_bytes = bytes + bytes / 50 + 1000, again = bytes;
	char *text = malloc(bytes + 1), *packed = malloc(packed_bytes), *back = malloc(bytes + 1);
	rewind(in);
	if (!text || !packed || !back || fread(text, 1, bytes, in) != bytes)
		return 2;
	fclose(in);
	if (BZ2_bzBuffToBuffCompress(packed, &packed_bytes, text, bytes, 9, 0, 30) != BZ_OK ||
	    BZ2_bzBuffToBuffDecompress(back, &again, packed, packed_bytes, 0, 0) != BZ_OK ||
	    again != bytes || memcmp(text, back, bytes))
		return 1;
	/* The other way to decompress, slower and in less memory; and damage. */
	if (BZ2_bzBuffToBuffDecompress(back, &again, packed, packed_bytes, 1, 0) != BZ_OK ||
	    memcmp(text, back, bytes))
		return 1;
	packed[packed_bytes / 2] ^= 16;
	again = bytes;
	return BZ2_bzBuffToBuffDecompress(back, &again, packed, packed_bytes, 0, 0) == BZ_OK;
}
