// SPDX-License-Identifier: LGPL-2.1-or-later
/* site_bytes.c: see site_bytes.h. */
#include "user/kernel/site_bytes.h"

#include "offline/base/open_regular.h"
#include "offline/code/decode.h"
#include "offline/code/probe_class.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

enum { LONGEST_INSN = 15 };

static int check_site(const struct decoder *decoder, int fd, const struct recorder_module *module,
		      const struct pugmark_plan_site *site, struct pugmark_diag *diag)
{
	uint8_t bytes[LONGEST_INSN];
	struct pugmark_insn insn = {0};
	struct probe_refusal refusal = {.why = "", .kernels = ""};
	struct decoded_refs refs;
	ssize_t got = pread(fd, bytes, sizeof(bytes), (off_t)site->off_file);

	if (got <= 0)
		return pugmark_diag_set(diag, got ? -errno : -EIO, module->path, site->off_file,
					"the instruction to be probed cannot be read: %s",
					got ? strerror(errno) : "the file ends before it");
	if (!decode_insn(decoder, bytes, (size_t)got, site->addr, &insn, &refs))
		return pugmark_diag_set(diag, -EINVAL, module->path, site->off_file,
					"there is no instruction where the plan has a probe (plan "
					"it anew, with --fresh)");
	if (probe_refusal_at(bytes, (size_t)got, &refusal))
		return pugmark_diag_set(diag, -EINVAL, module->path, site->off_file,
					"the plan has a probe where none is safe: %s (seen on "
					"Linux %s; plan it anew, with --fresh)",
					refusal.why, refusal.kernels);
	return 0;
}

int site_bytes_check(const struct recorder_module *module, struct pugmark_diag *diag)
{
	struct decoder decoder;
	int fd = open_regular(module->path, NULL);
	int err = 0;

	if (fd < 0)
		return pugmark_diag_set(diag, fd, module->path, PUGMARK_NO_OFFSET, "%s",
					open_regular_why(fd));
	decoder_init(&decoder);
	for (uint32_t i = 0; i < module->n_sites && !err; i++)
		err = check_site(&decoder, fd, module, &module->sites[i], diag);
	close(fd);
	return err;
}
