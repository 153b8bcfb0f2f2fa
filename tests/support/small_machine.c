// SPDX-License-Identifier: LGPL-2.1-or-later
/* small_machine.c: see small_machine.h. */
#include "tests/support/small_machine.h"

#include <string.h>

static int fill_zeros(void *ctx, const struct value_region *region, uint64_t addr, uint8_t *bytes,
		      uint8_t *quality)
{
	(void)ctx, (void)region, (void)addr, (void)quality;
	memset(bytes, 0, VALUE_PAGE);
	return 0;
}

struct value_machine *small_machine(struct value_memory *memory, uint64_t code, uint64_t code_bytes,
				    uint64_t data, bool zeros)
{
	const struct value_region text = {.start = code,
					  .end = code + code_bytes,
					  .prot = VALUE_READ | VALUE_WRITE | VALUE_EXEC};
	const struct value_region page = {
		.start = data, .end = data + VALUE_PAGE, .prot = VALUE_READ | VALUE_WRITE};

	if (value_memory_init(memory, zeros ? fill_zeros : NULL, NULL))
		return NULL;
	struct value_machine *m = value_memory_map(memory, &text) || value_memory_map(memory, &page)
					  ? NULL
					  : value_machine_new(memory);
	if (m && !value_machine_code(m, code, code + code_bytes))
		return m;
	value_machine_free(m);
	value_memory_deinit(memory);
	return NULL;
}
