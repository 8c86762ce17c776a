/* SPDX-License-Identifier: Apache-2.0 */
/* See apollo_peer.h. */
#include "support/test.h"

#include "apollo_in.h"
#include "apollo_peer.h"
#include "apollo_sent.h"
#include "pb_reader.h"

/* clang-format off */
#define TYPES(X) \
	X(apollo__cyber__proto__clock) \
	X(apollo__drivers__image) \
	X(apollo__drivers__compressed_image) \
	X(apollo__drivers__point_cloud) \
	X(apollo__drivers__conti_radar) \
	X(apollo__drivers__ultrasonic) \
	X(apollo__drivers__gnss__imu) \
	X(apollo__localization__corrected_imu) \
	X(apollo__localization__localization_estimate) \
	X(apollo__drivers__gnss__gnss_best_pose) \
	X(apollo__drivers__gnss__ins_stat) \
	X(apollo__localization__gps) \
	X(apollo__canbus__chassis) \
	X(apollo__perception__perception_obstacles) \
	X(apollo__common__detection2_darray) \
	X(apollo__perception__traffic_light_detection) \
	X(apollo__perception__perception_lanes) \
	X(apollo__transform__transform_stampeds)
/* clang-format on */
#define X(name) extern const ProtobufCMessageDescriptor name##__descriptor;
TYPES(X)
#undef X

const ProtobufCMessageDescriptor *apollo_peer_descriptor(const char *name)
{
	static const ProtobufCMessageDescriptor *const all[] = {
#define X(name) &name##__descriptor,
		TYPES(X)
#undef X
	};

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		if (!strcmp(all[i]->name, name))
			return all[i];
	return NULL;
}

/* ---- out ---- */

static uint8_t *joined(const struct iov_buf *o)
{
	struct iovec iov[IOV_BUF_PIECES];
	unsigned n = iov_buf_iov(o, iov);
	uint8_t *all = malloc(o->total + 1), *at = all;

	assert_non_null(all);
	for (unsigned i = 0; i < n; i++) {
		memcpy(at, iov[i].iov_base, iov[i].iov_len);
		at += iov[i].iov_len;
	}
	assert_int_equal((size_t)(at - all), o->total);
	return all;
}

/* Each field stands in the table by which a user's definitions are looked at. */
static void check_sent(const ProtobufCMessageDescriptor *d, const uint8_t *data, size_t len)
{
	const struct apollo_sent *m = NULL;
	struct pb_reader r;
	int error = 0;

	for (unsigned i = 0; (m = apollo_sent_at(i)) && strcmp(m->message, d->name) != 0;)
		i++;
	if (!m) {
		fail_msg("apollo_sent.c has no %s", d->name);
		return;
	}
	pb_read_begin(&r, data, len, &error);
	while (pb_next(&r)) {
		const ProtobufCFieldDescriptor *f = protobuf_c_message_descriptor_get_field(d, r.field);

		if (!memchr(m->field, (int)r.field, APOLLO_SENT_MAX))
			fail_msg("apollo_sent.c has no field %u of %s", r.field, d->name);
		if (f && f->type == PROTOBUF_C_TYPE_MESSAGE)
			check_sent(f->descriptor, r.data, r.len);
	}
	assert_int_equal(error, 0);
}

void *apollo_peer_read(const char *sim_type, const char *name, const struct apollo_message *in)
{
	static ProtobufCMessage *m;
	const struct apollo_type *t = apollo_type_for(apollo_family, sim_type, name);
	struct iov_buf o;
	char why[300];
	uint8_t *bytes, *again;
	int r;

	if (m)
		protobuf_c_message_free_unpacked(m, NULL);
	m = NULL;
	if (!t)
		fail_msg("%s does not become %s", sim_type, name);
	iov_buf_init(&o);
	r = apollo_encode(t, in, &o, why, sizeof(why));
	if (r)
		fail_msg("%s: %d: %s", name, r, why);
	bytes = joined(&o);
	m = protobuf_c_message_unpack(apollo_peer_descriptor(name), NULL, o.total, bytes);
	if (!m)
		fail_msg("%s: protobuf-c cannot read it", name);
	assert_int_equal(m->n_unknown_fields, 0);
	assert_int_equal(protobuf_c_message_get_packed_size(m), o.total);
	check_sent(apollo_peer_descriptor(name), bytes, o.total);
	again = malloc(o.total + 1);
	assert_non_null(again);
	protobuf_c_message_pack(m, again);
	assert_memory_equal(again, bytes, o.total);
	free(again);
	free(bytes);
	iov_buf_finish(&o);
	return m;
}

void *apollo_peer_read_body(const struct apollo_body *body, const char *sim_type, const char *name, int64_t stamp_ns,
			    const struct apollo_options *o)
{
	struct apollo_message in = { .body = body->bytes,
				     .size = sim_builder_size(&body->b),
				     .stamp_sim_ns = stamp_ns,
				     .sequence = 7,
				     .frame_id = "sensor",
				     .options = o };

	assert_int_equal(sim_builder_error(&body->b), 0);
	return apollo_peer_read(sim_type, name, &in);
}

/* ---- in ---- */

char apollo_peer_why[300];

int apollo_peer_decode(const ProtobufCMessage *m, const char *name, const char *sim_type, const struct apollo_limits *l,
		       struct apollo_body *ret)
{
	const struct apollo_type *t = apollo_type_named(apollo_family, name, sim_type);
	struct message_in in = { .buf = ret->bytes, .room = sizeof(ret->bytes) };
	size_t len = protobuf_c_message_get_packed_size(m);
	uint8_t *bytes = malloc(len + 1);
	int r;

	assert_non_null(bytes);
	assert_non_null(t);
	protobuf_c_message_pack(m, bytes);
	r = apollo_decode(t, l, NULL, bytes, len, &in, apollo_peer_why, sizeof(apollo_peer_why));
	ret->b = (struct sim_builder){ .base = ret->bytes, .capacity = sizeof(ret->bytes), .used = r ? 0 : in.size };
	free(bytes);
	if (r < 0)
		assert_true(strlen(apollo_peer_why) > 5);
	return r;
}
