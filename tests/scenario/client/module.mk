# SPDX-License-Identifier: Apache-2.0
# libsimclient against the whole daemon: in virtual time, and with real threads.
CLIENT_WORLD := $(B)/obj/tests/scenario/client/world.o
CLIENT_WORLD_LIBS := $(SIMD_LIBS) $(SIMCLIENT_ARCHIVES)
CLIENT_SCENARIOS := $(patsubst tests/scenario/client/test_%.c,%,$(sort $(wildcard tests/scenario/client/test_*.c)))
TESTS += $(CLIENT_SCENARIOS:%=$(B)/test/scenario-client-%)
# the host of bridges, driving time
$(B)/test/scenario-client-drive: $(B)/obj/tests/scenario/client/test_drive.o $(B)/obj/tools/bridge/host/time_driver.o
# the player of logs, with its threads
FLAGS_tests/scenario/client/test_play.c := -Itools -Itools/record -Itools/bridge
$(B)/test/scenario-client-play: $(B)/obj/tests/support/native_log.o $(RECORD_LIBS)
LINK_scenario-client-play = $(LINK_test) $(LINK_RECORD)
# the channels of a recorder
FLAGS_tests/scenario/client/test_record.c := -Itools -Itools/record -Itools/simctl -Itools/bridge -Itools/keys
$(B)/test/scenario-client-record: $(patsubst %,$(B)/obj/tools/simctl/%.o,record_channels record_backlog record_match json) $(RECORD_LIBS)
LINK_scenario-client-record = $(LINK_test) $(LINK_RECORD)
$(CLIENT_SCENARIOS:%=$(B)/test/scenario-client-%): $(B)/test/scenario-client-%: $(B)/obj/tests/scenario/client/test_%.o $(CLIENT_WORLD) $(CLIENT_WORLD_LIBS)

# test_weave steps both sides of the dispatch page: the sources that touch it, with places to switch between them.
WEAVE_SOURCES := $(addprefix daemon/dispatch/,dispatch.c credits.c d_client.c d_rung.c d_channel.c) libclient/src/queue.c
WEAVE_OBJECTS := $(WEAVE_SOURCES:%.c=$(B)/obj/weave/%.o)
$(WEAVE_OBJECTS): $(B)/obj/weave/%.o: %.c tests/scenario/client/weave.h $(B)/flags | $(GENERATED)
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) $(call inc_of,$<) -UNDEBUG -DWEAVE_SOURCE -include tests/scenario/client/weave.h -MMD -MP -c $< -o $@
$(B)/test/scenario-client-weave: $(B)/obj/tests/scenario/client/weave.o $(WEAVE_OBJECTS)
LINK_scenario-client-weave = $(LINK_test) -Wl,--wrap=ipc_take,--wrap=ipc_sub_has_data,--wrap=ipc_publish
LINK_scenario-client-calls = $(LINK_test) $(addprefix -Wl$(comma)--wrap=,recv recvmsg recvmmsg send sendmsg write)
LINK_scenario-client-own_steps = $(LINK_test) -Wl,--wrap=write
LINK_scenario-client-again = $(LINK_test) -Wl,--wrap=pub_reg_create
