/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Client identities as rmw_fastrtps sends them (rtps_packet.h), read from what Cyclone DDS receives and written into
 * what it sends. Cyclone has no interface for this, so rtps_identity.c uses its private structures, as they are in
 * Debian's build of 0.10.2. With any other build open() fails with the reason, and nothing is touched.
 */
#ifndef RTPS_IDENTITY_H
#define RTPS_IDENTITY_H

#include <dds/dds.h>

#include "rtps_packet.h"

#define RTPS_ENTITIES_MAX 1024u

struct ddsi_sertype;
struct nn_rdata;
struct rtps_identity;

struct rtps_origin { /* origin of a received message */
	bool known, has_related;
	uint16_t vendor;
	struct rtps_id own; /* writer that sent it, and its sequence number there */
	/* from its inline QoS: in a request, the reader that waits for the reply; in a reply, the request */
	struct rtps_id related;
};

/*
 * Opens the domain of a type whose topic has been created, before that domain sends requests or replies. Once per
 * domain. -ENOTSUP with the reason in why, -ENOMEM, -EMFILE.
 */
int rtps_identity_open(const struct ddsi_sertype *type, struct rtps_identity **ret, char *why, size_t why_size);
/* Call after the domain was deleted, or if it was not used since open(). NULL is allowed. */
void rtps_identity_close(struct rtps_identity *x);

/*
 * Registers a writer of requests or replies, or a reader of either. Samples of such a writer have RTPS_QOS_SIZE bytes
 * before their payload in memory: zeros, or the inline QoS to send with them. Call remove() after the entity is
 * deleted. -EMFILE: too many entities.
 */
int rtps_identity_add(struct rtps_identity *x, const dds_guid_t *entity);
void rtps_identity_remove(struct rtps_identity *x, const dds_guid_t *entity);

/*
 * Reads the origin from the first fragment of a message. Only after open() has succeeded. Thread: Cyclone's, inside
 * from_ser().
 */
void rtps_identity_read(const struct nn_rdata *first, struct rtps_origin *ret);

#endif
