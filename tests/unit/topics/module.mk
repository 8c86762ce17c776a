# SPDX-License-Identifier: Apache-2.0
INC_tests/unit/topics := -I. -Itests -Itools/bridge/topics -Itools/bridge/convert -Ischemas -Ilibclient/include -I$(B)/gen
TESTS += $(B)/test/topics-compat
$(B)/test/topics-compat: $(B)/obj/tests/unit/topics/test_compat.o $(B)/lib/libtopics.a $(B)/lib/libconvert.a $(B)/lib/libros.a $(B)/lib/libmsggen.a $(B)/lib/libbase.a \
	| $(B)/lib/libsimclient.so
LINK_topics-compat = $(LINK_SIMCLIENT) -ljansson -lm
TESTS += $(B)/test/topics-undulation
$(B)/test/topics-undulation: $(B)/obj/tests/unit/topics/test_undulation.o $(B)/lib/libtopics.a $(B)/lib/libconvert.a $(B)/lib/libros.a $(B)/lib/libmsggen.a $(B)/lib/libbase.a \
	| $(B)/lib/libsimclient.so
LINK_topics-undulation = $(LINK_SIMCLIENT) -ljansson -lm
TESTS += $(B)/test/topics-static_frames
$(B)/test/topics-static_frames: $(B)/obj/tests/unit/topics/test_static_frames.o $(B)/lib/libtopics.a $(B)/lib/libconvert.a $(B)/lib/libmsggen.a $(B)/lib/libbase.a \
	| $(B)/lib/libsimclient.so
LINK_topics-static_frames = $(LINK_SIMCLIENT) -ljansson -lm
TESTS += $(B)/test/topics-slot_in
$(B)/test/topics-slot_in: $(B)/obj/tests/unit/topics/test_slot_in.o $(B)/lib/libtopics.a $(B)/lib/libconvert.a $(B)/lib/libmsggen.a \
	| $(B)/lib/libsimclient.so
LINK_topics-slot_in = $(LINK_SIMCLIENT) -ljansson -lm
