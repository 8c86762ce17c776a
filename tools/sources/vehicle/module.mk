# SPDX-License-Identifier: Apache-2.0
# sim-vehicle, and what tests reach of it without a simd: libvehicle.a
VEHICLE_OBJS := $(addprefix $(B)/obj/tools/sources/vehicle/,lag.o dead_time.o accel_map.o params.o longitudinal.o tyres.o model.o orders.o vehicle.o messages.o) $(addprefix $(B)/obj/tools/sources/,origin.o odom.o)
$(B)/lib/libvehicle.a: $(VEHICLE_OBJS) $(B)/obj/tools/bridge/convert/geo.o

# the whole of it, for a program that moves time itself
ONBOARD := $(addprefix $(B)/obj/tools/sources/vehicle/,onboard.o attach.o) $(B)/lib/libvehicle.a

PROGRAMS += $(B)/bin/sim-vehicle
$(B)/bin/sim-vehicle: $(addprefix $(B)/obj/tools/sources/,vehicle/main.o vehicle/attach.o stop.o outlet.o rate.o) $(B)/lib/libvehicle.a \
	$(B)/lib/libbase.a | $(B)/lib/libsimclient.so
LINK_sim-vehicle = $(LINK_SIMCLIENT) -ljansson -lm
