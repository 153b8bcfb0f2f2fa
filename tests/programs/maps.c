// SPDX-License-Identifier: LGPL-2.1-or-later
/* maps.c: to be preloaded: before its program begins, maps the files MAPS_DIR/0, 1, ... as code, as
 * far as there are some, and makes the file MAPS_DIR/mapped. Without that variable it does nothing:
 * other programs have it in their environment too. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

__attribute__((constructor)) static void maps(void)
{
	const char *folder = getenv("MAPS_DIR");
	char path[4096];
	for (int i = 0; folder; i++) {
		snprintf(path, sizeof(path), "%s/%d", folder, i);
		int fd = open(path, O_RDONLY);
		if (fd < 0)
			break;
		if (mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0) == MAP_FAILED)
			perror(path);
		close(fd);
	}
	if (!folder)
		return;
	snprintf(path, sizeof(path), "%s/mapped", folder);
	close(open(path, O_WRONLY | O_CREAT, 0600));
}
