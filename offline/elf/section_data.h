/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* section_data.h: a section's contents. libelf reads and copies them when they are first asked for,
 * so there may be no memory for them, or the file may have become shorter. That is not the same as
 * a section without contents. */
#ifndef OFFLINE_ELF_SECTION_DATA_H
#define OFFLINE_ELF_SECTION_DATA_H

#include <gelf.h>
#include <stdint.h>

/* The contents of @scn, which header @sh is of, as they are in the file. Returns 0 and in *@out
 * what libelf keeps until it ends, NULL: the section has none; or -ENOMEM, -EIO, or -EBADMSG: the
 * file does not have them. */
int section_raw(Elf_Scn *scn, const GElf_Shdr *sh, Elf_Data **out);
/* The same of a table, for gelf_getsym() and the like, which elf_strptr() then has the texts of. */
int section_table(Elf *elf, Elf_Scn *scn, const GElf_Shdr *sh, Elf_Data **out);

#endif
