# SPDX-License-Identifier: Apache-2.0
# simhost: the host of components. libsimhost.a, what tests reach of it without a simd: readers and checks of DAG and launch files.
INC_tools/simhost := -Ilibclient/include -Ilibclient/base -Ilibclient/options -Ilibclient/process -Ilibclient/component -I$(B)/gen

SIMHOST_OBJS := $(addprefix $(B)/obj/tools/simhost/,tree.o tree_json.o tree_text.o tree_xml.o keys.o file.o dag.o dag_json.o \
	dag_text.o dag_check.o flow.o launch.o launch_plan.o launch_find.o scheduler_file.o check.o launcher.o status.o)
SIMHOST_RUN_OBJS := $(addprefix $(B)/obj/tools/simhost/,main.o run.o load.o library.o watch.o crash.o)
$(B)/lib/libsimhost.a: $(SIMHOST_OBJS)
LINK_SIMHOST := -lexpat -ljansson

PROGRAMS += $(B)/bin/simhost
# of the components' code only what reads a scheduler's configuration: all else is the library's
$(B)/bin/simhost: $(SIMHOST_RUN_OBJS) $(addprefix $(B)/obj/libclient/component/,scheduler_conf.o scheduler_cpu.o) $(B)/lib/libsimhost.a $(B)/lib/libbase.a $(B)/lib/libsimclient.so
LINK_simhost = $(LINK_SIMCLIENT) $(LINK_SIMHOST) -ldl
