// SPDX-License-Identifier: LGPL-2.1-or-later
/* reduce.c: see reduce.h. Tries of one round run side by side; the first in order that fails is
 * taken, so that the result does not depend on how many there are. */
#include "user/again/reduce.h"

#include "offline/base/folder.h"
#include "offline/base/write_all.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { JOBS = 64 };

/* Pieces of the input: bytes from at[i] to at[i + 1], of which some are left. */
struct pieces {
	size_t *at;
	size_t n;
};

struct reduction {
	const struct reduce_options *o;
	uint8_t *bytes; /* the smallest input that fails, so far */
	size_t len;
	uint64_t done;
	bool stopped;
};

/* --- tries ----------------------------------------------------------------------------------- */

/* The input without bytes from to to. */
static int without(const struct reduction *r, size_t from, size_t to)
{
	int fd = memfd_create("input", MFD_CLOEXEC);
	size_t after = r->len - to;
	if (fd >= 0 && (pwrite(fd, r->bytes, from, 0) != (ssize_t)from ||
			pwrite(fd, r->bytes + to, after, from) != (ssize_t)after)) {
		close(fd);
		fd = -1;
	}
	return fd;
}

struct
try {
	struct private_run run;
	int input;
};

static int start(struct reduction *r, struct try *t, size_t from, size_t to,
		 struct pugmark_diag *diag)
{
	struct private_command c = r->o->command;
	t->input = c.input = without(r, from, to);
	if (c.input < 0)
		return pugmark_diag_set(diag, -ENOMEM, c.argv[0], PUGMARK_NO_OFFSET,
					"no memory for an input");
	r->done++;
	return private_run_start(&c, NULL, &t->run, diag);
}

/* 1: it fails as the whole does; 0: it does not; -errno. */
static int finish(struct reduction *r, struct try *t, struct pugmark_diag *diag)
{
	struct private_result result;
	private_run_wait(&t->run, &result);
	int fails = outcome_holds(r->o->outcome, &t->run, &result);
	if (result.end == PRIVATE_FAILED)
		fails = pugmark_diag_set(diag, -ECHILD, r->o->command.argv[0], PUGMARK_NO_OFFSET,
					 "%s", result.why);
	private_run_close(&t->run);
	close(t->input);
	return fails;
}

/* --- rounds ---------------------------------------------------------------------------------- */

/* Where part @i of @n of the pieces begins. */
static size_t part(const struct pieces *p, size_t i, size_t n)
{
	return i * p->n / n;
}

/* Tries to leave out one part of @n after the other. 1: part *@out can go; 0: none; -errno. */
static int round_of(struct reduction *r, const struct pieces *p, size_t n, size_t *out,
		    struct pugmark_diag *diag)
{
	struct try tries[JOBS];
	int found = 0;
	for (size_t i = 0; !found && i < n;) {
		unsigned k = 0;
		for (; !found && k < r->o->jobs && i + k < n; k++) {
			int err = start(r, &tries[k], p->at[part(p, i + k, n)],
					p->at[part(p, i + k + 1, n)], diag);
			if (err)
				found = err;
		}
		k -= found < 0;
		for (unsigned j = 0; j < k; j++) {
			int fails = finish(r, &tries[j], diag);
			if (fails && !found) {
				found = fails;
				*out = i + j;
			}
		}
		i += k;
		r->stopped |= r->done >= r->o->tries;
		if (r->stopped)
			break;
	}
	return found;
}

static void take_out(struct reduction *r, struct pieces *p, size_t first, size_t last)
{
	size_t from = p->at[first], to = p->at[last], gone = to - from;
	memmove(r->bytes + from, r->bytes + to, r->len - to);
	r->len -= gone;
	for (size_t i = last; i <= p->n; i++)
		p->at[first + i - last] = p->at[i] - gone;
	p->n -= last - first;
}

static int ddmin(struct reduction *r, struct pieces *p, struct pugmark_diag *diag)
{
	size_t n = p->n < 2 ? 1 : 2, which;
	while (p->n && !r->stopped) {
		int found = round_of(r, p, n, &which, diag);
		if (found < 0)
			return found;
		if (found) {
			take_out(r, p, part(p, which, n), part(p, which + 1, n));
			n = n > 2 ? n - 1 : 2;
			n = n > p->n ? p->n : n;
		} else if (n == p->n) {
			break;
		} else {
			n = 2 * n < p->n ? 2 * n : p->n;
		}
	}
	return 0;
}

static int by_pieces(struct reduction *r, bool lines, struct pugmark_diag *diag)
{
	struct pieces p = {malloc((r->len + 2) * sizeof(*p.at)), 0};
	if (!p.at)
		return pugmark_diag_set(diag, -ENOMEM, "input", PUGMARK_NO_OFFSET, "out of memory");
	p.at[0] = 0;
	for (size_t i = 0; i < r->len; i++)
		if (!lines || r->bytes[i] == '\n' || i + 1 == r->len)
			p.at[++p.n] = i + 1;
	int err = r->stopped ? 0 : ddmin(r, &p, diag);
	free(p.at);
	return err;
}

/* --- all of it ------------------------------------------------------------------------------- */

static int read_input(struct reduction *r, struct pugmark_diag *diag)
{
	struct stat st;
	int fd = r->o->command.input;
	if (fd < 0 || fstat(fd, &st))
		return pugmark_diag_set(diag, -EINVAL, "input", PUGMARK_NO_OFFSET,
					"there is none (standard input, or --input FILE)");
	r->len = st.st_size;
	r->bytes = malloc(r->len + 1);
	return r->bytes && pread(fd, r->bytes, r->len, 0) == (ssize_t)r->len
		       ? 0
		       : pugmark_diag_set(diag, -EIO, "input", PUGMARK_NO_OFFSET, "cannot be read");
}

static int write_result(const struct reduction *r, struct pugmark_diag *diag)
{
	char name[FOLDER_NAME_MAX];
	int parent = folder_parent(r->o->to, FOLDER_OWN, name);
	int fd = parent < 0 ? parent : folder_create(parent, name, FOLDER_OWN);
	int err = fd < 0 ? fd : write_all(fd, r->bytes, r->len);
	if (parent >= 0)
		close(parent);
	if (fd >= 0)
		close(fd);
	if (err == -EPERM)
		return pugmark_diag_set(diag, err, r->o->to, PUGMARK_NO_OFFSET,
					"cannot be written: a link on the way belongs to another "
					"user, or this one may not");
	return !err ? 0
		    : pugmark_diag_set(diag, err, r->o->to, PUGMARK_NO_OFFSET,
				       "cannot be written: %s", strerror(-err));
}

static int run(struct reduction *r, size_t *before, struct pugmark_diag *diag)
{
	struct try whole;
	int err = read_input(r, diag);
	*before = r->len;
	err = err ? err : start(r, &whole, 0, 0, diag);
	if (err)
		return err;
	err = finish(r, &whole, diag);
	if (err <= 0)
		return err ? err
			   : pugmark_diag_set(diag, -EINVAL, r->o->command.argv[0],
					      PUGMARK_NO_OFFSET,
					      "does not fail in that way with the whole input");
	err = by_pieces(r, true, diag);
	return err ? err : by_pieces(r, false, diag);
}

int reduce_print(struct reduce_options *o, struct pugmark_diag *diag)
{
	struct reduction r = {.o = o};
	size_t before = 0;
	int err = run(&r, &before, diag);
	err = err ? err : write_result(&r, diag);
	if (!err && o->json)
		printf("{\"before\":%zu,\"after\":%zu,\"tried\":%" PRIu64 ",\"minimal\":%s}\n",
		       before, r.len, r.done, r.stopped ? "false" : "true");
	else if (!err)
		printf("%zu of %zu bytes, after %" PRIu64 " tries: %s\n", r.len, before, r.done,
		       r.stopped ? "stopped at the number of tries (--tries)"
		       : r.len	 ? "without any one of them it does not fail so"
				 : "it fails without input");
	free(r.bytes);
	return err ? err : r.stopped;
}
