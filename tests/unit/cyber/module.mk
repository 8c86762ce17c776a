# SPDX-License-Identifier: Apache-2.0
INC_tests/unit/cyber := -I. -Itests -Itools/bridge/cyber -Itools/bridge/tcp -Itools/bridge/topics -Itools/bridge/convert -Ilibclient/include -Ilibclient/loop -Ilibclient/base -I$(B)/gen
TESTS += $(B)/test/cyber-send
$(B)/test/cyber-send: $(addprefix $(B)/obj/,tests/unit/cyber/test_send.o tools/bridge/cyber/send.o tools/bridge/convert/iov_buf.o) $(B)/lib/libtcplink.a $(B)/lib/libloop.a $(B)/lib/libbase.a
TESTS_NS += $(B)/test/cyber-server
$(B)/test/cyber-server: $(B)/obj/tests/unit/cyber/test_server.o $(CYBER_SERVER) $(B)/lib/libbase.a
