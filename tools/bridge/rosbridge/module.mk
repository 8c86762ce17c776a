# SPDX-License-Identifier: Apache-2.0
# bridge_rosbridge.so: a client of a rosbridge server, over WebSocket.
INC_tools/bridge/rosbridge := -Itools/bridge/rosbridge -Itools/bridge/topics -Itools/bridge/convert -Ischemas -Ilibclient/include -Ilibclient/loop -Ilibclient/base -I$(B)/gen
LIBS += $(B)/lib/simd/bridge_rosbridge.so
$(B)/lib/simd/bridge_rosbridge.so: $(patsubst %.c,$(B)/obj/%.o,$(sort $(wildcard tools/bridge/rosbridge/*.c))) $(B)/lib/libtopics.a $(B)/lib/libconvert.a $(B)/lib/libros.a $(B)/lib/libmsggen.a $(B)/lib/libloop.a $(B)/lib/libbase.a | $(B)/lib/libsimclient.so
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) $(ALL_LDFLAGS) -shared -o $@ $(filter %.o,$^) $(filter %.a,$^) $(LINK_SIMCLIENT) -lwebsockets -lcrypto -ljansson -lz -lmd -lm
