# SPDX-License-Identifier: Apache-2.0
# One non-recursive build. Each folder's module.mk says what it makes and what it may include; tests/check.mk and config/install.mk are
# commands: how to run, and how to install.
#
#   make            build everything into $(B); on a bare machine `make deps` before
#   make demo       install what is missing, build, run the whole line on SUMO for DEMO_SECONDS of simulated time
#   make check      install what is missing, build, test; FULL=1: also the long tests, sanitizers, a bare Debian
#   make soak       the demo with every bridge for SOAK_SECONDS (1800): nothing grows; FULL=1: all long runs, for hours
#   make bench      measure (BENCH=name,... for a part) into $(B)/bench.json
#   make install    DESTDIR= PREFIX=
#   make help       the rest: dist, fuzz, tests, run-tests, deps, clean, and the switches
MAKEFLAGS += --no-builtin-rules
.SUFFIXES:
.DELETE_ON_ERROR:
.DEFAULT_GOAL := all
ifdef STAGE_TIMES
SHELL := $(CURDIR)/tools/dev/timed-sh
endif

# SAN=address,undefined or SAN=thread builds beside the plain one; the iceoryx module is left out there, as their run-time
# libraries cannot be in one process with it. SAN=undefined alone needs none: it traps (SIGILL), with iceoryx as well.
comma   := ,
SAN     ?=
B       ?= build$(if $(SAN),-$(subst $(comma),-,$(SAN)))
PREFIX  ?= /usr/local
DESTDIR ?=
CC      ?= gcc
ifeq ($(origin CC),default)
CC      := gcc
endif
AR      ?= ar
OPT     ?= -O2
WERROR  ?=

# Semantic, as CHANGELOG.md explains, and stated nowhere else. The loader is asked for the major number: libsimclient.so.0.
VERSION   := 0.1.0
SOVERSION := $(firstword $(subst ., ,$(VERSION)))

WARN := -std=gnu17 -Wall -Wextra -Wshadow -Wconversion -Wstrict-prototypes -Wmissing-prototypes -Wundef \
	-Wvla -Wformat=2 -Wimplicit-fallthrough $(if $(WERROR),-Werror)
SAN_RUNTIME := $(filter-out undefined,$(SAN))
SAN_FLAGS := $(if $(SAN),-fsanitize=$(SAN) -fno-omit-frame-pointer \
	$(if $(SAN_RUNTIME),-fno-sanitize-recover=all,-fsanitize-undefined-trap-on-error))
BASEFLAGS := -g -fPIC -fvisibility=hidden -fno-common -pthread -D_GNU_SOURCE \
	-DSIM_VERSION='"$(VERSION)"' $(SAN_FLAGS)
CFLAGS  ?=
LDFLAGS ?=
# What building needs is looked for once in each build folder, before a compiler's error says less; these goals do without it, or install it
# themselves. With a sanitizer less is built.
NEEDS_NOTHING := bench check clean demo deps dist first-contact fuzz help one-thread soak uninstall
ifneq ($(if $(SAN)$(filter deps,$(MAKECMDGOALS)),,$(filter-out $(NEEDS_NOTHING),$(or $(MAKECMDGOALS),all))),)
ifneq ($(shell [ $(B)/needs -nt tools/dev/deps.sh ] || { CC='$(CC)' CFLAGS='$(CFLAGS)' tools/dev/deps.sh look && mkdir -p $(B) && touch $(B)/needs; } || echo no),)
$(error what is needed to build is missing: run `make deps`, which installs it (as root, or with sudo), and make again)
endif
endif
# _FORTIFY_SOURCE needs optimisation, and some distributions' compilers define it themselves, perhaps higher
macros  := $(shell $(CC) $(OPT) $(CFLAGS) -dM -E -x c /dev/null 2>/dev/null | grep -oE '__OPTIMIZE__|_FORTIFY_SOURCE|__x86_64__')
FORTIFY := $(if $(filter __OPTIMIZE__,$(macros)),$(if $(filter _FORTIFY_SOURCE,$(macros))$(SAN_RUNTIME),,-D_FORTIFY_SOURCE=2))
HARDEN  := -fstack-protector-strong $(FORTIFY) $(if $(filter __x86_64__,$(macros)),-fcf-protection)
HARDEN_LINK := -Wl,-z,relro,-z,now
ALL_CFLAGS  = $(WARN) $(BASEFLAGS) $(HARDEN) $(OPT) $(CFLAGS)
ALL_LDFLAGS = -pthread $(HARDEN_LINK) $(if $(SAN_RUNTIME),-fsanitize=$(SAN)) $(LDFLAGS)
# Objects are made again when what they are compiled with has changed.
compiled_with := $(strip $(CC) $(filter-out -Werror,$(ALL_CFLAGS)))
ifneq ($(file <$(B)/flags),$(compiled_with))
$(shell mkdir -p $(B))$(file >$(B)/flags,$(compiled_with))
endif

# Include paths enforce the arrows: INC_<folder> of the longest matching prefix of up to three words.
split = $(subst /, ,$(1))
join2 = $(word 1,$(call split,$(1)))/$(word 2,$(call split,$(1)))
join3 = $(call join2,$(1))/$(word 3,$(call split,$(1)))
inc_of = $(or $(INC_$(call join3,$(1))),$(INC_$(call join2,$(1))),$(INC_$(word 1,$(call split,$(1)))))
# Extra flags of one object: FLAGS_<path/file.c>
# Tests keep their assertions in every kind of build.
# and no optimisation of their own: they are half of what is compiled, and run no longer for it; but for benches, and under sanitizers
# for what computes much itself. -g1, lines without variables, is a quarter off what compiling them takes.
test_opt = $(if $(filter tests/bench/% $(if $(SAN_RUNTIME),tests/support/% tests/unit/linktime/% tests/unit/world/%),$(1)),,-O0 -g1 -U_FORTIFY_SOURCE -Wno-format-nonliteral -Wno-unknown-warning-option -Wno-format-truncation)
flags_of = $(if $(filter tests/%,$(1)),-UNDEBUG $(test_opt)) $(FLAGS_$(1)) $(FLAGS_$(patsubst %/,%,$(dir $(1))))

# Filled by the module.mk files.
PROGRAMS :=   # installed programs, $(B)/bin/...
LIBS     :=   # libraries, plug-ins
TESTS    :=   # test programs and scripts, run by make check
TESTS_NS :=   # the same, run in namespaces of their own: those that start RouDi, listen, or use fixed names
TESTS_FULL  := # of both: those that make check leaves to FULL=1 (tests/README.md says by which rule)
TESTS_FAULT :=  # long ones that kill and restart things: with FULL=1 only, in namespaces
TESTS_SOAK :=  # of all these: those that a number in the environment makes long, for make soak (SOAK_* below)
TESTS_NOSAN :=  # of TESTS: those that a sanitizer cannot run
# LIMIT_<basename> := seconds, where 300 do not suffice
CHECKS   :=   # scripts that look at the tree and at what was built
FUZZERS  :=   # tests/fuzz/fuzz_<name>.c; FUZZ_LIBS_<name> the archives it needs
EXAMPLES :=   # example programs
INTERNAL :=   # helper programs that are built but not installed
TEST_PROGRAMS := # what tests start; no part of `all`, which needs nothing that only they need
BENCH_PROGRAMS := # what `make bench` starts
GENERATED :=  # stamps of generated headers, made before anything that could include them

include schemas/module.mk libclient/module.mk daemon/module.mk tools/module.mk tests/module.mk

MANUALS := $(foreach p,$(sort $(shell find config daemon libclient schemas tools -name '*.[1-8].scd' 2>/dev/null)),$(B)/man/$(basename $(notdir $(p))))

all: $(LIBS) $(PROGRAMS) $(INTERNAL) $(EXAMPLES) $(MANUALS)

$(B)/obj/%.o: %.c $(B)/flags | $(GENERATED)
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) $(call inc_of,$<) $(call flags_of,$<) -MMD -MP -c $< -o $@

$(B)/lib/%.a:
	@mkdir -p $(@D)
	@rm -f $@
	$(AR) rcs $@ $(filter %.o,$^)

# It links a test in two thirds of the time; of the address sanitizer it would warn about its own symbols.
TEST_LD := $(if $(findstring address,$(SAN)),,$(if $(shell command -v ld.gold),-fuse-ld=gold))

# program: $(B)/bin/x: objects and archives as prerequisites, LINK_<name> the libraries
$(B)/bin/% $(B)/test/% $(B)/examples/%:
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) $(ALL_LDFLAGS) $(if $(filter $(B)/test/%,$@),$(TEST_LD)) -pie -o $@ $(filter %.o,$^) -Wl,--start-group $(filter %.a,$^) -Wl,--end-group $(LINK_$(@F)) $(LINK_$(patsubst $(B)/%/,%,$(dir $@))) $(if $(filter %/libmsggen.a,$^),-lmd) -lm

# manual pages stand beside their program, in scdoc
define manual
$(B)/man/$(basename $(notdir $(1))): $(1)
	@mkdir -p $$(@D)
	scdoc <$$< >$$@
endef
$(foreach p,$(shell find config daemon libclient schemas tools -name '*.[1-8].scd' 2>/dev/null),$(eval $(call manual,$(p))))

clean:
	rm -rf $(B)

include tests/check.mk config/install.mk

help:
	@sed -n 's/^#   \(make.*\)/  \1/p' Makefile
	@sed -n 's/^#?  /  /p' tests/check.mk config/install.mk

.PHONY: all clean help

-include $(shell find $(B)/obj -name '*.d' 2>/dev/null)
