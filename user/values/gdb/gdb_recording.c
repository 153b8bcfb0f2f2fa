// SPDX-License-Identifier: LGPL-2.1-or-later
/* gdb_recording.c: opens what gdb_server.c serves, and finds what gdb has to be told of the
 * program.
 */
#include "user/values/gdb/gdb_recording.h"
#include "user/cli/printable.h"
#include "user/file/build_id.h"
#include "user/values/dwarf/thread_block.h"
#include "user/values/gdb/gdb_server.h"

#include <elf.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* What is against giving the file with that number to gdb; NULL: it is there, and no other, as far
 * as a build-id says, or where it has none the bytes that are kept of it. */
static const char *against(const struct captures *captures, uint32_t number, bool *told)
{
	uint32_t n;
	const struct capture_file *file = &captures_files(captures, &n)[number];
	struct build_id id = build_id_read(file->path);
	if (access(file->path, F_OK))
		return "it is gone";
	int is = file->build_id_len ? build_id_is(&id, file->build_id, file->build_id_len)
				    : captures_file_is(captures, number);
	*told = is >= 0;
	return is ? NULL : "not the file that was recorded";
}

/* Says which files gdb would read in vain: their symbols and lines are not of the code that ran;
 * and which it may. */
static void tell_stale(const struct captures *captures, const struct capture_file *program)
{
	uint32_t n;
	const struct capture_file *files = captures_files(captures, &n);
	for (uint32_t i = 0; i < n; i++) {
		bool told;
		const char *why = against(captures, i, &told);
		if (!why && told)
			continue;
		fputs("pugmark: ", stderr);
		printable_print(stderr, files[i].path, PRINT_TEXT);
		if (!why)
			fputs(": it has no build-id, and none of its code is kept: whether it is "
			      "what was recorded cannot be told\n",
			      stderr);
		else
			fprintf(stderr, ": %s: %s\n", why,
				&files[i] == program
					? "gdb is not given it"
					: "gdb's symbols and lines of it are of another");
	}
}

/* Where the program, whose first page is at @start, has its thread-local block. */
static void find_block(struct value_memory *memory, uint64_t start, const Elf64_Ehdr *header,
		       struct gdb_program *out)
{
	for (unsigned i = 0; i < header->e_phnum; i++) {
		Elf64_Phdr p;

		if (value_memory_read(memory, start + header->e_phoff + i * sizeof(p), &p,
				      sizeof(p), NULL))
			return;
		if (p.p_type != PT_TLS)
			continue;
		out->has_block = true;
		out->block_offset = value_thread_block_below(&p);
	}
}

/* The traced program, NULL if it is not known, and what is told of it. */
static const struct capture_file *program(const struct captures *captures, struct value_run *run,
					  struct gdb_program *out)
{
	uint32_t n, n_files;
	const struct capture_mapping *maps = captures_mappings(captures, &n);
	const struct capture_file *files = captures_files(captures, &n_files);
	struct value_machine *m = value_run_machine(run);
	*out = (struct gdb_program){.path = "", .entry = value_machine_state(m)->rip};
	for (uint32_t i = 0; i < n; i++) {
		if (maps[i].file >= n_files || maps[i].off)
			continue;
		/* The ELF header is the first page of the first file. */
		Elf64_Ehdr header;
		if (!value_memory_read(value_machine_memory(m), maps[i].start, &header,
				       sizeof(header), NULL) &&
		    !memcmp(header.e_ident, ELFMAG, SELFMAG) && header.e_entry) {
			out->entry = header.e_entry + (header.e_type == ET_DYN ? maps[i].start : 0);
			find_block(value_machine_memory(m), maps[i].start, &header, out);
		}
		bool told;
		if (!against(captures, maps[i].file, &told))
			out->path = files[maps[i].file].path;
		return &files[maps[i].file];
	}
	return NULL;
}

/* The task to serve in *@task: the wanted one, or the first. */
static int choose_task(const struct value_replay *replay, const char *dir, const uint32_t *wanted,
		       uint32_t *task, struct pugmark_diag *diag)
{
	uint32_t n;
	const uint32_t *tasks = captures_tasks(value_replay_captures(replay), &n);
	if (!n)
		return pugmark_diag_set(diag, -ENODATA, dir, PUGMARK_NO_OFFSET,
					"no task of it was captured");
	*task = wanted ? *wanted : tasks[0];
	for (uint32_t i = 0; i < n; i++)
		if (tasks[i] == *task)
			return 0;
	return pugmark_diag_set(diag, -ENOENT, dir, PUGMARK_NO_OFFSET,
				"it has no values of task %u (pugmark values lists them)", *task);
}

int gdb_check_recording(const char *dir, const uint32_t *task, struct pugmark_diag *diag)
{
	struct value_replay *replay;
	uint32_t chosen;
	int err = value_replay_open(dir, &replay, diag);
	if (err)
		return err;
	err = choose_task(replay, dir, task, &chosen, diag);
	struct value_run *run = NULL;
	if (!err)
		err = value_run_new(replay, chosen, &run, diag);
	if (!err)
		value_run_free(run);
	value_replay_free(replay);
	return err;
}

int gdb_serve_recording(const char *dir, const uint32_t *task, struct pugmark_diag *diag)
{
	struct value_replay *replay;
	struct gdb_threads threads;
	uint32_t chosen;
	int err = value_replay_open(dir, &replay, diag);
	if (err)
		return err;
	err = choose_task(replay, dir, task, &chosen, diag);
	if (!err)
		err = gdb_threads_init(&threads, replay, dir, chosen, diag);
	if (!err) {
		struct gdb_program told;
		const struct captures *captures = value_replay_captures(replay);
		const struct capture_file *exec =
			program(captures, threads.at[threads.moved].run, &told);
		tell_stale(captures, exec);
		err = gdb_serve(&threads, STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO, &told);
		if (err)
			pugmark_diag_set(diag, err, dir, PUGMARK_NO_OFFSET, "serving gdb: %s",
					 strerror(-err));
		gdb_threads_deinit(&threads);
	}
	value_replay_free(replay);
	return err;
}
