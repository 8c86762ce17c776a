# SPDX-License-Identifier: Apache-2.0
# Time over machines: state machines alone, without sockets and DDS, so that tests link them without Cyclone.
LINK_TIME_OBJS := $(patsubst %,$(B)/obj/tools/bridge/link/%.o,time_msg clock_filter clock_host clock_follow step_host step_follow step_inbox)
LIBS += $(B)/lib/liblinktime.a
$(B)/lib/liblinktime.a: $(LINK_TIME_OBJS)
