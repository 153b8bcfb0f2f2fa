/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* segment_format.h: the bits in a symbol's columns, see docs/recording-format.md. */
#ifndef OFFLINE_SEGMENT_FORMAT_H
#define OFFLINE_SEGMENT_FORMAT_H

enum {
	KIND_MASK = 0x3f,
	KIND_VALUE = 0x40,
	KIND_SNAPSHOT = 0x80,

	FORM_RET_MASK = 3,
	FORM_RET_ELF = 1,
	FORM_RET_RUN = 2,
	FORM_HANDLER = 0x04,
	FORM_TAKEN = 0x10,
	FORM_SIGNAL = 0x20,
	FORM_VALUES = 0x40,
	FORM_GOROUTINE = 0x80,
};

#endif
