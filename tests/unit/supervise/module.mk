# SPDX-License-Identifier: Apache-2.0
SUPERVISE_TESTS := $(patsubst tests/unit/supervise/test_%.c,%,$(sort $(wildcard tests/unit/supervise/test_*.c)))
# It starts a RouDi as simd does, with what it preloads, which is never built with a sanitizer.
ifneq ($(SAN_RUNTIME),)
SUPERVISE_TESTS := $(filter-out roudi,$(SUPERVISE_TESTS))
else
$(B)/test/supervise-roudi: | $(B)/lib/simd/roudi_robust.so
endif
TESTS += $(SUPERVISE_TESTS:%=$(B)/test/supervise-%)
$(SUPERVISE_TESTS:%=$(B)/test/supervise-%): $(B)/test/supervise-%: $(B)/obj/tests/unit/supervise/test_%.o \
	$(SIMD_LIBS) $(SIMCLIENT_ARCHIVES)
