// SPDX-License-Identifier: LGPL-2.1-or-later
/* recording_growing.c: a recording that is being made, read on where it had ended.
 *
 * The recorder appends whole segments and then, when it ends, replaces meta.json and gives up its
 * lock on the events; what is in a new module's segments comes after a meta.json that lists the
 * module. So it is asked in the reverse order: the lock, how long the file is, meta.json, and then
 * the segments up to that length. Once it is closed, or nobody has the lock, no more can come. */
#include "offline/log/recording_impl.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

int recording_more(struct pugmark_recording *rec, struct pugmark_diag *diag)
{
	struct stat st;

	if (!rec->growing)
		return 0;
	bool locked = recording_is_locked(rec);
	int err = fstat(rec->fd, &st) ? -errno : recording_meta_again(rec);
	bool last = !locked || rec->info.closed;
	if (!err && last && fstat(rec->fd, &st))
		err = -errno;
	/* A file that has become shorter has lost what was read. */
	if (!err && (uint64_t)st.st_size < rec->scanned)
		err = -ESTALE;
	if (!err)
		err = recording_scan(rec, (uint64_t)st.st_size, last);
	if (err)
		return recording_cannot_read(rec, err, diag);
	if (!last)
		return 1;
	rec->growing = false;
	if (!rec->info.closed)
		recording_add_note(rec, "the recorder did not end well: the end may be missing");
	return 0;
}
