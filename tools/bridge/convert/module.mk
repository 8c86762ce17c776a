# SPDX-License-Identifier: Apache-2.0
# libconvert.a: mappings and encoders, without any middleware. Linked into the plug-ins that speak ROS.
INC_tools/bridge/convert := -Itools/bridge/convert -Ischemas -Ilibclient/include -Ilibclient/base -I$(B)/gen
CONVERT_OBJS := $(patsubst %.c,$(B)/obj/%.o,$(sort $(wildcard tools/bridge/convert/*.c)))
$(B)/lib/libconvert.a: $(CONVERT_OBJS) $(addprefix $(B)/obj/gen/apollo,5/definitions.o 10/definitions.o) $(B)/obj/schemas/gen/plain_file.o
LIBS += $(B)/lib/libconvert.a
