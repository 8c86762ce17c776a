# SPDX-License-Identifier: Apache-2.0
# libdds.a: what the plug-ins that speak over Cyclone DDS have in common. DDS_HAS_SHM: see ../ros2/module.mk.
INC_tools/bridge/dds := -Itools/bridge/dds -Itools/bridge/topics -Ilibclient/include -Ilibclient/base -I$(B)/gen
FLAGS_tools/bridge/dds := -DDDS_HAS_SHM=1
LIBS += $(B)/lib/libdds.a
$(B)/lib/libdds.a: $(patsubst %.c,$(B)/obj/%.o,$(sort $(wildcard tools/bridge/dds/*.c)))
