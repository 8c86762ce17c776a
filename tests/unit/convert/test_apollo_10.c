/* SPDX-License-Identifier: Apache-2.0 */
/* Apollo's messages by value. */
#include "support/test.h"

#include <errno.h>

#include "apollo_peer.h"
#include "cyber/proto/clock.pb-c.h"
#include "modules/common_msgs/sensor_msgs/sensor_image.pb-c.h"
#include "sim/msg/Clock.h"
#include "sim/msg/CompressedImage.h"
#include "sim/msg/Image.h"

const enum apollo_release apollo_family = APOLLO_10;

#define STAMP INT64_C(1700000000250000000)

static struct apollo_body body;

TEST(a_clock_is_nanoseconds_and_needs_no_definition)
{
	struct iovec files[APOLLO_FILES_MAX];
	Apollo__Cyber__Proto__Clock *c;

	sim_Clock_init(body.bytes, sizeof(body.bytes), &body.b)->clock = STAMP;
	c = apollo_peer_read_body(&body, "sim/Clock", "apollo.cyber.proto.Clock", 0, NULL);
	assert_int_equal(c->clock, STAMP);
	assert_int_equal(apollo_type_files(apollo_type_for(APOLLO_10, "sim/Clock", NULL), files), 0);
	assert_string_equal(apollo_type_channel(apollo_type_for(APOLLO_10, "sim/Clock", NULL)), "/clock");
}

TEST(an_image_keeps_its_bytes_and_has_the_time_of_its_capture)
{
	struct apollo_options o = { .frame = "front_6mm" };
	struct sim_Image *m = sim_Image_init(body.bytes, sizeof(body.bytes), &body.b);
	Apollo__Drivers__Image *i;
	uint8_t *data;

	m->height = 40;
	m->width = 60;
	m->step = 180;
	sim_Image_encoding_set(&body.b, "rgb8");
	data = sim_Image_data_alloc(&body.b, 7200);
	memset(data, 0x5a, 7200);
	data[7199] = 3;
	i = apollo_peer_read_body(&body, "sim/Image", "apollo.drivers.Image", STAMP, &o);
	assert_true(i->header->timestamp_sec == 1700000000.25 && i->measurement_time == 1700000000.25);
	assert_int_equal(i->header->sequence_num, 7);
	assert_int_equal(i->header->camera_timestamp, STAMP);
	assert_string_equal(i->header->frame_id, "front_6mm");
	assert_string_equal(i->frame_id, "front_6mm");
	assert_string_equal(i->encoding, "rgb8");
	assert_int_equal(i->width, 60);
	assert_int_equal(i->height, 40);
	assert_int_equal(i->step, 180);
	assert_int_equal(i->data.len, 7200);
	assert_int_equal(i->data.data[7199], 3);
}

TEST(a_compressed_image_is_a_jpg)
{
	struct sim_CompressedImage *m = sim_CompressedImage_init(body.bytes, sizeof(body.bytes), &body.b);
	Apollo__Drivers__CompressedImage *i;

	m->height = 40;
	m->width = 60;
	sim_CompressedImage_format_set(&body.b, "jpeg");
	memset(sim_CompressedImage_data_alloc(&body.b, 9), 1, 9);
	i = apollo_peer_read_body(&body, "sim/CompressedImage", "apollo.drivers.CompressedImage", STAMP, NULL);
	assert_string_equal(i->format, "jpg");
	assert_int_equal(i->data.len, 9);
	assert_int_equal(i->width, 60);
	assert_string_equal(i->frame_id, "sensor");
}
