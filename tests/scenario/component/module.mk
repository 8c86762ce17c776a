# SPDX-License-Identifier: Apache-2.0
# Hosts of nodes and components against the whole daemon, with real threads.
COMPONENT_SCENARIOS := $(patsubst tests/scenario/component/test_%.c,%,$(sort $(wildcard tests/scenario/component/test_*.c)))
TESTS += $(COMPONENT_SCENARIOS:%=$(B)/test/scenario-component-%)
$(COMPONENT_SCENARIOS:%=$(B)/test/scenario-component-%): $(B)/test/scenario-component-%: $(B)/obj/tests/scenario/component/test_%.o \
	$(CLIENT_WORLD) $(CLIENT_WORLD_LIBS)
