// SPDX-License-Identifier: LGPL-2.1-or-later
/* fuzz_merge.c: any files as the recordings under two shares of one plan: they are refused with a
 * reason, or merged to a recording that opens. */
#include "tests/fuzz/as_folder.h"

#include <pugmark/recording.h>

#include "user/share/merge.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const names[] = {"1/events", "1/meta.json", "1/plan-0.pmp",
					    "2/events", "2/meta.json", "2/plan-0.pmp"};
	const char *dir = as_folder(data, size, names, 6);
	struct pugmark_diag diag = {.text = ""};
	struct pugmark_recording *merged;
	struct merge_result result = {0};
	char first[80], second[80], out[80];
	const char *const parts[] = {first, second};

	snprintf(first, sizeof(first), "%s/1", dir);
	snprintf(second, sizeof(second), "%s/2", dir);
	snprintf(out, sizeof(out), "%s/out", dir);
	if (merge_recordings(parts, 2, out, &result, &diag)) {
		MUST(*diag.text);
	} else {
		MUST(!pugmark_recording_open(out, &merged, &diag));
		pugmark_recording_free(merged);
	}
	free(result.first_divergence);
	return 0;
}
