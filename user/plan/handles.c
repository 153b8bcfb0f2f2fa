// SPDX-License-Identifier: LGPL-2.1-or-later
/* handles.c: see handles.h. The handles that Pugmark knows are texts in the form of such a file. */
#include "user/plan/handles.h"

#include "offline/base/private_file.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TEXT_MAX = 1 << 20 };

static const char stdio[] =
	"fopen return\nfopen64 return\nfdopen return\nfmemopen return\npopen return\n"
	"tmpfile return\ntmpfile64 return\nfreopen 3\nfreopen64 3\nfclose 1 end\npclose 1 end\n"
	"fread 4\nfwrite 4\nfread_unlocked 4\nfwrite_unlocked 4\nfgets 3\nfgets_unlocked 3\n"
	"fputs 2\nfputs_unlocked 2\nfgetc 1\nfputc 2\ngetc 1\nputc 2\n_IO_getc 1\n_IO_putc 2\n"
	"getc_unlocked 1\nputc_unlocked 2\n__uflow 1\n__overflow 1\nungetc 2\ngetline 3\n"
	"getdelim 4\n__getdelim 4\nfprintf 1\nvfprintf 1\n__fprintf_chk 1\n__vfprintf_chk 1\n"
	"fscanf 1\nvfscanf 1\n__isoc99_fscanf 1\n__isoc23_fscanf 1\nfseek 1\nfseeko 1\n"
	"fseeko64 1\nftell 1\nftello 1\nftello64 1\nrewind 1\nfeof 1\nferror 1\nclearerr 1\n"
	"fflush 1\nsetvbuf 1\nsetbuf 1\nsetlinebuf 1\nfileno 1\nflockfile 1\nfunlockfile 1\n";

static const char sockets[] =
	"number\n"
	"socket return\naccept return\naccept4 return\nbind 1\nlisten 1\naccept 1\naccept4 1\n"
	"connect 1\nsend 1\nsendto 1\nsendmsg 1\nsendmmsg 1\nrecv 1\nrecvfrom 1\nrecvmsg 1\n"
	"recvmmsg 1\nread 1\nwrite 1\nreadv 1\nwritev 1\nsendfile 1\nsendfile64 1\nshutdown 1\n"
	"getsockname 1\ngetpeername 1\ngetsockopt 1\nsetsockopt 1\nfcntl 1\nfcntl64 1\nioctl 1\n"
	"close 1 end\n";

static const char sqlite3[] =
	"sqlite3_open *2\nsqlite3_open16 *2\nsqlite3_open_v2 *2\n"
	"sqlite3_prepare 1\nsqlite3_prepare *4\nsqlite3_prepare_v2 1\nsqlite3_prepare_v2 *4\n"
	"sqlite3_prepare_v3 1\nsqlite3_prepare_v3 *5\nsqlite3_prepare16 1\nsqlite3_prepare16 *4\n"
	"sqlite3_prepare16_v2 1\nsqlite3_prepare16_v2 *4\nsqlite3_prepare16_v3 1\n"
	"sqlite3_prepare16_v3 *5\nsqlite3_exec 1\nsqlite3_close* 1 end\nsqlite3_finalize 1 end\n"
	"sqlite3_bind_* 1\nsqlite3_step 1\nsqlite3_reset 1\nsqlite3_column_* 1\n"
	"sqlite3_data_count 1\nsqlite3_clear_bindings 1\nsqlite3_errmsg* 1\nsqlite3_errcode 1\n"
	"sqlite3_extended_errcode 1\nsqlite3_changes* 1\nsqlite3_total_changes* 1\n"
	"sqlite3_last_insert_rowid 1\nsqlite3_busy_timeout 1\nsqlite3_get_autocommit 1\n"
	"sqlite3_db_handle 1\nsqlite3_sql 1\nsqlite3_stmt_* 1\n";

static const char threads[] = "pthread_create *1\npthread_join 1 end\npthread_tryjoin_np 1 end\n"
			      "pthread_timedjoin_np 1 end\npthread_clockjoin_np 1 end\n"
			      "pthread_detach 1 end\npthread_cancel 1\npthread_kill 1\n"
			      "pthread_sigqueue 1\npthread_setname_np 1\npthread_getname_np 1\n"
			      "pthread_setschedparam 1\npthread_getschedparam 1\n"
			      "pthread_setaffinity_np 1\npthread_getaffinity_np 1\n"
			      "pthread_getattr_np 1\npthread_getcpuclockid 1\n";

static const struct {
	const char *name, *text;
} shipped[] = {{"stdio", stdio}, {"sockets", sockets}, {"sqlite3", sqlite3}, {"threads", threads}};

const char handles_known[] = "stdio, sockets, sqlite3, threads";

static int bad(const char *spec, unsigned line, const char *what, struct pugmark_diag *diag)
{
	return pugmark_diag_set(diag, -EINVAL, spec, PUGMARK_NO_OFFSET, "line %u: %s", line, what);
}

/* One row for each function: what several lines say of it is joined. */
static struct handle_row *row_of(struct handle *h, const char *pattern)
{
	for (uint32_t i = 0; i < h->n_rows; i++)
		if (!strcmp(h->rows[i].pattern, pattern))
			return &h->rows[i];
	struct handle_row *rows = realloc(h->rows, (h->n_rows + 1) * sizeof(*rows));
	if (!rows)
		return NULL;
	h->rows = rows;
	rows[h->n_rows] = (struct handle_row){.pattern = pattern};
	return &rows[h->n_rows++];
}

static int read_line(struct handle *h, char *text, const char *spec, unsigned line,
		     struct pugmark_diag *diag)
{
	char *rest = NULL, *pattern, *where, *then;
	text[strcspn(text, "#")] = 0;
	pattern = strtok_r(text, " \t\r", &rest);
	where = strtok_r(NULL, " \t\r", &rest);
	then = strtok_r(NULL, " \t\r", &rest);
	if (!pattern)
		return 0;
	if (!where && !strcmp(pattern, "number")) {
		h->is_number = true;
		return 0;
	}
	bool returns = where && !strcmp(where, "return");
	bool out = where && *where == '*';
	if (!where || (!returns && (strspn(where + out, "123456") != 1 || where[out + 1])))
		return bad(spec, line,
			   "a function, and `return` or an argument from 1 to 6 (*1: what it "
			   "points to)",
			   diag);
	if (then && (returns || out || strcmp(then, "end") || strtok_r(NULL, " \t\r", &rest)))
		return bad(spec, line, "nothing but `end` may follow an argument's number", diag);
	if (strlen(pattern) > HANDLE_LINE_MAX - 16)
		return bad(spec, line, "the function's name is too long", diag);
	struct handle_row *row = row_of(h, pattern);
	if (!row)
		return pugmark_diag_set(diag, -ENOMEM, spec, PUGMARK_NO_OFFSET, "out of memory");
	if (returns)
		row->returns = true;
	else if (out)
		row->outs |= (uint8_t)(1 << (where[1] - '1'));
	else
		row->arg = (uint8_t)(*where - '0');
	row->ends |= then != NULL;
	return 0;
}

static char *load(const char *spec, struct pugmark_diag *diag)
{
	for (size_t i = 0; i < sizeof(shipped) / sizeof(*shipped); i++)
		if (!strcmp(spec, shipped[i].name))
			return strdup(shipped[i].text);
	struct private_file file;
	int err = private_file_open(spec, TEXT_MAX, &file);
	if (err) {
		if (err == -EFBIG)
			pugmark_diag_set(diag, err, spec, PUGMARK_NO_OFFSET,
					 "%s for a list of functions", private_file_why(err));
		else
			pugmark_diag_set(diag, err, spec, PUGMARK_NO_OFFSET,
					 "none of %s, and no file: %s", handles_known,
					 private_file_why(err));
		return NULL;
	}
	char *text = calloc(1, file.len_bytes + 1);
	if (text && file.bytes)
		memcpy(text, file.bytes, file.len_bytes);
	private_file_free(&file);
	return text;
}

/* Takes @text. */
static int parse(char *text, const char *spec, struct handle *out, struct pugmark_diag *diag)
{
	struct handle h = {.name = spec, .text = text};
	unsigned number = 1;
	int err = 0;
	for (char *line = text, *next; line && !err; line = next, number++) {
		next = strchr(line, '\n');
		if (next)
			*next++ = 0;
		err = read_line(&h, line, spec, number, diag);
	}
	if (!err && !h.n_rows)
		err = bad(spec, number - 1, "no function is named up to here", diag);
	if (err)
		handle_deinit(&h);
	else
		*out = h;
	return err;
}

int handle_parse(const char *text, const char *spec, struct handle *out, struct pugmark_diag *diag)
{
	char *copy = strdup(text);
	return copy ? parse(copy, spec, out, diag) : -ENOMEM;
}

int handle_read(const char *spec, struct handle *out, struct pugmark_diag *diag)
{
	pugmark_diag_set(diag, -ENOMEM, spec, PUGMARK_NO_OFFSET, "out of memory");
	char *text = load(spec, diag);
	return text ? parse(text, spec, out, diag) : -EINVAL;
}

bool handle_line(const struct handle *h, uint32_t index, char out[HANDLE_LINE_MAX])
{
	if (h->is_number && !index--) {
		snprintf(out, HANDLE_LINE_MAX, "number");
		return true;
	}
	for (uint32_t i = 0; i < h->n_rows; i++) {
		const struct handle_row *r = &h->rows[i];
		if (r->returns && !index--) {
			snprintf(out, HANDLE_LINE_MAX, "%s return", r->pattern);
			return true;
		}
		if (r->arg && !index--) {
			snprintf(out, HANDLE_LINE_MAX, "%s %u%s", r->pattern, r->arg,
				 r->ends ? " end" : "");
			return true;
		}
		for (unsigned arg = 0; arg < 6; arg++)
			if (r->outs >> arg & 1 && !index--) {
				snprintf(out, HANDLE_LINE_MAX, "%s *%u", r->pattern, arg + 1);
				return true;
			}
	}
	return false;
}

void handle_deinit(struct handle *h)
{
	free(h->rows);
	free(h->text);
	*h = (struct handle){0};
}

bool handle_valid(const struct handle *h, uint64_t *value)
{
	if (!h->is_number)
		return *value != 0;
	*value = (uint32_t)*value;
	return (int32_t)*value >= 0;
}
