# SPDX-License-Identifier: Apache-2.0
# bridge_ros2.so. Debian builds Cyclone with shared memory but its headers do not say so: without the define the
# structures of its own type interface would be too short.
INC_tools/bridge/ros2 := -Itools/bridge/ros2 -Itools/bridge/dds -Itools/bridge/topics -Itools/bridge/convert -Ischemas -Ilibclient/include -Ilibclient/base -I$(B)/gen
FLAGS_tools/bridge/ros2 := -DDDS_HAS_SHM=1
LIBS += $(B)/lib/simd/bridge_ros2.so
$(B)/lib/simd/bridge_ros2.so: $(patsubst %.c,$(B)/obj/%.o,$(sort $(wildcard tools/bridge/ros2/*.c))) $(B)/lib/libdds.a $(B)/lib/libtopics.a $(B)/lib/libconvert.a $(B)/lib/libros.a $(B)/lib/libmsggen.a $(B)/lib/libbase.a | $(B)/lib/libsimclient.so
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) $(ALL_LDFLAGS) -shared -o $@ $(filter %.o,$^) $(filter %.a,$^) $(LINK_SIMCLIENT) -lddsc -ljansson -lz -lmd -lm
