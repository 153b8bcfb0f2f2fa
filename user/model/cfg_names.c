// SPDX-License-Identifier: LGPL-2.1-or-later
/* cfg_names.c: what the enums of the model are called in every output format. */
#include "user/model/cfg_names.h"

#include <pugmark/model.h>

const char *const cfg_end_names[] = {
	[PUGMARK_END_FALL] = "fall",   [PUGMARK_END_JMP] = "jmp",
	[PUGMARK_END_JCC] = "jcc",     [PUGMARK_END_TABLE] = "table",
	[PUGMARK_END_OPEN] = "open",   [PUGMARK_END_CALL] = "call",
	[PUGMARK_END_TAIL] = "tail",   [PUGMARK_END_RET] = "ret",
	[PUGMARK_END_TRAP] = "trap",   [PUGMARK_END_NORETURN] = "noreturn",
	[PUGMARK_END_STRAY] = "stray",
};
const char *const cfg_edge_names[] = {
	[PUGMARK_EDGE_FALL] = "fall",	  [PUGMARK_EDGE_TAKEN] = "taken",
	[PUGMARK_EDGE_JUMP] = "jump",	  [PUGMARK_EDGE_TABLE] = "table",
	[PUGMARK_EDGE_RETURN] = "return", [PUGMARK_EDGE_UNWIND] = "unwind",
};
const char *const cfg_site_names[] = {[PUGMARK_SITE_CALL] = "call", [PUGMARK_SITE_TAIL] = "tail"};
const char *const cfg_via_names[] = {
	[PUGMARK_VIA_DIRECT] = "direct",
	[PUGMARK_VIA_IMPORT] = "import",
	[PUGMARK_VIA_INDIRECT] = "indirect",
};
const char *const cfg_probe_names[] = {
	[PUGMARK_PROBE_EMULATED] = "emulated",
	[PUGMARK_PROBE_NOP5] = "nop5",
	[PUGMARK_PROBE_STEPPED] = "stepped",
	[PUGMARK_PROBE_REFUSED] = "refused",
};
const struct flag_name cfg_func_flags[] = {
	{PUGMARK_FUNC_ADDRESS_TAKEN, "address-taken"},
	{PUGMARK_FUNC_EXPORTED, "exported"},
	{PUGMARK_FUNC_NORETURN, "noreturn"},
	{PUGMARK_FUNC_OPEN_JUMP, "open-jump"},
	{PUGMARK_FUNC_NO_CFI, "no-cfi"},
	{PUGMARK_FUNC_IFUNC, "ifunc"},
	{PUGMARK_FUNC_OPAQUE, "opaque"},
	{PUGMARK_FUNC_SIGNAL_FRAME, "signal-frame"},
	{PUGMARK_FUNC_SWITCHES, "switches"},
	{PUGMARK_FUNC_MAYBE_TAKEN, "maybe-taken"},
	{PUGMARK_FUNC_UNCALLED, "uncalled"},
	{0, NULL},
};
const struct flag_name cfg_block_flags[] = {
	{PUGMARK_BLOCK_LANDING_PAD, "landing-pad"},
	{PUGMARK_BLOCK_SETJMP_RETURN, "setjmp-return"},
	{PUGMARK_BLOCK_ADDRESS_TAKEN, "address-taken"},
	{PUGMARK_BLOCK_UNREACHED, "unreached"},
	{PUGMARK_BLOCK_TABLE_NATURAL, "natural"},
	{0, NULL},
};
const struct flag_name cfg_site_flags[] = {
	{PUGMARK_SITE_NORETURN, "noreturn"},	   {PUGMARK_SITE_RETURNS_TWICE, "returns-twice"},
	{PUGMARK_SITE_CONDITIONAL, "conditional"}, {PUGMARK_SITE_FALLS, "falls"},
	{PUGMARK_SITE_SWITCHES, "switches"},	   {0, NULL},
};

void cfg_print_flags(FILE *out, uint32_t flags, const struct flag_name *names)
{
	const char *comma = "";
	for (; names->name; names++) {
		if (!(flags & names->flag))
			continue;
		fprintf(out, "%s%s", comma, names->name);
		comma = ",";
	}
	if (!*comma)
		fputc('-', out);
}
