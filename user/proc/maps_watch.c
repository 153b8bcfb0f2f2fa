// SPDX-License-Identifier: LGPL-2.1-or-later
/* maps_watch.c: see maps_watch.h. The table of processes is direct-mapped: one that shares a slot
 * with another is only looked at more often. */
#include "user/proc/maps_watch.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

enum { PROCESSES = 1024 /* a power of two */ };
#define AGAIN_MIN_NS 5000000ull
#define AGAIN_MAX_NS 5000000000ull

struct seen_process {
	int32_t pid;
	uint32_t execs;
	uint64_t next_ns, wait_ns, hash;
};

struct maps_watch {
	struct seen_process seen[PROCESSES];
	struct chunk_text *text; /* MAPS_MAX_BYTES */
};

struct maps_watch *maps_watch_new(void)
{
	struct maps_watch *w = calloc(1, sizeof(*w));

	if (w && !(w->text = malloc(MAPS_MAX_BYTES))) {
		free(w);
		return NULL;
	}
	return w;
}

void maps_watch_free(struct maps_watch *w)
{
	if (!w)
		return;
	free(w->text);
	free(w);
}

/* The executable lines of /proc/PID/maps, as many as there is room for. */
static size_t read_maps(struct chunk_text *text, int pid)
{
	char path[64], *line = NULL;
	size_t cap = 0, len = 0;
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%d/maps", pid);
	FILE *f = fopen(path, "re");
	if (!f)
		return 0;
	while ((n = getline(&line, &cap, f)) > 0) {
		const char *space = strchr(line, ' ');

		if (!space || strnlen(space, 5) < 5 || space[3] != 'x')
			continue;
		if (len + n > MAPS_MAX_BYTES - sizeof(*text))
			break;
		memcpy(text->text + len, line, n);
		len += n;
	}
	free(line);
	fclose(f);
	return len;
}

const struct chunk_text *maps_watch_look(struct maps_watch *w, int32_t pid, uint32_t execs,
					 uint64_t time_ns, uint32_t *bytes)
{
	struct seen_process *seen = &w->seen[(uint32_t)pid & (PROCESSES - 1)];

	if (seen->pid != pid || seen->execs != execs)
		*seen = (struct seen_process){.pid = pid, .execs = execs, .wait_ns = AGAIN_MIN_NS};
	if (time_ns < seen->next_ns)
		return NULL;
	seen->next_ns = time_ns + seen->wait_ns;
	if (seen->wait_ns < AGAIN_MAX_NS)
		seen->wait_ns *= 4;

	size_t len = read_maps(w->text, pid);
	uint64_t hash = 0xcbf29ce484222325;
	for (size_t i = 0; i < len; i++)
		hash = (hash ^ (uint8_t)w->text->text[i]) * 0x100000001b3;
	if (!len || hash == seen->hash)
		return NULL;
	seen->hash = hash;
	w->text->kind = CHUNK_MAPS;
	w->text->pid = pid;
	w->text->time_ns = time_ns;
	*bytes = sizeof(*w->text) + len;
	return w->text;
}

uint32_t maps_watch_processes(struct maps_watch *w, int32_t *pids, uint32_t max)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < PROCESSES && n < max; i++) {
		int32_t pid = __atomic_load_n(&w->seen[i].pid, __ATOMIC_RELAXED);

		if (pid > 0)
			pids[n++] = pid;
	}
	return n;
}
