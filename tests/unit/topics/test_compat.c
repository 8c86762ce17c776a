/* SPDX-License-Identifier: Apache-2.0 */
/* "compat" of a bridge and of a topic: the mistakes of other software in a message, in the bytes of each format. */
#include "support/test.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <sim/msg/CameraInfo.h>

#include "ros/ros_type.h"
#include "topics.h"

static char said[512];
static const char *option;
static struct topics s;

__attribute__((format(printf, 3, 4))) static void host_log(void *ctx, int level, const char *fmt, ...)
{
	va_list ap;

	(void)ctx;
	if (level > 0)
		return;
	va_start(ap, fmt);
	vsnprintf(said, sizeof(said), fmt, ap);
	va_end(ap);
}

static const char *host_option(void *ctx, const char *name)
{
	(void)ctx;
	return strcmp(name, "compat") == 0 ? option : NULL;
}

/* The oldest possible host: topics do without the functions that it lacks. */
static const struct sim_bridge_host host = {
	.abi = SIM_BRIDGE_ABI, .size = offsetof(struct sim_bridge_host, publish), .log = host_log, .option = host_option
};

static int open_one(void *arg, const struct sim_bridge_channel *ch, const struct topic_options *w,
		    struct topic_out **ret, char *why, size_t why_size)
{
	struct topic_out *t = calloc(1, sizeof(*t));

	(void)arg;
	assert_non_null(t);
	*ret = t;
	return topic_out_open(&s, ch, w, t, why, why_size);
}

static void close_one(void *arg, struct topic_out *t)
{
	(void)arg;
	topic_out_close(t);
	free(t);
}

/* The first of the two numbers behind the header of a CameraInfo of 640 x 480, as a topic of these options sends it. */
static uint32_t first_number(enum wire_format format, const char *options)
{
	static const struct sim_CameraInfo info = { .width = 640, .height = 480 };
	struct sim_bridge_channel ch = { .name = "info", .type = &sim_CameraInfo_type, .options = options };
	/* stamp, seq in ROS 1, frame "eye"; in CDR what names the format, the NUL and the padding to 4 */
	size_t at = format == WIRE_CDR ? 4 + 8 + 4 + 4 : format == WIRE_ROS1 ? 4 + 8 + 4 + 3 : 8 + 4 + 3;
	struct map_message in = { .body = &info, .size = sizeof(info), .header = { .frame = "eye" } };
	struct sim_bridge_topic *t;
	struct iov_buf *o;
	uint32_t n;

	s = (struct topics){ .host = &host,
			     .key = "far",
			     .known = format == WIRE_ROS1 ? ros1_types : ros2_types,
			     .format = format,
			     .svl = bridge_option_compat(&host) == 1,
			     .open = open_one,
			     .close = close_one };
	topics_init(&s);
	assert_int_equal(topics_open_channel(&s, &ch, &t), 0);
	assert_int_equal(topic_out_encode(t->out[0], &in, &o), 0);
	memcpy(&n, o->buf + at, sizeof(n));
	topics_put_buf(&s, o);
	topics_close_channel(&s, t);
	topics_finish(&s);
	return n;
}

TEST(mistakes_are_reproduced_on_request_only)
{
	for (enum wire_format f = WIRE_CDR; f <= WIRE_POSITIONAL; f++) {
		option = NULL; /* a host that knows of none */
		assert_int_equal(first_number(f, "{}"), 480);
		option = "none";
		assert_int_equal(first_number(f, "{}"), 480);
	}
}

TEST(compat_can_be_set_for_the_bridge_or_one_topic)
{
	static const char svl[] = "{\"far\":{\"compat\":\"svl2021.3\"}}", none[] = "{\"far\":{\"compat\":\"none\"}}";

	for (enum wire_format f = WIRE_CDR; f <= WIRE_POSITIONAL; f++) {
		uint32_t wrong = f == WIRE_ROS1 ? 480 : 640; /* on ROS 1 the fields had names, and no mistake in them */

		option = "svl2021.3";
		assert_int_equal(first_number(f, "{}"), wrong);
		assert_int_equal(first_number(f, none), 480);
		option = "none";
		assert_int_equal(first_number(f, svl), wrong);
	}
}

TEST(another_simulator_is_refused)
{
	struct sim_bridge_channel ch = { .name = "info",
					 .type = &sim_CameraInfo_type,
					 .options = "{\"far\":{\"compat\":\"svl2020\"}}" };
	struct sim_bridge_topic *t;

	option = "svl2020";
	assert_int_equal(bridge_option_compat(&host), -EINVAL);
	assert_string_equal(said, "options.compat: \"svl2020\" is not one of none, svl2021.3");
	s = (struct topics){ .host = &host, .key = "far", .known = ros2_types, .open = open_one, .close = close_one };
	topics_init(&s);
	assert_int_equal(topics_open_channel(&s, &ch, &t), -EINVAL);
	assert_string_equal(said, "info: options.far: \"compat\" must be one of none, svl2021.3");
	topics_finish(&s);
}
