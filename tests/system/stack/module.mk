# SPDX-License-Identifier: Apache-2.0
# Whole stacks of real processes: simd, iox-roudi, simbridge, simctl and clients, in namespaces of their own;
# and the kill runs over them in tests/fault/stack.
STACK_INC := -I. -Ilibclient/include $(ROOMS_INC) -Ilibclient/ipc -Ischemas -I$(B)/gen -Itests/support
INC_tests/system/stack := $(STACK_INC)
INC_tests/fault/stack := $(STACK_INC)
FLAGS_tests/system/stack = -DFAULTY='"$(FAULTY)"'
FLAGS_tests/fault/stack = $(FLAGS_tests/system/stack)
INC_tests/support := $(INC_tests) -Itests/support
ifeq ($(SAN_RUNTIME),)
STACK_OBJS  := $(addprefix $(B)/obj/tests/support/,stack.o peer.o session.o) $(B)/lib/libipc.a $(B)/lib/libbase.a
STACK_NEEDS := $(B)/lib/libsimclient.so $(B)/lib/simd/ipc_iox.so $(B)/lib/simd/bridge_null.so $(FAULTY) \
	$(B)/lib/simd/bridge_logging.so $(B)/bin/simd $(B)/bin/simctl $(B)/bin/simbridge $(EXAMPLES)

# $(1): test program; $(2): source
define stack_test
$(B)/test/$(1): $(B)/obj/$(2:.c=.o) $(STACK_OBJS) | $(STACK_NEEDS)
LINK_$(1) = $$(LINK_SIMCLIENT) -ljansson -lz
endef
$(foreach s,$(sort $(wildcard tests/system/stack/test_*.c)),$(eval $(call stack_test,system-stack-$(s:tests/system/stack/test_%.c=%),$(s))))
$(foreach s,$(sort $(wildcard tests/fault/stack/test_*.c)),$(eval $(call stack_test,fault-stack-$(s:tests/fault/stack/test_%.c=%),$(s))))
FLAGS_tests/system/stack/test_simhost.c := -DSHELF='"$(B)/test/plugins"'
$(B)/test/system-stack-simhost: | $(B)/bin/simhost $(COMPONENT_SHELF) $(BAD_COMPONENTS)
FLAGS_tests/system/stack/test_pub.c := -DBIN='"$(B)/bin/"'
FLAGS_tests/system/stack/test_abi.c := -DABI_DIR='"$(B)/test/abi"'
$(B)/test/system-stack-abi: | $(ABI_BUILT)
FLAGS_tests/system/stack/test_custom.c := -DEXAMPLES='"$(B)/examples"'
FLAGS_tests/system/stack/test_launch.c := -DSHELF='"$(B)/test/plugins"'
$(B)/test/system-stack-launch: | $(B)/bin/simhost $(COMPONENT_SHELF)
FLAGS_tests/system/stack/test_component_bad.c := -DSHELF='"$(B)/test/plugins"' $(if $(CXX_COMPONENT),-DHAS_CXX)
$(B)/test/system-stack-component_bad: | $(B)/bin/simhost $(COMPONENT_SHELF) $(BAD_COMPONENTS) $(CXX_COMPONENT)
FLAGS_tests/system/stack/test_lockstep.c := -DSHELF='"$(B)/test/plugins"'
$(B)/test/system-stack-lockstep: | $(addprefix $(B)/bin/,simhost sim-sumo sim-lidar) $(B)/examples/libperception.so $(B)/lib/simd/bridge_mcap.so $(GRAPH)
$(B)/test/system-stack-late: | $(B)/lib/simd/bridge_mcap.so
# runs of the whole perception rig, 12 s of simulated time each
LIMIT_system-stack-lockstep := $(if $(filter 1,$(FULL)),600,300)
# a disk that stands still, for a recorder and a bridge
$(B)/test/lib/gate.so: $(B)/obj/tests/system/stack/gate.o
	@mkdir -p $(@D)
	$(CC) -shared $(HARDEN_LINK) -o $@ $<
TEST_PROGRAMS += $(B)/test/lib/gate.so
$(addprefix $(B)/test/system-stack-,record_bad mcap): | $(B)/test/lib/gate.so
FLAGS_tests/system/stack/test_lost.c := -DDYING='"$(B)/test/dying.so"'
$(B)/test/system-stack-lost: | $(B)/test/dying.so
# those that have a DDS program beside them
$(addprefix $(B)/test/,system-stack-carried system-stack-demo system-stack-isolation system-stack-ros2 system-stack-ros_clock system-stack-sim_time system-stack-topics): $(B)/obj/tests/system/ros2/reader.o | $(B)/lib/simd/bridge_ros2.so
$(B)/test/system-stack-topics: $(addprefix $(B)/obj/tests/,system/ros2/typed.o system/ros2/asker.o support/ros_tree.o) $(B)/lib/libros.a
LINK_system-stack-topics += -lddsc
$(addprefix $(B)/test/system-stack-,autoware_ai topics topics_apollo topics_cyber topics_lgsvl): $(B)/obj/tests/system/stack/rig.o
$(B)/test/system-stack-topics_apollo: $(ROSBRIDGE_SERVER) $(B)/obj/tests/support/ros_tree.o $(B)/lib/libros.a | $(B)/lib/simd/bridge_rosbridge.so
LINK_system-stack-topics_apollo += -lssl -lcrypto
$(addprefix $(B)/test/system-stack-,autoware_ai sensors_in): $(addprefix $(B)/obj/tests/support/,ros_tree.o ros_master.o) $(B)/lib/libros.a | $(B)/lib/simd/bridge_ros1.so
$(B)/test/system-stack-topics_lgsvl: $(addprefix $(B)/obj/tests/support/,lgsvl_server.o ros_tree.o) $(B)/lib/libros.a | $(B)/lib/simd/bridge_lgsvl.so
$(B)/test/system-stack-scenario: $(addprefix $(B)/obj/tests/,system/stack/autoware.o system/stack/npcs.o system/ros2/typed.o \
	system/ros2/reader.o support/ros_tree.o support/ss2_peer.o) \
	$(B)/lib/libvehicle.a $(B)/lib/libros.a | $(B)/lib/simd/bridge_ros2.so $(B)/bin/sim-ss2 $(B)/bin/sim-vehicle
LINK_system-stack-scenario += -lddsc -lzmq -lm
$(B)/test/system-stack-param: | $(B)/bin/sim-lidar
$(B)/test/system-stack-config: | $(addprefix $(B)/lib/simd/bridge_,ros1.so ros2.so rosbridge.so lgsvl.so)
$(B)/test/system-stack-lgsvl: $(B)/obj/tests/support/lgsvl_server.o | $(B)/lib/simd/bridge_lgsvl.so
$(B)/test/system-stack-topics_cyber: $(CYBER_SERVER) $(B)/obj/tests/support/cyber_print.o $(B)/obj/tests/support/ros_tree.o $(B)/lib/libros.a $(B)/lib/libapollo10.a | $(B)/lib/simd/bridge_cyber.so
LINK_system-stack-topics_cyber += -lprotobuf-c
FLAGS_tests/system/stack/test_topics_cyber.c := $(FLAGS_tests/system/stack) -I$(B)/gen/apollo10
$(addprefix $(B)/test/,system-stack-cyber system-stack-cyber_control system-stack-cyber_own): $(CYBER_SERVER) | $(B)/lib/simd/bridge_cyber.so
FLAGS_tests/system/stack/test_cyber.c := -DAPOLLO_SET='"$(B)/gen/apollo10/set.bin"' -DAPOLLO_PROTOC_5='"$(B)/gen/apollo5/protoc.bin"'
$(B)/test/system-stack-cyber_own: | $(CONVERTER_SHELF)
FLAGS_tests/system/stack/test_cyber_own.c := $(FLAGS_tests/system/stack) -DAPOLLO_SET='"$(B)/gen/apollo10/set.bin"'
$(B)/test/system-stack-cyber_control: $(B)/lib/libapollo10.a | $(B)/bin/sim-sumo $(B)/bin/sim-vehicle
$(B)/test/system-stack-cyber_demo: | $(B)/lib/simd/bridge_cyber.so $(B)/test/cyber-peer $(B)/bin/sim-sumo $(B)/bin/sim-lidar
LINK_system-stack-cyber_control += -lprotobuf-c
FLAGS_tests/system/stack/test_cyber_control.c := -I$(B)/gen/apollo10
$(addprefix $(B)/test/,system-stack-rosbridge system-stack-rosbridge_bad): $(ROSBRIDGE_SERVER) $(B)/obj/tests/system/stack/rosbridge_line.o | $(B)/lib/simd/bridge_rosbridge.so
LINK_system-stack-rosbridge += -lssl -lcrypto
LINK_system-stack-rosbridge_bad += -lssl -lcrypto
$(B)/test/system-stack-foxglove: $(B)/obj/tests/system/foxglove/watcher.o | $(B)/lib/simd/bridge_foxglove.so
$(B)/test/system-stack-far: $(ROSBRIDGE_SERVER) $(addprefix $(B)/obj/tests/,support/lgsvl_server.o support/ros_tree.o system/ros1/fake.o) \
	$(B)/obj/libclient/loop/address.o $(addprefix $(B)/obj/tools/bridge/ros1/,http.o tcpros.o xmlrpc.o xmlrpc_write.o) \
	$(B)/lib/libros.a | $(B)/lib/simd/bridge_lgsvl.so $(B)/lib/simd/bridge_ros1.so $(B)/lib/simd/bridge_rosbridge.so $(CONVERTER_SHELF)
LINK_system-stack-far += -lexpat -lssl -lcrypto
INC_tests/system/stack += -Itools/bridge/ros1
$(B)/test/system-stack-deaths $(B)/test/system-stack-stopped: | $(IPC_FAULT)
$(B)/test/system-stack-demo: $(addprefix $(B)/obj/tests/,system/ros2/typed.o system/ros2/cables.o support/ros_tree.o support/ros_master.o) $(B)/lib/libros.a | $(B)/bin/sim-sumo $(B)/bin/sim-lidar $(B)/bin/sim-camera $(B)/bin/sim-vehicle $(B)/bin/simhost $(B)/bin/sim-world $(B)/examples/convoy $(B)/examples/libperception.so $(B)/lib/simd/bridge_ros1.so $(B)/lib/simd/bridge_mcap.so
LINK_system-stack-demo += -lddsc
LINK_system-stack-carried += -lddsc
LINK_system-stack-isolation += -lddsc
LINK_system-stack-ros2 += -lddsc
LINK_system-stack-ros2_call += -lddsc
$(B)/test/system-stack-ros2_call: $(addprefix $(B)/obj/tests/system/ros2/,asker.o reader.o server.o) $(B)/lib/libros.a | $(B)/lib/simd/bridge_ros2.so
$(B)/test/system-stack-ros2: $(addprefix $(B)/obj/tests/system/ros2/,asker.o cables.o caller.o node.o) $(ROS2_RAW) | $(B)/test/cyclone-node
LINK_system-stack-ros_clock += -lddsc
LINK_system-stack-sim_time += -lddsc
$(B)/test/system-stack-converter: $(B)/obj/tests/system/ros2/reader.o | $(B)/lib/simd/bridge_ros2.so $(CONVERTER_SHELF)
LINK_system-stack-converter += -lddsc
$(addprefix $(B)/test/system-stack-,source config): | $(addprefix $(B)/test/plugins/source_,good.so ABI.so SIZE.so)
$(B)/test/fault-stack-soak: $(addprefix $(B)/obj/tests/,system/ros2/typed.o system/foxglove/raw.o support/ros_tree.o) $(B)/lib/libros.a | $(addprefix $(B)/lib/simd/bridge_,ros2.so mcap.so foxglove.so) \
	$(addprefix $(B)/bin/,sim-sumo sim-lidar sim-camera sim-world simctl)
LINK_fault-stack-soak += -lddsc
FLAGS_tests/fault/stack/test_chaos.c := -DSTEPPED='"$(B)/test/lib/stepped.so"'
$(B)/test/fault-stack-chaos: | $(B)/test/lib/stepped.so
$(B)/test/fault-stack-attacks: $(B)/obj/tests/fault/stack/attackers.o | $(B)/lib/simd/bridge_ros2.so
# logs to play
$(B)/test/system-stack-play: $(B)/obj/tests/support/native_log.o $(addprefix $(B)/lib/,librecord.a libconvert.a libros.a libmsggen.a) | $(addprefix $(B)/lib/simd/,source_play.so bridge_mcap.so)
LINK_system-stack-play += $(LINK_RECORD) -lutil
FLAGS_tests/system/stack/test_play.c := -Itests -Itools -Itools/bridge -Itools/bridge/convert -Itools/record
# and to record
$(B)/test/system-stack-mcap: $(addprefix $(B)/lib/,librecord.a libconvert.a libros.a libmsggen.a) | $(B)/lib/simd/bridge_mcap.so
$(B)/test/system-stack-order: | $(B)/lib/simd/bridge_mcap.so
LINK_system-stack-mcap += $(LINK_RECORD)
FLAGS_tests/system/stack/test_mcap.c := -Itools -Itools/record -DGATE='"$(B)/test/lib/gate.so"'
# and three bridges to play them through
$(B)/test/system-stack-replay: $(addprefix $(B)/obj/tests/,system/ros2/typed.o system/ros2/reader.o support/ros_tree.o system/ros1/fake.o unit/convert/sample.o) \
	$(B)/obj/libclient/loop/address.o $(addprefix $(B)/obj/tools/bridge/ros1/,http.o tcpros.o xmlrpc.o xmlrpc_write.o) $(CYBER_SERVER) $(RECORD_LIBS) \
	| $(addprefix $(B)/lib/simd/,source_play.so bridge_ros2.so bridge_ros1.so bridge_cyber.so bridge_mcap.so)
LINK_system-stack-replay += $(LINK_RECORD) -lddsc -lexpat
FLAGS_tests/system/stack/test_replay.c := -Itools -Itools/bridge -Itools/bridge/convert -Itools/record
# and of types without a mapping, by ROS 1's own programs
$(B)/test/system-stack-unmapped: $(B)/obj/tests/support/ros_master.o | $(B)/test/ros2-unmapped \
	$(addprefix $(B)/lib/simd/,source_play.so bridge_ros1.so bridge_ros2.so bridge_mcap.so bridge_foxglove.so)
FLAGS_tests/system/stack/test_unmapped.c := -DROS2_UNMAPPED='"$(B)/test/ros2-unmapped"'
# logs that are recorded
RECORDS := $(addprefix $(B)/test/system-stack-,record record_bad)
$(RECORDS): $(B)/obj/tests/system/stack/recorder.o $(addprefix $(B)/lib/,librecord.a libconvert.a libros.a libmsggen.a) | $(B)/lib/simd/bridge_mcap.so
LINK_system-stack-record += $(LINK_RECORD) -lutil
LINK_system-stack-record_bad += $(LINK_RECORD)
FLAGS_tests/system/stack/recorder.c := -Itests -Itools -Itools/bridge
FLAGS_tests/system/stack/test_record.c := -Itests -Itools -Itools/bridge
FLAGS_tests/system/stack/test_record_bad.c := -Itests -Itools -Itools/bridge -DGATE='"$(B)/test/lib/gate.so"'
# an engine with one thread
$(B)/test/system-stack-clock: | $(B)/examples/engine
# terminals that are read
$(B)/test/system-stack-top: $(B)/obj/tests/support/screen.o | $(B)/examples/sensor_minimal
$(B)/test/system-stack-plot: $(B)/obj/tests/support/screen.o
$(B)/test/system-stack-mistakes: | $(B)/examples/sensor_minimal
$(B)/test/system-stack-trace: $(B)/obj/tests/support/screen.o | $(B)/examples/sensor_minimal
FLAGS_tests/system/stack/test_top.c := -Itests
FLAGS_tests/system/stack/test_plot.c := -Itests
FLAGS_tests/system/stack/test_trace.c := -Itests
# the rig with every kind of sensor
$(B)/test/system-stack-full: $(addprefix $(B)/obj/tests/system/,ros2/reader.o foxglove/raw.o) $(B)/lib/libschema.a | $(addprefix $(B)/lib/simd/bridge_,ros2.so foxglove.so) \
	$(addprefix $(B)/bin/,sim-sumo sim-lidar sim-camera sim-sensors) $(B)/lib/libsimreadback.so
LINK_system-stack-full += -lddsc $(LINK_READBACK)
$(B)/test/system-stack-sensors: | $(addprefix $(B)/bin/,sim-sumo sim-sensors)
# a browser beside a whole stack
$(B)/test/system-stack-page: | $(B)/lib/simd/bridge_foxglove.so
LIMIT_system-stack-page := 600
# what a failed test leaves
$(eval $(call stack_test,stack-leaves,tests/system/stack/leaves.c))
$(B)/test/stack-leaves: $(B)/lib/libtest.a
TEST_PROGRAMS += $(B)/test/stack-leaves
TESTS_NS    += tests/system/stack/leaves.sh
# it makes namespaces for each of its tests
TESTS       += tests/system/stack/wall.sh
TESTS_NOSAN += tests/system/stack/wall.sh
TESTS_FULL  += tests/system/stack/wall.sh
NEEDS_wall.sh = $(B)/test/lib/wall.so $(B)/test/readback-order
# a library that is not ours sets the clock
$(B)/test/lib/mono.so: $(B)/obj/tests/system/stack/mono.o
	@mkdir -p $(@D)
	$(CC) -shared $(HARDEN_LINK) -o $@ $<
TEST_PROGRAMS += $(B)/test/lib/mono.so
TESTS       += tests/system/stack/faketime.sh
TESTS_NOSAN += tests/system/stack/faketime.sh
TESTS_FULL  += tests/system/stack/faketime.sh
NEEDS_faketime.sh = $(B)/test/lib/mono.so
TESTS_NS    += $(patsubst tests/system/stack/test_%.c,$(B)/test/system-stack-%,$(sort $(wildcard tests/system/stack/test_*.c)))
TESTS_FAULT += $(patsubst tests/fault/stack/test_%.c,$(B)/test/fault-stack-%,$(sort $(wildcard tests/fault/stack/test_*.c)))
TESTS_SOAK  += $(B)/test/system-stack-start
TESTS_ONCE  += $(addprefix $(B)/test/system-stack-,demo page)
endif
LIMIT_system-stack-demo := 480
LIMIT_fault-stack-attacks := 480
LIMIT_fault-stack-hot := 480
