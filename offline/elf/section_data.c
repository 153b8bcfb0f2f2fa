// SPDX-License-Identifier: LGPL-2.1-or-later
/* section_data.c: see section_data.h. Of why libelf has no contents it keeps a text only; the C
 * library's own reason is left in errno. */
#include "offline/elf/section_data.h"

#include <errno.h>
#include <stddef.h>

static int read_by(Elf_Data *(*get)(Elf_Scn *scn, Elf_Data *last), Elf_Scn *scn,
		   const GElf_Shdr *sh, Elf_Data **out)
{
	if (sh->sh_type == SHT_NOBITS || !sh->sh_size) {
		*out = NULL;
		return 0;
	}
	errno = 0;
	Elf_Data *data = get(scn, NULL);
	if (!data || !data->d_buf)
		return errno == ENOMEM || errno == EIO ? -errno : -EBADMSG;
	*out = data;
	return 0;
}

int section_raw(Elf_Scn *scn, const GElf_Shdr *sh, Elf_Data **out)
{
	return read_by(elf_rawdata, scn, sh, out);
}

int section_table(Elf *elf, Elf_Scn *scn, const GElf_Shdr *sh, Elf_Data **out)
{
	Elf_Scn *texts = elf_getscn(elf, sh->sh_link);
	Elf_Data *table, *text;
	GElf_Shdr of_texts;
	int err = read_by(elf_getdata, scn, sh, &table);
	if (!err && table && texts && gelf_getshdr(texts, &of_texts))
		err = section_raw(texts, &of_texts, &text);
	if (!err)
		*out = table;
	return err;
}
