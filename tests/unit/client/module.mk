# SPDX-License-Identifier: Apache-2.0
CLIENT_TESTS := gate
TESTS += $(CLIENT_TESTS:%=$(B)/test/client-%)
CLIENT_LIBS := $(B)/lib/libsimclient.a $(B)/lib/libbase.a
$(CLIENT_TESTS:%=$(B)/test/client-%): $(B)/test/client-%: $(B)/obj/tests/unit/client/test_%.o $(CLIENT_LIBS)
