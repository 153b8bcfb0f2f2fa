// SPDX-License-Identifier: LGPL-2.1-or-later
/* fuzz_shares.c: any files as a folder of shares: it is refused with a reason, or proved or not. */
#include "tests/fuzz/as_folder.h"

#include "user/share/shares_checked.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const names[] = {"share-1.pmp", "share-2.pmp", "share-3.pmp",
					    "manifest.json"};
	const char *dir = as_folder(data, size, names, 4);
	struct pugmark_diag diag = {.text = ""};
	static FILE *nowhere;
	struct shares_read shares;
	static struct outbuf out;

	if (shares_read(dir, &shares, &diag)) {
		MUST(*diag.text);
		return 0;
	}
	if (!nowhere)
		nowhere = fopen("/dev/null", "w");
	MUST(nowhere);
	outbuf_init(&out, nowhere);
	shares_checked(&shares, dir, *data & 1, &out, &diag);
	outbuf_flush(&out);
	shares_read_deinit(&shares);
	return 0;
}
