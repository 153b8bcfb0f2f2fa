// SPDX-License-Identifier: LGPL-2.1-or-later
/* holders.c: see holders.h. */
#include "user/patch/holders.h"

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static bool has_area(pid_t pid, const struct stat *memory)
{
	struct tracee_map *maps;
	int n = tracee_maps(pid, &maps);
	bool found = false;

	for (int i = 0; i < n; i++)
		found |= maps[i].dev == memory->st_dev && maps[i].ino == memory->st_ino;
	if (n > 0)
		free(maps);
	return found;
}

int holders_find(const struct area *a, pid_t **out)
{
	pid_t *pids = NULL;
	struct stat memory;
	int n = 0, cap = 0;

	if (fstat(a->fd, &memory))
		return -errno;
	DIR *dir = opendir("/proc");
	if (!dir)
		return -errno;
	for (struct dirent *e; (e = readdir(dir));) {
		pid_t pid = atoi(e->d_name);

		/* The recorder has it too, and a child of that may ask. */
		if (pid <= 0 || pid == getpid() || pid == a->record->recorder ||
		    !has_area(pid, &memory))
			continue;
		if (n == cap) {
			cap = cap ? 2 * cap : 16;
			pid_t *grown = realloc(pids, cap * sizeof(*pids));
			if (!grown) {
				n = -ENOMEM;
				break;
			}
			pids = grown;
		}
		pids[n++] = pid;
	}
	closedir(dir);
	if (n <= 0) {
		free(pids);
		pids = NULL;
	}
	*out = pids;
	return n;
}

static int mark_lanes(const struct area *a, pid_t pid, uint64_t *bits, uint32_t n_lanes)
{
	struct tracee t = {.mem_fd = -1};
	struct patch_ring rings[64];
	uint32_t n = 0, have;
	int err = tracee_open(&t, pid);

	if (!err)
		err = tracee_read(&t, a->local, &n, sizeof(n));
	n = n < PATCH_RINGS ? n : PATCH_RINGS;
	for (uint32_t i = 0; !err && i < n; i += have) {
		have = n - i < 64 ? n - i : 64;
		err = tracee_read(&t, a->record->rings + i * (uint64_t)PATCH_RING_BYTES, rings,
				  have * sizeof(*rings));
		for (uint32_t k = 0; !err && k < have; k++)
			if (rings[k].lane < n_lanes)
				bits[rings[k].lane / 64] |= 1ull << rings[k].lane % 64;
	}
	tracee_close(&t);
	return err;
}

int holders_lanes(const struct area *a, uint64_t *bits, uint32_t n_lanes)
{
	pid_t *pids;
	int n = holders_find(a, &pids), err = n < 0 ? n : 0;

	for (int i = 0; !err && i < n; i++) {
		err = mark_lanes(a, pids[i], bits, n_lanes);
		if (err && kill(pids[i], 0) && errno == ESRCH) /* it has ended meanwhile */
			err = 0;
	}
	if (n > 0)
		free(pids);
	return err;
}
