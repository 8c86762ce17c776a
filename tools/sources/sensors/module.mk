# SPDX-License-Identifier: Apache-2.0
# all but the process: what tests use
$(B)/lib/libsensors.a: $(addprefix $(B)/obj/tools/sources/sensors/,config.o motion.o radar.o gnss.o inertial.o unit.o)

PROGRAMS += $(B)/bin/sim-sensors
$(B)/bin/sim-sensors: $(B)/obj/tools/sources/sensors/main.o $(B)/lib/libsensors.a $(SOURCES_COMMON) | $(B)/lib/libsimclient.so
LINK_sim-sensors = $(LINK_SIMCLIENT) -ljansson -lm
