# The independent oracle: what programs executed, by QEMU, against the model and the dump.
ORACLE_BIN := $(addprefix $(BUILD)/oracle/,edges calls blocks compare blocktrace.so deptrace.so)
ORACLE_CFLAGS := -std=gnu17 -O2 -g -Wall -Wextra -Wno-unused-parameter -Werror -D_GNU_SOURCE
ORACLE_COMMON := $(addprefix tests/oracle/,flow.c model_text.c module.c trace.c)
ORACLE_HEADERS := $(wildcard tests/oracle/*.h)

# Programs around static libraries, as the distribution has them, where it has them.
HOST_CFLAGS := -std=gnu17 -O2 -g -Wall -Wextra -Werror -D_GNU_SOURCE
has_archive = $(filter /%,$(shell $(CC) -print-file-name=$(1).a))
STATIC_HOSTS := $(addprefix $(BUILD)/oracle/,$(if $(call has_archive,liblua5.4),liblua) \
		$(if $(call has_archive,libbz2),libbz2) $(if $(call has_archive,libsqlite3),libsqlite))
# Functions whose addresses only offsets or words that are not aligned hold; clang's and Free Pascal's
# where these are installed.
WEAK_HOSTS := $(addprefix $(BUILD)/oracle/,offsets offsets_place offsets_fixed packed packed_calls)
# Calls of registers, and jump tables of 64-bit distances: code that may lie anywhere.
CLANG := $(firstword $(shell command -v clang clang-14))
MODEL_HOSTS := $(addprefix $(BUILD)/oracle/code_model_,large large_place $(if $(CLANG),clang_large))
$(BUILD)/oracle/code_model_large: MODEL_CC := $(CC) -fno-pie -no-pie
$(BUILD)/oracle/code_model_large_place: MODEL_CC := $(CC) -fpie -pie
$(BUILD)/oracle/code_model_clang_large: MODEL_CC := $(CLANG) -fpie -pie
# Nested functions, of GCC alone.
GCC := $(firstword $(shell command -v gcc))
CLANGXX := $(firstword $(shell command -v clang++ clang++-14))
ORACLE_HOSTS := $(STATIC_HOSTS) $(WEAK_HOSTS) $(MODEL_HOSTS) $(BUILD)/oracle/leaves $(BUILD)/oracle/put_back $(BUILD)/oracle/thread_ends \
		$(if $(GCC),$(BUILD)/oracle/nested_gotos) $(if $(CLANGXX),$(BUILD)/oracle/relative_vtables) \
		$(if $(shell command -v fpc),$(BUILD)/oracle/packed_records)
$(BUILD)/oracle/offsets: WEAK_FLAGS := -DFROM=1
$(BUILD)/oracle/offsets_place: WEAK_FLAGS := -DFROM=2
$(BUILD)/oracle/offsets_fixed: WEAK_FLAGS := -DFROM=3 -no-pie
$(BUILD)/oracle/packed: WEAK_FLAGS := -no-pie
$(BUILD)/oracle/packed_calls: WEAK_FLAGS := -DCALLS -no-pie
$(BUILD)/oracle/liblua: HOST_LIBS := -no-pie -l:liblua5.4.a -lm -ldl -lpthread
$(BUILD)/oracle/libbz2: HOST_LIBS := -l:libbz2.a
$(BUILD)/oracle/libsqlite: HOST_LIBS := -l:libsqlite3.a -lm -ldl -lpthread -lz

.PHONY: oracle check-oracle check-oracle-quick check-oracle-self
oracle: $(ORACLE_BIN) $(ORACLE_HOSTS)

$(WEAK_HOSTS): tests/oracle/hosts/offsets.c tests/oracle/hosts/packed.c
	@mkdir -p $(@D)
	$(say) LINK $@
	$(Q)$(CC) -std=gnu17 -O1 -Wall -Wextra -Werror $(WEAK_FLAGS) -o $@ \
		tests/oracle/hosts/$(firstword $(subst _, ,$(@F))).c

$(MODEL_HOSTS): tests/oracle/hosts/code_models.c
	@mkdir -p $(@D)
	$(say) LINK $@
	$(Q)$(MODEL_CC) -std=gnu17 -O1 -Wall -Wextra -Werror -Wno-infinite-recursion -mcmodel=large -o $@ $<

$(BUILD)/oracle/nested_gotos: tests/oracle/hosts/nested_gotos.c
	@mkdir -p $(@D)
	$(say) LINK $@
	$(Q)$(GCC) -std=gnu17 -O1 -Wall -Wextra -Werror -z execstack -o $@ $<

$(BUILD)/oracle/put_back: tests/oracle/hosts/put_back.c
	@mkdir -p $(@D)
	$(say) LINK $@
	$(Q)$(CC) -std=gnu17 -O1 -Wall -Wextra -Werror -Wno-unknown-warning-option -Wno-infinite-recursion -o $@ $<

$(BUILD)/oracle/leaves: tests/oracle/hosts/leaves.c
	@mkdir -p $(@D)
	$(say) LINK $@
	$(Q)$(CC) -std=gnu17 -O2 -D_GNU_SOURCE -Wall -Wextra -Werror -Wno-format -Wno-format-extra-args -o $@ $<

$(BUILD)/oracle/thread_ends: tests/oracle/hosts/thread_ends.c
	@mkdir -p $(@D)
	$(say) LINK $@
	$(Q)$(CC) $(HOST_CFLAGS) -o $@ $< -pthread

$(BUILD)/oracle/relative_vtables: tests/oracle/hosts/relative_vtables.cc
	@mkdir -p $(@D)
	$(say) LINK $@
	$(Q)$(CLANGXX) -O1 -fexperimental-relative-c++-abi-vtables -o $@ $<

$(BUILD)/oracle/packed_records: tests/oracle/hosts/packed_records.pas
	@mkdir -p $(@D)/pascal
	$(say) LINK $@
	$(Q)fpc -O2 -FU$(@D)/pascal -o$@ $< >$(@D)/pascal/log 2>&1 || { cat $(@D)/pascal/log; false; }

$(STATIC_HOSTS): $(BUILD)/oracle/%: tests/oracle/hosts/%.c
	@mkdir -p $(@D)
	$(say) LINK $@
	$(Q)$(CC) $(HOST_CFLAGS) -o $@ $< $(HOST_LIBS)

$(BUILD)/oracle/edges $(BUILD)/oracle/calls $(BUILD)/oracle/blocks: $(BUILD)/oracle/%: tests/oracle/%.c $(ORACLE_COMMON) \
		$(ORACLE_HEADERS)
	@mkdir -p $(@D)
	$(say) LINK $@
	$(Q)$(CC) $(ORACLE_CFLAGS) -o $@ $< $(ORACLE_COMMON) -lcapstone -lelf

$(BUILD)/oracle/compare: tests/oracle/compare.c
	@mkdir -p $(@D)
	$(say) LINK $@
	$(Q)$(CC) $(ORACLE_CFLAGS) -o $@ $<

# QEMU's plugins.
$(BUILD)/oracle/blocktrace.so: tests/oracle/blocktrace.c tests/oracle/plugin_module.c \
		$(addprefix tests/oracle/,plugin_module.h plugin_tools.h qemu_plugin.h trace_format.h)
$(BUILD)/oracle/deptrace.so: tests/oracle/deptrace.c tests/oracle/qemu_plugin.h
$(BUILD)/oracle/blocktrace.so $(BUILD)/oracle/deptrace.so:
	@mkdir -p $(@D)
	$(say) LINK $@
	$(Q)$(CC) $(ORACLE_CFLAGS) -fPIC -shared -fvisibility=hidden -o $@ $(filter %.c,$^)

# Whether the oracle itself can be trusted.
check-oracle-self: $(ORACLE_BIN) $(BUILD)/pugmark
	$(Q)PUGMARK=$(abspath $(BUILD)/pugmark) TOOLS=$(abspath $(BUILD)/oracle) tests/oracle/selftest.sh

# Every program, a table, fails on any miss.
check-oracle: check-oracle-self ## models against other tools and real runs
	$(Q)PUGMARK=$(abspath $(BUILD)/pugmark) TOOLS=$(abspath $(BUILD)/oracle) tests/oracle/check.sh

# A subset that takes less than three minutes.
check-oracle-quick: check-oracle-self
	$(Q)PUGMARK=$(abspath $(BUILD)/pugmark) TOOLS=$(abspath $(BUILD)/oracle) tests/oracle/check.sh --quick
