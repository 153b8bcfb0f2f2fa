// SPDX-License-Identifier: LGPL-2.1-or-later
/* swapped.c: what somebody may do who owns the folder FOLDER that another's recorder writes to:
 * puts links and folders of his own in the place of whatever appears there, as fast as he can,
 * until he is killed.
 *
 *   swapped FOLDER VICTIM   the links lead into the folder VICTIM */
#define _GNU_SOURCE
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *const names[] = {"plan-0.pmp", "meta.json.new", "meta.json", "events",
				    "reserve"};
static unsigned long count;

/* Moves @name away and lays something else in its place: a folder with links in it, or a link. */
static void swap(int folder, const char *name, const char *victim)
{
	char away[64], to[8192];
	snprintf(away, sizeof(away), "away-%lu", count++);
	if (renameat(folder, name, folder, away))
		return;
	if (count % 2) {
		symlinkat(victim, folder, name);
		return;
	}
	mkdirat(folder, name, 0777);
	int fd = openat(folder, name, O_RDONLY | O_DIRECTORY);
	for (size_t i = 0; fd >= 0 && i < sizeof(names) / sizeof(*names); i++) {
		snprintf(to, sizeof(to), "%s/%s", victim, names[i]);
		symlinkat(to, fd, names[i]);
	}
	if (fd >= 0)
		close(fd);
}

int main(int argc, char **argv)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL); /* no longer than the test */
	int folder = argc == 3 ? open(argv[1], O_RDONLY | O_DIRECTORY) : -1;
	if (folder < 0)
		return 2;
	for (;;) {
		DIR *dir = fdopendir(openat(folder, ".", O_RDONLY | O_DIRECTORY));
		struct dirent *e;
		while (dir && (e = readdir(dir)))
			if (!strncmp(e->d_name, "rec", 3) &&
			    (count % 5 || strstr(e->d_name, "new")))
				swap(folder, e->d_name, argv[2]);
		if (dir)
			closedir(dir);
	}
}
