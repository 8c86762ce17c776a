# SPDX-License-Identifier: Apache-2.0
# How tests, checks, benches, the demo and the fuzzers are run. Included by the top Makefile.
#
#?  make run-tests    only the tests, with these flags; ONLY='word ...' picks, LEVEL=quick|whole|unit|system|fault|all|soak, SAN= CC= OPT= B= LIMIT=s
#?                    HUNT=seed: on one processor each, behind everything else, and their processes stand still for up to 2 s again and again
#?  make first-contact  make demo and make check on a bare Debian 12 (root, debootstrap); ORDER=demo,check|check,demo
#?  make deps         install what is missing, by name, from Debian
#?  make analyze      clang's static analyser; read what it says
#?  make syntax       with CC=clang SAN=undefined WERROR=1: warnings about what builds with other sanitizers leave out
#?  make fuzz         fuzz each harness for FUZZ_SECONDS (30)
#?  SAN=address,undefined | thread   builds beside the plain build, in-memory data plane only
#?  SAN=undefined     the same with iceoryx: what is undefined ends the process with SIGILL
#?  DEMO_SECONDS=20 BRIDGES=logging,mcap,ros2,foxglove  switches of make demo; lgsvl, rosbridge, cyber: with a peer, unless port 9090 has one
#?  RIG=demo          which rig make demo runs: a name (config/rigs/NAME.json), a path, or two-machines
#?  WERROR=1          warnings are errors

JOBS ?= $(shell nproc)
# as many tests at once; JOBS=1: one
TEST_JOBS = $(if $(filter 1,$(JOBS)),1,$(shell echo $$(($(JOBS) + 2 < 16 ? $(JOBS) + 2 : 16))))
RUN  := $(B)/test/run
CHECKS += $(addprefix tools/dev/check-,format text readme headers arrows symbols abi dead sizes man install build hardening once version dist members)
TESTS_FULL += tools/dev/check-dist

# What a level runs: unit = what needs one process tree and no RouDi; system = what does; quick = both but TESTS_FULL, and the checks of
# tools/dev; whole = quick and TESTS_FULL; fault = kill runs; all = whole and fault; plain = all but what the address sanitizer runs as well;
# soak = fault and what can be made long.
LEVEL ?= quick
# Those that can start neither a thread nor another program: the thread sanitizer sees nothing there. tools/dev/check-build looks that they do not.
ONE_THREAD = $(filter-out camera-encode convert-apollo_set convert-pb_own examples-chain fuzz-control fuzz-rosbridge fuzz-ss2 fuzz-world_compat fuzz-world_log record-bridge_mcap record-convert record-copy ros1-line ros1-master \
	record-player schemas-ros_all schemas-simgen simhost-check simhost-launch_plan support-faults world-compat world-control world-datagram_format world-events world-input_log world-keys world-line world-net world-proto_text world-tls,\
	$(filter abi-% camera-% client-% convert-% examples-% fuzz-% introspect-% link-% linktime-% record-% ros1-% ros2-% schemas-% \
	sensors-% simctl-% simhost-% sources-% support-% tcp-% vehicle-% world-% base-due base-fd base-histogram base-mem \
	conf-conf process-lines varlink-varlink component-cache component-fusion component-fusion_time component-scheduler_conf config-names loop-sim \
	ipc-patience ipc-pool readback-rows ss2-messages ss2-scene time-slew time-ticks topics-compat,$(notdir $(filter $(B)/%,$(TESTS)))))
level_unit   = $(filter-out $(if $(SAN_RUNTIME),$(TESTS_NOSAN)) $(if $(filter thread,$(SAN)),$(ONE_THREAD:%=$(B)/test/%)),$(TESTS))
# TESTS_ONCE: long for what they wait for, not for what of ours runs in them, so not again under a sanitizer
level_system = $(filter-out $(if $(SAN),$(TESTS_ONCE)),$(TESTS_NS))
level_whole  = $(if $(SAN_RUNTIME),,$(level_system)) $(level_unit) $(if $(SAN),,$(CHECKS))
level_quick  = $(filter-out $(TESTS_FULL),$(level_whole))
level_fault  = $(TESTS_FAULT)
level_all    = $(level_whole) $(level_fault)
level_plain  = $(filter-out $(filter-out $(TESTS_NOSAN),$(TESTS)),$(level_all))
level_soak   = $(TESTS_FAULT) $(TESTS_SOAK)
# ONLY='word ...': those whose name contains one of them
ifeq ($(filter unit system quick whole fault all plain soak,$(LEVEL)),)
$(error LEVEL is unit, system, quick, whole, fault, all, plain or soak, not "$(LEVEL)")
endif
picked = $(if $(ONLY),$(foreach t,$(level_$(LEVEL)),$(if $(strip $(foreach word,$(ONLY),$(findstring $(word),$(notdir $(t))))),$(t))),$(level_$(LEVEL)))
# the long ones first, so that short ones fill the end
chosen = $(sort $(filter $(CHECKS),$(picked))) $(sort $(filter $(TESTS_NS) $(TESTS_FAULT),$(picked))) \
	$(sort $(filter-out $(CHECKS) $(TESTS_NS) $(TESTS_FAULT),$(picked)))

# n: in namespaces of its own
test_mode = $(if $(filter $(1),$(TESTS_NS) $(TESTS_FAULT)),n,-)
test_spec = $(call test_mode,$(1)):$(strip $(or $(LIMIT),$(LIMIT_$(notdir $(1))),300)):$(1)

tests: all $(RUN) $(TEST_PROGRAMS) $(BENCH_PROGRAMS) $(filter $(B)/%,$(TESTS) $(TESTS_NS) $(TESTS_FAULT))

# Under a sanitizer only what the chosen tests need is built, and NEEDS_SCRIPT of a script; without one also what scripts and checks look at.
built-tests: $(RUN) $(if $(SAN_RUNTIME),,all $(TEST_PROGRAMS)) $(filter $(B)/%,$(chosen)) $(if $(filter %/check-man,$(chosen)),$(CHECK_HELPERS)) \
	$(if $(filter %/check-build,$(chosen)),$(ONE_THREAD:%=$(B)/test/%)) $(foreach t,$(chosen),$(NEEDS_$(notdir $(t))))

run-tests: built-tests
	@B=$(B) PROGRAMS='$(PROGRAMS)' CC='$(CC)' $(RUN) --jobs $(TEST_JOBS) --logs $(B)/check --wrap tests/support/ns.sh \
		$(if $(RESULTS),--results $(RESULTS)) $(if $(STAGE),--stage '$(STAGE)') $(if $(HUNT),--hunt $(HUNT)) \
		$(foreach t,$(chosen),$(call test_spec,$(t)))

one-thread:
	@echo $(ONE_THREAD)

check:
	@JOBS=$(JOBS) tools/dev/check.sh $(if $(FULL),full,quick)

soak:
	@JOBS=$(JOBS) tools/dev/check.sh soak$(if $(FULL),-full)

# A line says where it is impossible.
ORDER ?=
first-contact:
	@tools/dev/first-contact $(ORDER) || [ $$? = 77 ]

# in a make that already has a job server, -j is its business
par = $(if $(findstring jobserver,$(MAKEFLAGS)),,-j$(JOBS))

DEPS ?= build
deps:
	@tools/dev/deps.sh $(DEPS)

# ---- demo and benches ----

DEMO_SECONDS ?= 20
BRIDGES      ?= logging,mcap,ros2,foxglove
RIG          ?= demo
demo:
	@tools/dev/deps.sh demo
	@tools/dev/as-owner $(B) $(MAKE) -s --no-print-directory $(par) all $(if $(findstring lgsvl,$(BRIDGES)),$(B)/test/lgsvl-peer) $(if $(findstring rosbridge,$(BRIDGES)),$(B)/test/rosbridge-peer) $(if $(findstring cyber,$(BRIDGES)),$(B)/test/cyber-peer)
	@B=$(B) DEMO_SECONDS='$(DEMO_SECONDS)' BRIDGES='$(BRIDGES)' RIG='$(RIG)' tools/dev/as-owner $(B) tools/dev/demo.sh

BENCH ?=
bench:
	@tools/dev/deps.sh check
	@$(MAKE) -s --no-print-directory $(par) all $(TEST_PROGRAMS) $(BENCH_PROGRAMS)
	@[ ! -f $(B)/bench.json ] || mv -f $(B)/bench.json $(B)/bench.last.json
	@tests/support/ns.sh $(B)/bin/bench --out $(B)/bench.json $(if $(BENCH),--only '$(BENCH)')

# Every case once, briefly: does it run and write what it should?
bench-smoke:
	@$(MAKE) -s --no-print-directory $(par) all $(TEST_PROGRAMS) $(BENCH_PROGRAMS)
	@tests/support/ns.sh $(B)/bin/bench --smoke --out $(B)/bench-smoke.json

# ---- fuzzing ----

FUZZ_SECONDS ?= 30
define fuzzer
$(B)/test/fuzz-$(1): $(B)/obj/tests/fuzz/fuzz_$(1).o $(B)/obj/tests/fuzz/replay.o $(FUZZ_LIBS_$(1))
LINK_fuzz-$(1) = $(LINK_test) $(FUZZ_LINK_$(1))
$(B)/fuzz/$(1): $(B)/obj/tests/fuzz/fuzz_$(1).o $(FUZZ_LIBS_$(1))
	@mkdir -p $$(@D)
	$$(CC) $$(ALL_CFLAGS) $$(ALL_LDFLAGS) -fsanitize=fuzzer -o $$@ $$(filter %.o,$$^) -Wl,--start-group $$(filter %.a,$$^) -Wl,--end-group $$(LINK_test) $(FUZZ_LINK_$(1))
run-fuzz-$(1): $(B)/fuzz/$(1)
	@mkdir -p $(B)/fuzz/corpus/$(1)
	$(B)/fuzz/$(1) -max_total_time=$(FUZZ_SECONDS) -rss_limit_mb=1024 -timeout=5 -verbosity=0 -print_final_stats=1 \
		$(if $(wildcard tests/fuzz/$(1).dict),-dict=tests/fuzz/$(1).dict) -artifact_prefix=$(B)/fuzz/ \
		$(B)/fuzz/corpus/$(1) tests/fuzz/corpus/$(1)
endef
$(foreach f,$(FUZZERS),$(eval $(call fuzzer,$(f))))

run-fuzzers: $(FUZZERS:%=run-fuzz-%)

fuzz:
	@tools/dev/deps.sh full
	@$(MAKE) --no-print-directory CC=clang SAN=address,undefined B=build-fuzz OPT='-O1 -fsanitize=fuzzer-no-link' run-fuzzers

.PHONY: tests built-tests run-tests one-thread check soak first-contact deps demo bench bench-smoke fuzz run-fuzzers

# ---- static analysis ----

# clang's analyzer over every file of ours but the tests. Its findings are to be judged: it does not know that our
# functions return 0 or a negative errno.
ANALYZE := $(patsubst %.c,$(B)/analyze/%.ok,$(sort $(shell find daemon libclient schemas tools -name '*.c')))
$(B)/analyze/%.ok: %.c | $(GENERATED)
	@mkdir -p $(@D)
	clang --analyze -Xclang -analyzer-output=text \
		-Xclang -analyzer-disable-checker=security.insecureAPI.DeprecatedOrUnsafeBufferHandling \
		$(WARN) $(BASEFLAGS) $(call inc_of,$<) $(call flags_of,$<) -isystem /usr/include/iceoryx/v2.0.3 -o /dev/null $<
	@touch $@
analyze: $(ANALYZE)

# What builds with a sanitizer's run-time library leave out: only whether clang has something to say.
SYNTAX := $(patsubst %.c,$(B)/syntax/%.ok,$(sort $(shell find libclient/ipc $(addprefix tests/,bench fault support system) -name '*.c')))
$(B)/syntax/%.ok: %.c | $(GENERATED)
	@mkdir -p $(@D)
	$(CC) -fsyntax-only $(ALL_CFLAGS) $(call inc_of,$<) $(call flags_of,$<) -isystem /usr/include/iceoryx/v2.0.3 $<
	@touch $@
syntax: $(SYNTAX)
.PHONY: analyze syntax
