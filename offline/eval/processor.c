// SPDX-License-Identifier: LGPL-2.1-or-later
/* processor.c: see processor.h. By cpuid (Intel's manual, volume 2), and by what the kernel has
 * enabled. */
#include "offline/eval/processor.h"

#include <cpuid.h>
#include <stdint.h>
#include <string.h>

static uint32_t os_states(void)
{
	uint32_t low, high;
	__asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
	return low;
}

void value_processor_look(struct value_processor *has)
{
	unsigned a, b, c, d;
	memset(has, 0, sizeof(*has));
	if (!__get_cpuid(1, &a, &b, &c, &d))
		return;
	has->ssse3 = c >> 9 & 1;
	has->sse42 = c >> 20 & 1;
	has->popcnt = c >> 23 & 1;
	has->movbe = c >> 22 & 1;
	has->aes = c >> 25 & 1;
	has->pclmul = c >> 1 & 1;
	const uint32_t states = c >> 27 & 1 ? os_states() : 0;
	has->avx = c >> 28 & 1 && (states & 6) == 6;
	has->fma = has->avx && c >> 12 & 1;
	has->f16c = has->avx && c >> 29 & 1;
	if (__get_cpuid_count(7, 0, &a, &b, &c, &d)) {
		has->avx2 = has->avx && b >> 5 & 1;
		has->bmi1 = b >> 3 & 1;
		has->bmi2 = b >> 8 & 1;
		has->adx = b >> 19 & 1;
		has->sha = b >> 29 & 1;
		const uint32_t basic = 1u << 16 | 1u << 17 | 1u << 28 | 1u << 30 | 1u << 31;
		has->avx512 = (states & 0xe6) == 0xe6 && (b & basic) == basic;
		has->ifma = b >> 21 & 1;
		has->vbmi = c >> 1 & 1;
		has->vbmi2 = c >> 6 & 1;
		has->vnni = c >> 11 & 1;
		has->bitalg = c >> 12 & 1;
		has->vpopcntdq = c >> 14 & 1;
	}
	if (__get_cpuid(0x80000001, &a, &b, &c, &d))
		has->lzcnt = c >> 5 & 1;
}

/* General instructions that only compute. Division is not here: it can fault. */
static bool base_allowed(ZydisMnemonic mnemonic)
{
	static const uint16_t list[] = {
		ZYDIS_MNEMONIC_ADC,	ZYDIS_MNEMONIC_ADD,	   ZYDIS_MNEMONIC_AND,
		ZYDIS_MNEMONIC_BSF,	ZYDIS_MNEMONIC_BSR,	   ZYDIS_MNEMONIC_BSWAP,
		ZYDIS_MNEMONIC_CBW,	ZYDIS_MNEMONIC_CDQ,	   ZYDIS_MNEMONIC_CDQE,
		ZYDIS_MNEMONIC_CLC,	ZYDIS_MNEMONIC_CMC,	   ZYDIS_MNEMONIC_CMP,
		ZYDIS_MNEMONIC_CMPXCHG, ZYDIS_MNEMONIC_CMPXCHG16B, ZYDIS_MNEMONIC_CMPXCHG8B,
		ZYDIS_MNEMONIC_CQO,	ZYDIS_MNEMONIC_CWD,	   ZYDIS_MNEMONIC_CWDE,
		ZYDIS_MNEMONIC_DEC,	ZYDIS_MNEMONIC_IMUL,	   ZYDIS_MNEMONIC_INC,
		ZYDIS_MNEMONIC_LAHF,	ZYDIS_MNEMONIC_MOV,	   ZYDIS_MNEMONIC_MOVSX,
		ZYDIS_MNEMONIC_MOVSXD,	ZYDIS_MNEMONIC_MOVZX,	   ZYDIS_MNEMONIC_MUL,
		ZYDIS_MNEMONIC_NEG,	ZYDIS_MNEMONIC_NOT,	   ZYDIS_MNEMONIC_OR,
		ZYDIS_MNEMONIC_RCL,	ZYDIS_MNEMONIC_RCR,	   ZYDIS_MNEMONIC_ROL,
		ZYDIS_MNEMONIC_ROR,	ZYDIS_MNEMONIC_SAHF,	   ZYDIS_MNEMONIC_SALC,
		ZYDIS_MNEMONIC_SAR,	ZYDIS_MNEMONIC_SBB,	   ZYDIS_MNEMONIC_SHL,
		ZYDIS_MNEMONIC_SHLD,	ZYDIS_MNEMONIC_SHR,	   ZYDIS_MNEMONIC_SHRD,
		ZYDIS_MNEMONIC_STC,	ZYDIS_MNEMONIC_SUB,	   ZYDIS_MNEMONIC_TEST,
		ZYDIS_MNEMONIC_XADD,	ZYDIS_MNEMONIC_XCHG,	   ZYDIS_MNEMONIC_XOR,
		ZYDIS_MNEMONIC_BT,	ZYDIS_MNEMONIC_BTC,	   ZYDIS_MNEMONIC_BTR,
		ZYDIS_MNEMONIC_BTS,
	};
	for (size_t i = 0; i < sizeof(list) / sizeof(*list); i++)
		if (list[i] == mnemonic)
			return true;
	return false;
}

static bool avx512_allowed(const struct value_processor *has, ZydisISASet set)
{
	switch (set) {
	case ZYDIS_ISA_SET_AVX512F_128:
	case ZYDIS_ISA_SET_AVX512F_128N:
	case ZYDIS_ISA_SET_AVX512F_256:
	case ZYDIS_ISA_SET_AVX512F_512:
	case ZYDIS_ISA_SET_AVX512F_KOP:
	case ZYDIS_ISA_SET_AVX512F_SCALAR:
	case ZYDIS_ISA_SET_AVX512BW_128:
	case ZYDIS_ISA_SET_AVX512BW_128N:
	case ZYDIS_ISA_SET_AVX512BW_256:
	case ZYDIS_ISA_SET_AVX512BW_512:
	case ZYDIS_ISA_SET_AVX512BW_KOP:
	case ZYDIS_ISA_SET_AVX512DQ_128:
	case ZYDIS_ISA_SET_AVX512DQ_128N:
	case ZYDIS_ISA_SET_AVX512DQ_256:
	case ZYDIS_ISA_SET_AVX512DQ_512:
	case ZYDIS_ISA_SET_AVX512DQ_KOP:
	case ZYDIS_ISA_SET_AVX512DQ_SCALAR:
	case ZYDIS_ISA_SET_AVX512CD_128:
	case ZYDIS_ISA_SET_AVX512CD_256:
	case ZYDIS_ISA_SET_AVX512CD_512:
		return has->avx512;
	case ZYDIS_ISA_SET_AVX512_IFMA_128:
	case ZYDIS_ISA_SET_AVX512_IFMA_256:
	case ZYDIS_ISA_SET_AVX512_IFMA_512:
		return has->avx512 && has->ifma;
	case ZYDIS_ISA_SET_AVX512_VBMI_128:
	case ZYDIS_ISA_SET_AVX512_VBMI_256:
	case ZYDIS_ISA_SET_AVX512_VBMI_512:
		return has->avx512 && has->vbmi;
	case ZYDIS_ISA_SET_AVX512_VBMI2_128:
	case ZYDIS_ISA_SET_AVX512_VBMI2_256:
	case ZYDIS_ISA_SET_AVX512_VBMI2_512:
		return has->avx512 && has->vbmi2;
	case ZYDIS_ISA_SET_AVX512_VNNI_128:
	case ZYDIS_ISA_SET_AVX512_VNNI_256:
	case ZYDIS_ISA_SET_AVX512_VNNI_512:
		return has->avx512 && has->vnni;
	case ZYDIS_ISA_SET_AVX512_BITALG_128:
	case ZYDIS_ISA_SET_AVX512_BITALG_256:
	case ZYDIS_ISA_SET_AVX512_BITALG_512:
		return has->avx512 && has->bitalg;
	case ZYDIS_ISA_SET_AVX512_VPOPCNTDQ_128:
	case ZYDIS_ISA_SET_AVX512_VPOPCNTDQ_256:
	case ZYDIS_ISA_SET_AVX512_VPOPCNTDQ_512:
		return has->avx512 && has->vpopcntdq;
	default:
		return false;
	}
}

bool value_processor_computes(const struct value_processor *has, const ZydisDecodedInstruction *zi)
{
	switch (zi->mnemonic) {
	case ZYDIS_MNEMONIC_MASKMOVDQU: /* writes to a place of its own */
	case ZYDIS_MNEMONIC_MASKMOVQ:
	case ZYDIS_MNEMONIC_VMASKMOVDQU:
	case ZYDIS_MNEMONIC_LDMXCSR:
	case ZYDIS_MNEMONIC_STMXCSR:
	case ZYDIS_MNEMONIC_VLDMXCSR:
	case ZYDIS_MNEMONIC_VSTMXCSR:
	case ZYDIS_MNEMONIC_VZEROALL:
	case ZYDIS_MNEMONIC_VZEROUPPER:
	case ZYDIS_MNEMONIC_FXSAVE:
	case ZYDIS_MNEMONIC_FXSAVE64:
	case ZYDIS_MNEMONIC_FXRSTOR:
	case ZYDIS_MNEMONIC_FXRSTOR64:
		return false;
	default:
		break;
	}
	switch (zi->meta.isa_ext) {
	case ZYDIS_ISA_EXT_BASE:
	case ZYDIS_ISA_EXT_LONGMODE:
		return base_allowed(zi->mnemonic) || zi->meta.category == ZYDIS_CATEGORY_CMOV ||
		       zi->meta.category == ZYDIS_CATEGORY_SETCC;
	case ZYDIS_ISA_EXT_SSE:
	case ZYDIS_ISA_EXT_SSE2:
	case ZYDIS_ISA_EXT_SSE3:
	case ZYDIS_ISA_EXT_X87:
	case ZYDIS_ISA_EXT_MMX:
		return true;
	case ZYDIS_ISA_EXT_SSSE3:
		return has->ssse3;
	case ZYDIS_ISA_EXT_SSE4:
		return zi->mnemonic == ZYDIS_MNEMONIC_POPCNT ? has->popcnt : has->sse42;
	case ZYDIS_ISA_EXT_AVX:
		return has->avx;
	case ZYDIS_ISA_EXT_AVX2:
		return has->avx2;
	case ZYDIS_ISA_EXT_BMI1:
		return has->bmi1;
	case ZYDIS_ISA_EXT_BMI2:
		return has->bmi2;
	case ZYDIS_ISA_EXT_LZCNT:
		return has->lzcnt;
	case ZYDIS_ISA_EXT_ADOX_ADCX:
		return has->adx;
	case ZYDIS_ISA_EXT_AES:
		return has->aes;
	case ZYDIS_ISA_EXT_SHA:
		return has->sha;
	case ZYDIS_ISA_EXT_AVXAES:
		return has->aes && has->avx;
	case ZYDIS_ISA_EXT_PCLMULQDQ:
		return has->pclmul &&
		       (zi->encoding == ZYDIS_INSTRUCTION_ENCODING_LEGACY || has->avx);
	case ZYDIS_ISA_EXT_FMA:
		return has->fma;
	case ZYDIS_ISA_EXT_F16C:
		return has->f16c;
	case ZYDIS_ISA_EXT_MOVBE:
		return has->movbe;
	case ZYDIS_ISA_EXT_AVX512EVEX:
	case ZYDIS_ISA_EXT_AVX512VEX:
		return avx512_allowed(has, zi->meta.isa_set);
	default:
		return false;
	}
}
