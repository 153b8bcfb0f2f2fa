/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* broker.h: answers the calls of a sandbox's child that name files, in its place: opens regular
 * files for reading, and looks at what is there. */
#ifndef USER_SANDBOX_BROKER_H
#define USER_SANDBOX_BROKER_H

#include "user/sandbox/sandbox.h"

struct broker {
	const struct sandbox *sandbox;
	int listener;
};

/* One call that waits at the listener. */
void broker_answer(struct broker *broker);
void broker_deinit(struct broker *broker);

#endif
