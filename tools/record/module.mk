# SPDX-License-Identifier: Apache-2.0
# librecord.a: readers and writers of logs. Linked with libconvert.a, libbase.a and LINK_RECORD.
INC_tools/record := -Itools/record -Itools/bridge -Itools/bridge/convert -Ischemas -Ilibclient/include -Ilibclient/base -I$(B)/gen
LINK_RECORD := -llz4 -lzstd -lbz2 -lsqlite3 -lyaml -ldeflate -lz
RECORD_OBJS := $(patsubst %.c,$(B)/obj/%.o,$(sort $(wildcard tools/record/*.c)))
$(B)/lib/librecord.a: $(RECORD_OBJS)
LIBS += $(B)/lib/librecord.a
RECORD_LIBS := $(addprefix $(B)/lib/,librecord.a libconvert.a libros.a libmsggen.a libintrospect.a libschema.a libbase.a)
