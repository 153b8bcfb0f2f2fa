# Pugmark. `make` builds, `make check` tests, `make demo` shows; see README.md.
# Variables: V=1 (show commands), SAN=1 (ASan and UBSan), CC=clang, DEBUG=1 (no optimisation).

VERSION := 0.1.0
BUILD ?= build
CC ?= gcc
PREFIX ?= /usr/local

PKGS := libelf libdw libzstd zlib jansson
CPPFLAGS += -Iinclude -I. -I$(BUILD) -D_GNU_SOURCE -DPUGMARK_VERSION='"$(VERSION)"' \
	    $(shell pkg-config --cflags $(PKGS) 2>/dev/null)
CFLAGS ?= -O2 -g
CFLAGS += -std=gnu17 -Wall -Wextra -Werror -fPIC -MMD -MP
LDLIBS += $(shell pkg-config --libs $(PKGS) 2>/dev/null) -lZydis -liberty -lm -lpthread
ifdef DEBUG
CFLAGS += -O0
endif
ifdef SAN
BUILD := build/san
CFLAGS += -fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer
LDFLAGS += -fsanitize=address,undefined
endif

ifeq ($(V),1)
Q :=
say = @:
else
Q := @
say = @printf '  %-7s %s\n'
endif

LIB_SRC := $(wildcard offline/*.c)
USER_SRC := $(wildcard user/*.c)
UNIT_SRC := $(wildcard tests/unit/test_*.c)
LIB_OBJ := $(LIB_SRC:%.c=$(BUILD)/%.o)
USER_OBJ := $(USER_SRC:%.c=$(BUILD)/%.o)
UNIT_BIN := $(UNIT_SRC:tests/unit/%.c=$(BUILD)/tests/%)

.DELETE_ON_ERROR:
.PHONY: all check-unit clean
all: $(BUILD)/pugmark $(BUILD)/libpugmark.a

$(BUILD)/%.o: %.c
	@mkdir -p $(@D)
	$(say) CC $<
	$(Q)$(CC) $(CPPFLAGS) $(CFLAGS) -c $< -o $@

$(BUILD)/libpugmark.a: $(LIB_OBJ)
	$(say) AR $@
	$(Q)rm -f $@ && $(AR) rcs $@ $^

$(BUILD)/pugmark: $(USER_OBJ) $(BUILD)/libpugmark.a
	$(say) LINK $@
	$(Q)$(CC) $(LDFLAGS) -o $@ $^ $(LDLIBS)

$(BUILD)/tests/%: tests/unit/%.c $(BUILD)/libpugmark.a
	@mkdir -p $(@D)
	$(say) LINK $@
	$(Q)$(CC) $(CPPFLAGS) $(CFLAGS) $(LDFLAGS) -o $@ $< $(BUILD)/libpugmark.a $(LDLIBS) -lcmocka

check-unit: $(UNIT_BIN)
	$(Q)for t in $(UNIT_BIN); do $$t || exit 1; done

clean:
	$(Q)rm -rf build

-include $(LIB_OBJ:.o=.d) $(USER_OBJ:.o=.d)
-include tests/oracle/oracle.mk
