# SPDX-License-Identifier: Apache-2.0
# bridge_mcap.so: recordings in MCAP, by librecord.a.
INC_tools/bridge/mcap := -Itools -Itools/record -Itools/bridge -Itools/bridge/convert -Ilibclient/include -Ilibclient/base -I$(B)/gen
MCAP_LIBS := $(addprefix $(B)/lib/,librecord.a libconvert.a libros.a libmsggen.a libbase.a)
LIBS += $(B)/lib/simd/bridge_mcap.so
$(B)/lib/simd/bridge_mcap.so: $(patsubst %.c,$(B)/obj/%.o,$(sort $(wildcard tools/bridge/mcap/*.c))) $(MCAP_LIBS) | $(B)/lib/libsimclient.so
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) $(ALL_LDFLAGS) -shared -o $@ $(filter %.o,$^) -Wl,--exclude-libs,ALL -Wl,--start-group $(filter %.a,$^) -Wl,--end-group $(LINK_SIMCLIENT) $(LINK_RECORD) $(LIBBASE_LIBS) -lmd -lm
