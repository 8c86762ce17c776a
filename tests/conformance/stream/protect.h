/* SPDX-License-Identifier: Apache-2.0 */
/*
 * TLS for the streams of the suite: keys of a server and of alice, the client; and of an alice from another authority.
 */
#ifndef STREAM_PROTECT_H
#define STREAM_PROTECT_H

#include "stream_tls.h"
#include "suite.h"

struct protect {
	struct tls_keys *server, *client, *foreign;
	const struct tls_keys *dials; /* the client's keys */
};

extern struct protect protect;

/* For begin of struct suite. */
void protect_begin(struct exec *x);
void protect_end(void);
void protect_stream(struct stream *s, bool server);

#endif
