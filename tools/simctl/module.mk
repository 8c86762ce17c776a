# SPDX-License-Identifier: Apache-2.0
INC_tools/simctl := -Itools -Itools/keys -Itools/bridge -Ilibclient/include -Ilibclient/base -Ilibclient/options -Ilibclient/process -Ilibclient/varlink -Ischemas -I$(B)/gen
PROGRAMS += $(B)/bin/simctl

$(B)/bin/simctl: $(patsubst %.c,$(B)/obj/%.o,$(sort $(wildcard tools/simctl/*.c))) $(B)/lib/libkeys.a $(B)/lib/librecord.a $(B)/lib/libconvert.a $(B)/lib/libros.a $(B)/lib/libmsggen.a $(B)/lib/libbase.a | $(B)/lib/libsimclient.so
LINK_simctl = $(LINK_SIMCLIENT) $(LINK_RECORD) -ljansson -lcrypto -lpng -lncursesw -ltinfo -lm
