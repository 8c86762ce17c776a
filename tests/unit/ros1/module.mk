# SPDX-License-Identifier: Apache-2.0
INC_tests/unit/ros1 := -I. -Itests -Itools/bridge/ros1 -Ilibclient/loop -Ilibclient/include -I$(B)/gen
TESTS += $(B)/test/ros1-xmlrpc $(B)/test/ros1-http $(B)/test/ros1-tcpros
$(B)/test/ros1-xmlrpc: $(B)/obj/tests/unit/ros1/test_xmlrpc.o $(addprefix $(B)/obj/tools/bridge/ros1/,xmlrpc.o xmlrpc_write.o) $(B)/lib/libbase.a
LINK_ros1-xmlrpc := -lexpat
$(B)/test/ros1-http: $(B)/obj/tests/unit/ros1/test_http.o $(B)/obj/tools/bridge/ros1/http.o $(B)/lib/libloop.a
$(B)/test/ros1-tcpros: $(B)/obj/tests/unit/ros1/test_tcpros.o $(B)/obj/tools/bridge/ros1/tcpros.o
TESTS += $(B)/test/ros1-names
$(B)/test/ros1-names: $(B)/obj/tests/unit/ros1/test_names.o $(B)/obj/tools/bridge/ros1/names.o $(B)/lib/libtopics.a
LINK_ros1-names := -ljansson
# The whole node, in virtual time: all of the plug-in but its table; line: with a network.
TESTS += $(B)/test/ros1-master $(B)/test/ros1-line
$(B)/test/ros1-master $(B)/test/ros1-line: $(B)/test/ros1-%: $(B)/obj/tests/unit/ros1/test_%.o \
	$(patsubst %.c,$(B)/obj/%.o,$(filter-out %/ros1.c,$(sort $(wildcard tools/bridge/ros1/*.c)))) \
	$(addprefix $(B)/lib/,libtopics.a libconvert.a libros.a libmsggen.a libloop.a libbase.a) | $(B)/lib/libsimclient.so
LINK_ros1-master = $(LINK_SIMCLIENT) -lexpat -ljansson -lm
$(B)/test/ros1-line: $(VNET)
LINK_ros1-line = $(LINK_ros1-master) $(VNET_LINK)
FLAGS_tests/unit/ros1/test_line.c = $(FLAGS_tests/unit/ros1/test_master.c)
FLAGS_tests/unit/ros1/test_master.c := -Itools/bridge/topics -Itools/bridge/convert -Ischemas $(ROOMS_INC)
