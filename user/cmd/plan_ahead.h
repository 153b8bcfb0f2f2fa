/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* plan_ahead.h: `pugmark plan --warm`: makes the plans that `pugmark record` will need, before
 * anybody waits for them. */
#ifndef USER_CMD_PLAN_AHEAD_H
#define USER_CMD_PLAN_AHEAD_H

/* @argv behind `--warm`: targets, and behind a `--` options of record; without any target, those
 * of the list in /etc. Returns an exit status: 1 where one of them could not be planned. */
int plan_ahead(int argc, char **argv);

#endif
