/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any inline QoS and RTPS packets from a peer. The first byte chooses: a list of parameters, in either byte order; an
 * incoming packet; an outgoing packet, in pieces. Nothing is read beyond its end, and an outgoing packet is the
 * original with whole blocks inserted. Thread: one.
 */
#include <stdlib.h>
#include <string.h>

#include "tools/bridge/ros2/rtps_packet.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define PACKET_MAX 2000u

static uint8_t qos[RTPS_QOS_SIZE];
static size_t bytes_sent, packets_sent;

static const uint8_t *qos_of(void *ctx, const uint8_t writer[16], const uint8_t *payload, uint32_t offset)
{
	(void)ctx;
	(void)payload;
	(void)offset;
	return writer[15] & 1 ? qos : NULL;
}

static ssize_t on_send(void *ctx, size_t n, const struct iovec *iov)
{
	size_t sum = 0;

	(void)ctx;
	for (size_t i = 0; i < n; i++) {
		volatile const uint8_t *p = iov[i].iov_base;

		sum += iov[i].iov_len;
		if (iov[i].iov_len)
			(void)(p[0] + p[iov[i].iov_len - 1]);
	}
	bytes_sent += sum;
	packets_sent++;
	return (ssize_t)sum;
}

static bool is_ours(void *ctx, const uint8_t entity[4])
{
	(void)ctx;
	return entity[3] & 1;
}

static void *own(const uint8_t *data, size_t size)
{
	void *p = malloc(size ? size : 1);

	if (!p)
		abort();
	memcpy(p, data, size);
	return p;
}

static void list(const uint8_t *data, size_t size, bool little)
{
	uint8_t *p = own(data, size);
	struct rtps_id id, again;

	if (rtps_qos_read(p, size, little, &id)) {
		rtps_qos_write(&id, qos);
		if (!rtps_qos_read(qos, sizeof(qos), true, &again) || memcmp(&id, &again, sizeof(id)) != 0)
			abort();
	}
	free(p);
}

static void incoming(const uint8_t *data, size_t size)
{
	size_t room = size + (size ? data[size - 1] : 0);
	uint8_t *p = malloc(room ? room : 1);

	if (!p)
		abort();
	memcpy(p, data, size);
	if (rtps_packet_welcome(p, size, room, is_ours, NULL) > room)
		abort();
	free(p);
}

/* Cut before each DATA's payload, as far as its length is right, so that there is something to put in. */
static void outgoing(const uint8_t *data, size_t size)
{
	const struct rtps_insert insert = { qos_of, on_send, NULL, PACKET_MAX };
	struct iovec iov[64];
	void *parts[64];
	size_t n = 0, at = size < 20 ? size : 20;

	parts[n] = own(data, at);
	iov[n] = (struct iovec){ parts[n], at };
	for (n = 1; n < 64 && at < size; n++) {
		size_t head = data[at] == 0x15 ? 24 : data[at] == 0x16 ? 36 : 4, left = size - at;
		size_t len = n % 2 ? head : left >= 4 ? left % 97 + 4 : left;

		if (n % 2 == 0 && iov[n - 1].iov_len >= 24) {
			const uint8_t *sm = iov[n - 1].iov_base;

			len = (size_t)(sm[2] | sm[3] << 8) + 4 - iov[n - 1].iov_len;
		}
		len = len < left ? len : left;
		parts[n] = own(data + at, len);
		iov[n] = (struct iovec){ parts[n], len };
		at += len;
	}
	bytes_sent = packets_sent = 0;
	if (rtps_packet_send(&insert, n, iov) < 0 || bytes_sent < at)
		abort();
	while (n)
		free(parts[--n]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (!size)
		return 0;
	switch (data[0] % 4) {
	case 0:
	case 1:
		list(data + 1, size - 1, data[0] % 4 == 0);
		break;
	case 2:
		incoming(data + 1, size - 1);
		break;
	default:
		outgoing(data + 1, size - 1);
	}
	return 0;
}
