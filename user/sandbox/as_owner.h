/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* as_owner.h: gives up root before what somebody else made is read: the process becomes that user,
 * for good, and can then do nothing that he could not do himself. */
#ifndef USER_SANDBOX_AS_OWNER_H
#define USER_SANDBOX_AS_OWNER_H

#include "user/cli/command_words.h"

#include <pugmark/diag.h>

/* Looks who owns @files, which a command line names, and the folders and links on the way there
 * (what is no file is passed over, and so is what is written). Where that is a user and this
 * process is root, it becomes him: without capabilities, without groups but his, without a way to
 * get any back, and nobody may look into it (confine.h has more). Where this process is not root,
 * it gives up what capabilities it has. What is root's own in a folder of somebody else becomes a
 * path to its descriptor in the command's words. What is not there in a folder in which others make
 * files stays so for this process: relative names lead from / then, and those that are there become
 * absolute. Returns 0 or -errno with @diag filled: several users own them, or others may write
 * there, or such a file is not there. */
int as_owner_of(const struct command_file *files, int n, struct pugmark_diag *diag);

#endif
