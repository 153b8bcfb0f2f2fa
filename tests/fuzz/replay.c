// SPDX-License-Identifier: LGPL-2.1-or-later
/* replay.c: a plain main() for a fuzz target: gives it every file of the folders that are named,
 * whole and, without --whole before them, cut at every 1 % of its length. A folder that does not
 * exist holds no file. Any input that takes over ten seconds is a failure. The last line says how
 * many files passed. */
#include <dirent.h>
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LIMIT_SECONDS = 10, MAX_BYTES = 16 << 20 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void run(const char *path, const uint8_t *data, size_t size)
{
	/* An exact copy, so that a sanitizer sees a read past its end. */
	uint8_t *copy = malloc(size ? size : 1);
	if (!copy)
		exit(1);
	memcpy(copy, data, size);
	/* Said before, for it may not come back. */
	fprintf(stderr, "%s: first %zu bytes\n", path, size);
	alarm(LIMIT_SECONDS);
	LLVMFuzzerTestOneInput(copy, size);
	alarm(0);
	free(copy);
}

static int run_file(const char *path, bool cuts)
{
	FILE *file = fopen(path, "rb");
	uint8_t *data = malloc(MAX_BYTES);
	size_t size = file && data ? fread(data, 1, MAX_BYTES, file) : 0;
	int err = !file || !data || ferror(file) || !feof(file);
	if (err) {
		fprintf(stderr, "%s: cannot read all of it: %s\n", path, strerror(errno));
	} else {
		run(path, data, size);
		size_t last = size;
		for (unsigned percent = 99; cuts && percent < 100; percent--) {
			size_t cut = size / 100 * percent + size % 100 * percent / 100;
			if (cut != last)
				run(path, data, cut);
			last = cut;
		}
	}
	free(data);
	if (file)
		fclose(file);
	return err;
}

static int run_folder(const char *folder, bool cuts, unsigned *passed)
{
	struct dirent **entries;
	int n = scandir(folder, &entries, NULL, alphasort);
	if (n < 0 && errno == ENOENT)
		return 0;
	if (n < 0) {
		perror(folder);
		return 1;
	}
	int err = 0;
	for (int i = 0; i < n; i++) {
		char path[4096];
		snprintf(path, sizeof(path), "%s/%s", folder, entries[i]->d_name);
		if (entries[i]->d_name[0] != '.') {
			err |= run_file(path, cuts);
			(*passed)++;
		}
		free(entries[i]);
	}
	free(entries);
	return err;
}

int main(int argc, char **argv)
{
	unsigned passed = 0;
	bool cuts = argc < 2 || strcmp(argv[1], "--whole") != 0;
	for (int i = cuts ? 1 : 2; i < argc; i++)
		if (run_folder(argv[i], cuts, &passed))
			return 1;
	printf("%u passed, 0 failed, 0 skipped\n", passed);
	return 0;
}
