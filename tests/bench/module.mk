# SPDX-License-Identifier: Apache-2.0
# The bench program: orchestrator and roles in one; the bare iceoryx binding is linked for comparison only.
INC_tests/bench := -I. -Ilibclient -Itools -Itools/bridge/convert -Itools/bridge/ros2 -Itools/bridge/dds -Itools/bridge/ros1 $(INC_daemon) -Ilibclient/include -Ilibclient/ipc $(ROOMS_INC) -Ischemas -I$(B)/gen -Itests -isystem /usr/include/iceoryx/v2.0.3

BENCH_PROGRAMS += $(B)/bin/bench
$(B)/bin/bench: $(patsubst %.c,$(B)/obj/%.o,$(sort $(wildcard tests/bench/*.c))) $(B)/lib/libschema.a \
	$(B)/lib/libvehicle.a $(B)/lib/libsources.a $(SS2_PEER) $(SIMD_LIBS) $(B)/lib/libipc.a $(B)/lib/libsimcomponent.a $(RECORD_LIBS) $(B)/lib/libworld.a $(B)/lib/libsimworldwire.a $(B)/lib/liblooptls.a $(B)/lib/libapollo10.a $(addprefix $(B)/obj/tests/system/ros2/,host.o reader.o asker.o node.o cables.o) \
	$(B)/obj/tests/system/ros1/fake.o $(B)/obj/libclient/loop/address.o $(addprefix $(B)/obj/tools/bridge/ros1/,http.o tcpros.o xmlrpc.o xmlrpc_write.o) \
	$(addprefix $(B)/lib/,libcameragpu.a libcamera.a) $(B)/obj/tools/sources/scene/scene.o $(B)/obj/libclient/readback/rows.o $(B)/obj/tests/support/native_log.o $(B)/lib/libmsggen.a $(B)/obj/tests/unit/convert/sample.o $(addprefix $(B)/obj/,tests/unit/world/old_client.o gen/unit/world/tr2016.pb-c.o) $(B)/obj/gen/unit/convert/pb_every.pb-c.o $(addprefix $(B)/obj/tools/bridge/ros2/,sertype.o cyclone_inside.o rtps_identity.o rtps_packet.o) $(addprefix $(B)/obj/tools/bridge/dds/,in_parts.o keyless.o receivers.o) \
	$(B)/obj/tests/system/link/machine.o $(SWITCH) $(CBOR_WRITER) $(addprefix $(B)/obj/libclient/ipc/,iox_plane.o iox_roudi.o) \
	| $(B)/test/cyclone-node $(B)/lib/simd/source_play.so $(B)/lib/libsimclient.so $(B)/lib/libsimreadback.so $(B)/lib/simd/bridge_ros2.so $(B)/lib/simd/bridge_link.so $(B)/lib/simd/bridge_ros1.so $(B)/lib/simd/bridge_cyber.so $(B)/lib/simd/bridge_foxglove.so $(B)/bin/sim-ss2 $(B)/bin/sim-vehicle $(B)/bin/simhost $(B)/bin/simctl $(B)/bin/simbridge $(B)/bin/sim-world $(B)/test/plugins/components.so
# -rdynamic: the hooks of the bare binding, which iceoryx must find before its own
LINK_bench = -rdynamic -Wl,--export-dynamic-symbol=sendmsg -Wl,--wrap=section_encode $(LINK_SIMCLIENT) -liceoryx_binding_c -ljansson -lwebsockets -lddsc -lzmq -lexpat $(LINK_WORLD_NET) $(LINK_RECORD) $(LINK_READBACK) $(LINK_CAMERA) -lvulkan -lEGL -lGLESv2 -lcmocka -ldl -lm

# counts copies in a process of its own: its memcpy() is seen by the libraries too
BENCH_PROGRAMS += $(B)/bin/bench-copies
FLAGS_tests/bench/copies := -fno-builtin -U_FORTIFY_SOURCE
FLAGS_tests/bench/case_record_cloud.c := -Itools/record -Itools/bridge
FLAGS_tests/bench/case_play.c := -Itools -Itools/record -Itools/bridge
FLAGS_tests/bench/case_apollo_messages.c := -I$(B)/gen/apollo10
FLAGS_tests/bench/case_ros2_rig.c := -DDDS_HAS_SHM=1
FLAGS_tests/bench/case_ros2_beside.c := -DDDS_HAS_SHM=1
$(B)/bin/bench-copies: $(B)/obj/tests/bench/copies/copies.o $(addprefix $(B)/obj/tests/system/ros2/,host.o reader.o) \
	| $(B)/lib/libsimclient.so $(B)/lib/simd/bridge_ros2.so
LINK_bench-copies = -rdynamic $(LINK_SIMCLIENT) -lddsc -ldl

# roscpp's own publisher, where its headers are (tools/dev/deps.sh full)
ifneq ($(and $(wildcard /usr/include/ros/ros.h),$(wildcard /usr/include/sensor_msgs/Image.h),$(shell command -v g++)),)
$(B)/bin/bench-roscpp: tests/bench/roscpp/publisher.cpp tests/bench/ros1_arena.h
	@mkdir -p $(@D)
	g++ -std=c++17 -O2 -Wall -Wextra $(if $(WERROR),-Werror) -pthread -Itests -o $@ $< -lroscpp -lroscpp_serialization -lrosconsole -lrostime -lboost_system
BENCH_PROGRAMS += $(B)/bin/bench-roscpp
endif

# machines behind a switch, of tests/system/link
FLAGS_tests/bench/machines.c := -Itests/support
FLAGS_tests/bench/case_link_64B.c := -Itests/support
FLAGS_tests/bench/case_link_idle.c := -Itests/support
FLAGS_tests/bench/case_link_step.c := -Itests/support
FLAGS_tests/bench/case_link_clock.c := -Itests/support
