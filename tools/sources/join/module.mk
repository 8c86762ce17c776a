# SPDX-License-Identifier: Apache-2.0
# sim-join; libjoin.a is what tests reach without a simd
$(B)/lib/libjoin.a: $(addprefix $(B)/obj/tools/sources/,join/others.o ids.o)

PROGRAMS += $(B)/bin/sim-join
$(B)/bin/sim-join: $(addprefix $(B)/obj/tools/sources/,join/main.o stop.o outlet.o) $(addprefix $(B)/lib/,libjoin.a libbase.a) \
	| $(B)/lib/libsimclient.so $(B)/lib/libsimworld.so
LINK_sim-join = $(LINK_SIMCLIENT) -lsimworld -ljansson -lm
