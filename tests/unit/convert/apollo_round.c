/* SPDX-License-Identifier: Apache-2.0 */
/* There and back: what Apollo's message carries is in ours again, for every message and both families. */
#include "support/test.h"

#include <errno.h>
#include <math.h>

#include "apollo_in.h"
#include "apollo_peer.h"
#include "sample.h"
#include "sim/introspect.h"
#include "sim/msg/CompressedImage.h"
#include "sim/msg/Image.h"
#include "sim/msg/Quaternion.h"
#include "sim/point_cloud.h"

#define STAMP  INT64_C(1700000000250000000)
#define ROUNDS 50

static _Alignas(64) uint8_t body[65536], back[65536];

/* ---- random messages ---- */

static unsigned rnd(unsigned n)
{
	return (unsigned)rand() % n;
}

static void put_random(const struct sim_type *t, uint8_t *body_at, uint8_t *at);

static void put_one(const struct sim_field *f, uint8_t *body_at, uint8_t *at)
{
	double d = rnd(2000001) / 1e6 - 1;
	float f32 = (float)rnd(1000001) / 1e6f;
	int64_t i64 = 1 + rnd(3);

	if (f->array == SIM_ARRAY_FIXED) /* variances */
		d = fabs(d);
	if (f->kind == SIM_KIND_MESSAGE)
		put_random(f->type, body_at, at);
	else if (f->kind == SIM_KIND_STRING)
		return;
	else if (f->kind == SIM_KIND_FLOAT64)
		memcpy(at, &d, sizeof(d));
	else if (f->kind == SIM_KIND_FLOAT32)
		memcpy(at, &f32, sizeof(f32));
	else if (f->kind == SIM_KIND_BOOL)
		*at = i64 & 1;
	else if (f->kind != SIM_KIND_UINT8 || f->array == SIM_ARRAY_NONE)
		memcpy(at, &i64, f->elem_size);
}

static void make_unit(double q[4])
{
	double n = sqrt(q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3]);

	for (unsigned i = 0; i < 4; i++)
		q[i] = n > 0 ? q[i] / n : i == 3;
}

/* Over a sample, whose arrays are there already: numbers that any field may have; turns are turns. */
static void put_random(const struct sim_type *t, uint8_t *body_at, uint8_t *at)
{
	for (uint32_t i = 0; i < t->n_fields; i++) {
		const struct sim_field *f = &t->fields[i];
		uint8_t *first = at + f->offset;
		uint32_t n = f->array == SIM_ARRAY_FIXED ? f->count : 1;

		if (f->array == SIM_ARRAY_BOUNDED || f->array == SIM_ARRAY_VARIABLE) {
			const struct sim_span *s = (const struct sim_span *)(const void *)first;

			n = s->count;
			first = body_at + s->offset;
		}
		for (uint32_t k = 0; k < n; k++)
			put_one(f, body_at, first + (size_t)k * f->elem_size);
	}
	if (sim_type_equal(t, &sim_Quaternion_type))
		make_unit((double *)(void *)at);
}

/* ---- to compare ---- */

static bool near(double a, double b)
{
	return (isnan(a) && isnan(b)) || fabs(a - b) <= 1e-6 * (1 + fabs(b));
}

static void same(const char *where, const ProtobufCMessage *a, const ProtobufCMessage *b);

static void same_value(const char *where, const ProtobufCFieldDescriptor *f, const void *a, const void *b)
{
	switch (f->type) {
	case PROTOBUF_C_TYPE_DOUBLE:
		if (!near(*(const double *)a, *(const double *)b))
			fail_msg("%s.%s is %.17g, not %.17g", where, f->name, *(const double *)b, *(const double *)a);
		break;
	case PROTOBUF_C_TYPE_FLOAT:
		if (!near((double)*(const float *)a, (double)*(const float *)b))
			fail_msg("%s.%s is %g, not %g", where, f->name, (double)*(const float *)b,
				 (double)*(const float *)a);
		break;
	case PROTOBUF_C_TYPE_MESSAGE:
		same(f->name, *(ProtobufCMessage *const *)a, *(ProtobufCMessage *const *)b);
		break;
	case PROTOBUF_C_TYPE_STRING:
		assert_string_equal(*(char *const *)a, *(char *const *)b);
		break;
	case PROTOBUF_C_TYPE_BYTES:
		assert_int_equal(((const ProtobufCBinaryData *)a)->len, ((const ProtobufCBinaryData *)b)->len);
		assert_memory_equal(((const ProtobufCBinaryData *)a)->data, ((const ProtobufCBinaryData *)b)->data,
				    ((const ProtobufCBinaryData *)a)->len);
		break;
	case PROTOBUF_C_TYPE_INT64:
	case PROTOBUF_C_TYPE_UINT64:
		assert_int_equal(*(const uint64_t *)a, *(const uint64_t *)b);
		break;
	default:
		if (*(const uint32_t *)a != *(const uint32_t *)b)
			fail_msg("%s.%s is %u, not %u", where, f->name, *(const uint32_t *)b, *(const uint32_t *)a);
	}
}

static size_t size_of(const ProtobufCFieldDescriptor *f)
{
	return f->type == PROTOBUF_C_TYPE_MESSAGE ? sizeof(void *)
	       : f->type == PROTOBUF_C_TYPE_FLOAT ? sizeof(float)
	       : f->type == PROTOBUF_C_TYPE_INT32 ? sizeof(int32_t)
						  : sizeof(double);
}

/* Where a radar moves is not carried: nor is where its objects go in the map. */
static bool is_lost(const ProtobufCFieldDescriptor *f)
{
	return !strcmp(f->name, "oritation_angle");
}

static void same_list(const char *where, const ProtobufCFieldDescriptor *f, const ProtobufCMessage *a,
		      const ProtobufCMessage *b)
{
	size_t n = *(const size_t *)((const char *)a + f->quantifier_offset);
	const char *x = *(const char *const *)((const char *)a + f->offset);
	const char *y = *(const char *const *)((const char *)b + f->offset);

	assert_int_equal(*(const size_t *)((const char *)b + f->quantifier_offset), n);
	for (size_t i = 0; i < n; i++)
		same_value(where, f, x + i * size_of(f), y + i * size_of(f));
}

static void same(const char *where, const ProtobufCMessage *a, const ProtobufCMessage *b)
{
	for (unsigned i = 0; i < a->descriptor->n_fields; i++) {
		const ProtobufCFieldDescriptor *f = &a->descriptor->fields[i];
		const char *x = (const char *)a + f->offset, *y = (const char *)b + f->offset;
		bool pointer = f->type == PROTOBUF_C_TYPE_MESSAGE || f->type == PROTOBUF_C_TYPE_STRING, has;

		if (f->label == PROTOBUF_C_LABEL_REPEATED) {
			same_list(where, f, a, b);
			continue;
		}
		has = pointer ? *(void *const *)(const void *)x != NULL
			      : *(const protobuf_c_boolean *)((const char *)a + f->quantifier_offset);
		if (f->label == PROTOBUF_C_LABEL_REQUIRED)
			has = true;
		if (has && !is_lost(f))
			same_value(where, f, x, y);
	}
}

/* ---- there and back ---- */

static size_t bytes_of(const struct apollo_type *t, const struct apollo_message *m, uint8_t *to, size_t room)
{
	struct iovec iov[IOV_BUF_PIECES];
	struct iov_buf o;
	size_t n = 0;
	char why[300];

	iov_buf_init(&o);
	assert_int_equal(apollo_encode(t, m, &o, why, sizeof(why)), 0);
	for (unsigned i = 0, k = iov_buf_iov(&o, iov); i < k; i++) {
		assert_true(n + iov[i].iov_len <= room);
		memcpy(to + n, iov[i].iov_base, iov[i].iov_len);
		n += iov[i].iov_len;
	}
	iov_buf_finish(&o);
	return n;
}

static uint8_t bytes[65536], again[65536];

/* The message, out, in and out again, by protobuf-c. */
static void round_trip(const struct apollo_type *t, size_t size, const struct apollo_options *o)
{
	const struct apollo_type *in = apollo_type_named(apollo_family, apollo_type_name(t), apollo_type_sim(t)->name);
	struct apollo_message m = {
		.body = body, .size = size, .stamp_sim_ns = STAMP, .sequence = 7, .frame_id = "somewhere", .options = o
	};
	struct message_in ret = { .buf = back, .room = sizeof(back) };
	const ProtobufCMessageDescriptor *d = apollo_peer_descriptor(apollo_type_name(t));
	size_t n = bytes_of(t, &m, bytes, sizeof(bytes)), k;
	ProtobufCMessage *a, *b;
	char why[300];

	assert_non_null(in);
	if (apollo_in_read(in, o, bytes, n, &ret, why, sizeof(why)))
		fail_msg("%s: %s", apollo_type_name(t), why);
	m.body = back;
	m.size = ret.size;
	if (ret.stamp_sim_ns != MESSAGE_IN_NO_STAMP) {
		assert_int_equal(ret.stamp_sim_ns, STAMP);
		assert_string_equal(ret.frame, "somewhere");
	}
	k = bytes_of(t, &m, again, sizeof(again));
	a = protobuf_c_message_unpack(d, NULL, n, bytes);
	b = protobuf_c_message_unpack(d, NULL, k, again);
	assert_true(a && b);
	same(apollo_type_name(t), a, b);
	protobuf_c_message_free_unpacked(a, NULL);
	protobuf_c_message_free_unpacked(b, NULL);
}

static bool is_data(const struct apollo_type *t)
{
	return !strcmp(apollo_type_name(t), "apollo.drivers.Image") ||
	       !strcmp(apollo_type_name(t), "apollo.drivers.PointCloud"); /* their sizes must fit: tests of their own */
}

TEST(encoded_messages_decode_to_the_same_values)
{
	static const double origin[3] = { 500000, 4000000, 10 };
	const struct apollo_options o[] = { { 0 },
					    { .origin = origin, .utm_zone = 31, .undulation = 40 },
					    { .rfu_frames = (const char *const[]){ "s", NULL } } };
	const struct apollo_type *t;
	unsigned i;

	for (i = 0; (t = apollo_type_at(apollo_family, false, i)); i++) {
		size_t n = is_data(t) ? 0 : sample_body(apollo_type_sim(t), body, sizeof(body));

		for (int k = 0; n && k < ROUNDS; k++) {
			put_random(apollo_type_sim(t), body, body);
			round_trip(t, n, &o[k % 3]);
		}
	}
	assert_true(i > 15);
}

TEST(an_image_decodes_byte_by_byte)
{
	const struct apollo_type *t = apollo_type_for(apollo_family, "sim/Image", NULL);
	struct sim_builder b;
	struct sim_Image *m = sim_Image_init(body, sizeof(body), &b);
	const struct sim_Image *got;
	uint32_t n;

	m->height = 20;
	m->width = 10;
	m->step = 30;
	sim_Image_encoding_set(&b, "rgb8");
	memset(sim_Image_data_alloc(&b, 600), 0x5a, 600);
	round_trip(t, sim_builder_size(&b), NULL);
	got = (const struct sim_Image *)(const void *)back;
	assert_memory_equal(sim_Image_data(got, sizeof(back), &n), sim_Image_data(m, sizeof(body), &n), 600);
	assert_int_equal(n, 600);
	assert_string_equal(sim_Image_encoding(got, sizeof(back)), "rgb8");
}

TEST(a_jpeg_keeps_its_format_name)
{
	const struct apollo_type *t = apollo_type_for(apollo_family, "sim/CompressedImage", NULL);
	struct sim_builder b;
	struct sim_CompressedImage *m = sim_CompressedImage_init(body, sizeof(body), &b);

	m->width = 64;
	sim_CompressedImage_format_set(&b, "jpeg");
	memset(sim_CompressedImage_data_alloc(&b, 99), 7, 99);
	round_trip(t, sim_builder_size(&b), NULL);
	m = (struct sim_CompressedImage *)(void *)back;
	assert_string_equal(sim_CompressedImage_format(m, sizeof(back)), "jpeg");
	assert_int_equal(m->width, apollo_family == APOLLO_5 ? 0 : 64);
}

/* Intensity has 8 bits there; rays without a hit do not come back. */
TEST(points_of_a_cloud_decode_to_the_same_values)
{
	const struct apollo_type *t = apollo_type_for(apollo_family, "sim/PointCloud", NULL);
	const struct sim_PointCloud *m = (const struct sim_PointCloud *)(const void *)back;
	const struct sim_Point *got;
	struct sim_Point *p;
	struct sim_builder b;
	uint32_t n, size;

	for (int k = 0; k < ROUNDS; k++) {
		n = rnd(1000);
		p = sim_point_cloud_begin(body, sizeof(body), n, &b);
		memset(p, 0, n * sizeof(*p));
		for (uint32_t i = 0; i < n; i++)
			if (i % 10)
				p[i] = (struct sim_Point){ .x = (float)(rnd(1000) + 1),
							   .y = (float)rnd(1000),
							   .z = -(float)rnd(9),
							   .intensity = (float)rnd(256) / 255,
							   .time_offset = rnd(100000000) };
		if (n > 1)
			p[1].time_offset = 0; /* the first has the stamp */
		round_trip(t, sim_builder_size(&b), NULL);
		got = (const struct sim_Point *)(const void *)sim_PointCloud_data(m, sizeof(back), &size);
		assert_int_equal(m->width * m->height, n - (n + 9) / 10);
		assert_int_equal(size, m->width * sizeof(*got));
		assert_true(m->is_dense);
		for (uint32_t i = 0, at = 0; i < n; i++) {
			if (i % 10 == 0)
				continue;
			assert_true(got[at].x == p[i].x && got[at].y == p[i].y && got[at].z == p[i].z);
			assert_true(fabsf(got[at].intensity - p[i].intensity) < 1e-6f);
			assert_int_equal(got[at].time_offset, p[i].time_offset);
			at++;
		}
	}
}

/* ---- malformed messages ---- */

static size_t some_bytes(const struct apollo_type *t)
{
	struct apollo_message m = { .body = body, .stamp_sim_ns = STAMP, .frame_id = "somewhere" };
	struct sim_builder b;

	if (sim_type_equal(apollo_type_sim(t), &sim_PointCloud_type)) {
		memset(sim_point_cloud_begin(body, sizeof(body), 3, &b), 1, 3 * sizeof(struct sim_Point));
		m.size = sim_builder_size(&b);
	} else if (sim_type_equal(apollo_type_sim(t), &sim_Image_type)) {
		struct sim_Image *i = sim_Image_init(body, sizeof(body), &b);

		i->step = i->height = i->width = 4;
		memset(sim_Image_data_alloc(&b, 16), 1, 16);
		m.size = sim_builder_size(&b);
	} else {
		m.size = sample_body(apollo_type_sim(t), body, sizeof(body));
		put_random(apollo_type_sim(t), body, body);
	}
	return bytes_of(t, &m, bytes, sizeof(bytes));
}

/* A scan comes back as the cloud that it has become. */
static const struct apollo_type *way_back(const struct apollo_type *t)
{
	const struct apollo_type *in = apollo_type_named(apollo_family, apollo_type_name(t), apollo_type_sim(t)->name);

	return in ? in : apollo_in_find(apollo_family, apollo_type_name(t));
}

TEST(with_too_little_room_the_needed_size_is_returned)
{
	const struct apollo_type *t, *in;

	for (unsigned i = 0; (t = apollo_type_at(apollo_family, false, i)); i++) {
		size_t n = some_bytes(t), room = 0;
		struct message_in ret = { .buf = back };
		char why[300];
		int r;

		in = way_back(t);
		do {
			ret.room = room;
			r = apollo_in_read(in, NULL, bytes, n, &ret, why, sizeof(why));
		} while (r == -ENOBUFS && (room += 8) < sizeof(back));
		assert_int_equal(r, 0);
		assert_true(room > 0 && ret.size <= room);
	}
}

/* A byte after the other turned, or the end cut off: an answer, never more. */
TEST(any_sensor_bytes_are_survived)
{
	const struct apollo_type *t, *in;
	char why[300];

	for (unsigned i = 0; (t = apollo_type_at(apollo_family, false, i)); i++) {
		size_t n = some_bytes(t);

		in = way_back(t);
		for (size_t k = 0; k < n * 16; k++) {
			struct message_in ret = { .buf = back, .room = 8192 };
			uint8_t *copy = malloc(n); /* of its own: a sanitizer sees a read behind it */
			size_t len = k % 3 ? n : k / 16;
			int r;

			assert_non_null(copy);
			memcpy(copy, bytes, n);
			copy[k / 16] = (uint8_t)(copy[k / 16] ^ (k % 8 ? 1u << k % 8 : rnd(256)));
			r = apollo_in_read(in, NULL, copy + (n - len), len, &ret, why, sizeof(why));
			if (r == 0)
				assert_true(ret.size <= ret.room);
			else
				assert_true(r == 1 || strlen(why) > 5);
			free(copy);
		}
	}
}
