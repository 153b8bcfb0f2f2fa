/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* recording_impl.h: what an open recording consists of, for the files that read its parts. */
#ifndef OFFLINE_RECORDING_IMPL_H
#define OFFLINE_RECORDING_IMPL_H

#include <pugmark/recording.h>

#include "offline/base/codec.h"
#include "offline/base/varint.h"
#include "offline/log/segment.h"

#include <jansson.h>
#include <stdarg.h>
#include <stdlib.h>

enum { RECORDING_MAX_NOTES = 1000 };

struct segment_ref {
	struct segment_header header;
	uint64_t off; /* of the header, in the file */
};

struct task_ref {
	uint32_t number, index;
};

struct pugmark_recording {
	char *dir;
	int fd; /* the file of events */
	uint64_t file_bytes;
	uint64_t scanned;     /* of the file: what the segments below are of */
	bool growing;	      /* a recorder may still write it */
	uint32_t grown;	      /* how often segments were added: their places are others since */
	uint32_t n_unknown;   /* segments compressed in an unknown way */
	uint64_t table_bytes; /* of what process records have filled the tables with */
	struct pugmark_recording_info info;
	json_t *meta; /* owns the strings of info and modules */
	struct pugmark_recording_module *modules;
	uint32_t n_modules;
	struct pugmark_recording_task *tasks;
	void *by_number; /* struct task_ref, as tsearch() has them */
	uint32_t n_tasks, cap_tasks;
	struct segment_ref *segments; /* by kind, task, first event */
	uint32_t n_segments, cap_segments;
	struct pugmark_recording_map *maps;
	uint32_t n_maps, cap_maps;
	struct pugmark_recording_death *deaths;
	uint32_t n_deaths, cap_deaths;
	struct recording_code *code; /* NULL: nothing is known */
	char **notes;
	uint32_t n_notes;
	/* The codec of an iterator that is done, for the next one; or NULL. Iterators of several
	 * threads take it and put it back. */
	struct codec *_Atomic spare;
};

void recording_add_note(struct pugmark_recording *rec, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/* The task of that number, made where there is none; NULL: no memory. Moves the others. */
struct pugmark_recording_task *recording_task_get(struct pugmark_recording *rec, uint32_t number);
/* Frees all of them. */
void recording_tasks_free(struct pugmark_recording *rec);
/* Adds what a process has said of code, and that it runs another program from then on. 0 or -errno.
 * Names are the process's word, and repeat as it likes: those that there is no room for are left
 * out, which is noted, and take no room from other tables. */
int recording_code_add(struct pugmark_recording *rec, int32_t pid, uint64_t since_ns,
		       uint64_t time_ns, uint64_t start, uint64_t size, const char *name);
/* More than was kept may have been said by process @pid after @since_ns. */
int recording_code_left_out(struct pugmark_recording *rec, int32_t pid, uint64_t since_ns);
int recording_code_exec(struct pugmark_recording *rec, int32_t pid, uint64_t time_ns);
void recording_code_free(struct pugmark_recording *rec);
/* Whether the tables may grow by so many bytes: what is in a file of a kilobyte must not take
 * gigabytes. */
bool recording_may_grow(struct pugmark_recording *rec, size_t bytes);
uint64_t recording_table_budget(const struct pugmark_recording *rec); /* how far, in bytes */
/* Why it could not grow: -EFBIG or -ENOMEM. */
int recording_no_room(const struct pugmark_recording *rec);
/* A line of JSON takes forty times its length once it is read. */
size_t recording_longest_line(const struct pugmark_recording *rec);
/* As pugmark_recording_open(), of a recording that may still be made: it has no events until
 * recording_more() is called; what is missing at its end then may come, and is not damage yet. */
int recording_open_growing(const char *dir, struct pugmark_recording **out,
			   struct pugmark_diag *diag);
/* Takes in what has been written since. Returns 1: there may be more later; 0: that was all, and
 * from here on it is as if opened now; or -errno with @diag filled. Tasks keep their indices, but
 * what was borrowed of tasks, modules and info is to be asked for anew. No other thread uses the
 * recording or its iterators meanwhile. */
int recording_more(struct pugmark_recording *rec, struct pugmark_diag *diag);
/* Takes in the segments of the file up to @size. @last: what is no whole segment at the end is
 * damage; else it is left for the next time. 0 or -errno. */
int recording_scan(struct pugmark_recording *rec, uint64_t size, bool last);
/* Whether a recorder keeps its lock on the events. Some file systems have none. */
bool recording_is_locked(const struct pugmark_recording *rec);
/* The diagnostic for what recording_scan() and what reads process records return. */
int recording_cannot_read(const struct pugmark_recording *rec, int err, struct pugmark_diag *diag);
/* Reads meta.json. Where it is damaged, modules are known by their plans alone. */
int recording_meta_read(struct pugmark_recording *rec, struct pugmark_diag *diag);
/* Reads it again: there may be more modules, and it may be closed. What cannot be read is as it
 * was. 0 or -ENOMEM. */
int recording_meta_again(struct pugmark_recording *rec);
/* What the member RECORDING_META_SUM of meta.json says: the CRC-32 of all others, as JSON without
 * blanks. */
uint32_t recording_meta_sum(const json_t *meta);
#define RECORDING_META_SUM "crc"
/* Takes in lines of JSON about processes; one that is wrong is noted and skipped. */
int recording_process_lines(struct pugmark_recording *rec, const char *text, size_t len);
/* As pugmark_recording_next(), without a copy: @*event is the iterator's, valid until the next
 * call, and may be changed. Its bias is filled in where it is known. */
int recording_take(struct pugmark_recording_iter *iter, struct pugmark_witness_event **event);
/* Whether the task may have events that are not written yet. */
bool recording_may_go_on(const struct pugmark_recording_iter *iter);
/* How many segments were opened so far: pugmark_recording_bias() is the same for all events of one.
 */
uint32_t recording_opened(const struct pugmark_recording_iter *iter);
/* Reads, checks and expands a segment's payload. 0, -EBADMSG, -ENOTSUP, -ENOMEM, -EIO. */
int segment_load(int fd, const struct segment_ref *seg, struct codec *codec, struct bytes *stored,
		 struct bytes *raw);

#endif
