/* SPDX-License-Identifier: Apache-2.0 */
/* Identities in the inline QoS of RTPS packets: byte for byte, whole packets and split ones, and lists that are malformed. */
#include "support/test.h"

#include "rtps_packet.h"

#define OURS 0x03 /* the last byte of the entity whose samples get an identity */

static uint8_t sent[8][70000];
static size_t sent_len[8], n_sent;
static uint8_t qos[RTPS_QOS_SIZE];
static uint32_t last_offset;

static const uint8_t *qos_of(void *ctx, const uint8_t writer[16], const uint8_t *payload, uint32_t offset)
{
	(void)ctx;
	(void)payload;
	last_offset = offset;
	return writer[15] == OURS && writer[0] == 'P' ? qos : NULL;
}

static ssize_t on_send(void *ctx, size_t n, const struct iovec *iov)
{
	if (ctx)
		return -5;
	assert_true(n_sent < 8);
	sent_len[n_sent] = 0;
	for (size_t i = 0; i < n; i++) {
		memcpy(sent[n_sent] + sent_len[n_sent], iov[i].iov_base, iov[i].iov_len);
		sent_len[n_sent] += iov[i].iov_len;
	}
	n_sent++;
	return 1;
}

static const struct rtps_insert insert = { qos_of, on_send, NULL, RTPS_PACKET_SIZE };

/* ---- packets, as Cyclone puts them together ---- */

static uint8_t header[20] = { 'R', 'T', 'P', 'S', 2,   1,   1,   16,  'P', 'P',
			      'P', 'P', 'P', 'P', 'P', 'P', 'P', 'P', 'P', 'P' };
static uint8_t info_ts[12] = { 0x09, 1, 8, 0, 1, 2, 3, 4, 5, 6, 7, 8 };

static void make_data(uint8_t out[24], uint8_t entity, size_t payload)
{
	size_t len = 20 + payload;

	memset(out, 0, 24);
	out[0] = 0x15;
	out[1] = 5;
	out[2] = (uint8_t)len;
	out[3] = (uint8_t)(len >> 8);
	out[6] = 16;
	out[15] = entity;
	out[20] = 7;
}

static void make_frag(uint8_t out[36], uint8_t entity, uint32_t number, uint16_t fragment, size_t payload)
{
	size_t len = 32 + payload;

	make_data(out, entity, payload);
	memset(out + 24, 0, 12);
	out[0] = 0x16;
	out[1] = 1;
	out[2] = (uint8_t)len;
	out[3] = (uint8_t)(len >> 8);
	out[6] = 28;
	memcpy(out + 24, &number, 4);
	out[28] = 1;
	memcpy(out + 30, &fragment, 2);
}

static int setup(void **state)
{
	const struct rtps_id id = { .guid = { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16 },
				    .sequence = INT64_C(0x0000000200000003) };

	(void)state;
	n_sent = 0;
	rtps_qos_write(&id, qos);
	return 0;
}

/* ---- parameters ---- */

TEST_WITH(a_sample_identity_is_read, setup, NULL)
{
	static const uint8_t want[RTPS_QOS_SIZE] = { 0x0f, 0x80, 24, 0,  1,  2, 3, 4, 5, 6, 7, 8,  9,  10,   11,
						     12,   13,   14, 15, 16, 2, 0, 0, 0, 3, 0, 0,  0,  0x83, 0,
						     24,   0,    1,  2,  3,  4, 5, 6, 7, 8, 9, 10, 11, 12,   13,
						     14,   15,   16, 2,  0,  0, 0, 3, 0, 0, 0, 1,  0,  0,    0 };
	struct rtps_id id;

	assert_memory_equal(qos, want, sizeof(want));
	assert_true(rtps_qos_read(qos, sizeof(qos), true, &id));
	assert_true(id.sequence == INT64_C(0x200000003) && id.guid[0] == 1 && id.guid[15] == 16);
	assert_true(rtps_qos_read(qos + 28, 32, true, &id)); /* the standard's alone */
	assert_false(rtps_qos_read(qos + 56, 4, true, &id)); /* a list of nothing */
}

TEST_WITH(a_big_endian_identity_is_read, setup, NULL)
{
	static const uint8_t list[] = { 0,  0x83, 0,  24, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12,
					13, 14,   15, 16, 0, 0, 0, 1, 0, 0, 0, 9, 0, 1,  0,  0 };
	struct rtps_id id;

	assert_true(rtps_qos_read(list, sizeof(list), false, &id));
	assert_true(id.sequence == INT64_C(0x100000009));
	assert_false(rtps_qos_read(list, sizeof(list), true, &id));
}

TEST_WITH(malformed_lists_are_refused, setup, NULL)
{
	struct rtps_id id = { .sequence = -7 };
	uint8_t bad[RTPS_QOS_SIZE];

	for (size_t n = 0; n < sizeof(qos); n++)
		assert_false(rtps_qos_read(qos, n, true, &id));
	memcpy(bad, qos + 28, 32);
	bad[2] = 20; /* shorter than an identity is */
	assert_false(rtps_qos_read(bad, 32, true, &id));
	memcpy(bad, qos, sizeof(bad));
	bad[2] = 25;
	assert_false(rtps_qos_read(bad, sizeof(bad), true, &id));
	bad[2] = 0xfc;
	bad[3] = 0xff;
	assert_false(rtps_qos_read(bad, sizeof(bad), true, &id));
	assert_true(id.sequence == -7);
}

/* ---- packets that go out ---- */

TEST_WITH(a_reply_gets_its_related_identity, setup, NULL)
{
	uint8_t head[36], payload[8] = "payload";
	struct iovec iov[] = { { header, 20 }, { head, 36 }, { payload, 8 } };

	memcpy(head, info_ts, 12);
	make_data(head + 12, OURS, 8);
	assert_int_equal(rtps_packet_send(&insert, 3, iov), 64);
	assert_int_equal(n_sent, 1);
	assert_int_equal(sent_len[0], 64 + RTPS_QOS_SIZE);
	assert_memory_equal(sent[0], header, 20);
	assert_memory_equal(sent[0] + 20, info_ts, 12);
	assert_int_equal(sent[0][33], 7);       /* the flag */
	assert_int_equal(sent[0][34], 28 + 60); /* the length */
	assert_memory_equal(sent[0] + 36, head + 16, 20);
	assert_memory_equal(sent[0] + 56, qos, sizeof(qos));
	assert_memory_equal(sent[0] + 116, payload, 8);
	assert_int_equal(head[13], 5); /* Cyclone's own stays as it is: it may be sent again */
}

TEST_WITH(packets_of_other_writers_pass_unchanged, setup, NULL)
{
	uint8_t head[24], payload[8] = "payload";
	struct iovec iov[] = { { header, 20 }, { head, 24 }, { payload, 8 } };

	make_data(head, OURS + 1, 8);
	assert_int_equal(rtps_packet_send(&insert, 3, iov), 1); /* the return value of send() */
	assert_int_equal(sent_len[0], 52);
	make_data(head, OURS, 4); /* the payload is another one than it says */
	assert_int_equal(rtps_packet_send(&insert, 3, iov), 1);
	assert_int_equal(sent_len[1], 52);
	assert_int_equal(rtps_packet_send(&insert, 1, &(struct iovec){ header, 12 }), 1);
	assert_int_equal(rtps_packet_send(&insert, 1, iov), 1);
}

/* The last INFO_SRC says whose packet it is. */
TEST_WITH(packets_of_another_participant_pass_unchanged, setup, NULL)
{
	uint8_t head[48] = { 0x0c, 1, 20, 0 }, payload[8] = "payload";
	struct iovec iov[] = { { header, 20 }, { head, 48 }, { payload, 8 } };

	make_data(head + 24, OURS, 8);
	assert_int_equal(rtps_packet_send(&insert, 3, iov), 1);
	assert_int_equal(sent_len[0], 76);
}

/* A key hash is there already: ours comes before it, and its sentinel stays the last. */
TEST_WITH(the_identity_is_added_beside_other_parameters, setup, NULL)
{
	uint8_t head[48], payload[8] = "payload";
	struct iovec iov[] = { { header, 20 }, { head, 48 }, { payload, 8 } };

	memset(head, 0, sizeof(head));
	make_data(head, OURS, 32);
	head[1] |= 2;
	head[24] = 0x70;
	head[26] = 16;
	head[44] = 1;
	assert_int_equal(rtps_packet_send(&insert, 3, iov), 76);
	assert_int_equal(sent_len[0], 76 + 56);
	assert_memory_equal(sent[0] + 44, qos, 56);
	assert_memory_equal(sent[0] + 100, head + 24, 24);
	assert_memory_equal(sent[0] + 124, payload, 8);
}

TEST_WITH(each_fragment_is_seen, setup, NULL)
{
	static uint8_t data[3000];
	uint8_t heads[3][36];
	struct iovec iov[7] = { { header, 20 } };

	for (uint32_t i = 0; i < 3; i++) {
		make_frag(heads[i], OURS, i + 1, 1000, 1000);
		iov[1 + 2 * i] = (struct iovec){ heads[i], 36 };
		iov[2 + 2 * i] = (struct iovec){ data + i * 1000, 1000 };
	}
	assert_int_equal(rtps_packet_send(&insert, 7, iov), 20 + 3 * 1036);
	assert_int_equal(n_sent, 1);
	assert_int_equal(sent_len[0], 20 + 3 * (1036 + 60));
	for (size_t i = 0; i < 3; i++)
		assert_memory_equal(sent[0] + 20 + i * 1096 + 36, qos, sizeof(qos));
	assert_int_equal(last_offset, 2000);
}

/* A packet that no longer fits into a datagram is sent as several, each with sender, receiver and time of the first. */
TEST_WITH(a_packet_that_becomes_too_long_is_split, setup, NULL)
{
	static uint8_t data[1000], dst[16] = { 0x0e, 1, 12, 0, 'D' };
	const struct rtps_insert small = { qos_of, on_send, NULL, 2500 };
	uint8_t heads[3][24];
	struct iovec iov[9] = { { header, 20 }, { dst, 16 }, { info_ts, 12 } };

	for (size_t i = 0; i < 3; i++) {
		make_data(heads[i], OURS, 1000);
		iov[3 + 2 * i] = (struct iovec){ heads[i], 24 };
		iov[4 + 2 * i] = (struct iovec){ data, 1000 };
	}
	assert_int_equal(rtps_packet_send(&small, 9, iov), 48 + 3 * 1024);
	assert_int_equal(n_sent, 2);
	assert_int_equal(sent_len[0], 48 + 2 * 1084);
	assert_int_equal(sent_len[1], 48 + 1084);
	assert_memory_equal(sent[1], header, 20);
	assert_memory_equal(sent[1] + 20, dst, 16);
	assert_memory_equal(sent[1] + 36, info_ts, 12);
	assert_int_equal(sent[1][48], 0x15);
}

TEST_WITH(a_failing_socket_is_reported, setup, NULL)
{
	const struct rtps_insert failing = { qos_of, on_send, &n_sent, RTPS_PACKET_SIZE };
	uint8_t head[24], payload[8] = "payload";
	struct iovec iov[] = { { header, 20 }, { head, 24 }, { payload, 8 } };

	make_data(head, OURS, 8);
	assert_int_equal(rtps_packet_send(&failing, 3, iov), -5);
}

/* ---- packets that come in ---- */

static bool is_ours(void *ctx, const uint8_t entity[4])
{
	(void)ctx;
	return entity[3] == 0x04;
}

static size_t make_heartbeat(uint8_t *out, uint16_t vendor, uint8_t reader, uint32_t first, uint32_t last)
{
	memcpy(out, header, 20);
	out[6] = (uint8_t)(vendor >> 8);
	out[7] = (uint8_t)vendor;
	memset(out + 20, 0, 32);
	out[20] = 0x07;
	out[21] = 1;
	out[22] = 28;
	out[27] = reader;
	memcpy(out + 36, &first, 4);
	memcpy(out + 44, &last, 4);
	out[48] = 9;
	return 52;
}

TEST_WITH(a_first_heartbeat_is_preceded_by_an_empty_one, setup, NULL)
{
	uint8_t p[200], was[52];
	size_t n = make_heartbeat(p, RTPS_VENDOR_EPROSIMA, 4, 3, 8);

	memcpy(was, p, sizeof(was));
	assert_int_equal(rtps_packet_welcome(p, n, sizeof(p), is_ours, NULL), 84);
	assert_memory_equal(p + 52, was + 20, 32); /* as it was, then */
	assert_int_equal(p[20], 0x07);
	assert_int_equal(p[21], 3); /* final */
	assert_int_equal(p[36], 3);
	assert_int_equal(p[44], 2);
	assert_int_equal(p[48], 8);
	assert_int_equal(rtps_packet_welcome(p, 84, 84, is_ours, NULL), 84); /* no room */
	n = make_heartbeat(p, RTPS_VENDOR_EPROSIMA, 5, 3, 8);
	assert_int_equal(rtps_packet_welcome(p, n, sizeof(p), is_ours, NULL), n);
	n = make_heartbeat(p, 0x0110, 4, 3, 8);
	assert_int_equal(rtps_packet_welcome(p, n, sizeof(p), is_ours, NULL), n);
	for (n = 0; n < 52; n++) {
		(void)make_heartbeat(p, RTPS_VENDOR_EPROSIMA, 4, 3, 8);
		assert_int_equal(rtps_packet_welcome(p, n, sizeof(p), is_ours, NULL), n);
	}
}
