# SPDX-License-Identifier: Apache-2.0
# libsimclient against the whole daemon: in virtual time, and with real threads.
CLIENT_WORLD := $(B)/obj/tests/scenario/client/world.o
CLIENT_WORLD_LIBS := $(B)/lib/libsimd.a $(SIMCLIENT_ARCHIVES)
CLIENT_SCENARIOS := $(patsubst tests/scenario/client/test_%.c,%,$(sort $(wildcard tests/scenario/client/test_*.c)))
TESTS += $(CLIENT_SCENARIOS:%=$(B)/test/client-%)
$(CLIENT_SCENARIOS:%=$(B)/test/client-%): $(B)/test/client-%: $(B)/obj/tests/scenario/client/test_%.o $(CLIENT_WORLD) $(CLIENT_WORLD_LIBS)
