# SPDX-License-Identifier: Apache-2.0
# Three components in one shared object: a cloud becomes obstacles, these become tracks, and these stop the car. What they
# need of libsimcomponent and libsimclient is there where they are loaded. Their arithmetic is apart, for tests.
PERCEPTION_CORE := $(addprefix $(B)/obj/libclient/examples/perception/,grid.o tracks.o braking.o settings.o)

EXAMPLES += $(B)/examples/libperception.so
$(B)/examples/libperception.so: $(addprefix $(B)/obj/libclient/examples/perception/,grid_clusters.o tracker.o stopper.o objects.o) $(PERCEPTION_CORE)
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) $(ALL_LDFLAGS) -shared -o $@ $(filter %.o,$^) -ljansson -lm
