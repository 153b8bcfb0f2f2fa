/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* formats.h: the rows of the table of export formats, one a file. */
#ifndef USER_EXPORT_FORMATS_H
#define USER_EXPORT_FORMATS_H

#include "user/export/export.h"

extern const struct export_format export_perfetto, export_chrome, export_speedscope, export_folded,
	export_pprof, export_callgrind, export_ctf, export_sqlite, export_parquet;

/* The table, ended by NULL. */
extern const struct export_format *const export_formats[];
/* NULL: there is none of that name. */
const struct export_format *export_format_named(const char *name);

#endif
