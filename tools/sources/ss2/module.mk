# SPDX-License-Identifier: Apache-2.0
# sim-ss2, and what tests reach of it without sockets: libss2.a. The protocol's code is made from schemas/ss2.
SS2_GEN := $(B)/gen/ss2/ss2.pb-c
$(SS2_GEN).c $(SS2_GEN).h &: schemas/ss2/ss2.proto
	@mkdir -p $(@D)
	protoc-c --proto_path=schemas --c_out=$(B)/gen ss2/ss2.proto
GENERATED += $(SS2_GEN).h

SS2_OBJS := $(addprefix $(B)/obj/tools/sources/ss2/,codec.o scene.o grid.o lidar.o nearest.o noise.o noise_file.o sensors.o store.o vehicle.o messages.o server.o server_entities.o \
	zmtp.o peers_memory.o peers_keep.o peers.o listen.o)
$(B)/lib/libss2.a: $(SS2_OBJS) $(B)/obj/gen/ss2/ss2.pb-c.o $(addprefix $(B)/obj/tools/,bridge/convert/geo.o sources/scene/scan.o sources/scene/raster.o sources/keep.o)

PROGRAMS += $(B)/bin/sim-ss2
$(B)/bin/sim-ss2: $(addprefix $(B)/obj/tools/sources/,ss2/main.o ss2/attach.o stop.o outlet.o rate.o) $(ONBOARD) $(B)/lib/libss2.a $(B)/lib/libbase.a \
	| $(B)/lib/libsimclient.so
LINK_sim-ss2 = $(LINK_SIMCLIENT) -lprotobuf-c -ljansson -lm
