/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* capture_writer.h: writes the file `captures` of a recording (docs/recording-format.md). All of it
 * may be called by several threads. */
#ifndef USER_CAPTURE_WRITER_H
#define USER_CAPTURE_WRITER_H

#include "offline/capture/captures.h"
#include "user/values/calls/call_patches.h"
#include "user/values/clock/clock_calls.h"
#include "user/values/write/opened_files.h"
#include "user/values/write/redaction.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>
#include <sys/user.h>

struct capture_writer;

/* @fd: the file, new, which the writer takes; negative: why there is none. Of every @check_every-th
 * record behind a call the hash is kept. */
int capture_writer_open(int fd, uint32_t check_every, struct capture_writer **out,
			struct pugmark_diag *diag);
/* From here on nothing is kept of what @redaction hides, nor of what follows from it: registers and
 * memory behind calls out, where control comes in from outside, and at the end; and registers but
 * rip and rsp where a signal finds a task, where one loses the processor, and in what
 * rt_sigreturn() was called with and gives back. */
void capture_writer_redact(struct capture_writer *w, const struct redaction *redaction);
/* The process notes itself what clocks tell. */
void capture_writer_clocks(struct capture_writer *w, const struct clock_calls *calls);
/* The process notes its system calls itself, @patches is borrowed; NULL: it does no more. 0 or
 * -ENOMEM. */
int capture_writer_calls(struct capture_writer *w, const struct call_patches *patches);
/* The thread with this pointer is this task, of process @pid. */
void capture_writer_bind(struct capture_writer *w, uint64_t owner, uint32_t task, pid_t pid);
/* Its thread with these registers waits in a call that it has noted the beginning of: its END. */
void capture_writer_waits(struct capture_writer *w, uint32_t task,
			  const struct user_regs_struct *regs);
/* Whether more of one of its lanes than one in @share waits. For any thread. */
bool capture_writer_much_noted(const struct capture_writer *w, uint32_t share);
/* Whether more than that has come since this was asked last. For the thread that takes it. */
bool capture_writer_much_came(struct capture_writer *w, uint32_t share);
/* What it notes from here on is not taken. */
void capture_writer_calls_stop(struct capture_writer *w);
/* How many of its threads note no calls any more, as what they write to is written to by others, or
 * was never finished. */
uint32_t capture_writer_calls_closed(struct capture_writer *w);
/* Records of the ring `captures` are taken between these two, and what the process has noted. @all:
 * nothing that was in the ring when this began is left there, else notes wait. */
void capture_writer_begin(struct capture_writer *w, uint64_t now_ns);
void capture_writer_end(struct capture_writer *w, bool all);
/* One of them. Returns 0: errors are kept, see capture_writer_error(). */
int capture_writer_ring(void *writer, void *record, size_t len);
/* A record of our own: the start of @task. */
void capture_writer_start(struct capture_writer *w, uint32_t task, const struct capture *start);
/* Pages of the start's memory in a row, or bytes of file @file at @off. */
void capture_writer_pages(struct capture_writer *w, uint64_t addr, const uint8_t *bytes,
			  uint32_t len);
void capture_writer_file(struct capture_writer *w, uint32_t file, uint64_t off,
			 const uint8_t *bytes, uint32_t len);
void capture_writer_table(struct capture_writer *w, const char *json, size_t len);
/* The last table says what is true at the end, which capture_writer_close() writes behind all else;
 * or, with an @err, could not be made: nothing more is written. @w may be NULL. */
void capture_writer_table_final(struct capture_writer *w, int err);
/* What tells which file a process has mapped, for system calls that map one: the number of the
 * file, or CAPTURE_UNKNOWN. */
void capture_writer_resolve(struct capture_writer *w,
			    uint32_t (*file_of)(void *ctx, const struct mapped_file *file),
			    void *ctx);
/* Writes what waits, of tasks whose last record is older than @age_ns. */
void capture_writer_flush(struct capture_writer *w, uint64_t now_ns, uint64_t age_ns);
/* 0, or what kept it from writing: from then on nothing more is written. Any thread may ask. */
int capture_writer_error(const struct capture_writer *w);
/* How many captures found the ring full, of all tasks. If numbers have not told of all of them, the
 * records of each task without an END are told to lack some at their end. @w may be NULL. */
void capture_writer_lost(struct capture_writer *w, uint64_t n);
/* Writes the rest and frees the writer; NULL, or how many records and bytes there were in all.
 * Returns what capture_writer_error() would. */
int capture_writer_close(struct capture_writer *w, uint64_t *records, uint64_t *bytes);

#endif
