// SPDX-License-Identifier: LGPL-2.1-or-later
/* cfg_names.c: what the enums of the model are called in every output format. */
#include "user/model/cfg_names.h"

#include <pugmark/model.h>

const char *const cfg_end_names[] = {
	[END_FALL] = "fall",	     [END_JMP] = "jmp",	    [END_JCC] = "jcc",
	[END_TABLE] = "table",	     [END_OPEN] = "open",   [END_CALL] = "call",
	[END_TAIL] = "tail",	     [END_RET] = "ret",	    [END_TRAP] = "trap",
	[END_NORETURN] = "noreturn", [END_STRAY] = "stray",
};
const char *const cfg_edge_names[] = {
	[EDGE_FALL] = "fall",	[EDGE_TAKEN] = "taken",	  [EDGE_JUMP] = "jump",
	[EDGE_TABLE] = "table", [EDGE_RETURN] = "return", [EDGE_UNWIND] = "unwind",
};
const char *const cfg_site_names[] = {[SITE_CALL] = "call", [SITE_TAIL] = "tail"};
const char *const cfg_via_names[] = {
	[VIA_DIRECT] = "direct",
	[VIA_IMPORT] = "import",
	[VIA_INDIRECT] = "indirect",
};
const char *const cfg_insn_names[] = {
	[INSN_OTHER] = "other",
	[INSN_CALL] = "call",
	[INSN_CALL_IND] = "call-indirect",
	[INSN_JMP] = "jmp",
	[INSN_JMP_IND] = "jmp-indirect",
	[INSN_JCC] = "jcc",
	[INSN_JCXZ] = "jcxz",
	[INSN_RET] = "ret",
	[INSN_TRAP] = "trap",
	[INSN_XBEGIN] = "xbegin",
};
const char *const cfg_probe_names[] = {
	[PROBE_EMULATED] = "emulated",
	[PROBE_NOP5] = "nop5",
	[PROBE_STEPPED] = "stepped",
	[PROBE_REFUSED] = "refused",
};
const struct flag_name cfg_func_flags[] = {
	{FUNC_ADDRESS_TAKEN, "address-taken"},
	{FUNC_EXPORTED, "exported"},
	{FUNC_NORETURN, "noreturn"},
	{FUNC_OPEN_JUMP, "open-jump"},
	{FUNC_NO_CFI, "no-cfi"},
	{FUNC_IFUNC, "ifunc"},
	{FUNC_OPAQUE, "opaque"},
	{FUNC_SIGNAL_FRAME, "signal-frame"},
	{FUNC_SWITCHES, "switches"},
	{0, NULL},
};
const struct flag_name cfg_block_flags[] = {
	{BLOCK_LANDING_PAD, "landing-pad"},	{BLOCK_SETJMP_RETURN, "setjmp-return"},
	{BLOCK_ADDRESS_TAKEN, "address-taken"}, {BLOCK_UNREACHED, "unreached"},
	{BLOCK_TABLE_NATURAL, "natural"},	{0, NULL},
};
const struct flag_name cfg_site_flags[] = {
	{SITE_NORETURN, "noreturn"},	   {SITE_RETURNS_TWICE, "returns-twice"},
	{SITE_CONDITIONAL, "conditional"}, {SITE_FALLS, "falls"},
	{SITE_SWITCHES, "switches"},	   {0, NULL},
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
