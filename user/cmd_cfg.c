// SPDX-License-Identifier: LGPL-2.1-or-later
/* cmd_cfg.c: `pugmark cfg`: shows the static model of a binary. */
#include "user/command.h"
#include "user/cfg_print.h"

#include <getopt.h>
#include <stdio.h>

int cmd_cfg(int argc, char **argv)
{
	struct pugmark_diag diag = {.offset = PUGMARK_NO_OFFSET};
	struct pugmark_model *model;
	if (argc < 4)
		return command_usage("cfg", "x");
	if (pugmark_model_open(argv[1], &model, &diag))
		return command_fail(&diag);
	FILE *f = fopen(argv[3], "w");
	cfg_export(model, f);
	fclose(f);
	pugmark_model_free(model);
	return 0;
}
