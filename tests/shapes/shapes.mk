# What a probe does to instructions: every shape that occurs in Debian's code, with and without one.
SHAPES_BIN := $(addprefix $(BUILD)/shapes/,gather check)
TEST_OBJ += $(BUILD)/tests/shapes/gather.o $(BUILD)/tests/shapes/check.o

.PHONY: shapes check-probe-shapes check-probe-shapes-quick known-shapes
shapes: $(SHAPES_BIN)

$(BUILD)/tests/shapes/check.o: | $(BPF_SKEL)
$(SHAPES_BIN): $(BUILD)/shapes/%: $(BUILD)/tests/shapes/%.o $(TEST_LIBS)
	@mkdir -p $(@D)
	$(say) LINK $@
	$(Q)$(LINK) -o $@ $< $(TEST_LIBS) $(LDLIBS)

# All of them, and each combination of prefixes on what the kernel emulates; two minutes.
check-probe-shapes: $(BUILD)/shapes/check ## every shape of instruction with and without a probe
	$(Q)tests/shapes/check.sh $(BUILD)/shapes/check -p

# Each twentieth, in seconds.
check-probe-shapes-quick: $(BUILD)/shapes/check
	$(Q)tests/shapes/check.sh $(BUILD)/shapes/check -s 20

# The table of what is unharmed, anew: after tests/shapes/seen.txt has grown, or for another kernel.
known-shapes: $(BUILD)/shapes/check
	$(Q)$(BUILD)/shapes/check -w offline/code/known_shapes.inc -r offline/code/refused_shapes.inc tests/shapes/seen.txt tests/shapes/others.txt; tests/shapes/sample.sh
