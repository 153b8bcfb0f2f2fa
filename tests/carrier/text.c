// SPDX-License-Identifier: LGPL-2.1-or-later
/* text.c: text FILE PID...: prints how many executable bytes of FILE the processes have otherwise
 * than the file, how many mappings of trampolines and chunks, and the most mappings that one of
 * them has. Status 1 where a process or the file cannot be read. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

struct file {
	const char *path;
	const unsigned char *bytes;
	size_t len;
};

static int map_file(const char *path, struct file *out)
{
	struct stat st;
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0 || fstat(fd, &st))
		return -1;
	void *bytes = mmap(NULL, st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	close(fd);
	if (bytes == MAP_FAILED)
		return -1;
	*out = (struct file){path, bytes, st.st_size};
	return 0;
}

/* Of the mapping from @lo to @hi, which begins at @off in the file; what is behind the file's end
 * is 0. Returns how many differ, or -1. */
static long different(int mem, unsigned long lo, unsigned long hi, unsigned long off,
		      const struct file *file)
{
	size_t len = hi - lo;
	unsigned char *have = malloc(len);
	long n = 0;

	if (!have || pread(mem, have, len, lo) != (ssize_t)len) {
		free(have);
		return -1;
	}
	for (size_t i = 0; i < len; i++)
		n += have[i] != (off + i < file->len ? file->bytes[off + i] : 0);
	free(have);
	return n;
}

/* Adds what process @pid has to *@bytes and *@left; *@most: mappings. */
static int look(const char *pid, const struct file *file, long *bytes, long *left, long *most)
{
	char path[64], line[4400], perms[8];
	unsigned long lo, hi, off;
	long n = 0;
	int err = 0;

	snprintf(path, sizeof(path), "/proc/%s/mem", pid);
	int mem = open(path, O_RDONLY | O_CLOEXEC);
	snprintf(path, sizeof(path), "/proc/%s/maps", pid);
	FILE *maps = fopen(path, "re");
	while (mem >= 0 && maps && !err && fgets(line, sizeof(line), maps)) {
		const char *name = strchr(line, '/');

		n++;
		*left += strstr(line, "memfd:pugmark") != NULL;
		if (sscanf(line, "%lx-%lx %7s %lx", &lo, &hi, perms, &off) != 4 ||
		    perms[2] != 'x' || !name || strncmp(name, file->path, strlen(file->path)))
			continue;
		long its = different(mem, lo, hi, off, file);
		*bytes += its < 0 ? 0 : its;
		err = its < 0;
	}
	if (mem < 0 || !maps || !n)
		err = 1;
	if (maps)
		fclose(maps);
	if (mem >= 0)
		close(mem);
	*most = n > *most ? n : *most;
	return err;
}

int main(int argc, char **argv)
{
	long bytes = 0, left = 0, most = 0;
	struct file file;
	int err = argc < 3 || map_file(argv[1], &file);

	for (int i = 2; !err && i < argc; i++)
		err = look(argv[i], &file, &bytes, &left, &most);
	if (!err)
		printf("%ld %ld %ld\n", bytes, left, most);
	return err;
}
