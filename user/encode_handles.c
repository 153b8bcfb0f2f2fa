// SPDX-License-Identifier: LGPL-2.1-or-later
/* encode_handles.c: see encode_handles.h. Names alone: functions that take other handles too, as
 * read() and close() do, are not among those of sockets. */
#include "user/encode_handles.h"

#include <stddef.h>
#include <string.h>

static const char *const stdio[] = {
	"fopen",    "fopen64",	     "fdopen",	       "freopen",	 "freopen64",
	"fmemopen", "popen",	     "tmpfile",	       "tmpfile64",	 "fclose",
	"pclose",   "fread",	     "fwrite",	       "fread_unlocked", "fwrite_unlocked",
	"fgets",    "fputs",	     "fgetc",	       "fputc",		 "getc",
	"putc",	    "ungetc",	     "getline",	       "getdelim",	 "fprintf",
	"vfprintf", "__fprintf_chk", "__vfprintf_chk", "fscanf",	 "vfscanf",
	"fseek",    "fseeko",	     "fseeko64",       "ftell",		 "ftello",
	"ftello64", "rewind",	     "feof",	       "ferror",	 "clearerr",
	"fflush",   "setvbuf",	     "setbuf",	       "fileno",	 "__isoc99_fscanf",
	NULL};

static const char *const sockets[] = {
	"socket",     "socketpair", "bind",	"listen",   "accept",	   "accept4",
	"connect",    "send",	    "sendto",	"sendmsg",  "sendmmsg",	   "recv",
	"recvfrom",   "recvmsg",    "recvmmsg", "shutdown", "getsockname", "getpeername",
	"getsockopt", "setsockopt", NULL};

static const char *const sqlite3[] = {"sqlite3_open*",
				      "sqlite3_close*",
				      "sqlite3_exec",
				      "sqlite3_prepare*",
				      "sqlite3_bind_*",
				      "sqlite3_step",
				      "sqlite3_column_*",
				      "sqlite3_reset",
				      "sqlite3_finalize",
				      "sqlite3_errmsg",
				      "sqlite3_errcode",
				      "sqlite3_changes*",
				      "sqlite3_last_insert_rowid",
				      NULL};

const char *const *encode_handle(const char *name)
{
	static const struct {
		const char *name;
		const char *const *patterns;
	} handles[] = {{"stdio", stdio}, {"sockets", sockets}, {"sqlite3", sqlite3}};
	for (size_t i = 0; i < sizeof(handles) / sizeof(*handles); i++)
		if (!strcmp(name, handles[i].name))
			return handles[i].patterns;
	return NULL;
}
