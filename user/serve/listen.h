/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* listen.h: where the page is asked for: a port of the loopback interface, or a Unix socket that
 * its owner alone can connect to. */
#ifndef USER_SERVE_LISTEN_H
#define USER_SERVE_LISTEN_H

#include "offline/base/folder.h"
#include "user/serve/request.h"

#include <pugmark/diag.h>

struct listener {
	int fd;
	int folder; /* of the Unix socket, or -1 */
	char name[FOLDER_NAME_MAX];
	bool bound;		    /* the Unix socket has its name */
	char where[4096];	    /* for messages */
	struct request_rules rules; /* with a token of chance, and the port that was taken */
};

/* Binds the port @port (0: any that is free) of 127.0.0.1, on which somebody else may still come to
 * listen before listener_begin(), or looks that nothing is at the path
 * @path. No socket is made later. 0 or -errno with @diag filled; listener_close() in both cases. */
int listener_open(struct listener *listener, uint16_t port, const char *path,
		  struct pugmark_diag *diag);
/* From now on connections are taken. 0 or -errno with @diag filled. */
int listener_begin(struct listener *listener, struct pugmark_diag *diag);
/* Removes the Unix socket's name as well. */
void listener_close(struct listener *listener);

#endif
