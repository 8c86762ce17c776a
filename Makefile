# SPDX-License-Identifier: Apache-2.0
# One non-recursive build. Each folder's module.mk says what it makes and what it may include.
#
#   make            build everything into $(B)
#   make demo       install what is missing, build, run the whole line on SUMO for DEMO_SECONDS
#   make check      install what is missing, build, test (quick); FULL=1: everything
#   make bench      measure (BENCH=name,... for a part) into $(B)/bench.json
#   make install    DESTDIR= PREFIX=
#   make help       the rest
MAKEFLAGS += --no-builtin-rules
.SUFFIXES:
.DELETE_ON_ERROR:
.SECONDARY:
.DEFAULT_GOAL := all

# SAN=address,undefined or SAN=thread builds beside the plain one; the iceoryx module is left out there.
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

VERSION := 0.1.0

WARN := -std=gnu17 -Wall -Wextra -Wshadow -Wconversion -Wstrict-prototypes -Wmissing-prototypes -Wundef \
	-Wvla -Wformat=2 -Wimplicit-fallthrough $(if $(WERROR),-Werror)
BASEFLAGS := -g -fPIC -fvisibility=hidden -fno-common -pthread -D_GNU_SOURCE \
	-DSIM_VERSION='"$(VERSION)"' $(if $(SAN),-fsanitize=$(SAN) -fno-omit-frame-pointer,)
CFLAGS  ?=
LDFLAGS ?=
ALL_CFLAGS  = $(WARN) $(BASEFLAGS) $(OPT) $(CFLAGS)
ALL_LDFLAGS = -pthread $(if $(SAN),-fsanitize=$(SAN)) $(LDFLAGS)

# Include paths enforce the arrows: INC_<folder> of the longest matching prefix of up to three words.
split = $(subst /, ,$(1))
join2 = $(word 1,$(call split,$(1)))/$(word 2,$(call split,$(1)))
join3 = $(call join2,$(1))/$(word 3,$(call split,$(1)))
inc_of = $(or $(INC_$(call join3,$(1))),$(INC_$(call join2,$(1))),$(INC_$(word 1,$(call split,$(1)))))
# Extra flags of one object: FLAGS_<path/file.c>
flags_of = $(FLAGS_$(1)) $(FLAGS_$(patsubst %/,%,$(dir $(1))))

# Filled by the module.mk files.
PROGRAMS :=   # installed programs, $(B)/bin/...
LIBS     :=   # libraries, plug-ins
TESTS    :=   # test programs and scripts, run by make check
TESTS_NS :=   # the same, run in namespaces of their own: those that start RouDi, listen, or use fixed names
TESTS_ALONE := # of both: those that must not share the machine with another test
# LIMIT_<basename> := seconds, where 60 do not suffice
EXAMPLES :=   # example programs
INTERNAL :=   # helper programs that are built but not installed
GENERATED :=  # stamps of generated headers, made before anything that could include them

include schemas/module.mk libclient/module.mk daemon/module.mk tools/module.mk config/module.mk tests/module.mk

all: $(LIBS) $(PROGRAMS) $(INTERNAL) $(EXAMPLES)

$(B)/obj/%.o: %.c | $(GENERATED)
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) $(call inc_of,$<) $(call flags_of,$<) -MMD -MP -c $< -o $@

$(B)/lib/%.a:
	@mkdir -p $(@D)
	@rm -f $@
	$(AR) rcs $@ $^

# program: $(B)/bin/x: objects and archives as prerequisites, LINK_<name> the libraries
$(B)/bin/% $(B)/test/% $(B)/examples/%:
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) $(ALL_LDFLAGS) -o $@ $(filter %.o,$^) -Wl,--start-group $(filter %.a,$^) -Wl,--end-group $(LINK_$(@F)) $(LINK_$(patsubst $(B)/%/,%,$(dir $@)))

clean:
	rm -rf $(B)

# ---- tests ----

JOBS ?= $(shell nproc)
RUN  := $(B)/test/run
test_mode = $(if $(filter $(1),$(TESTS_NS)),n)$(if $(filter $(1),$(TESTS_ALONE)),a)-
test_spec = $(call test_mode,$(1)):$(or $(LIMIT_$(notdir $(1))),60):$(1)
# what a run takes: ONLY=word picks the tests whose name contains it
chosen = $(if $(ONLY),$(foreach t,$(1),$(if $(findstring $(ONLY),$(notdir $(t))),$(t))),$(1))

tests: all $(RUN) $(filter $(B)/%,$(TESTS) $(TESTS_NS))

# only the tests, on what is built with these flags; TOTALS= collects the counts
run-tests: tests
	@B=$(B) CC='$(CC)' $(RUN) --jobs $(if $(filter 1,$(JOBS)),1,2) --logs $(B)/check --wrap tests/support/ns.sh \
		$(if $(TOTALS),--totals $(TOTALS)) $(foreach t,$(call chosen,$(sort $(TESTS) $(TESTS_NS))),$(call test_spec,$(t)))

check:
	@tools/dev/check.sh $(if $(FULL),full,quick)

.PHONY: all clean tests run-tests check

-include $(shell find $(B)/obj -name '*.d' 2>/dev/null)
