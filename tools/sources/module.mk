# SPDX-License-Identifier: Apache-2.0
# Processes that drive or feed simd. May include: the public headers, generated types, base, each its own folder.
INC_tools/sources := -Ilibclient/include -I$(B)/gen -Ilibclient/base

# what tests reach without a simd: SUMO's protocol, the scenario, the ego's body; the lidar's rays
SOURCES_SUMO_OBJS := $(addprefix $(B)/obj/tools/sources/sumo/,traci_wire.o traci.o sumo_proc.o world.o world_scan.o \
	world_lights.o world_drive.o ego.o geo.o track.o)
$(B)/lib/libsources.a: $(SOURCES_SUMO_OBJS) $(B)/obj/tools/sources/lidar/scan.o
