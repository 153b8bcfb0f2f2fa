// SPDX-License-Identifier: LGPL-2.1-or-later
/* fuzz_recording.c: any bytes as the file of events of a recording, in a segment with a checksum
 * that fits as records of processes, and as its meta.json. The reader never fails for what is in
 * them, but for a version that it does not know, and comes to an end. */
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <pugmark/recording.h>

#include "offline/log/segment.h"
#include "tests/fuzz/must.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char dir[64];

static const char *file_named(const char *name)
{
	static char path[96];

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	return path;
}

static void remove_dir(void)
{
	unlink(file_named("events"));
	unlink(file_named("meta.json"));
	rmdir(dir);
}

static void write_file(const char *name, const uint8_t *head, size_t head_size, const uint8_t *data,
		       size_t size)
{
	if (!*dir) {
		const char *tmp = getenv("TMPDIR");

		snprintf(dir, sizeof(dir), "%.40s/fuzzXXXXXX", tmp ? tmp : "/tmp");
		MUST(mkdtemp(dir));
		atexit(remove_dir);
	}
	FILE *f = fopen(file_named(name), "w");
	MUST(f);
	fwrite(head, 1, head_size, f);
	fwrite(data, 1, size, f);
	fclose(f);
}

static void read_all(bool may_refuse)
{
	struct pugmark_recording *rec;
	struct pugmark_diag diag;
	uint32_t n;

	int err = pugmark_recording_open(dir, &rec, &diag);
	MUST(!err || (err == -ENOTSUP && may_refuse));
	if (err)
		return;
	const struct pugmark_recording_task *tasks = pugmark_recording_tasks(rec, &n);
	for (uint32_t i = 0; i < n; i++) {
		struct pugmark_recording_iter *iter;
		struct pugmark_witness_event e;
		uint64_t events = 0;

		MUST(memchr(tasks[i].comm, 0, sizeof(tasks[i].comm)));
		MUST(!pugmark_recording_iter_new(rec, i, &iter));
		while (pugmark_recording_next(iter, &e) == 1)
			MUST(e.kind != PUGMARK_EVENT_WITNESS || ++events <= tasks[i].n_events);
		pugmark_recording_iter_free(iter);
		pugmark_recording_map_at(rec, tasks[i].pid, 0x1000, 0);
	}
	for (uint32_t i = 0; pugmark_recording_note(rec, i); i++)
		;
	pugmark_recording_free(rec);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct segment_header header = {
		.kind = SEGMENT_PROCESS,
		.n = 1,
		.raw_bytes = size,
		.stored_bytes = size,
		.crc = crc32(0, data, size),
	};
	uint8_t head[SEGMENT_HEADER_BYTES];

	write_file("events", data, 0, data, size);
	read_all(false);
	segment_header_write(&header, head);
	write_file("events", head, sizeof(head), data, size);
	read_all(false);
	write_file("meta.json", data, 0, data, size);
	read_all(true);
	unlink(file_named("meta.json"));
	return 0;
}
