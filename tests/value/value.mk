# The evaluator against the processor (truth), a recording against it (recorded; beside, of a process
# that is attached to), one executed again
# (rerun), and how much of the distribution's code has semantics (coverage).
VALUE_NAMES := truth recorded beside hurt rerun coverage slices naive_slices served
VALUE_TOOLS := $(addprefix $(BUILD)/value/,$(VALUE_NAMES))
VALUE_SHARED := stepped followed chance
VALUE_ENTRY := $(addprefix $(BUILD)/user/values/stop/,aux_vector.o entry_trap.o hidden_vdso.o)

.PHONY: value-tools check-value check-value-quick check-value-truth check-value-beside check-value-wide check-value-served value-coverage check-slices check-slices-programs check-slices-quick slices-tools
value-tools: $(VALUE_TOOLS)

$(BUILD)/value/truth: $(BUILD)/tests/value/stepped.o $(VALUE_ENTRY)
$(BUILD)/value/recorded: $(VALUE_SHARED:%=$(BUILD)/tests/value/%.o) $(VALUE_ENTRY)
$(BUILD)/value/beside: $(VALUE_SHARED:%=$(BUILD)/tests/value/%.o) $(VALUE_ENTRY)
$(BUILD)/value/naive_slices: $(BUILD)/tests/value/naive_insn.o
$(BUILD)/value/%: $(BUILD)/tests/value/%.o $(BUILD)/libpugmark.a
	@mkdir -p $(@D)
	$(say) LINK $@
	$(Q)$(LINK) -o $@ $^ $(LDLIBS)

# Ten thousand to a hundred thousand instructions of each of four programs.
check-value-quick: value-tools $(BUILD)/pugmark
	$(Q)PUGMARK=$(abspath $(BUILD)/pugmark) TOOLS=$(abspath $(BUILD)/value) tests/value/check.sh --quick
	$(Q)PUGMARK=$(abspath $(BUILD)/pugmark) TOOLS=$(abspath $(BUILD)/value) tests/value/truth.sh --quick

# A million of each.
check-value: value-tools $(BUILD)/pugmark ## the evaluator's every register against the processor
	$(Q)PUGMARK=$(abspath $(BUILD)/pugmark) TOOLS=$(abspath $(BUILD)/value) tests/value/check.sh

# Recordings of eighteen programs, a million instructions of each.
check-value-truth: value-tools $(BUILD)/pugmark ## recordings of values against the processor, each instruction
	$(Q)PUGMARK=$(abspath $(BUILD)/pugmark) TOOLS=$(abspath $(BUILD)/value) tests/value/truth.sh

# The same of servers that are attached to, in one and the same run.
check-value-beside: value-tools $(BUILD)/pugmark ## redis and nginx, attached to, against the processor, each instruction
	$(Q)PUGMARK=$(abspath $(BUILD)/pugmark) TOOLS=$(abspath $(BUILD)/value) tests/value/beside.sh

check-value-wide: value-tools $(BUILD)/pugmark ## recordings of ten programs of the archive by lot (WIDE_SEED=20) against the processor
	$(Q)PUGMARK=$(abspath $(BUILD)/pugmark) TOOLS=$(abspath $(BUILD)/value) tests/wide/valued.py --seed $(WIDE_SEED)

# redis and nginx, attached to: what they send, as the replay has it, against what a client receives.
check-value-served: value-tools $(BUILD)/pugmark ## replays of attached servers against what their clients received
	$(Q)PUGMARK=$(abspath $(BUILD)/pugmark) TOOLS=$(abspath $(BUILD)/value) tests/value/served.sh

# At most 2,000 of the programs and libraries that are here: nothing is executed.
value-coverage: $(BUILD)/value/coverage ## how much of the code of the programs here the evaluator has semantics for
	$(Q)find /usr/bin /usr/sbin /usr/lib/*-linux-gnu /usr/libexec -type f \( -perm -1 -o -name '*.so*' \) 2>/dev/null | \
		sort | head -n 2000 | xargs -d '\n' -n 2000 $(BUILD)/value/coverage -m | head -n 20

# Lua as the oracle has it, in one thread.
$(BUILD)/value/lua_host: tests/oracle/hosts/liblua.c tests/value/same_thread.c
	@mkdir -p $(@D)
	$(say) LINK $@
	$(Q)$(CC) -O2 -g -w -no-pie -o $@ $^ -l:liblua5.4.a -lm -ldl

$(BUILD)/value/fresh_malloc.so: tests/value/fresh_malloc.c
	@mkdir -p $(@D)
	$(say) LINK $@
	$(Q)$(CC) -O2 -fno-builtin -shared -fPIC -o $@ $<

# Slices against a naive slicer over QEMU's trace. About half a minute.
slices-tools: value-tools $(BUILD)/value/fresh_malloc.so $(BUILD)/pugmark $(BUILD)/oracle/deptrace.so \
		$(if $(call has_archive,liblua5.4),$(BUILD)/value/lua_host) \
		$(if $(call has_archive,libsqlite3),$(BUILD)/oracle/libsqlite)
RUN_SLICES = PUGMARK=$(abspath $(BUILD)/pugmark) TOOLS=$(abspath $(BUILD)/value) ORACLE=$(abspath $(BUILD)/oracle)
check-slices: slices-tools ## slices against QEMU and a naive slicer
	$(Q)$(RUN_SLICES) sh -c 'tests/value/slices.sh gzip bc lua sqlite && tests/value/slices_redis.sh'
# But redis, which is to run with nothing beside it.
check-slices-programs: slices-tools
	$(Q)$(RUN_SLICES) tests/value/slices.sh gzip bc lua sqlite
# Of gzip alone.
check-slices-quick: slices-tools
	$(Q)$(RUN_SLICES) tests/value/slices.sh gzip

-include $(patsubst %,$(BUILD)/tests/value/%.d,$(VALUE_NAMES) $(VALUE_SHARED) naive_insn)
