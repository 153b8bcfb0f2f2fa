/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* start_image.h: what a stopped process is: registers, mappings, the memory that is its own, and
 * the files that the rest is of. */
#ifndef USER_START_IMAGE_H
#define USER_START_IMAGE_H

#include "user/values/write/capture_writer.h"
#include "user/values/start/kept_files.h"

#include <jansson.h>

struct start_image;

struct start_options {
	const char *no_memory; /* a glob: nothing is kept of mappings with such a name; or NULL */
	struct redaction redaction; /* what it hides of files is not kept either */
};

struct start_image *start_image_new(const struct start_options *options,
				    struct capture_writer *writer);
void start_image_free(struct start_image *image);
/* Whether what start_image_memory() will hold of process @pid, which runs, is no more than
 * @max_bytes (0: no limit) nor than the machine has available. 0, or -errno with @diag filled:
 * -ENOMEM. */
int start_image_room(struct start_image *image, pid_t pid, uint64_t max_bytes,
		     struct pugmark_diag *diag);
/* Reads the memory of the stopped process @pid, and notes what it has mapped. */
int start_image_memory(struct start_image *image, pid_t pid, struct pugmark_diag *diag);
/* Writes what was read, and the files that it is of: the process may have gone on by then, or
 * have ended, and then files are not known. What is written to a file since @stood_ns, when it
 * stood still (CLOCK_MONOTONIC), is no part of it. */
void start_image_write(struct start_image *image, pid_t pid, uint64_t stood_ns);
/* The registers of its stopped thread @tid. *@xsave is owned by the image, until the next call. */
int start_image_registers(struct start_image *image, pid_t tid, struct capture *out,
			  struct pugmark_diag *diag);
/* The file that a process has mapped, which is taken in where it is new: its number, or
 * CAPTURE_UNKNOWN. May be called by another thread than the rest. */
uint32_t start_image_file_of(void *image, const struct mapped_file *file);
/* The run-time address of ELF address 0 of the file at @path; false: it is not mapped. */
bool start_image_bias(const struct start_image *image, const char *path, uint64_t *bias);
/* Whether the process had code of no file, of which the kernel's is none. */
bool start_image_has_code(const struct start_image *image);
/* A new reference to what the table says of mappings. */
json_t *start_image_mappings(const struct start_image *image);
/* The files that they are of, borrowed. */
struct kept_files *start_image_files(struct start_image *image);
/* Whether options' no_memory has matched the name of a mapping by now. */
bool start_image_no_memory_matched(const struct start_image *image);

#endif
