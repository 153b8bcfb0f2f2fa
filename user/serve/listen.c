// SPDX-License-Identifier: LGPL-2.1-or-later
/* listen.c: see listen.h. */
#include "user/serve/listen.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

enum { BACKLOG = 16 };

static int make_token(char token[TOKEN_BYTES + 1])
{
	unsigned char bytes[TOKEN_BYTES / 2];
	if (getrandom(bytes, sizeof(bytes), 0) != sizeof(bytes))
		return -EIO;
	for (size_t i = 0; i < sizeof(bytes); i++)
		snprintf(token + 2 * i, 3, "%02x", bytes[i]);
	return 0;
}

static int bind_to_port(struct listener *l, uint16_t port)
{
	struct sockaddr_in at = {.sin_family = AF_INET,
				 .sin_port = htons(port),
				 .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t bytes = sizeof(at);
	int yes = 1;
	l->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (l->fd < 0 || setsockopt(l->fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes)) ||
	    bind(l->fd, (struct sockaddr *)&at, bytes) ||
	    getsockname(l->fd, (struct sockaddr *)&at, &bytes))
		return -errno;
	l->rules.port = ntohs(at.sin_port);
	return 0;
}

static int open_at_path(struct listener *l, const char *path)
{
	struct stat st;
	l->folder = folder_parent(path, FOLDER_OWN, l->name);
	if (l->folder < 0)
		return l->folder;
	if (!fstatat(l->folder, l->name, &st, AT_SYMLINK_NOFOLLOW))
		return -EADDRINUSE;
	l->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	return l->fd < 0 ? -errno : 0;
}

/* Through the folder's descriptor: paths may be longer than an address, and no link of another user
 * is followed. */
static int bind_at_path(struct listener *l)
{
	struct sockaddr_un at = {.sun_family = AF_UNIX};
	if ((size_t)snprintf(at.sun_path, sizeof(at.sun_path), "/proc/self/fd/%d/%s", l->folder,
			     l->name) >= sizeof(at.sun_path))
		return -ENAMETOOLONG;
	mode_t mask = umask(0177);
	int err = bind(l->fd, (struct sockaddr *)&at, sizeof(at)) ? -errno : 0;
	umask(mask);
	l->bound = !err;
	return err;
}

static int cannot(const struct listener *l, int err, struct pugmark_diag *diag)
{
	return pugmark_diag_set(diag, err, l->where, PUGMARK_NO_OFFSET,
				err == -EADDRINUSE && l->folder >= 0
					? "is there already (remove it, or choose another)"
				: err == -EADDRINUSE
					? "somebody listens there (without --port any that is free)"
					: "cannot listen: %s",
				strerror(-err));
}

int listener_open(struct listener *l, uint16_t port, const char *path, struct pugmark_diag *diag)
{
	*l = (struct listener){.fd = -1, .folder = -1};
	snprintf(l->where, sizeof(l->where), "127.0.0.1:%u", port);
	if (path)
		snprintf(l->where, sizeof(l->where), "%s", path);
	int err = make_token(l->rules.token);
	if (!err)
		err = path ? open_at_path(l, path) : bind_to_port(l, port);
	return err ? cannot(l, err, diag) : 0;
}

int listener_begin(struct listener *l, struct pugmark_diag *diag)
{
	int err = l->folder >= 0 ? bind_at_path(l) : 0;
	if (!err && listen(l->fd, BACKLOG))
		err = -errno;
	return err ? cannot(l, err, diag) : 0;
}

void listener_close(struct listener *l)
{
	if (l->fd >= 0)
		close(l->fd);
	if (l->bound)
		unlinkat(l->folder, l->name, 0);
	if (l->folder >= 0)
		close(l->folder);
	*l = (struct listener){.fd = -1, .folder = -1};
}
