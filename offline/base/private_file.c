// SPDX-License-Identifier: LGPL-2.1-or-later
/* private_file.c: see private_file.h. The data of the file, and not its holes, is read into memory
 * of zeros; then the file must be what it was before. */
#include "offline/base/private_file.h"

#include "offline/base/open_regular.h"
#include "offline/base/write_all.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <unistd.h>

/* With ASan, the rest of the mapping's last page is made to fault, as memory past a malloc() does.
 */
#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define HAVE_ASAN 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(HAVE_ASAN)
#include <sanitizer/asan_interface.h>
#define GUARD(addr, len) __asan_poison_memory_region(addr, len)
#define UNGUARD(addr, len) __asan_unpoison_memory_region(addr, len)
#else
#define GUARD(addr, len) ((void)(addr), (void)(len))
#define UNGUARD(addr, len) ((void)(addr), (void)(len))
#endif

enum { TRIES = 3, LARGE_PAGE = 2 << 20 };

static bool same_time(const struct timespec *a, const struct timespec *b)
{
	return a->tv_sec == b->tv_sec && a->tv_nsec == b->tv_nsec;
}

static bool unchanged(const struct stat *a, const struct stat *b)
{
	return a->st_size == b->st_size && same_time(&a->st_mtim, &b->st_mtim) &&
	       same_time(&a->st_ctim, &b->st_ctim);
}

/* Has the kernel put pages there at once, large ones where there is much to read: that costs less
 * than a fault for each while it is read to. A kernel that cannot (before Linux 5.14) puts them
 * there one by one. */
static void make_room(uint8_t *to, uint64_t off, uint64_t end)
{
	off &= ~(uint64_t)(sysconf(_SC_PAGESIZE) - 1);
	if (end - off >= LARGE_PAGE)
		madvise(to + off, end - off, MADV_HUGEPAGE);
#ifdef MADV_POPULATE_WRITE
	madvise(to + off, end - off, MADV_POPULATE_WRITE);
#endif
}

/* Takes [@off, @end) of @fd. Returns 0, -EAGAIN where the file ends before, or -errno. */
typedef int take_data(int fd, void *to, uint64_t off, uint64_t end);

/* To the memory @to, at the same place. */
static int read_data(int fd, void *memory, uint64_t off, uint64_t end)
{
	uint8_t *to = memory;
	make_room(to, off, end);
	while (off < end) {
		ssize_t n = pread(fd, to + off, end - off, (off_t)off);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n ? -errno : -EAGAIN;
		off += n;
	}
	return 0;
}

/* To the file *@to, at the same place. */
static int copy_data(int fd, void *to, uint64_t off, uint64_t end)
{
	uint8_t bytes[1 << 15];
	int err = 0;
	while (!err && off < end) {
		size_t len = end - off < sizeof(bytes) ? end - off : sizeof(bytes);
		ssize_t n = pread(fd, bytes, len, (off_t)off);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n ? -errno : -EAGAIN;
		err = lseek(*(int *)to, (off_t)off, SEEK_SET) < 0
			      ? -errno
			      : write_all(*(int *)to, bytes, (size_t)n);
		off += (uint64_t)n;
	}
	return err;
}

/* Takes [@off, @end) but for holes, which stay as they are: zeros. */
static int take_all(int fd, void *to, uint64_t off, uint64_t end, take_data *take)
{
	int err = 0;
	while (!err && off < end) {
		off_t data = lseek(fd, (off_t)off, SEEK_DATA);
		if (data < 0 && errno == ENXIO)
			return 0; /* a hole up to the end */
		off_t hole = data < 0 ? -1 : lseek(fd, data, SEEK_HOLE);
		if (hole < 0 || data < (off_t)off || hole <= data)
			return take(fd, to, off, end); /* it does not tell its holes */
		uint64_t to_off = (uint64_t)hole < end ? (uint64_t)hole : end;
		if ((uint64_t)data < to_off)
			err = take(fd, to, data, to_off);
		off = (uint64_t)hole;
	}
	return err;
}

/* Reads the parts that @parts asks for, one after the other; all of the file where these overlap
 * so much that it is less. *@read: how many bytes that were, at most @max_bytes. */
static int read_parts(int fd, uint8_t *bytes, uint64_t len, uint64_t max_bytes,
		      private_file_parts *parts, uint64_t *read)
{
	uint64_t off, end;
	int err = 0;
	*read = 0;
	for (uint32_t step = 0; !err && parts(bytes, len, step, &off, &end); step++) {
		if (off > len || end < off || end > len || end - off > len - *read) {
			off = *read = 0;
			end = len;
		}
		bool all = end - off == len;
		if (end - off > max_bytes - *read)
			return -EFBIG;
		*read += end - off;
		err = take_all(fd, bytes, off, end, read_data);
		if (all)
			break;
	}
	return err;
}

/* The one part of who wants it whole. */
static bool whole(const uint8_t *bytes, uint64_t len, uint32_t step, uint64_t *off, uint64_t *end)
{
	(void)bytes;
	*off = 0;
	*end = len;
	return !step;
}

static uint64_t rest_of_page(uint64_t len)
{
	return -len & (sysconf(_SC_PAGESIZE) - 1);
}

static int try_read(int fd, uint64_t max_bytes, private_file_parts *parts, struct private_file *out)
{
	struct stat after;
	struct private_file file = {0};
	if (fstat(fd, &file.st))
		return -errno;
	file.len_bytes = file.st.st_size;
	if (file.len_bytes > PRIVATE_FILE_MAX)
		return -EFBIG;
	if (!file.len_bytes) {
		*out = file;
		return 0;
	}
	void *map = mmap(NULL, file.len_bytes, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (map == MAP_FAILED)
		return -errno;
	if (parts != whole) /* between them lies what is not read */
		madvise(map, file.len_bytes, MADV_NOHUGEPAGE);
	int err = read_parts(fd, map, file.len_bytes, max_bytes, parts, &file.read_bytes);
	if (!err && fstat(fd, &after))
		err = -errno;
	if (!err && !unchanged(&file.st, &after))
		err = -EAGAIN;
	if (!err && mprotect(map, file.len_bytes, PROT_READ))
		err = -errno;
	if (err) {
		munmap(map, file.len_bytes);
		return err;
	}
	file.bytes = map;
	GUARD(file.bytes + file.len_bytes, rest_of_page(file.len_bytes));
	*out = file;
	return 0;
}

int private_file_read_parts(int fd, uint64_t max_bytes, private_file_parts *parts,
			    struct private_file *out)
{
	int err = -EAGAIN;
	for (int i = 0; i < TRIES && err == -EAGAIN; i++)
		err = try_read(fd, max_bytes, parts, out);
	return err == -EAGAIN ? -EBUSY : err;
}

int private_file_read(int fd, uint64_t max_bytes, struct private_file *out)
{
	return private_file_read_parts(fd, max_bytes, whole, out);
}

/* Closes @fd. */
static int read_and_close(int fd, uint64_t max_bytes, struct private_file *out)
{
	if (fd < 0)
		return fd;
	int err = private_file_read(fd, max_bytes, out);
	close(fd);
	return err;
}

int private_file_open(const char *path, uint64_t max_bytes, struct private_file *out)
{
	return read_and_close(open_regular(path, NULL), max_bytes, out);
}

int private_file_open_at(int dir_fd, const char *name, uint64_t max_bytes, struct private_file *out)
{
	return read_and_close(open_regular_at(dir_fd, name, NULL), max_bytes, out);
}

static int try_copy(int fd, uint64_t max_bytes)
{
	struct stat before, after;
	if (fstat(fd, &before))
		return -errno;
	if ((uint64_t)before.st_size > max_bytes)
		return -EFBIG;
	int copy = memfd_create("pugmark", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (copy < 0)
		return -errno;
	int err = ftruncate(copy, before.st_size) ? -errno : 0;
	if (!err)
		err = take_all(fd, &copy, 0, (uint64_t)before.st_size, copy_data);
	if (!err && fstat(fd, &after))
		err = -errno;
	if (!err && !unchanged(&before, &after))
		err = -EAGAIN;
	if (!err &&
	    fcntl(copy, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL))
		err = -errno;
	if (err)
		close(copy);
	return err ? err : copy;
}

int private_file_copy(int fd, uint64_t max_bytes)
{
	int copy = -EAGAIN;
	for (int i = 0; i < TRIES && copy == -EAGAIN; i++)
		copy = try_copy(fd, max_bytes);
	return copy == -EAGAIN ? -EBUSY : copy;
}

void private_file_free(struct private_file *file)
{
	if (file->bytes) {
		UNGUARD(file->bytes + file->len_bytes, rest_of_page(file->len_bytes));
		munmap((void *)file->bytes, file->len_bytes);
	}
	*file = (struct private_file){0};
}

const char *private_file_why(int err)
{
	return err == -EBUSY   ? "it is being written to (try again when that is done)"
	       : err == -EFBIG ? "too large"
			       : open_regular_why(err);
}

bool private_file_unknown(int err)
{
	static const int unknown[] = {ENOMEM, EMFILE, ENFILE, EIO, EBUSY, EFBIG};
	for (size_t i = 0; i < sizeof(unknown) / sizeof(*unknown); i++)
		if (err == -unknown[i])
			return true;
	return false;
}
