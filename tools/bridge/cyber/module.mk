# SPDX-License-Identifier: Apache-2.0
# bridge_cyber.so: a client of Apollo's cyber_bridge.
INC_tools/bridge/cyber := -Itools/bridge/cyber -Itools/bridge/tcp -Itools/bridge/topics -Itools/bridge/convert -Ischemas -Ilibclient/include -Ilibclient/loop -Ilibclient/base -I$(B)/gen
LIBS += $(B)/lib/simd/bridge_cyber.so
$(B)/lib/simd/bridge_cyber.so: $(patsubst %.c,$(B)/obj/%.o,$(sort $(wildcard tools/bridge/cyber/*.c))) $(B)/lib/libtcplink.a $(B)/lib/libtopics.a $(B)/lib/libconvert.a $(B)/lib/libros.a $(B)/lib/libmsggen.a $(B)/lib/libloop.a $(B)/lib/libbase.a | $(B)/lib/libsimclient.so
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) $(ALL_LDFLAGS) -shared -o $@ $(filter %.o,$^) $(filter %.a,$^) $(LINK_SIMCLIENT) -ljansson -lmd -lz -lm
