# SPDX-License-Identifier: Apache-2.0
# bridge_foxglove.so: a server for Foxglove, Lichtblick and browsers, with its web page inside.
INC_tools/bridge/foxglove := -Itools/bridge/foxglove -Itools/bridge/topics -Itools/bridge/convert -Ischemas -Ilibclient/include -Ilibclient/base -I$(B)/gen
FOXGLOVE_PAGE := $(sort $(filter-out %.md,$(wildcard tools/bridge/foxglove/page/*)))
LIBS += $(B)/lib/simd/bridge_foxglove.so
# the page's files, and a table of them
$(B)/gen/foxglove_page.inc: $(FOXGLOVE_PAGE) tools/bridge/foxglove/module.mk
	@mkdir -p $(@D)
	@for f in $(FOXGLOVE_PAGE); do echo "PAGE(\"$${f##*/}\", $$(echo "$${f##*/}" | tr -c 'a-zA-Z0-9\n' _), \"$$f\")"; done >$@
$(B)/obj/tools/bridge/foxglove/page.o: $(B)/gen/foxglove_page.inc $(FOXGLOVE_PAGE)
$(B)/lib/simd/bridge_foxglove.so: $(patsubst %.c,$(B)/obj/%.o,$(sort $(wildcard tools/bridge/foxglove/*.c))) $(B)/lib/libtopics.a $(B)/lib/libconvert.a $(B)/lib/libros.a $(B)/lib/libmsggen.a $(B)/lib/libbase.a | $(B)/lib/libsimclient.so
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) $(ALL_LDFLAGS) -shared -o $@ $(filter %.o,$^) $(filter %.a,$^) $(LINK_SIMCLIENT) -lwebsockets -lcrypto -ljansson -lmd -lz -lm
