// SPDX-License-Identifier: LGPL-2.1-or-later
/* gdb_state.c: the registers that gdb calls i386.core, sse, linux, avx and segments ("Standard
 * Target Features" of its manual), each unavailable where it is not known, and memory by the byte.
 */
#include "user/values/gdb/gdb_state.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- registers ------------------------------------------------------------------------------- */

static const char *const general[] = {"rax", "rbx", "rcx", "rdx", "rsi", "rdi", "rbp", "rsp",
				      "r8",  "r9",  "r10", "r11", "r12", "r13", "r14", "r15"};
static const char *const segments[] = {"cs", "ss", "ds", "es", "fs", "gs"};
static const char *const control[] = {"fctrl", "fstat", "ftag",	 "fiseg",
				      "fioff", "foseg", "fooff", "fop"};

static const char vectors[] =
	"<vector id=\"v4f\" type=\"ieee_single\" count=\"4\"/>"
	"<vector id=\"v2d\" type=\"ieee_double\" count=\"2\"/>"
	"<vector id=\"v16i8\" type=\"int8\" count=\"16\"/>"
	"<vector id=\"v8i16\" type=\"int16\" count=\"8\"/>"
	"<vector id=\"v4i32\" type=\"int32\" count=\"4\"/>"
	"<vector id=\"v2i64\" type=\"int64\" count=\"2\"/>"
	"<union id=\"vec128\"><field name=\"v4_float\" type=\"v4f\"/>"
	"<field name=\"v2_double\" type=\"v2d\"/><field name=\"v16_int8\" type=\"v16i8\"/>"
	"<field name=\"v8_int16\" type=\"v8i16\"/><field name=\"v4_int32\" type=\"v4i32\"/>"
	"<field name=\"v2_int64\" type=\"v2i64\"/><field name=\"uint128\" type=\"uint128\"/>"
	"</union>";

static void one(FILE *out, const char *name, unsigned bits, const char *type)
{
	fprintf(out, "<reg name=\"%s\" bitsize=\"%u\" type=\"%s\"/>", name, bits, type);
}

static void numbered(FILE *out, const char *format, unsigned n, unsigned bits, const char *type)
{
	for (unsigned i = 0; i < n; i++) {
		char name[16];
		snprintf(name, sizeof(name), format, i);
		one(out, name, bits, type);
	}
}

char *gdb_state_description(void)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);
	if (!out)
		return NULL;
	fputs("<?xml version=\"1.0\"?><!DOCTYPE target SYSTEM \"gdb-target.dtd\">"
	      "<target version=\"1.0\"><architecture>i386:x86-64</architecture>"
	      "<osabi>GNU/Linux</osabi><feature name=\"org.gnu.gdb.i386.core\">",
	      out);
	for (int i = 0; i < 16; i++)
		one(out, general[i], 64, i == 6 || i == 7 ? "data_ptr" : "int64");
	one(out, "rip", 64, "code_ptr");
	one(out, "eflags", 32, "int32");
	for (int i = 0; i < 6; i++)
		one(out, segments[i], 32, "int32");
	numbered(out, "st%u", 8, 80, "i387_ext");
	for (int i = 0; i < 8; i++)
		one(out, control[i], 32, "int");
	fprintf(out, "</feature><feature name=\"org.gnu.gdb.i386.sse\">%s", vectors);
	numbered(out, "xmm%u", 16, 128, "vec128");
	one(out, "mxcsr", 32, "int32");
	fputs("</feature><feature name=\"org.gnu.gdb.i386.linux\">", out);
	one(out, "orig_rax", 64, "int");
	fputs("</feature><feature name=\"org.gnu.gdb.i386.avx\">", out);
	numbered(out, "ymm%uh", 16, 128, "uint128");
	fputs("</feature><feature name=\"org.gnu.gdb.i386.segments\">", out);
	one(out, "fs_base", 64, "int");
	one(out, "gs_base", 64, "int");
	fputs("</feature></target>", out);
	return fclose(out) ? NULL : text;
}

enum {
	REGISTERS_BYTES =
		16 * 8 + 8 + 4 + 6 * 4 + 8 * 10 + 8 * 4 + 16 * 16 + 4 + 8 + 16 * 16 + 2 * 8
};

static bool is_known(const struct value_machine *m, unsigned bit)
{
	return value_quality(m, (uint64_t)1 << bit) != VALUE_UNKNOWN;
}

/* The tag word of FXSAVE has a bit for each register that is in use; in full it is two bits that
 * say what is in the register (Intel SDM 1, 8.1.7 and 10.5.1.1). */
static uint32_t x87_tags(const uint8_t *fx)
{
	enum { VALID, ZERO, SPECIAL, EMPTY };
	const unsigned top = fx[3] >> 3 & 7;
	uint32_t tags = 0;
	for (unsigned i = 0; i < 8; i++) {
		uint64_t mantissa;
		uint16_t exponent;
		const uint8_t *reg = fx + 32 + 16 * ((i + 8 - top) % 8);
		memcpy(&mantissa, reg, 8);
		memcpy(&exponent, reg + 8, 2);
		exponent &= 0x7fff;
		unsigned tag = !exponent && !mantissa				  ? ZERO
			       : exponent && exponent != 0x7fff && mantissa >> 63 ? VALID
										  : SPECIAL;
		tags |= (fx[4] >> i & 1 ? tag : EMPTY) << 2 * i;
	}
	return tags;
}

/* Where the last instruction and operand of the x87 unit lay is not computed. */
static void put_x87(struct gdb_packets *p, const uint8_t *fx, bool known)
{
	const uint32_t words[] = {fx[0] | fx[1] << 8, fx[2] | fx[3] << 8, x87_tags(fx)};
	for (int i = 0; i < 8; i++)
		gdb_packets_put_bytes(p, fx + 32 + 16 * i, 10, known);
	gdb_packets_put_bytes(p, words, sizeof(words), known);
	gdb_packets_put_bytes(p, NULL, 5 * sizeof(*words), false);
}

void gdb_state_put_registers(struct gdb_packets *p, struct value_run *run)
{
	static const uint8_t order[16] = {VALUE_RAX, VALUE_RBX, VALUE_RCX, VALUE_RDX,
					  VALUE_RSI, VALUE_RDI, VALUE_RBP, VALUE_RSP,
					  8,	     9,		10,	   11,
					  12,	     13,	14,	   15};
	static const uint32_t selectors[6] = {0x33, 0x2b, 0, 0, 0, 0};
	if (!run) {
		gdb_packets_put_bytes(p, NULL, REGISTERS_BYTES, false);
		return;
	}
	struct value_machine *m = value_run_machine(run);
	const struct value_state *state = value_machine_state(m);
	for (int i = 0; i < 16; i++)
		gdb_packets_put_bytes(p, &state->gpr[order[i]], 8, is_known(m, order[i]));
	gdb_packets_put_bytes(p, &state->rip, 8, true);
	uint32_t flags = value_rflags(state);
	gdb_packets_put_bytes(p, &flags, 4, is_known(m, VALUE_BIT_FLAGS));
	gdb_packets_put_bytes(p, selectors, sizeof(selectors), true);
	put_x87(p, state->fx, is_known(m, VALUE_BIT_X87));
	for (int i = 0; i < 16; i++)
		gdb_packets_put_bytes(p, state->vec[i], 16, is_known(m, VALUE_BIT_VEC + i));
	gdb_packets_put_bytes(p, &state->mxcsr, 4, is_known(m, VALUE_BIT_MXCSR));
	gdb_packets_put_bytes(p, NULL, 8, false); /* orig_rax: of a system call, which none is in */
	for (int i = 0; i < 16; i++)
		gdb_packets_put_bytes(p, state->vec[i] + 16, 16, is_known(m, VALUE_BIT_HIGH + i));
	gdb_packets_put_bytes(p, &state->gpr[VALUE_FS], 8, true);
	gdb_packets_put_bytes(p, &state->gpr[VALUE_GS], 8, true);
}

/* --- memory ---------------------------------------------------------------------------------- */

/* Up to the end of the page, as an access over the border of what is mapped fails as a whole. */
static void read_all(struct value_run *run, uint64_t addr, size_t len, uint8_t *bytes,
		     uint8_t *quality)
{
	struct value_memory *mem = value_machine_memory(value_run_machine(run));
	for (size_t done = 0, n; done < len; done += n) {
		size_t left = VALUE_PAGE - (addr + done) % VALUE_PAGE;
		n = len - done < left ? len - done : left;
		if (value_memory_read(mem, addr + done, bytes + done, n, NULL) ||
		    value_memory_read_qualities(mem, addr + done, quality + done, n))
			memset(quality + done, VALUE_UNKNOWN, n);
	}
}

void gdb_state_read(struct value_run *moved, struct value_run *own, uint64_t addr, size_t len,
		    uint8_t *bytes, uint8_t *quality)
{
	uint8_t own_bytes[GDB_READ_MAX], own_quality[GDB_READ_MAX];
	read_all(moved, addr, len, bytes, quality);
	if (!own || own == moved || len > GDB_READ_MAX)
		return;
	read_all(own, addr, len, own_bytes, own_quality);
	for (size_t i = 0; i < len; i++)
		if (quality[i] != VALUE_EXACT && own_quality[i] <= quality[i]) {
			bytes[i] = own_bytes[i];
			quality[i] = own_quality[i];
		}
}
