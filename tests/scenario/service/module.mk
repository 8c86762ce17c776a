# SPDX-License-Identifier: Apache-2.0
# Services: the daemon's side in virtual time, spoken to by hand, and with each peer vanishing at each step.
SERVICE_SCENARIOS := $(patsubst tests/scenario/service/test_%.c,%,$(sort $(wildcard tests/scenario/service/test_*.c)))
TESTS += $(SERVICE_SCENARIOS:%=$(B)/test/scenario-service-%)
$(SERVICE_SCENARIOS:%=$(B)/test/scenario-service-%): $(B)/test/scenario-service-%: $(B)/obj/tests/scenario/service/test_%.o \
	$(B)/obj/tests/scenario/service/actor.o $(B)/obj/tests/unit/control/peer.o $(SIMD_LIBS) $(SIMCLIENT_ARCHIVES)
