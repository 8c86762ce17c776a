# SPDX-License-Identifier: Apache-2.0
# libtopics.a: what the plug-ins that speak ROS have in common, without any middleware.
INC_tools/bridge/topics := -Itools/bridge/topics -Itools/bridge/convert -Ischemas -Ilibclient/include -Ilibclient/base -I$(B)/gen
LIBS += $(B)/lib/libtopics.a
$(B)/lib/libtopics.a: $(patsubst %.c,$(B)/obj/%.o,$(sort $(wildcard tools/bridge/topics/*.c)))
