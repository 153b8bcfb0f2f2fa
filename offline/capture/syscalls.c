// SPDX-License-Identifier: LGPL-2.1-or-later
/* syscalls.c: the rows of syscalls.def by number. */
#include "offline/capture/syscalls.h"

#include "offline/capture/outputs.h"

#include <assert.h>
#include <string.h>
#include <sys/syscall.h>

struct syscall_row {
	uint16_t number;
	uint16_t traits;
	const char *outputs;
};

static const struct syscall_row known[] = {
#define SYS(name, traits, outputs) {SYS_##name, traits, outputs},
#define MORE(name)
#define NONE(name)
#include "offline/capture/syscalls.def"
#undef SYS
#undef MORE
#undef NONE
};

/* All that they write is told. */
static const bool told[CAPTURE_MAX_SYSCALLS] = {
#define SYS(name, traits, outputs) [SYS_##name] = true,
#define MORE(name)
#define NONE(name) [SYS_##name] = true,
#include "offline/capture/syscalls.def"
#undef SYS
#undef MORE
#undef NONE
};
/* But of these. */
static const uint16_t more[] = {
#define SYS(name, traits, outputs)
#define MORE(name) SYS_##name,
#define NONE(name)
#include "offline/capture/syscalls.def"
#undef SYS
#undef MORE
#undef NONE
};

void syscalls_table(struct capture_syscall rows[CAPTURE_MAX_SYSCALLS])
{
	memset(rows, 0, CAPTURE_MAX_SYSCALLS * sizeof(*rows));
	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++) {
		struct output_word words[CAPTURE_MAX_OUTPUTS];
		struct capture_syscall *row = &rows[known[i].number];
		const char *bad;
		int n = outputs_read(known[i].outputs, words, &bad);

		assert(n >= 0 && known[i].number < CAPTURE_MAX_SYSCALLS);
		row->traits = known[i].traits;
		row->n_outputs = n;
		for (int k = 0; k < n; k++)
			row->outputs[k] = words[k].output;
	}
}

static const struct syscall_row *find(uint32_t number)
{
	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
		if (known[i].number == number)
			return &known[i];
	return NULL;
}

const char *syscall_name(uint32_t number)
{
	static const char *const names[CAPTURE_MAX_SYSCALLS] = {
#define SYS(name, traits, outputs) [SYS_##name] = #name,
#define MORE(name)
#define NONE(name) [SYS_##name] = #name,
#include "offline/capture/syscalls.def"
#undef SYS
#undef MORE
#undef NONE
	};

	return number < CAPTURE_MAX_SYSCALLS ? names[number] : NULL;
}

bool syscall_content(uint32_t number)
{
	const struct syscall_row *row = find(number);

	return row && row->traits & CAPTURE_CONTENT;
}

bool syscall_elsewhere(uint32_t number)
{
	const struct syscall_row *row = find(number);

	return row && row->traits & CAPTURE_ELSEWHERE;
}

bool syscall_reads_beside(uint32_t number, bool *peer)
{
	const struct syscall_row *row = find(number);

	*peer = row && row->traits & CAPTURE_BESIDE_PEER;
	return row && row->traits & (CAPTURE_BESIDE | CAPTURE_BESIDE_PEER);
}

bool syscall_writes_untold(uint32_t number)
{
	for (size_t i = 0; i < sizeof(more) / sizeof(*more); i++)
		if (more[i] == number)
			return true;
	return number >= CAPTURE_MAX_SYSCALLS || !told[number];
}
