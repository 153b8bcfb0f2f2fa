// SPDX-License-Identifier: LGPL-2.1-or-later
/* test_bindings.c: whether a process is as a plan takes it to be is looked at once for each
 * process, program, place, module and plan, and never answered by what was found for another of
 * these. bpf/bindings.h runs here. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "tests/support/bpf_here.h"

#include "bpf/bindings.h"

enum { SLOTS = 8, FOUND_MAX = 1024 };

static struct bound_slot table[2 * SLOTS];
static uint64_t memory[64]; /* of the process, at address 0 on */
static struct {
	struct bound_key key;
	__u32 differs;
} found[FOUND_MAX];
static uint32_t n_found, n_read;

static struct file program;
static struct task_struct leader, task;

static struct task_struct *here_task(void)
{
	return &task;
}

static void *here_storage(const void *map)
{
	return NULL;
}

static long here_read_user(void *to, __u32 bytes, __u64 from)
{
	n_read++;
	if (from + bytes > sizeof(memory))
		return -14;
	memcpy(to, (const char *)memory + from, bytes);
	return 0;
}

static long here_output(const void *map, const void *data, __u64 bytes)
{
	return 0;
}

static void *here_lookup(const void *map, const void *key)
{
	if (map == &bound) {
		__u32 at = *(const __u32 *)key;
		return at < 2 * SLOTS ? &table[at] : NULL;
	}
	assert_ptr_equal(map, &bound_found);
	for (uint32_t i = 0; i < n_found; i++)
		if (!memcmp(&found[i].key, key, sizeof(found[i].key)))
			return &found[i].differs;
	return NULL;
}

static long here_update(const void *map, const void *key, const void *value)
{
	assert_ptr_equal(map, &bound_found);
	found[n_found].key = *(const struct bound_key *)key;
	found[n_found++].differs = *(const __u32 *)value;
	return 0;
}

/* Module 3 of both halves has three slots, of which the half of odd generations has the last ones.
 */
static int begin(void **context)
{
	(void)context;
	n_found = n_read = 0;
	memset(table, 0, sizeof(table));
	memset(memory, 0, sizeof(memory));
	memset(by_known_programs, 0, sizeof(by_known_programs));
	memset(bound_count, 0, sizeof(bound_count));
	memset(known_programs, 0, sizeof(known_programs));
	leader = (struct task_struct){.start_boottime = 1000};
	task = (struct task_struct){.group_leader = &leader, .tgid = 7, .self_exec_id = 1};
	half_bound = SLOTS;
	for (uint32_t half = 0; half < 2; half++) {
		bound_first[half * BATCH_MODULES + 3] = 2 + 3 * half;
		bound_count[half * BATCH_MODULES + 3] = 3;
		for (uint32_t i = 0; i < 3; i++)
			table[half * SLOTS + 2 + 3 * half + i] =
				(struct bound_slot){8 * i, 100 + 10 * half + i};
	}
	return 0;
}

/* What the slots hold where the plans of @half hold at @base. */
static void bind(uint64_t base, uint32_t half)
{
	for (uint32_t i = 0; i < 3; i++)
		memory[base / 8 + i] = base + 100 + 10 * half + i;
}

static void each_slot_counts(void **context)
{
	(void)context;
	for (uint32_t i = 0; i < 4; i++) {
		n_found = 0;
		bind(64, 0);
		if (i < 3)
			memory[8 + i]++;
		assert_int_equal(is_as_planned(0, 3, 64), i == 3);
	}
}

static void what_cannot_be_read_is_not_as_planned(void **context)
{
	(void)context;
	assert_false(is_as_planned(0, 3, sizeof(memory)));
	bound_first[3] = 2 * SLOTS; /* no such words */
	bind(64, 0);
	assert_false(is_as_planned(0, 3, 64));
}

static void without_slots_it_is(void **context)
{
	(void)context;
	assert_true(is_as_planned(0, 2, 64));
	assert_int_equal(n_read + n_found, 0);
}

static void each_half_has_its_own(void **context)
{
	(void)context;
	for (uint32_t plans = 0; plans < 4; plans++) {
		n_found = 0;
		bind(64, plans & 1);
		assert_true(is_as_planned(plans, 3, 64));
		n_found = 0;
		bind(64, !(plans & 1));
		assert_false(is_as_planned(plans, 3, 64));
	}
}

static void it_is_looked_at_once(void **context)
{
	(void)context;
	bind(64, 0);
	assert_true(is_as_planned(0, 3, 64));
	assert_int_equal(n_read, 3);
	memory[8]++;
	assert_true(is_as_planned(0, 3, 64));
	n_found = 0;
	assert_false(is_as_planned(0, 3, 64));
	memory[8]--;
	assert_false(is_as_planned(0, 3, 64));
	assert_int_equal(n_read, 4);
}

/* What was found answers for nothing else: each time the first is as planned, the other is not. */
static void it_is_looked_at_again_for_another(void **context)
{
	bind(64, 0);
	assert_true(is_as_planned(0, 3, 64));
	memory[8]++;
	task.tgid++;
	assert_false(is_as_planned(0, 3, 64));
	task.tgid--;
	leader.start_boottime++; /* its number is another's by now */
	assert_false(is_as_planned(0, 3, 64));
	leader.start_boottime--;
	task.self_exec_id++; /* another program by now */
	assert_false(is_as_planned(0, 3, 64));
	task.self_exec_id--;
	assert_false(is_as_planned(2, 3, 64)); /* another plan, in the same half */
	assert_false(is_as_planned(0, 3, 128));
	bound_count[4] = 3;
	bound_first[4] = 2;
	assert_false(is_as_planned(0, 4, 64));
	assert_true(is_as_planned(0, 3, 64));
	/* A thread of the same process is none other. */
	task.start_boottime = 5555;
	assert_true(is_as_planned(0, 3, 64));
	(void)context;
}

static void some_plans_are_for_known_programs_only(void **context)
{
	(void)context;
	struct mm_struct mm = {.exe_file = &program};
	struct inode *ours = (void *)&memory[1], *other = (void *)&memory[2];
	program.f_inode = ours;
	task.mm = (void *)&mm;
	bind(64, 0);
	by_known_programs[3] = true;
	assert_false(is_as_planned(0, 3, 64));
	known_programs[KNOWN_PROGRAMS - 1] = ours;
	assert_true(is_as_planned(0, 3, 64));
	program.f_inode = other;
	assert_false(is_as_planned(0, 3, 64)); /* whatever was found before */
	program.f_inode = NULL; /* and what has no program is none of those that are not there */
	assert_false(is_as_planned(0, 3, 64));
	by_known_programs[3] = false;
	assert_true(is_as_planned(0, 3, 64));
}

/* The collector's open files become the programs that are known. */
static void programs_are_learnt_from_open_files(void **context)
{
	(void)context;
	struct file files[3] = {{(void *)&memory[1]}, {(void *)&memory[2]}, {(void *)&memory[3]}};
	struct file *fd[3] = {&files[0], &files[1], &files[2]};
	typeof(*((struct task_struct *)0)->files->fdt) fdt = {fd};
	typeof(*((struct task_struct *)0)->files) open_files = {(void *)&fdt};
	task.files = (void *)&open_files;
	known_program_fds[0] = 2;
	known_program_fds[1] = 0;
	known_program_fds[2] = 1;
	n_known_programs = 2;
	learn_programs();
	assert_ptr_equal(known_programs[0], files[2].f_inode);
	assert_ptr_equal(known_programs[1], files[0].f_inode);
	assert_null(known_programs[2]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(each_slot_counts, begin),
		cmocka_unit_test_setup(what_cannot_be_read_is_not_as_planned, begin),
		cmocka_unit_test_setup(without_slots_it_is, begin),
		cmocka_unit_test_setup(each_half_has_its_own, begin),
		cmocka_unit_test_setup(it_is_looked_at_once, begin),
		cmocka_unit_test_setup(it_is_looked_at_again_for_another, begin),
		cmocka_unit_test_setup(some_plans_are_for_known_programs_only, begin),
		cmocka_unit_test_setup(programs_are_learnt_from_open_files, begin),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
