/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who asked, as RTPS carries it: rmw_fastrtps puts no identity into its messages. A request is known by the GUID of its writer
 * and its sequence number, and the reply repeats both as a parameter of its inline QoS, once under the number of the
 * standard and once under the one that eProsima used before. Cyclone's interface writes no such parameters, so they are put
 * into its packets on their way to the socket. Pure functions over bytes: any thread.
 */
#ifndef RTPS_PACKET_H
#define RTPS_PACKET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/uio.h>

#define RTPS_QOS_SIZE    60u    /* two parameters of an identity and the sentinel, which comes last */
#define RTPS_PACKET_SIZE 65507u /* of UDP over IPv4, the most */

struct rtps_id {
	uint8_t guid[16]; /* as the network has it: prefix, entity id */
	int64_t sequence;
};

/* The inline QoS that says `id`, in this machine's byte order, as Cyclone writes its submessages. */
void rtps_qos_write(const struct rtps_id *id, uint8_t out[RTPS_QOS_SIZE]);

/* Find an identity in a list of parameters of `size` bytes. false: there is none, or the list ends before its sentinel. */
bool rtps_qos_read(const uint8_t *list, size_t size, bool little, struct rtps_id *ret);

struct rtps_insert {
	/*
	 * The RTPS_QOS_SIZE bytes for a sample that `writer` sends, of which `payload` is the part from `offset` on; NULL: it
	 * goes out as it is. Borrows until the packet is sent.
	 */
	const uint8_t *(*qos_of)(void *ctx, const uint8_t writer[16], const uint8_t *payload, uint32_t offset);
	ssize_t (*send)(void *ctx, size_t n, const struct iovec *iov);
	void *ctx;
	size_t packet_max; /* a packet that grows longer is sent as several */
};

/*
 * Send a packet of RTPS, with inline QoS in each DATA and DATA_FRAG for which there is some: in every fragment, since a reader
 * may take it from whichever comes first. Returns the length of the packet as it was, or what send() returned when it failed.
 */
ssize_t rtps_packet_send(const struct rtps_insert *x, size_t n, const struct iovec *iov);

#define RTPS_VENDOR_EPROSIMA 0x010fu

/*
 * A packet received from eProsima, of `size` bytes in `room`: each heartbeat to a reader of ours is preceded by one that says
 * that nothing was written yet. Cyclone skips what the first heartbeat of a writer names, as if it were older than the
 * acquaintance; but a client that knows our reader already asks, though we do not know its writer yet. That one then says itself
 * what is too old for us. Returns the size then.
 */
size_t rtps_packet_welcome(uint8_t *packet, size_t size, size_t room,
			   bool (*is_ours)(void *ctx, const uint8_t entity[4]), void *ctx);

#endif
