/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* elf_cursor.h: reads the encodings of DWARF's unwind tables from bounded bytes. A read past the
 * end gives 0 and sets @bad, once for all: callers check it after a group of reads. */
#ifndef OFFLINE_ELF_CURSOR_H
#define OFFLINE_ELF_CURSOR_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/* Pointer encodings: Linux Standard Base 5.0, Core, 10.5.1. */
enum {
	PE_ABS = 0x00,
	PE_ULEB128 = 0x01,
	PE_UDATA2 = 0x02,
	PE_UDATA4 = 0x03,
	PE_UDATA8 = 0x04,
	PE_SLEB128 = 0x09,
	PE_SDATA2 = 0x0a,
	PE_SDATA4 = 0x0b,
	PE_SDATA8 = 0x0c,
	PE_FORMAT = 0x0f,
	PE_PCREL = 0x10,
	PE_DATAREL = 0x30,
	PE_FUNCREL = 0x40,
	PE_BASE = 0x70,
	PE_INDIRECT = 0x80,
	PE_OMIT = 0xff,
};

struct elf_cursor {
	const uint8_t *at, *end;
	uint64_t addr; /* the address of @at - @start + addr, for PE_PCREL */
	const uint8_t *start;
	bool bad;
};

static inline struct elf_cursor elf_cursor_new(const uint8_t *bytes, uint64_t len, uint64_t addr)
{
	return (struct elf_cursor){.at = bytes, .end = bytes + len, .start = bytes, .addr = addr};
}

static inline uint64_t elf_cursor_left(const struct elf_cursor *c)
{
	return c->end - c->at;
}

static inline uint64_t elf_read_fixed(struct elf_cursor *c, unsigned len_bytes)
{
	uint64_t value = 0;
	if (elf_cursor_left(c) < len_bytes) {
		c->bad = true;
		c->at = c->end;
		return 0;
	}
	memcpy(&value, c->at, len_bytes);
	c->at += len_bytes;
	return value;
}

static inline uint8_t elf_read_u8(struct elf_cursor *c)
{
	if (c->at >= c->end) {
		c->bad = true;
		return 0;
	}
	return *c->at++;
}

static inline void elf_skip(struct elf_cursor *c, uint64_t len_bytes)
{
	if (elf_cursor_left(c) < len_bytes) {
		c->bad = true;
		c->at = c->end;
		return;
	}
	c->at += len_bytes;
}

/* Bits past the 64th are dropped. */
static inline uint64_t elf_read_uleb(struct elf_cursor *c)
{
	uint64_t value = 0;
	for (unsigned shift = 0;; shift += 7) {
		uint8_t byte = elf_read_u8(c);
		if (shift < 64)
			value |= (uint64_t)(byte & 0x7f) << shift;
		if (!(byte & 0x80))
			return value;
	}
}

static inline int64_t elf_read_sleb(struct elf_cursor *c)
{
	uint64_t value = 0;
	unsigned shift = 0;
	for (;;) {
		uint8_t byte = elf_read_u8(c);
		if (shift < 64)
			value |= (uint64_t)(byte & 0x7f) << shift;
		shift += 7;
		if (byte & 0x80)
			continue;
		if ((byte & 0x40) && shift < 64)
			value |= ~UINT64_C(0) << shift;
		return (int64_t)value;
	}
}

/* A value in format @encoding & PE_FORMAT, no base added. */
static inline uint64_t elf_read_format(struct elf_cursor *c, uint8_t encoding)
{
	switch (encoding & PE_FORMAT) {
	case PE_ABS:
	case PE_UDATA8:
	case PE_SDATA8:
		return elf_read_fixed(c, 8);
	case PE_UDATA2:
		return elf_read_fixed(c, 2);
	case PE_UDATA4:
		return elf_read_fixed(c, 4);
	case PE_SDATA2:
		return (uint64_t)(int64_t)(int16_t)elf_read_fixed(c, 2);
	case PE_SDATA4:
		return (uint64_t)(int64_t)(int32_t)elf_read_fixed(c, 4);
	case PE_ULEB128:
		return elf_read_uleb(c);
	case PE_SLEB128:
		return (uint64_t)elf_read_sleb(c);
	}
	c->bad = true;
	return 0;
}

/* A pointer in @encoding: 0 stays 0 whatever its base. @data_base and @func_base serve PE_DATAREL
 * and PE_FUNCREL. PE_INDIRECT gives the address of the pointer, as if it were not set. */
static inline uint64_t elf_read_pointer(struct elf_cursor *c, uint8_t encoding, uint64_t data_base,
					uint64_t func_base)
{
	uint64_t place = c->addr + (uint64_t)(c->at - c->start);
	uint64_t value = elf_read_format(c, encoding);
	if (!value || c->bad)
		return 0;
	switch (encoding & PE_BASE) {
	case PE_ABS:
		return value;
	case PE_PCREL:
		return value + place;
	case PE_DATAREL:
		return value + data_base;
	case PE_FUNCREL:
		return value + func_base;
	}
	c->bad = true; /* PE_TEXTREL, PE_ALIGNED: no x86-64 compiler emits them */
	return 0;
}

#endif
