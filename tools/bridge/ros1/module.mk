# SPDX-License-Identifier: Apache-2.0
# bridge_ros1.so: a node of ROS 1, without any part of ROS.
INC_tools/bridge/ros1 := -Itools/bridge/ros1 -Itools/bridge/topics -Itools/bridge/convert -Ischemas -Ilibclient/include -Ilibclient/loop -Ilibclient/base -I$(B)/gen
LIBS += $(B)/lib/simd/bridge_ros1.so
$(B)/lib/simd/bridge_ros1.so: $(patsubst %.c,$(B)/obj/%.o,$(sort $(wildcard tools/bridge/ros1/*.c))) $(B)/lib/libtopics.a $(B)/lib/libconvert.a $(B)/lib/libros.a $(B)/lib/libmsggen.a $(B)/lib/libloop.a $(B)/lib/libbase.a | $(B)/lib/libsimclient.so
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) $(ALL_LDFLAGS) -shared -o $@ $(filter %.o,$^) $(filter %.a,$^) $(LINK_SIMCLIENT) -lexpat -ljansson -lz -lmd -lm
