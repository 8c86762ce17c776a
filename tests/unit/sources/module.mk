# SPDX-License-Identifier: Apache-2.0
SOURCES_TESTS := $(patsubst tests/unit/sources/test_%.c,%,$(sort $(wildcard tests/unit/sources/test_*.c)))
SOURCES_LISTEN := traci
TESTS    += $(patsubst %,$(B)/test/sources-%,$(filter-out $(SOURCES_LISTEN),$(SOURCES_TESTS)))
TESTS_NS += $(SOURCES_LISTEN:%=$(B)/test/sources-%)
$(SOURCES_TESTS:%=$(B)/test/sources-%): $(B)/test/sources-%: $(B)/obj/tests/unit/sources/test_%.o $(B)/lib/libsources.a $(B)/lib/libbase.a
$(foreach t,$(SOURCES_TESTS),$(eval LINK_sources-$(t) := -ljansson -lm))
$(B)/test/sources-others: $(B)/lib/libjoin.a $(B)/lib/libschema.a $(B)/lib/libbase.a | $(B)/lib/libsimworld.so
LINK_sources-others := -L$(B)/lib -lsimworld -Wl,-rpath,'$$ORIGIN/../lib' -ljansson -lm
