/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The identity of a client as rmw_fastrtps sends it (rtps_packet.h), read from and written into what Cyclone DDS receives and sends.
 * Cyclone has no interface for it: rtps_identity.c alone sees its private structures, which are those of Debian's build
 * of 0.10.2. With any other nothing is touched, and open() says why.
 */
#ifndef RTPS_IDENTITY_H
#define RTPS_IDENTITY_H

#include <dds/dds.h>

#include "rtps_packet.h"

#define RTPS_ENTITIES_MAX 1024u

struct ddsi_sertype;
struct nn_rdata;
struct rtps_identity;

struct rtps_origin { /* of a message that came in */
	bool known, has_related;
	uint16_t vendor;
	struct rtps_id own;     /* the writer that sent it, and its number there */
	struct rtps_id related; /* of its inline QoS: of a request the reader that waits, of a reply the request */
};

/*
 * For the domain of a type whose topic has been created, before it sends what matters. One per domain. Errors: -ENOTSUP with a
 * sentence in why, -ENOMEM, -EMFILE.
 */
int rtps_identity_open(const struct ddsi_sertype *type, struct rtps_identity **ret, char *why, size_t why_size);
/* Once the domain is deleted, or was not used since open(). NULL is fine. */
void rtps_identity_close(struct rtps_identity *x);

/*
 * A writer of replies: its samples have RTPS_QOS_SIZE bytes before their payload in memory, zero or the inline QoS to send with
 * them. Or a writer of requests, or the reader of either. Until remove(), which comes after it is deleted. -EMFILE.
 */
int rtps_identity_add(struct rtps_identity *x, const dds_guid_t *entity);
void rtps_identity_remove(struct rtps_identity *x, const dds_guid_t *entity);

/* Of the first fragment. Only where open() has succeeded. Thread: Cyclone's, inside from_ser(). */
void rtps_identity_read(const struct nn_rdata *first, struct rtps_origin *ret);

#endif
