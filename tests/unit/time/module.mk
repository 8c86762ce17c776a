# SPDX-License-Identifier: Apache-2.0
TIME_TESTS := $(patsubst tests/unit/time/test_%.c,%,$(sort $(wildcard tests/unit/time/test_*.c)))
TESTS += $(TIME_TESTS:%=$(B)/test/time-%)
$(TIME_TESTS:%=$(B)/test/time-%): $(B)/test/time-%: $(B)/obj/tests/unit/time/test_%.o $(SIMD_LIBS) \
	$(B)/lib/libipc.a $(B)/lib/libbase.a
$(B)/test/time-source_registry: | $(SOURCE_PLUGINS)
$(B)/test/time-model: | $(B)/lib/simd/source_play.so
LINK_time-clock = $(LINK_test) -Wl,--wrap=getrlimit,--wrap=pthread_setschedparam
