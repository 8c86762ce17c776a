/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Request identities in RTPS: rmw_fastrtps puts no identity into its messages. A request is identified by its writer's
 * GUID and its sequence number. The reply repeats both as a parameter of its inline QoS, once under the standard's
 * parameter ID and once under the ID that eProsima used before. Cyclone's interface cannot write such parameters, so
 * they are inserted into its packets on their way to the socket. Pure functions over bytes: any thread.
 */
#ifndef RTPS_PACKET_H
#define RTPS_PACKET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/uio.h>

#define RTPS_QOS_SIZE    60u    /* two identity parameters and the sentinel, which comes last */
#define RTPS_PACKET_SIZE 65507u /* largest payload of UDP over IPv4 */

struct rtps_id {
	uint8_t guid[16]; /* in network byte order: prefix, entity id */
	int64_t sequence;
};

/* Writes inline QoS with `id` in this machine's byte order, like Cyclone's submessages. */
void rtps_qos_write(const struct rtps_id *id, uint8_t out[RTPS_QOS_SIZE]);

/* Finds an identity in a parameter list of `size` bytes. false: it has none, or ends before its sentinel. */
bool rtps_qos_read(const uint8_t *list, size_t size, bool little, struct rtps_id *ret);

struct rtps_insert {
	/*
	 * Returns the RTPS_QOS_SIZE bytes to insert for a sample of `writer`, of which `payload` is the part from
	 * `offset` on; NULL: the sample is sent unchanged. The result stays valid until the packet is sent.
	 */
	const uint8_t *(*qos_of)(void *ctx, const uint8_t writer[16], const uint8_t *payload, uint32_t offset);
	ssize_t (*send)(void *ctx, size_t n, const struct iovec *iov);
	void *ctx;
	size_t packet_max; /* a packet that grows larger is split */
};

/*
 * Sends an RTPS packet, with inline QoS inserted in each DATA and DATA_FRAG that qos_of() has some for: in every
 * fragment, since a reader may take the QoS from whichever comes first. Returns the packet's original length, or what
 * send() returned when it failed.
 */
ssize_t rtps_packet_send(const struct rtps_insert *x, size_t n, const struct iovec *iov);

#define RTPS_VENDOR_EPROSIMA 0x010fu

/*
 * A packet received from eProsima, of `size` bytes in `room`: each heartbeat to a reader of ours is preceded by one that says
 * that nothing was written yet. Cyclone skips all samples that a writer's first heartbeat names, as if they were older than its discovery. But a client that has discovered our reader may send a request before we have discovered its writer. After the empty heartbeat the client itself says what is too old for us. Returns the new size.
 */
size_t rtps_packet_welcome(uint8_t *packet, size_t size, size_t room,
			   bool (*is_ours)(void *ctx, const uint8_t entity[4]), void *ctx);

#endif
