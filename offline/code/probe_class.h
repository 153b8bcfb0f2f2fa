/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* probe_class.h: what the kernel does with a breakpoint on an instruction, from one table. */
#ifndef OFFLINE_PROBE_CLASS_H
#define OFFLINE_PROBE_CLASS_H

#include <Zydis/Zydis.h>

#include <pugmark/model.h>

/* The class of the instruction @insn (decoded at least minimally). */
enum pugmark_probe_class probe_class_of(const ZydisDecodedInstruction *insn);

#endif
