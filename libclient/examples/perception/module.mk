# SPDX-License-Identifier: Apache-2.0
# Three components in one shared object: a cloud becomes obstacles, these become tracks, and these stop the car. Their
# arithmetic is apart, for tests.
PERCEPTION_CORE := $(addprefix $(B)/obj/libclient/examples/perception/,grid.o tracks.o braking.o settings.o)
PERCEPTION_CLASSES := $(addprefix $(B)/obj/libclient/examples/perception/,grid_clusters.o tracker.o stopper.o objects.o)

EXAMPLES += $(B)/examples/libperception.so
$(B)/examples/libperception.so: $(PERCEPTION_CLASSES) $(PERCEPTION_CORE) | $(B)/lib/libsimclient.so
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) $(ALL_LDFLAGS) -shared $(if $(SAN_RUNTIME),,-Wl,-z,defs) -o $@ $(filter %.o,$^) $(LINK_SIMCLIENT) -ljansson -lm
