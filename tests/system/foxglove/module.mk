# SPDX-License-Identifier: Apache-2.0
# The foxglove plug-in by itself, with the host that the tests of ROS 2 play, and clients of both kinds: a library's, and none.
INC_tests/system/foxglove := -I. -Itests -Itests/support -Ischemas -Ilibclient/include -I$(B)/gen
FLAGS_tests/system/foxglove := -DPLUGIN='"$(B)/lib/simd/bridge_foxglove.so"'
FOXGLOVE_TESTS := control hostile own_types slow tls watch
# for time-outs of its library
TESTS_NS += $(FOXGLOVE_TESTS:%=$(B)/test/system-foxglove-%)
$(FOXGLOVE_TESTS:%=$(B)/test/system-foxglove-%): $(B)/test/system-foxglove-%: $(B)/obj/tests/system/foxglove/test_%.o \
	$(addprefix $(B)/obj/tests/system/foxglove/,line.o watcher.o raw.o) $(B)/obj/tests/system/ros2/host.o | $(B)/lib/simd/bridge_foxglove.so
$(foreach t,$(FOXGLOVE_TESTS),$(eval LINK_system-foxglove-$(t) = $$(LINK_SIMCLIENT) -lcmocka -ldl))
# types that are made here as a bridge makes them
FLAGS_tests/system/foxglove/test_own_types.c := -Itools/bridge/convert -DPB_TYPES='"$(B)/gen/unit/convert/pb_types.bin"'
$(B)/test/system-foxglove-own_types: $(addprefix $(B)/lib/,libconvert.a libros.a libmsggen.a libbase.a) | $(B)/gen/unit/convert/pb_types.bin
LINK_system-foxglove-own_types += -lz -ljansson -lm
