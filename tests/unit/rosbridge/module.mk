# SPDX-License-Identifier: Apache-2.0
INC_tests/unit/rosbridge := -I. -Itests -Itools/bridge/rosbridge -Itools/bridge/topics -Itools/bridge/convert -Ischemas -Ilibclient/include -Ilibclient/loop $(ROOMS_INC) -I$(B)/gen
TESTS += $(B)/test/rosbridge-send
ROSBRIDGE_OUT := $(B)/obj/tools/bridge/rosbridge/send.o \
	$(addprefix $(B)/lib/,libtopics.a libconvert.a libros.a libmsggen.a libintrospect.a libschema.a libloop.a libbase.a)
$(B)/test/rosbridge-send: $(B)/obj/tests/unit/rosbridge/test_send.o $(ROSBRIDGE_OUT)
LINK_rosbridge-send := -ljansson -lm
