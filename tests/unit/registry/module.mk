# SPDX-License-Identifier: Apache-2.0
REGISTRY_TESTS := $(patsubst tests/unit/registry/test_%.c,%,$(sort $(wildcard tests/unit/registry/test_*.c)))
TESTS += $(REGISTRY_TESTS:%=$(B)/test/registry-%)
$(REGISTRY_TESTS:%=$(B)/test/registry-%): $(B)/test/registry-%: $(B)/obj/tests/unit/registry/test_%.o $(SIMD_LIBS) $(SIMCLIENT_ARCHIVES)
