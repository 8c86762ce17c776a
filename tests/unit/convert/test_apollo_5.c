/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Apollo 5's messages. Tests that are the same for both families are in apollo_every.c, tests of values in
 * test_apollo_10.c.
 */
#include "support/test.h"

#include "apollo_peer.h"
#include "modules/control/proto/pad_msg.pb-c.h"
#include "sim/msg/EngageCommand.h"

const enum apollo_release apollo_family = APOLLO_5;

TEST(definitions_have_the_names_of_apollo_5)
{
	static const char want[] = "\n%modules/drivers/proto/sensor_image.proto";
	struct iovec files[APOLLO_FILES_MAX];
	const struct apollo_type *t = apollo_type_for(apollo_family, "sim/Image", NULL);
	size_t n = apollo_type_files(t, files);

	assert_int_equal(n, 3); /* error_code, header, sensor_image */
	assert_true(files[2].iov_len > sizeof(want));
	assert_int_equal(((const char *)files[2].iov_base)[1], (int)strlen(want) - 2);
	assert_memory_equal((const char *)files[2].iov_base + 2, want + 2, strlen(want) - 2);
	t = apollo_type_for(apollo_family, "sim/Clock", NULL);
	assert_int_equal(apollo_type_files(t, files), 1); /* its cyber_bridge has no clock */
}

/* What Apollo 10 has as the action is the mode in Apollo 5. */
TEST(a_pad_message_has_its_action_in_another_field)
{
	static struct apollo_body body;
	Apollo__Control__PadMessage pad = APOLLO__CONTROL__PAD_MESSAGE__INIT;

	pad.has_driving_mode = true;
	pad.driving_mode = APOLLO__CANBUS__CHASSIS__DRIVING_MODE__COMPLETE_AUTO_DRIVE;
	assert_int_equal(apollo_peer_decode(&pad.base, "apollo.control.PadMessage", NULL, NULL, &body), 0);
	assert_true(sim_EngageCommand_from(body.bytes, body.b.used)->engage);
	pad.has_action = true;
	pad.action = APOLLO__CONTROL__DRIVING_ACTION__STOP;
	assert_int_equal(apollo_peer_decode(&pad.base, "apollo.control.PadMessage", NULL, NULL, &body), 0);
	assert_false(sim_EngageCommand_from(body.bytes, body.b.used)->engage);
}
