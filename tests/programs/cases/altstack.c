// SPDX-License-Identifier: LGPL-2.1-or-later
/* altstack.c: the program signals.c with some of its handlers on an alternate stack. */
#define FLAGS SA_ONSTACK
#include "signals.c"
