// SPDX-License-Identifier: LGPL-2.1-or-later
/* fuzz_request.c: any bytes as the head of an HTTP request: it has one of five statuses, and what
 * it is given names the token and this host. */
#include "tests/fuzz/as_file.h"

#include "user/serve/request.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct request_rules rules = {.token = "0123456789abcdef0123456789abcdef",
						   .port = 8000};
	struct request r = {0};
	char *head = malloc(size + 1); /* of exactly that length, but for an empty one */
	MUST(head);
	memcpy(head, data, size);
	size_t n = request_head_length(head, size);
	MUST(n <= size);
	int status = request_read(head, n ? n : size, &rules, &r);
	MUST(status == 200 || status == 400 || status == 403 || status == 404 || status == 405);
	if (status == 200) {
		MUST(n && memmem(head, n, rules.token, TOKEN_BYTES));
		MUST(memmem(head, n, ":8000", 5));
	}
	if (status == 200 && r.what == REQUEST_RANGE)
		MUST(r.from_ns < r.to_ns && r.width && r.width <= REQUEST_WIDTH_MAX);
	free(head);
	return 0;
}
