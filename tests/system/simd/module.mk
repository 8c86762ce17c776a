# SPDX-License-Identifier: Apache-2.0
# The real simd with a real RouDi, in namespaces of its own; restart kills things and is a fault test.
ifeq ($(SAN_RUNTIME),)
SIMD_SYSTEM := start restart lacks
$(SIMD_SYSTEM:%=$(B)/test/system-simd-%): $(B)/test/system-simd-%: $(B)/obj/tests/system/simd/test_%.o \
	$(B)/obj/tests/system/simd/run.o $(B)/obj/tests/support/roudi.o $(SIMD_LIBS) $(SIMCLIENT_ARCHIVES) | \
	$(B)/bin/simd $(B)/bin/simbridge $(B)/lib/simd/bridge_null.so $(B)/lib/simd/ipc_iox.so
# A wall clock that is set while simd runs.
FLAGS_tests/system/simd/test_restart.c := -DSTEPPED='"$(B)/test/lib/stepped.so"'
$(B)/test/lib/stepped.so: $(B)/obj/tests/system/simd/stepped.o
	@mkdir -p $(@D)
	$(CC) -shared $(HARDEN_LINK) -o $@ $<
TEST_PROGRAMS += $(B)/test/lib/stepped.so
$(B)/test/system-simd-restart: | $(B)/test/lib/stepped.so
TESTS_NS += $(addprefix $(B)/test/system-simd-,start lacks)
TESTS_FAULT += $(B)/test/system-simd-restart
endif
