/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The wire encoders: bytes that are known from elsewhere, the sizes of whole messages, and a reader that
 * knows nothing but the definition and must end exactly at the last byte of every mapping's message.
 */

#include "tests/support/test.h"

#include <errno.h>

#include "enc_wire.h"
#include "map.h"
#include "ros/ros_type.h"
#include "sample.h"
#include "sim/introspect.h"
#include "sim/msg/Clock.h"
#include "sim/msg/Image.h"
#include "sim/point_cloud.h"

static _Alignas(64) uint8_t body[65536];
static const struct map_options plain;

static struct map_message input(size_t size, const char *frame)
{
	return (struct map_message){ .body = body, .size = size, .header = { 1500000000, 7, frame }, .options = &plain };
}

/* All pieces behind one another; returns the length. */
static size_t bytes_of(const struct iov_buf *o, uint8_t *to, size_t room)
{
	struct iovec iov[IOV_BUF_PIECES];
	unsigned n = iov_buf_iov(o, iov);
	size_t at = 0;

	for (unsigned i = 0; i < n; i++) {
		assert_true(iov[i].iov_len <= room - at);
		memcpy(to + at, iov[i].iov_base, iov[i].iov_len);
		at += iov[i].iov_len;
	}
	assert_int_equal(at, o->total);
	return at;
}

static size_t encode(enum wire_format format, const char *sim, const char *ros, const struct map_message *in,
		     uint8_t *to, size_t room)
{
	struct enc_wire w;
	struct iov_buf o;
	size_t n;

	iov_buf_init(&o);
	wire_begin(&w, format, &o);
	assert_int_equal(map_find(sim, ros)->emit(in, &w.enc), 0);
	assert_int_equal(wire_finish(&w), 0);
	n = bytes_of(&o, to, room);
	iov_buf_finish(&o);
	return n;
}

TEST(a_clock_has_its_known_bytes)
{
	static const uint8_t cdr[] = { 0, 1, 0, 0, 0x80, 0x99, 0xcf, 0x61, 0x00, 0xcd, 0x5b, 0x07 };
	struct sim_builder b;
	struct sim_Clock *m = sim_Clock_init(body, sizeof(body), &b);
	struct map_message in = input(sim_builder_size(&b), "");
	uint8_t got[64];

	m->clock = INT64_C(1640995200123456768);
	assert_int_equal(encode(WIRE_CDR, "sim/Clock", NULL, &in, got, sizeof(got)), sizeof(cdr));
	assert_memory_equal(got, cdr, sizeof(cdr));
	assert_int_equal(encode(WIRE_ROS1, "sim/Clock", NULL, &in, got, sizeof(got)), 8);
	assert_memory_equal(got, cdr + 4, 8);
	assert_int_equal(encode(WIRE_POSITIONAL, "sim/Clock", NULL, &in, got, sizeof(got)), 8);
	assert_memory_equal(got, cdr + 4, 8);
}

TEST(cdr_aligns_relative_to_the_end_of_its_header)
{
	static const uint8_t want[] = {
		0, 1, 0, 0,                                               /* header */
		1, 0, 0, 0, 0, 0, 0,    0,                                /* uint8, then the gap before a float64 */
		0, 0, 0, 0, 0, 0, 0xf0, 0x3f, 3, 0, 0, 0, 'a', 'b', 0, 0, /* string with its NUL, gap before uint16 */
		2, 0, 0, 0,                                               /* uint16, gap before the count */
		0, 0, 0, 0, /* an empty sequence of float64: no gap for its elements */
		9, 0, 0, 0, /* uint8 and the padding to 4 */
	};
	static const uint8_t packed[] = { 1, 0, 0, 0, 0, 0, 0, 0xf0, 0x3f, 2, 0, 0, 0, 'a', 'b', 2, 0, 0, 0, 0, 0, 9 };

	for (int format = WIRE_CDR; format <= WIRE_ROS1; format++) {
		uint16_t two = 2;
		uint8_t got[64];
		struct enc_wire w;
		struct iov_buf o;

		iov_buf_init(&o);
		wire_begin(&w, (enum wire_format)format, &o);
		sim_enc_u8(&w.enc, "a", 1);
		sim_enc_f64(&w.enc, "b", 1.0);
		sim_enc_text(&w.enc, "c", "ab");
		sim_enc_u16(&w.enc, "d", two);
		sim_enc_array(&w.enc, "e", SIM_KIND_FLOAT64, NULL, 0);
		sim_enc_u8(&w.enc, "f", 9);
		assert_int_equal(wire_finish(&w), 0);
		assert_int_equal(bytes_of(&o, got, sizeof(got)), format == WIRE_CDR ? sizeof(want) : sizeof(packed));
		assert_memory_equal(got, format == WIRE_CDR ? want : packed, o.total);
		iov_buf_finish(&o);
	}
}

TEST(an_empty_message_takes_a_byte)
{
	static const uint8_t want[8] = { 0, 1 };
	struct enc_wire w;
	struct iov_buf o;
	uint8_t got[16];

	iov_buf_init(&o);
	wire_begin(&w, WIRE_CDR, &o);
	assert_int_equal(wire_finish(&w), 0);
	assert_int_equal(bytes_of(&o, got, sizeof(got)), 8);
	assert_memory_equal(got, want, 8);
	wire_begin(&w, WIRE_ROS1, &o);
	assert_int_equal(wire_finish(&w), 0);
	assert_int_equal(o.total, 0);
	iov_buf_finish(&o);
}

/* Sizes that lgsvl_bridge is known to take. */
TEST(positional_messages_have_the_known_sizes)
{
	static const struct map_options svl = { .frame = "velodyne", .points = MAP_POINTS_SVL32 };
	static const struct map_options odom = { .child_frame = "base_link" };
	struct sim_builder b;
	uint8_t got[4096];
	struct map_message in;

	in = input(sample_body(sim_type_builtin("sim/Imu"), body, sizeof(body)), "imu");
	assert_int_equal(encode(WIRE_POSITIONAL, "sim/Imu", NULL, &in, got, sizeof(got)), 323);
	in = input(sample_body(sim_type_builtin("sim/GpsOdometry"), body, sizeof(body)), "odom");
	in.options = &odom;
	assert_int_equal(encode(WIRE_POSITIONAL, "sim/GpsOdometry", "nav_msgs/Odometry", &in, got, sizeof(got)), 717);
	memset(sim_point_cloud_begin(body, sizeof(body), 5, &b), 0, 5 * sizeof(struct sim_Point));
	in = input(sim_builder_size(&b), "");
	in.options = &svl;

	assert_int_equal(encode(WIRE_POSITIONAL, "sim/PointCloud", NULL, &in, got, sizeof(got)), 132 + 32 * 5);
}

TEST(large_arrays_are_not_copied)
{
	static _Alignas(64) uint8_t big[1 << 20];
	struct sim_builder b;
	struct sim_Image *m = sim_Image_init(big, sizeof(big), &b);
	struct map_message in = { .body = big, .header = { 0, 0, "camera" }, .options = &plain };
	struct iovec iov[IOV_BUF_PIECES];
	struct enc_wire w;
	struct iov_buf o;
	uint8_t *data;

	m->height = 500;
	m->width = 640;
	m->step = 1920;
	assert_int_equal(sim_Image_encoding_set(&b, "rgb8"), 0);
	data = sim_Image_data_alloc(&b, m->step * m->height);
	assert_non_null(data);
	in.size = sim_builder_size(&b);
	iov_buf_init(&o);
	for (int i = 0; i < 2; i++) { /* the second message meets what the first has left */
		wire_begin(&w, WIRE_CDR, &o);
		assert_int_equal(map_find("sim/Image", NULL)->emit(&in, &w.enc), 0);
		assert_int_equal(wire_finish(&w), 0);
		assert_int_equal(iov_buf_iov(&o, iov), 2);
		assert_ptr_equal(iov[1].iov_base, data);
		assert_int_equal(iov[1].iov_len, 960000);
	}
	assert_int_equal(o.copied, 0);
	assert_int_equal(o.referred, 2 * 960000);
	iov_buf_finish(&o);
}

TEST(times_outside_the_range_of_a_format_are_errors)
{
	static const struct {
		enum wire_format format;
		enum sim_kind kind;
		int64_t ns;
		int want;
	} cases[] = {
		{ WIRE_CDR, SIM_KIND_TIME, -1, 0 },
		{ WIRE_ROS1, SIM_KIND_TIME, -1, -ERANGE },
		{ WIRE_ROS1, SIM_KIND_DURATION, -1, 0 },
		{ WIRE_CDR, SIM_KIND_TIME, INT64_C(2147483648) * 1000000000, -ERANGE },
		{ WIRE_ROS1, SIM_KIND_TIME, INT64_C(2147483648) * 1000000000, 0 },
	};
	struct iov_buf o;

	iov_buf_init(&o);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct enc_wire w;

		wire_begin(&w, cases[i].format, &o);
		w.enc.ops->time(&w.enc, "t", cases[i].kind, cases[i].ns);
		assert_int_equal(wire_finish(&w), cases[i].want);
	}
	iov_buf_finish(&o);
}

/* ---- reading by the definition alone ---- */

struct reader {
	const uint8_t *p;
	size_t at, len;
	bool cdr;
};

static uint32_t take(struct reader *r, size_t size)
{
	uint32_t v = 0;

	if (r->cdr && size > 1)
		r->at = (r->at + size - 1) & ~(size - 1);
	assert_true(r->at + size <= r->len);
	memcpy(&v, r->p + r->at, size < 4 ? size : 4);
	r->at += size;
	return v;
}

static void read_type(struct reader *r, const struct ros_type *t);

static void read_value(struct reader *r, const struct ros_field *f)
{
	static const uint8_t sizes[ROS_PRIM_END] = {
#define X(id, bytes) [ROS_##id] = bytes,
		ROS_PRIMS(X)
#undef X
	};
	uint32_t n;

	if (f->prim == ROS_NESTED) {
		read_type(r, f->type);
	} else if (f->prim == ROS_STRING) {
		n = take(r, 4);
		assert_true(n <= r->len - r->at && (!r->cdr || (n && r->p[r->at + n - 1] == 0)));
		r->at += n;
	} else if (f->prim == ROS_TIME || f->prim == ROS_DURATION) {
		take(r, 4);
		assert_true(take(r, 4) < 1000000000);
	} else if (f->prim == ROS_BOOL) {
		assert_true(take(r, 1) <= 1);
	} else {
		take(r, sizes[f->prim]);
	}
}

static void read_type(struct reader *r, const struct ros_type *t)
{
	for (uint32_t i = 0; i < t->n_fields; i++) {
		const struct ros_field *f = &t->fields[i];
		uint32_t n = f->array == ROS_ONE ? 1 : f->array == ROS_FIXED ? f->count : take(r, 4);

		while (n--)
			read_value(r, f);
	}
}

TEST(every_message_ends_where_its_definition_does)
{
	for (const struct map *m = map_table; m->sim; m++) {
		uint8_t got[8192];
		struct map_message in = input(sample_body(sim_type_builtin(m->sim), body, sizeof(body)), "a frame");
		struct reader cdr = { .p = got + 4, .cdr = true }, ros1 = { .p = got };

		if (strcmp(m->sim, "sim/Image") == 0 || strcmp(m->sim, "sim/PointCloud") == 0)
			memset(body + 0, 0, 16); /* no pixels, no points: the sample's sizes do not fit its data */
		if (strcmp(m->sim, "sim/Image") == 0)
			memset(&((struct sim_Image *)(void *)body)->data, 0, 8);
		if (strcmp(m->sim, "sim/PointCloud") == 0)
			memset(&((struct sim_PointCloud *)(void *)body)->data, 0, 8);
		cdr.len = encode(WIRE_CDR, m->sim, m->ros, &in, got, sizeof(got)) - 4;
		read_type(&cdr, ros_type_find(ros2_types, m->ros));
		assert_true(cdr.len - cdr.at < 4);
		in.ros1 = true;
		ros1.len = encode(WIRE_ROS1, m->sim, m->ros, &in, got, sizeof(got));
		read_type(&ros1, ros_type_find(ros1_types, m->ros));
		assert_int_equal(ros1.at, ros1.len);
	}
}
