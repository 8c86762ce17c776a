# SPDX-License-Identifier: Apache-2.0
# simhost: the host of components. libsimhost.a, what tests reach of it without a simd: readers and checks of DAG and launch files.
INC_tools/simhost := -Ilibclient/include -Ilibclient/base -Ilibclient/component -I$(B)/gen

SIMHOST_OBJS := $(addprefix $(B)/obj/tools/simhost/,tree.o tree_json.o tree_text.o tree_xml.o keys.o file.o dag.o dag_json.o \
	dag_text.o dag_check.o flow.o launch.o scheduler_file.o check.o)
$(B)/lib/libsimhost.a: $(SIMHOST_OBJS)
LINK_SIMHOST := -lexpat -ljansson

PROGRAMS += $(B)/bin/simhost
$(B)/bin/simhost: $(B)/obj/tools/simhost/main.o $(B)/lib/libsimhost.a $(B)/lib/libsimcomponent.a $(B)/lib/libbase.a
LINK_simhost := $(LINK_SIMHOST)
