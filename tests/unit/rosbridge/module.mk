# SPDX-License-Identifier: Apache-2.0
INC_tests/unit/rosbridge := -I. -Itests -Itools/bridge/rosbridge -Itools/bridge/topics -Itools/bridge/convert -Ischemas -Ilibclient/include -I$(B)/gen
TESTS += $(B)/test/rosbridge-queue $(B)/test/rosbridge-send
ROSBRIDGE_OUT := $(addprefix $(B)/obj/tools/bridge/rosbridge/,queue.o send.o) \
	$(addprefix $(B)/lib/,libtopics.a libconvert.a libros.a libmsggen.a libintrospect.a libschema.a libbase.a)
$(B)/test/rosbridge-queue: $(B)/obj/tests/unit/rosbridge/test_queue.o $(ROSBRIDGE_OUT)
$(B)/test/rosbridge-send: $(B)/obj/tests/unit/rosbridge/test_send.o $(ROSBRIDGE_OUT)
LINK_rosbridge-queue := -ljansson -lm
LINK_rosbridge-send := -ljansson -lm
