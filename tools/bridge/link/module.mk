# SPDX-License-Identifier: Apache-2.0
# bridge_link.so: slots between machines. DDS_HAS_SHM: see ../ros2/module.mk.
INC_tools/bridge/link := -Itools/bridge/link -Itools/bridge/dds -Itools/bridge/topics -Ilibclient/include -Ilibclient/base -I$(B)/gen
FLAGS_tools/bridge/link := -DDDS_HAS_SHM=1
LIBS += $(B)/lib/simd/bridge_link.so
LINK_BRIDGE_OBJS := $(patsubst %.c,$(B)/obj/%.o,$(sort $(wildcard tools/bridge/link/*.c)))
$(B)/lib/simd/bridge_link.so: $(LINK_BRIDGE_OBJS) $(B)/lib/libdds.a $(B)/obj/tools/bridge/topics/option.o $(B)/lib/libbase.a | $(B)/lib/libsimclient.so
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) $(ALL_LDFLAGS) -shared -o $@ $(filter %.o,$^) $(filter %.a,$^) $(LINK_SIMCLIENT) -lddsc -ljansson -lcrypto

# Time over machines: state machines alone, without sockets and DDS, so that tests link them without Cyclone.
LINK_TIME_OBJS := $(patsubst %,$(B)/obj/tools/bridge/link/%.o,time_msg clock_filter clock_host clock_follow step_host step_follow step_inbox)
LIBS += $(B)/lib/liblinktime.a
$(B)/lib/liblinktime.a: $(LINK_TIME_OBJS)
