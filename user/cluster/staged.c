// SPDX-License-Identifier: LGPL-2.1-or-later
/* staged.c: see staged.h. */
#include "user/cluster/staged.h"

#include "offline/base/open_regular.h"
#include "offline/base/whole_file.h"
#include "offline/base/write_all.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <nettle/sha2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { COPY_BYTES = 1 << 16, LIST_MAX = 1 << 26 };

static int fails(struct pugmark_diag *diag, int err, const char *path, const char *what)
{
	return pugmark_diag_set(diag, err, path, PUGMARK_NO_OFFSET, "%s: %s", what, strerror(-err));
}

int staged_add(struct staged_list *list, const char *key, const char *value)
{
	size_t n_key = strlen(key) + 1, n_value = strlen(value) + 1;
	char *text = realloc(list->text, list->len + n_key + n_value);
	if (!text)
		return -ENOMEM;
	memcpy(text + list->len, key, n_key);
	memcpy(text + list->len + n_key, value, n_value);
	list->text = text;
	list->len += n_key + n_value;
	return 0;
}

const char *staged_value(const char *key)
{
	return key + strlen(key) + 1;
}

const char *staged_next(const struct staged_list *list, const char *key)
{
	const char *next = list->text;
	if (key)
		next = staged_value(key) + strlen(staged_value(key)) + 1;
	return list->text && next < list->text + list->len ? next : NULL;
}

uint32_t staged_count(const struct staged_list *list, const char *key)
{
	uint32_t n = 0;
	for (const char *k = NULL; (k = staged_next(list, k));)
		n += !strcmp(k, key);
	return n;
}

static void to_hex(struct sha256_ctx *ctx, char sum[STAGED_SUM])
{
	uint8_t bytes[SHA256_DIGEST_SIZE];
	sha256_digest(ctx, sizeof(bytes), bytes);
	for (size_t i = 0; i < sizeof(bytes); i++)
		sprintf(sum + 2 * i, "%02x", bytes[i]);
}

/* All of @in to @out, and its sum; @out may be -1. Returns 0 or -errno. */
static int copy(int in, int out, char sum[STAGED_SUM], uint64_t *bytes)
{
	char *buffer = malloc(COPY_BYTES);
	struct sha256_ctx ctx;
	ssize_t n = 0;
	int err = buffer ? 0 : -ENOMEM;
	sha256_init(&ctx);
	while (!err && (n = read(in, buffer, COPY_BYTES))) {
		if (n < 0 && errno != EINTR)
			err = -errno;
		if (n <= 0)
			continue;
		sha256_update(&ctx, n, (const uint8_t *)buffer);
		err = write_all(out, buffer, n);
		*bytes += n;
	}
	free(buffer);
	to_hex(&ctx, sum);
	return err;
}

/* Copies a file to one that is not there yet. */
static int copy_file(const char *from, const char *to, mode_t mode, char sum[STAGED_SUM],
		     uint64_t *bytes, struct pugmark_diag *diag)
{
	int in = open_regular(from, NULL);
	if (in < 0)
		return pugmark_diag_set(diag, in, from, PUGMARK_NO_OFFSET, "%s",
					open_regular_why(in));
	int out = open(to, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, mode);
	int err = out < 0 ? -errno : copy(in, out, sum, bytes);
	if (out >= 0 && close(out) && !err)
		err = -errno;
	close(in);
	return err ? fails(diag, err, to, "cannot copy to it") : 0;
}

int staged_put(const char *folder, const char *path, char sum[STAGED_SUM],
	       struct pugmark_diag *diag)
{
	char *made, *named = NULL;
	uint64_t bytes = 0;
	if (asprintf(&made, "%s/copy", folder) < 0)
		return pugmark_diag_set(diag, -ENOMEM, path, PUGMARK_NO_OFFSET, "out of memory");
	int err = copy_file(path, made, 0600, sum, &bytes, diag);
	if (!err && asprintf(&named, "%s/%s", folder, sum) < 0)
		err = pugmark_diag_set(diag, -ENOMEM, path, PUGMARK_NO_OFFSET, "out of memory");
	if (!err && rename(made, named))
		err = fails(diag, -errno, named, "cannot make it");
	free(named);
	free(made);
	return err;
}

int staged_put_list(const char *folder, const struct staged_list *list, char sum[STAGED_SUM],
		    struct pugmark_diag *diag)
{
	struct sha256_ctx ctx;
	char *path;
	sha256_init(&ctx);
	sha256_update(&ctx, list->len, (const uint8_t *)list->text);
	to_hex(&ctx, sum);
	if (asprintf(&path, "%s/job", folder) < 0)
		return pugmark_diag_set(diag, -ENOMEM, folder, PUGMARK_NO_OFFSET, "out of memory");
	int err = whole_file_write(path, list->text, list->len);
	if (err)
		fails(diag, err, path, "cannot write it");
	free(path);
	return err;
}

int staged_take(const char *folder, const char *sum, const char *to, mode_t mode,
		struct pugmark_diag *diag)
{
	char found[STAGED_SUM], *path;
	uint64_t bytes = 0;
	if (asprintf(&path, "%s/%s", folder, sum) < 0)
		return pugmark_diag_set(diag, -ENOMEM, to, PUGMARK_NO_OFFSET, "out of memory");
	int err = copy_file(path, to, mode, found, &bytes, diag);
	if (!err && strcmp(found, sum))
		err = pugmark_diag_set(diag, -EBADMSG, path, PUGMARK_NO_OFFSET,
				       "on this node it has another sum, %s (do all nodes see the "
				       "same folder?)",
				       found);
	free(path);
	return err;
}

/* Whether each key has its value. */
static bool is_paired(const struct staged_list *list)
{
	size_t n = 0;
	for (size_t i = 0; i < list->len; i++)
		n += !list->text[i];
	return n % 2 == 0 && (!list->len || !list->text[list->len - 1]);
}

int staged_take_list(const char *folder, const char *sum, struct staged_list *out,
		     struct pugmark_diag *diag)
{
	struct staged_list list = {0};
	struct sha256_ctx ctx;
	struct stat st;
	char found[STAGED_SUM], *path;
	if (asprintf(&path, "%s/job", folder) < 0)
		return pugmark_diag_set(diag, -ENOMEM, folder, PUGMARK_NO_OFFSET, "out of memory");
	int fd = open_regular(path, &st), err = fd < 0 ? fd : 0;
	if (err)
		pugmark_diag_set(diag, err, path, PUGMARK_NO_OFFSET, "%s", open_regular_why(err));
	else if (st.st_size > LIST_MAX || !(list.text = malloc(st.st_size + 1)))
		err = pugmark_diag_set(diag, -ENOMEM, path, PUGMARK_NO_OFFSET, "too long");
	for (ssize_t n = 1; !err && n > 0 && list.len<(size_t)st.st_size; list.len += n> 0 ? n : 0)
		n = read(fd, list.text + list.len, st.st_size - list.len);
	if (!err) {
		sha256_init(&ctx);
		sha256_update(&ctx, list.len, (const uint8_t *)list.text);
		to_hex(&ctx, found);
		if (strcmp(found, sum) || !is_paired(&list))
			err = pugmark_diag_set(diag, -EBADMSG, path, PUGMARK_NO_OFFSET,
					       "not the list that was submitted (do all nodes see "
					       "the same folder?)");
	}
	if (fd >= 0)
		close(fd);
	free(path);
	if (err)
		free(list.text);
	else
		*out = list;
	return err;
}

static int copy_entries(const char *from, const char *to, uint64_t *bytes,
			struct pugmark_diag *diag)
{
	DIR *dir = opendir(from);
	int err = dir ? 0 : fails(diag, -errno, from, "cannot read this folder");
	for (struct dirent *e; !err && (e = readdir(dir));) {
		char sum[STAGED_SUM], *in = NULL, *out = NULL;
		if (!strcmp(e->d_name, ".") || !strcmp(e->d_name, ".."))
			continue;
		if (asprintf(&in, "%s/%s", from, e->d_name) < 0)
			in = NULL;
		if (!in || asprintf(&out, "%s/%s", to, e->d_name) < 0)
			err = pugmark_diag_set(diag, -ENOMEM, from, PUGMARK_NO_OFFSET,
					       "out of memory");
		else
			err = copy_file(in, out, 0600, sum, bytes, diag);
		free(in);
		free(out);
	}
	if (dir)
		closedir(dir);
	return err;
}

int staged_copy(const char *from, const char *to, uint64_t *bytes, struct pugmark_diag *diag)
{
	char *made;
	uint64_t copied = 0;
	if (asprintf(&made, "%s.XXXXXX", to) < 0)
		return pugmark_diag_set(diag, -ENOMEM, to, PUGMARK_NO_OFFSET, "out of memory");
	int err = mkdtemp(made) ? 0 : fails(diag, -errno, made, "cannot make this folder");
	if (!err) {
		err = copy_entries(from, made, &copied, diag);
		if (!err && rename(made, to))
			err = fails(diag, -errno, to, "cannot make this folder");
		if (err)
			staged_remove(made);
	}
	free(made);
	if (!err)
		*bytes = copied;
	return err;
}

static int remove_one(const char *path, const struct stat *st, int kind, struct FTW *where)
{
	(void)st, (void)kind, (void)where;
	remove(path);
	return 0;
}

void staged_remove(const char *folder)
{
	nftw(folder, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}
