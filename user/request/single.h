/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* single.h: requests one by one: the slowest, and whose they are by identity. */
#ifndef USER_REQUEST_SINGLE_H
#define USER_REQUEST_SINGLE_H

#include "user/request/requests.h"

struct request_single {
	const struct request *request; /* borrowed */
	uint32_t task;		       /* index of the recording's tasks */
};

struct request_identity {
	uint64_t identity;
	uint64_t n_of[REQUEST_PART + 1];
};

/* The slowest first, by what they certainly took, then by what they may have; @most of them. Fills
 * *@out, which the caller frees. Returns how many, or -ENOMEM. */
int64_t request_slowest(const struct requests *requests, uint32_t most,
			struct request_single **out);
/* All identities, those with most slow requests first. Fills *@out, which the caller frees. Returns
 * how many, or -ENOMEM. */
int64_t request_identities(const struct requests *requests, struct request_identity **out);

#endif
