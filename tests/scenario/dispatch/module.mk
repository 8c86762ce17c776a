# SPDX-License-Identifier: Apache-2.0
# Dispatch in virtual time, with peers written by hand.
DISPATCH_WORLD := $(B)/obj/tests/scenario/dispatch/world.o $(B)/obj/tests/scenario/dispatch/world_bridge.o
DISPATCH_LIBS := $(SIMD_LIBS) $(B)/lib/libipc.a $(B)/lib/libbase.a
DISPATCH_SCENARIOS := $(patsubst tests/scenario/dispatch/test_%.c,%,$(sort $(wildcard tests/scenario/dispatch/test_*.c)))
TESTS += $(DISPATCH_SCENARIOS:%=$(B)/test/scenario-dispatch-%)
$(DISPATCH_SCENARIOS:%=$(B)/test/scenario-dispatch-%): $(B)/test/scenario-dispatch-%: $(B)/obj/tests/scenario/dispatch/test_%.o $(DISPATCH_WORLD) $(DISPATCH_LIBS)
$(B)/test/scenario-dispatch-model: $(B)/obj/tests/scenario/dispatch/model.o
TESTS_SOAK += $(B)/test/scenario-dispatch-model $(B)/test/scenario-dispatch-forged
LINK_scenario-dispatch-rung = $(LINK_test) -Wl,--wrap=ipc_take
