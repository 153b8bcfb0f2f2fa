# Pugmark. `make help` lists what can be made; README.md says what it is.
#
# V=1       show the commands              CC=clang  build with clang
# SAN=1     ASan and UBSan                 DEBUG=1   no optimisation
# WERROR=   warnings do not stop the build
# Each of CC, SAN and DEBUG has a build folder of its own, so that they never mix.

VERSION := 0.1.0
SOVERSION := 0

ifeq ($(origin CC),default)
CC := gcc
endif
empty :=
space := $(empty) $(empty)
comma := ,
variant = $(subst $(space),-,$(strip $(if $(findstring clang,$(notdir $(CC))),clang) $(1) \
	  $(if $(DEBUG),debug)))
VARIANT := $(if $(FUZZ),fuzz,$(if $(COVER),cover,$(call variant,$(if $(SAN),san))))
BUILD := build$(VARIANT:%=/%)
SAN_BUILD := build/$(call variant,san)
JOBS ?= $(shell nproc)

PREFIX ?= /usr/local
BINDIR ?= $(PREFIX)/bin
LIBDIR ?= $(PREFIX)/lib
INCLUDEDIR ?= $(PREFIX)/include
MANDIR ?= $(PREFIX)/share/man
COMPLETIONDIR ?= $(PREFIX)/share/bash-completion/completions

# Without zstd, segments are compressed by zlib. It is asked for alone: pkg-config says nothing of any
# library where one is missing.
ZSTD := $(shell pkg-config --exists libzstd 2>/dev/null && echo libzstd)
PKGS := libelf libdw nettle $(ZSTD) zlib jansson libbpf
# What the command needs and the library does not.
COMMAND_LIBS := $(shell pkg-config --libs sqlite3 2>/dev/null || echo -lsqlite3) \
		$(shell pkg-config --libs ncursesw 2>/dev/null || echo -lncursesw -ltinfo)
CPPFLAGS += -Iinclude -I. -I$(BUILD) -D_GNU_SOURCE -DPUGMARK_VERSION=\"$(VERSION)\" \
	    $(if $(ZSTD),,-DPUGMARK_NO_ZSTD) $(shell pkg-config --cflags $(PKGS) 2>/dev/null)
# With sanitizers less: optimising what they add takes most of the time (exec.c: three minutes), and what
# an optimiser takes away they do not see.
CFLAGS ?= $(if $(DEBUG),-O0,$(if $(SAN),-Og,-O2)) -g
WERROR ?= -Werror
LDLIBS += $(shell pkg-config --libs $(PKGS) 2>/dev/null) -lZydis -liberty -lm -lpthread

# What a fault in a reader of others' files meets first; docs/security.md. Sanitizers have their own,
# and fortification needs an optimiser.
HARDEN := $(if $(SAN)$(FUZZ)$(COVER)$(DEBUG),,$(if $(filter -O0,$(CFLAGS)),,yes))
HARDEN_CFLAGS := $(if $(HARDEN),$(if $(filter -O%,$(CFLAGS)),-U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=3) \
		 -fstack-protector-strong -fstack-clash-protection -fcf-protection)
HARDEN_LDFLAGS := $(if $(HARDEN),-Wl$(comma)-z$(comma)relro -Wl$(comma)-z$(comma)now)
HARDEN_PROGRAM := $(if $(HARDEN),-pie)

# Arms of tagged unions are read under their own tag alone: asserted here (include/pugmark/plan.h, event.h).
CHECKED := $(if $(SAN)$(FUZZ)$(COVER)$(DEBUG),-DPUGMARK_CHECKED)

# What no command line takes away.
MODE_FLAGS :=
ifdef SAN
MODE_FLAGS += -fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer
# Under -Og gcc sees fewer conditions than it needs to say this truly.
MODE_FLAGS += $(if $(findstring clang,$(CC)),,-Wno-maybe-uninitialized)
endif
ifdef FUZZ # set by `make fuzz` alone
MODE_FLAGS += -fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=undefined
endif
ifdef COVER # set by `make fuzz-each` alone
MODE_FLAGS += -fprofile-instr-generate -fcoverage-mapping
endif
COMPILE = $(CC) $(CPPFLAGS) $(CHECKED) -std=gnu17 -Wall -Wextra $(WERROR) -fPIC -MMD -MP $(HARDEN_CFLAGS) $(CFLAGS) $(MODE_FLAGS)
LINK = $(CC) $(HARDEN_CFLAGS) $(CFLAGS) $(MODE_FLAGS) -Wl,--as-needed $(HARDEN_LDFLAGS) $(LDFLAGS)

ifeq ($(V),1)
Q :=
say = @:
else
Q := @
say = @printf '  %-7s %s\n'
endif

# Whatever lies in a room is built; tests/edges.txt has the rooms.
LIB_SRC := $(sort $(shell find offline -name '*.c'))
USER_SRC := $(sort $(shell find user -name '*.c'))
UNIT_SRC := $(sort $(shell find tests/unit -name 'test_*.c'))
FUZZ_SRC := $(wildcard tests/fuzz/fuzz_*.c)
LIB_OBJ := $(LIB_SRC:%.c=$(BUILD)/%.o)
USER_OBJ := $(USER_SRC:%.c=$(BUILD)/%.o)
TEST_OBJ := $(patsubst %.c,$(BUILD)/%.o,$(UNIT_SRC) $(FUZZ_SRC) tests/fuzz/replay.c \
	    tests/bench/measure.c tests/bench/sandbox_cost.c tests/bench/placing.c tests/bench/paths_cost.c tests/bench/encode_cost.c \
	    tests/bench/values_speed.c tests/bench/wet_speed.c $(wildcard tests/support/*.c))
UNIT_BIN := $(patsubst %.c,$(BUILD)/tests/%,$(notdir $(UNIT_SRC)))
FUZZ_NAMES := $(FUZZ_SRC:tests/fuzz/fuzz_%.c=%)
REPLAY_BIN := $(FUZZ_NAMES:%=$(BUILD)/tests/replay_%)
FUZZ_BIN := $(FUZZ_NAMES:%=$(BUILD)/tests/fuzz_%)
# What a test program may use: the library, and the command's own modules but for its main().
SUPPORT_OBJ := $(patsubst %.c,$(BUILD)/%.o,$(wildcard tests/support/*.c))
# Unit tests that `make check` runs once more with sanitizers, as san-NAME: not those that probe or ask
# for time, nor what takes minutes even of few programs. The others take fewer than without, and `make
# check-long` runs SAN_SAMPLED once more on LONG_SAN_COUNTS.
SAN_UNITS := $(filter-out $(addprefix test_,best_cost bindings budgets paths_real probe_frames ring seed walks_real), \
	     $(notdir $(UNIT_BIN)))
SAN_COUNTS := CASPER_PROGRAMS=60 CHECK_PROGRAMS=6 DAMAGE_STEP=17 NO_MEMORY_PROGRAMS=2 ODD_PROGRAMS=12 \
	      PLACEMENT_GRAPHS=400 PLACEMENT_SMALL=400 SHARE_PROGRAMS=5 SHORTCUT_PROGRAMS=12 UNRESOLVED_PROGRAMS=20 \
	      WALK_PROGRAMS=2 WALK_REGRESSIONS=7
LONG_SAN_COUNTS := CASPER_PROGRAMS=300 CHECK_PROGRAMS=30 NO_MEMORY_PROGRAMS=8 ODD_PROGRAMS=60 PLACEMENT_GRAPHS=2000 \
		   PLACEMENT_SMALL=2000 SHARE_PROGRAMS=25 SHORTCUT_PROGRAMS=60 UNRESOLVED_PROGRAMS=100 WALK_PROGRAMS=10
SAN_SAMPLED := $(addprefix test_,casper_naive damage no_memory paths placement plan_check share_odd shares shortcuts \
	       unresolved walks)
# Random programs of unit tests in `make check`; UNIT_SAMPLED go through all of theirs in `make check-long`.
UNIT_COUNTS := CHECK_PROGRAMS=1000 COST_PROGRAMS=2000 ODD_PROGRAMS=500 PLACEMENT_GRAPHS=5000 PLACEMENT_SMALL=5000 \
	       SHARE_PROGRAMS=800 SHORTCUT_PROGRAMS=100 WALK_PROGRAMS=1500
UNIT_SAMPLED := $(addprefix test_,best_cost paths placement plan_check share_odd shares shortcuts walks)
TEST_LIBS := $(BUILD)/libsupport.a $(BUILD)/libuser.a $(BUILD)/libpugmark.a

SHARED := libpugmark.so.$(VERSION)
SONAME := libpugmark.so.$(SOVERSION)

.DELETE_ON_ERROR:
.SECONDARY:
.DEFAULT_GOAL := all
.PHONY: all deps demo check check-all check-long check-long-all check-unit sanitized replay-bins san-unit-bins bench bench-static fuzz fuzz-run fuzz-each fuzz-bins fuzz-walks \
	install uninstall clean help FORCE

all: $(BUILD)/pugmark $(BUILD)/libpugmark.a $(BUILD)/libpugmark.so ## the command and the library

# --- compiling -------------------------------------------------------------------------------

$(BUILD)/%.o: %.c $(BUILD)/flags
	@mkdir -p $(@D)
	$(say) CC $<
	$(Q)$(COMPILE) -c $< -o $@

# Where planning spends its time.
$(foreach room,base elf code program choose plan,$(BUILD)/offline/$(room)/%.o): private CFLAGS += \
	$(if $(HARDEN),-O3 -fno-semantic-interposition)
# One large switch: with sanitizers and a fuzzer's counters clang optimises it for more than ten minutes.
$(BUILD)/offline/eval/exec.o: private CFLAGS += $(if $(FUZZ)$(COVER),-O0)

# What the page carries, as it is in the tree.
$(BUILD)/user/page/assets.o: user/page/app.css user/page/body.html $(wildcard user/page/*.js)

# Rewritten, and so everything rebuilt, only when the compiler or a flag is another one. By a name of this
# make's own: `make check` runs several side by side.
$(BUILD)/flags: FORCE
	@mkdir -p $(@D)
	@printf '%s\n' '$(COMPILE) $(LDFLAGS) $(LDLIBS)' >$@.$$PPID
	@if cmp -s $@.$$PPID $@; then rm $@.$$PPID; else mv $@.$$PPID $@; fi

$(BUILD)/libpugmark.a: $(LIB_OBJ)
$(BUILD)/libuser.a: $(filter-out $(BUILD)/user/cmd/main.o,$(USER_OBJ))
$(BUILD)/libsupport.a: $(SUPPORT_OBJ)
$(BUILD)/%.a:
	$(say) AR $@
	$(Q)rm -f $@ && $(AR) qcs $@ $^

$(BUILD)/$(SHARED): $(LIB_OBJ) offline/libpugmark.map
	$(say) LINK $@
	$(Q)$(LINK) -shared -Wl,-soname,$(SONAME) -Wl,--version-script=offline/libpugmark.map \
		$(if $(MODE_FLAGS),,-Wl,-z,defs) -o $@ $(LIB_OBJ) $(LDLIBS)

$(BUILD)/libpugmark.so: $(BUILD)/$(SHARED)
	$(Q)ln -sf $(SHARED) $(BUILD)/$(SONAME) && ln -sf $(SONAME) $@

$(BUILD)/pugmark: $(USER_OBJ) $(BUILD)/libpugmark.a
	$(say) LINK $@
	$(Q)$(LINK) $(HARDEN_PROGRAM) -o $@ $(USER_OBJ) $(BUILD)/libpugmark.a $(LDLIBS) $(COMMAND_LIBS)

# Each from its room's object.
$(foreach s,$(UNIT_SRC),$(eval $(BUILD)/tests/$(basename $(notdir $s)): $(BUILD)/$(s:.c=.o)))
$(UNIT_BIN): $(BUILD)/tests/test_%: $(TEST_LIBS)
	$(say) LINK $@
	$(Q)$(LINK) -o $@ $(filter %/$(@F).o,$^) $(TEST_LIBS) $(LDLIBS) $(COMMAND_LIBS) -lcmocka

$(BUILD)/tests/test_ring: private LDFLAGS += -Wl,--wrap=bpf_map_get_info_by_fd
$(BUILD)/tests/test_no_memory: private LDFLAGS += -Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc,--wrap=aligned_alloc

$(BUILD)/tests/replay_%: $(BUILD)/tests/fuzz/fuzz_%.o $(BUILD)/tests/fuzz/replay.o $(TEST_LIBS)
	$(say) LINK $@
	$(Q)$(LINK) -o $@ $(filter %.o,$^) $(TEST_LIBS) $(LDLIBS) $(COMMAND_LIBS)

$(BUILD)/tests/fuzz_%: $(BUILD)/tests/fuzz/fuzz_%.o $(TEST_LIBS)
	$(say) LINK $@
	$(Q)$(LINK) -fsanitize=fuzzer -o $@ $< $(TEST_LIBS) $(LDLIBS) $(COMMAND_LIBS)

$(BUILD)/tests/measure: $(BUILD)/tests/bench/measure.o
	$(say) LINK $@
	$(Q)$(LINK) -o $@ $^

$(BUILD)/tests/sandbox_cost: $(BUILD)/tests/bench/sandbox_cost.o $(TEST_LIBS)
	$(say) LINK $@
	$(Q)$(LINK) -o $@ $< $(TEST_LIBS) $(LDLIBS) $(COMMAND_LIBS)

$(BUILD)/tests/placing: $(BUILD)/tests/bench/placing.o
	$(say) LINK $@
	$(Q)$(LINK) -o $@ $^ $(LDLIBS)

$(BUILD)/tests/paths_cost: $(BUILD)/tests/bench/paths_cost.o $(BUILD)/libpugmark.a
	$(say) LINK $@
	$(Q)$(LINK) -o $@ $^ $(LDLIBS)

$(BUILD)/tests/encode_cost: $(BUILD)/tests/bench/encode_cost.o $(BUILD)/libpugmark.a
	$(say) LINK $@
	$(Q)$(LINK) -o $@ $^ $(LDLIBS)

$(BUILD)/tests/values_speed: $(BUILD)/tests/bench/values_speed.o $(BUILD)/libpugmark.a
	$(say) LINK $@
	$(Q)$(LINK) -o $@ $^ $(LDLIBS)

$(BUILD)/tests/wet_speed: $(BUILD)/tests/bench/wet_speed.o $(BUILD)/libpugmark.a
	$(say) LINK $@
	$(Q)$(LINK) -o $@ $^ $(LDLIBS)

# --- set-up, demonstration, tests --------------------------------------------------------------

# A machine that has all it needs may be offline; one that has not fails at what is missing.
try-deps = $(Q)scripts/deps.sh || echo 'deps: not everything could be installed; going on without' >&2
# Another make, because what is installed just now changes the flags that are read above.
remake = +$(Q)$(MAKE) --no-print-directory $(if $(filter -j%,$(MAKEFLAGS)),,-j$(JOBS))

deps: ## install what building and testing need (apt or dnf)
	$(Q)scripts/deps.sh

demo: ## all set-up, then a real program as Pugmark sees it
	$(try-deps)
	$(remake) all
	$(Q)scripts/demo.sh $(BUILD)/pugmark

check: ## all set-up, then every test, of some a sample
	$(try-deps)
	$(remake) check-all

# With sanitizers, whatever the rest is built with.
sanitized:
	$(Q)$(MAKE) --no-print-directory SAN=1 replay-bins $(if $(SAN),,san-unit-bins)
replay-bins: $(REPLAY_BIN)
san-unit-bins: $(SAN_UNITS:%=$(BUILD)/tests/%)
# Seconds that a test may take; sanitizers take several times as long.
limit = $(if $(SAN),$(1)0,$(1))
RUN_ENV = PUGMARK=$(abspath $(BUILD))/pugmark BUILD=$(abspath $(BUILD)) CC='$(CC)'

# They ask how long things take.
QUIET := $(patsubst %,tests/e2e/%.sh,overhead requests)
# They leave what any other recorder would take away (a killed one's patches), ask which of a server's
# requests are slow, or need races to be run often. Beside them is only what computes alone.
APART := $(patsubst %,tests/e2e/%.sh,carrier_attach runbooks safe_races)

# Checks that are targets of their own, and those that do more of it with LONG=1.
SAMPLES := $(addprefix check-,go-quick wide-quick programs-quick slices-quick exact-quick oracle-quick value-quick \
	   services-quick threads-quick shares-quick carrier-quick exact-paths-quick probe-shapes-quick)
LONG_TARGETS := $(addprefix check-,carrier-work exact-quick go-quick programs-quick slices-programs)
# Scripts of which `make check` has a sample, and all with LONG=1.
SAMPLED := $(patsubst %,tests/e2e/%.sh,attach_cycles attach_signal carrier caught export golang goroutine_numbers \
	   interposed loss modules objects opaque shares shares_apart signals values_hard why_channels)
SAMPLED_QUIET := $(patsubst %,tests/e2e/%.sh,requests safe_races)
# These take longest and are begun first, the short ones last: so no processor waits at the end.
LONGEST := $(patsubst %,tests/e2e/%.sh,values_one_processor goroutine_numbers why_channels carrier values_hidden values \
	   values_hard values_resting values_crossings)
as_target = -c $(1) '$(MAKE) --no-print-directory $(1)'
as_san = -c san-$(1:test_%=%) '$(2) $(SAN_BUILD)/tests/$(1)'
# Built before, so that none of those that run side by side builds anything.
CHECKED_TOOLS := $(addprefix $(BUILD)/tests/,measure sandbox_cost placing paths_cost encode_cost values_speed wet_speed) \
		 oracle shapes value-tools slices-tools

# What unit tests need is built beside the scripts, in the time that these wait.
BUILT_BESIDE = $(MAKE) --no-print-directory sanitized $(UNIT_BIN)
# Kept for all scripts: keep_shapes() of tests/support/claims.sh.
TRY_SHAPES = rm -rf $(BUILD)/tests/cache && XDG_CACHE_HOME=$(abspath $(BUILD))/tests/cache $(BUILD)/pugmark doctor >/dev/null
check-all: all $(CHECKED_TOOLS)
	-$(Q)$(TRY_SHAPES)
	+$(Q)$(RUN_ENV) $(UNIT_COUNTS) tests/run.sh -l $(BUILD)/tests/log -j $(JOBS) -i -t $(call limit,420) \
		$(LONGEST) $(foreach n,$(SAMPLES),$(call as_target,$(n))) \
		$(filter-out $(LONGEST) $(QUIET) $(APART),$(wildcard tests/e2e/*.sh)) tests/style.sh tests/edges.py \
		$(addprefix -r ,$(APART)) $(addprefix -q ,$(QUIET)) \
		-t 1800 -b build-beside '$(BUILT_BESIDE)' -t $(call limit,420) \
		$(if $(SAN),,$(foreach n,$(SAN_UNITS),$(call as_san,$(n),$(SAN_COUNTS)))) \
		$(UNIT_BIN) \
		$(foreach n,$(FUZZ_NAMES),-c replay-$(n) \
			'$(SAN_BUILD)/tests/replay_$(n) tests/fuzz/seeds/$(n) tests/fuzz/crashes/$(n)')

check-long: ## all of what `make check` has a sample of
	$(try-deps)
	$(remake) check-long-all

check-long-all: all sanitized $(UNIT_BIN) $(CHECKED_TOOLS)
	+$(Q)$(RUN_ENV) LONG=1 tests/run.sh -l $(BUILD)/tests/log-long -j $(JOBS) -i -t $(call limit,900) \
		$(foreach n,$(LONG_TARGETS),$(call as_target,$(n))) \
		$(if $(SAN),,$(foreach n,$(SAN_SAMPLED),$(call as_san,$(n),$(LONG_SAN_COUNTS)))) \
		$(foreach n,$(UNIT_SAMPLED),$(BUILD)/tests/$(n)) \
		$(SAMPLED) $(addprefix -q ,$(SAMPLED_QUIET) tests/value/slices_redis.sh)

check-unit: $(UNIT_BIN) ## the unit tests alone
	$(Q)$(RUN_ENV) tests/run.sh -l $(BUILD)/tests/log -j $(JOBS) -t $(call limit,240) $(UNIT_BIN)

check-runbooks: all ## docs/runbooks on ten random loads of redis, nginx and SQLite each
	$(Q)RUNBOOK_LOADS=10 $(RUN_ENV) tests/run.sh -t 900 tests/e2e/runbooks.sh

# --- measuring and fuzzing -----------------------------------------------------------------------

bench-static: all $(BUILD)/tests/measure $(BUILD)/tests/sandbox_cost ## speed, memory and plans of the static model
	$(Q)$(RUN_ENV) tests/bench/static.sh; a=$$?; $(RUN_ENV) tests/bench/plans.sh && exit $$a

bench: all $(addprefix $(BUILD)/tests/,measure sandbox_cost placing paths_cost encode_cost values_speed wet_speed) oracle ## every benchmark; also build/bench.json
	$(Q)$(RUN_ENV) tests/bench/run.sh $(BUILD)/bench.json tests/bench/static.sh tests/bench/plans.sh \
		$(wildcard tests/bench/bench_*.sh)

.PHONY: bench-recovery
bench-recovery: all $(BUILD)/tests/measure ## OLD=/path/to/pugmark: how fast this build recovers beside that older one
	$(Q)$(RUN_ENV) OLD='$(OLD)' tests/bench/bench_recovery.sh

FUZZ_SECONDS ?= 60
clang = $(if $(findstring clang,$(CC)),$(CC),clang)

FUZZ_WALKS ?= 200000

fuzz: ## libFuzzer on every target, FUZZ_SECONDS=60 in total; then millions of random walks
	$(remake) CC="$(clang)" FUZZ=1 fuzz-run
	$(remake) fuzz-walks

# FUZZ_WALKS over the model of each of seven real programs, in each of two modes; and as many random
# programs, with about ten walks each, from a seed that is another one each time and is printed.
fuzz-walks: $(BUILD)/tests/test_walks $(BUILD)/tests/test_walks_real
	$(Q)WALKS=$(FUZZ_WALKS) $(BUILD)/tests/test_walks_real
	$(Q)from=$$(date +%s); echo "WALK_FROM=$$from"; \
		WALK_FROM=$$from WALK_PROGRAMS=$(FUZZ_WALKS) $(BUILD)/tests/test_walks

# Half an hour of one processor: recovered is what ran, or there is a gap.
.PHONY: check-walks
check-walks: $(addprefix $(BUILD)/tests/,test_unresolved test_walks test_walks_real) ## two times 30,000 random programs with places that nothing tells, and a million walks of each of eight kinds
	$(Q)UNRESOLVED_PROGRAMS=30000 $(BUILD)/tests/test_unresolved
	$(Q)UNRESOLVED_FROM=6000000 UNRESOLVED_PROGRAMS=30000 $(BUILD)/tests/test_unresolved
	$(Q)WALK_PROGRAMS=100000 $(BUILD)/tests/test_walks
	$(Q)WALKS=143000 $(BUILD)/tests/test_walks_real

fuzz-run: $(FUZZ_BIN)
	$(Q)tests/fuzz/run.sh $(BUILD) $(FUZZ_SECONDS) $(FUZZ_NAMES)

# With FUZZ_NAMES="a b", these alone.
SECONDS ?= 600
fuzz-each: ## libFuzzer on each target for SECONDS=600, JOBS at once; build/cover/fuzz-each.txt: lines of its readers that ran
	$(remake) CC="$(clang)" FUZZ=1 fuzz-bins
	$(remake) CC="$(clang)" COVER=1 replay-bins
	$(Q)tests/fuzz/each.sh build/fuzz build/cover $(SECONDS) $(JOBS) $(FUZZ_NAMES)
fuzz-bins: $(FUZZ_BIN)

# --- installing ------------------------------------------------------------------------------------

define pugmark_pc
prefix=$(PREFIX)
libdir=$(LIBDIR)
includedir=$(INCLUDEDIR)

Name: pugmark
Description: static models of x86-64 programs and the traces recovered with them
Version: $(VERSION)
Libs: -L$${libdir} -lpugmark
Libs.private: $(strip $(LDLIBS))
Cflags: -I$${includedir}
endef
export pugmark_pc

MANS := $(wildcard docs/man/*.1)
HEADERS := $(wildcard include/pugmark/*.h)
D = $(DESTDIR)

install: all ## into DESTDIR and PREFIX (/usr/local)
	$(Q)install -d $(D)$(BINDIR) $(D)$(LIBDIR)/pkgconfig $(D)$(INCLUDEDIR)/pugmark \
		$(D)$(MANDIR)/man1 $(D)$(COMPLETIONDIR)
	$(Q)install -m 755 $(BUILD)/pugmark $(D)$(BINDIR)/pugmark
	$(Q)install -m 755 $(BUILD)/$(SHARED) $(D)$(LIBDIR)/$(SHARED)
	$(Q)ln -sf $(SHARED) $(D)$(LIBDIR)/$(SONAME)
	$(Q)ln -sf $(SONAME) $(D)$(LIBDIR)/libpugmark.so
	$(Q)install -m 644 $(BUILD)/libpugmark.a $(D)$(LIBDIR)/libpugmark.a
	$(Q)printf '%s\n' "$$pugmark_pc" >$(D)$(LIBDIR)/pkgconfig/pugmark.pc
	$(Q)install -m 644 $(HEADERS) $(D)$(INCLUDEDIR)/pugmark/
	$(Q)install -m 644 $(MANS) $(D)$(MANDIR)/man1/
	$(Q)install -m 644 docs/completion/pugmark.bash $(D)$(COMPLETIONDIR)/pugmark

uninstall: ## what `make install` placed there
	$(Q)rm -f $(D)$(BINDIR)/pugmark $(D)$(LIBDIR)/libpugmark.a $(D)$(LIBDIR)/libpugmark.so \
		$(D)$(LIBDIR)/$(SONAME) $(D)$(LIBDIR)/$(SHARED) $(D)$(LIBDIR)/pkgconfig/pugmark.pc \
		$(patsubst docs/man/%,$(D)$(MANDIR)/man1/%,$(MANS)) $(D)$(COMPLETIONDIR)/pugmark \
		$(HEADERS:include/%=$(D)$(INCLUDEDIR)/%)
	$(Q)if [ -d $(D)$(INCLUDEDIR)/pugmark ]; then rmdir $(D)$(INCLUDEDIR)/pugmark; fi

clean: ## every build folder
	$(Q)rm -rf build

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  %-17s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)
	@sed -n '3,5s/^# */  /p' Makefile

-include bpf/bpf.mk
-include tests/oracle/oracle.mk
-include tests/wide/wide.mk
-include tests/value/value.mk
-include tests/exact/exact.mk
-include tests/programs/programs.mk
-include tests/services/services.mk
-include tests/carrier/carrier.mk
-include tests/shapes/shapes.mk
-include tests/go/go.mk
-include tests/faults/faults.mk
-include tests/slurm/slurm.mk
-include tests/shares/shares.mk
-include $(patsubst %.o,%.d,$(LIB_OBJ) $(USER_OBJ) $(TEST_OBJ))
