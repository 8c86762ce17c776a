# SPDX-License-Identifier: Apache-2.0
# One suite, stamped on what may lie under a stream.
INC_tests/conformance/stream := -I. -Itests -Itests/conformance/stream -Ilibclient/loop $(ROOMS_INC) -I$(B)/gen
STREAM_KINDS := tcp tls tls_vnet unix vnet
TESTS += $(STREAM_KINDS:%=$(B)/test/conformance-stream-%)
$(STREAM_KINDS:%=$(B)/test/conformance-stream-%): $(B)/test/conformance-stream-%: \
	$(addprefix $(B)/obj/tests/conformance/stream/,suite.o %.o) $(addprefix $(B)/lib/,libloop.a libbase.a)
$(addprefix $(B)/test/conformance-stream-,tls tls_vnet): $(B)/obj/tests/conformance/stream/protect.o $(addprefix $(B)/lib/,libworld.a liblooptls.a)
LINK_conformance-stream-tls = $(LINK_LOOP_TLS)
$(addprefix $(B)/test/conformance-stream-,vnet tls_vnet): $(VNET)
LINK_conformance-stream-vnet = $(VNET_LINK)
LINK_conformance-stream-tls_vnet = $(LINK_LOOP_TLS) $(VNET_LINK)
