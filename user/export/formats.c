// SPDX-License-Identifier: LGPL-2.1-or-later
/* formats.c: the table of export formats. */
#include "user/export/formats.h"

#include <string.h>

const struct export_format *const export_formats[] = {
	&export_perfetto,  &export_chrome, &export_speedscope, &export_folded,	&export_pprof,
	&export_callgrind, &export_ctf,	   &export_sqlite,     &export_parquet, NULL,
};

const struct export_format *export_format_named(const char *name)
{
	for (size_t i = 0; export_formats[i]; i++)
		if (!strcmp(export_formats[i]->name, name))
			return export_formats[i];
	return NULL;
}
