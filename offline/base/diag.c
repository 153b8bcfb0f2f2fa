// SPDX-License-Identifier: LGPL-2.1-or-later
/* diag.c: fills the one error report that a library function hands back. */
#include <pugmark/diag.h>

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

int pugmark_diag_set(struct pugmark_diag *diag, int err, const char *file, uint64_t offset,
		     const char *format, ...)
{
	if (!diag)
		return err;
	size_t len = file ? strlen(file) : 0;
	size_t room = sizeof(diag->file) - 1;
	snprintf(diag->file, sizeof(diag->file), "%s",
		 !file	      ? ""
		 : len > room ? file + len - room
			      : file);
	diag->offset = offset;
	va_list args;
	va_start(args, format);
	vsnprintf(diag->text, sizeof(diag->text), format, args);
	va_end(args);
	return err;
}
