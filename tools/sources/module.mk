# SPDX-License-Identifier: Apache-2.0
# Processes that drive or feed simd. May include: the public headers, generated types, base, the coordinates
# of convert, each its own folder.
INC_tools/sources := -Ilibclient/include -I$(B)/gen -Ilibclient/base -Ilibclient/conf -Ilibclient/options -Itools

# what tests reach without a simd: SUMO's protocol, the scenario, the ego's body, messages; rays and scene
SOURCES_OBJS := $(addprefix $(B)/obj/tools/sources/,$(addprefix sumo/,traci_wire.o traci.o sumo_proc.o world.o \
	world_scan.o world_lights.o world_lanes.o world_drive.o lanes.o ego.o track.o control.o messages.o messages_scene.o) \
	$(addprefix scene/,scan.o scene.o sight.o raster.o) origin.o odom.o ids.o)
# UTM is what the bridges reckon with too
$(B)/lib/libsources.a: $(SOURCES_OBJS) $(B)/obj/tools/bridge/convert/geo.o

PROGRAMS += $(B)/bin/sim-sumo $(B)/bin/sim-lidar
SOURCES_COMMON := $(addprefix $(B)/obj/tools/sources/,stop.o outlet.o rate.o) $(B)/lib/libsources.a $(B)/lib/libbase.a
$(B)/bin/sim-sumo: $(addprefix $(B)/obj/tools/sources/sumo/,main.o feed.o share.o) $(SOURCES_COMMON) | $(B)/lib/libsimclient.so $(B)/lib/libsimworld.so
$(B)/bin/sim-lidar: $(B)/obj/tools/sources/lidar/main.o $(SOURCES_COMMON) | $(B)/lib/libsimclient.so
LINK_sim-sumo  = $(LINK_SIMCLIENT) -lsimworld -ljansson -lm
LINK_sim-lidar = $(LINK_SIMCLIENT) -ljansson -lm

# the time source of `simctl play`
LIBS += $(B)/lib/simd/source_play.so
$(B)/lib/simd/source_play.so: $(B)/obj/tools/sources/play/source_play.o
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) $(ALL_LDFLAGS) -shared -o $@ $(filter %.o,$^)

include tools/sources/camera/module.mk tools/sources/vehicle/module.mk tools/sources/ss2/module.mk tools/sources/join/module.mk \
	tools/sources/sensors/module.mk
