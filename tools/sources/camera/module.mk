# SPDX-License-Identifier: Apache-2.0
INC_tools/sources/camera := -Ilibclient/include -I$(B)/gen -Ilibclient/base -Itools

# what needs no GPU
$(B)/lib/libcamera.a: $(addprefix $(B)/obj/tools/sources/camera/,lens.o info.o boxes.o sun.o encode.o picture.o)
LINK_CAMERA := -lturbojpeg -lpng -lm
