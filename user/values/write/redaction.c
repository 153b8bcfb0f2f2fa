// SPDX-License-Identifier: LGPL-2.1-or-later
/* redaction.c: see redaction.h. The first half says which descriptors and files are hidden, the
 * second what is then taken away from a record. */
#include "user/values/write/redaction.h"

#include "offline/capture/syscalls.h"

#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>

static bool is_number(const char *word)
{
	return *word && !word[strspn(word, "0123456789")];
}

/* The names of the ring go up from the file: /folder/file of "file\0folder\0". False: too long. */
static bool path_of(const struct capture_bytes *name, char *out, size_t room)
{
	mode_t mode = name->addr >> 32;
	const char *names = (const char *)name->data;
	size_t at = 0, len = name->len;

	if (S_ISSOCK(mode) || (S_ISFIFO(mode) && len <= 1))
		return (size_t)snprintf(out, room, "%s:%.*s", S_ISSOCK(mode) ? "socket" : "pipe",
					(int)len, names) < room;
	if (len + 1 > room || (len && names[len - 1]))
		return false;
	for (size_t end = len; end > 0;) {
		size_t from = end - 1;

		while (from > 0 && names[from - 1])
			from--;
		out[at++] = '/';
		memcpy(out + at, names + from, end - 1 - from);
		at += end - 1 - from;
		end = from;
	}
	out[at] = 0;
	return true;
}

bool redaction_hides_path(const struct redaction *redaction, const char *path)
{
	for (uint32_t i = 0; path && i < redaction->n; i++)
		if (!is_number(redaction->words[i]) && !fnmatch(redaction->words[i], path, 0))
			return true;
	return false;
}

bool redaction_hides(const struct redaction *redaction, const struct capture_bytes *name)
{
	char path[CAPTURE_CHUNK_BYTES + 16];

	if (!name || name->unread || !path_of(name, path, sizeof(path)))
		return true;
	for (uint32_t i = 0; i < redaction->n; i++)
		if (is_number(redaction->words[i]) &&
		    strtoul(redaction->words[i], NULL, 10) == (uint32_t)name->addr)
			return true;
	return redaction_hides_path(redaction, path);
}

bool redaction_shows_mapped(const struct redaction *redaction, bool shown)
{
	return !redaction->n || shown;
}

static bool has_failed(const struct capture *c)
{
	enum { ERROR_MOST = 4095 };

	return c->result < 0 && c->result >= -ERROR_MOST;
}

/* Whether the result may be more than the bytes that were written, and so behind or instead of them
 * are the program's own: recv() of a part of a datagram, or with bytes thrown away; an attribute of
 * which the length was asked. */
static bool result_is_more(const struct capture *c)
{
	switch (c->nr) {
	case SYS_recvfrom:
		return c->args[3] & MSG_TRUNC;
	case SYS_recvmsg:
		return c->args[2] & MSG_TRUNC;
	case SYS_fgetxattr:
		return (uint64_t)c->result > c->args[3];
	case SYS_flistxattr:
		return (uint64_t)c->result > c->args[2];
	default:
		return false;
	}
}

/* Whether more may be in the range of number @i than the kernel has written: what lies beside that
 * is the program's own. */
static bool holds_more(const struct capture *c, uint32_t i)
{
	bool peer;

	if (result_is_more(c))
		return true;
	if (!syscall_reads_beside(c->nr, has_failed(c), &peer))
		return false;
	/* Behind a struct msghdr its name comes first. */
	return !peer || (c->nr == SYS_recvmsg ? i == 1 : c->ranges[i].addr == c->args[4]);
}

static void hide_of_call(struct capture *c, bool shown, struct capture_range *ranges)
{
	bool hidden = (syscall_content(c->nr) && !shown) || syscall_elsewhere(c->nr);

	for (uint32_t i = 0; i < c->n_ranges; i++)
		ranges[i].unread |= hidden || holds_more(c, i);
	/* Its result is rax of what was interrupted, unless that was a call that has failed. */
	if (c->nr == SYS_rt_sigreturn) {
		c->result = has_failed(c) ? c->result : 0;
		memset(c->args, 0, sizeof(c->args));
	}
}

void redaction_apply(const struct redaction *redaction, bool shown, struct capture_range *ranges,
		     struct capture *c)
{
	if (!redaction->n)
		return;
	switch (c->kind) {
	case CAPTURE_KERNEL:
		hide_of_call(c, shown, ranges);
		break;
	case CAPTURE_RESULT:
	case CAPTURE_ENTER:
	case CAPTURE_END:
		c->known = 0;
		c->has_hash = false; /* of registers that hold it, perhaps */
		c->n_ranges = 0;
		break;
	case CAPTURE_SIGNAL:
		c->known = 0;
		c->n_ranges = 0;
		c->n_surroundings = 0;
		break;
	case CAPTURE_SWITCH:
		c->known = 0; /* the place is kept: ip and sp */
		c->n_surroundings = 0;
		break;
	}
}
