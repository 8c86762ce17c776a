/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every message of schemas/ros, in the form of either ROS, as a type of its own definition: it goes out again under the same sum or hash, and
 * random messages are the same bytes there and back.
 */
#include "support/test.h"

#include <string.h>

#include "conversion.h"
#include "enc_wire.h"
#include "ros/ros_definition.h"
#include "ros/ros_text.h"
#include "unit/introspect/random_msg.h"

#define ROUNDS 20

static _Alignas(64) uint8_t body[1 << 21], back[1 << 21];
static uint8_t wire[1 << 21], again[1 << 21];
static uint64_t seed = 4711;

static size_t emit(const struct conversion_out *c, const void *from, size_t size, enum wire_format format, uint8_t *to)
{
	static const struct map_options options;
	const struct map_message m = { .body = from, .size = size, .header = { .frame = "" }, .options = &options };
	struct iovec iov[IOV_BUF_PIECES];
	struct enc_wire w;
	struct iov_buf o;
	size_t at = 0;
	char why[256];

	iov_buf_init(&o);
	wire_begin(&w, format, &o);
	assert_int_equal(conversion_out_emit(c, &m, &w.enc, why, sizeof(why)), 0);
	assert_int_equal(wire_finish(&w), 0);
	for (unsigned i = 0, n = iov_buf_iov(&o, iov); i < n; at += iov[i++].iov_len)
		memcpy(to + at, iov[i].iov_base, iov[i].iov_len);
	iov_buf_finish(&o);
	return at;
}

static void cross(const struct conversion_in *in, const struct conversion_out *out, enum wire_format format)
{
	for (unsigned i = 0; i < ROUNDS; i++) {
		struct message_in to = { .buf = back, .room = sizeof(back) };
		size_t size = random_msg(&seed, in->sim, body, sizeof(body)), len;

		assert_true(size > 0);
		len = emit(out, body, size, format, wire);
		if (conversion_in_read(in, format, wire, len, &to) < 0)
			fail_msg("%s does not come in again", in->sim->name);
		assert_int_equal(sim_msg_check(in->sim, back, to.size), 0);
		assert_int_equal(emit(out, back, to.size, format, again), len);
		assert_memory_equal(wire, again, len);
	}
}

enum crossing { CROSSES, NO_TYPE_OF_OURS, NOT_IN_ROS };

static enum crossing crosses(const struct ros_type *const *known, const char *name, enum wire_format format)
{
	struct conversion_out out = { .type = NULL };
	struct conversion_in in;
	const struct ros_type *theirs;
	struct ros_text *made;
	char why[256] = "";

	if (ros_definition_type(known, name, &theirs, &made) < 0)
		return NOT_IN_ROS;
	if (!*theirs->hash) { /* of ROS 2's table alone */
		ros_text_destroy(made);
		return NOT_IN_ROS;
	}
	if (conversion_in_open_text(NULL, known, name, theirs->definition, true, &in, why, sizeof(why)) < 0) {
		ros_text_destroy(made);
		return NO_TYPE_OF_OURS;
	}
	if (conversion_out_open(NULL, known, in.sim, name, &out, why, sizeof(why)) < 0)
		fail_msg("%s does not go out: %s", name, why);
	if (strcmp(out.type->hash, theirs->hash) != 0 || strcmp(out.type->name, theirs->name) != 0)
		fail_msg("%s goes out as %s, %s instead of %s", name, out.type->name, out.type->hash, theirs->hash);
	cross(&in, &out, format);
	conversion_out_close(&out);
	conversion_in_close(&in);
	ros_text_destroy(made);
	return CROSSES;
}

/* but: those that do not, each with a line end; ROS 1 has no arrays with a bound, so some are not there. */
static unsigned cross_all(const struct ros_type *const *known, enum wire_format format, char *but, size_t size)
{
	struct ros_definition d;
	unsigned n = 0;

	random_ros_times = true;
	but[0] = '\0';
	for (unsigned i = 0; ros_definition_nth(known, i, &d); i++) {
		enum crossing what = crosses(known, d.name, format);
		size_t len = strlen(but);

		n += what == CROSSES;
		if (what == NO_TYPE_OF_OURS)
			snprintf(but + len, size - len, "%s\n", d.name);
	}
	return n;
}

/* Names of more than 63 characters. */
#define TOO_LONG(request) \
	"autoware_auto_geometry_msgs/RelativePositionWithCovarianceStamped\n" request \
	"autoware_internal_localization_msgs/InitializeLocalization_Response\n" \
	"autoware_internal_localization_msgs/PoseWithCovarianceStamped_Request\n" \
	"autoware_internal_localization_msgs/PoseWithCovarianceStamped_Response\n" \
	"tier4_external_api_msgs/GetAccelBrakeMapCalibrationData_Response\n"

TEST(every_ros2_message_is_received_and_sent_unchanged)
{
	char but[4096];

	assert_true(cross_all(ros2_types, WIRE_CDR, but, sizeof(but)) > 900);
	assert_string_equal(but, TOO_LONG("autoware_internal_localization_msgs/InitializeLocalization_Request\n"));
}

TEST(every_ros1_message_is_received_and_sent_unchanged)
{
	char but[4096];

	assert_true(cross_all(ros1_types, WIRE_ROS1, but, sizeof(but)) > 800);
	assert_string_equal(but, TOO_LONG(""));
}
