# SPDX-License-Identifier: GPL-2.0
# bpf.mk: compiles bpf/*.bpf.c and makes a libbpf skeleton of each in $(BUILD)/bpf/.

CLANG ?= clang
BPFTOOL ?= $(shell command -v bpftool 2>/dev/null || echo /usr/sbin/bpftool)
BPF_ARCH ?= x86_64
BPF_CFLAGS := -O2 -g -Wall -Wextra -Wno-unused-parameter -Werror -target bpf -mcpu=v3 -D__TARGET_ARCH_x86 \
	      -Ivmlinux/$(BPF_ARCH) -Iinclude -I. -MMD -MP $(shell pkg-config --cflags libbpf 2>/dev/null)
BPF_SRC := $(wildcard bpf/*.bpf.c)
BPF_SKEL := $(BPF_SRC:bpf/%.bpf.c=$(BUILD)/bpf/%.skel.h)

$(BUILD)/bpf/%.bpf.o: bpf/%.bpf.c bpf/bpf.mk
	@mkdir -p $(@D)
	$(say) BPF $<
	$(Q)$(CLANG) $(BPF_CFLAGS) -c $< -o $@

$(BUILD)/bpf/%.skel.h: $(BUILD)/bpf/%.bpf.o
	$(say) SKEL $@
	$(Q)$(BPFTOOL) gen skeleton $< name $*_bpf > $@

# Every object of user/ may include a skeleton, and so does a test.
$(USER_OBJ) $(BUILD)/tests/unit/kernel/test_probe_frames.o: | $(BPF_SKEL)

-include $(BPF_SRC:bpf/%.bpf.c=$(BUILD)/bpf/%.bpf.d)
