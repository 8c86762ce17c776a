/* SPDX-License-Identifier: Apache-2.0 */
/*
 * TLS of a stream (tls.h): opened() comes when the peer has shown who it is, and what is written and taken is plain. A peer that cannot
 * show it, or does not keep to TLS later, ends the stream with -EPROTO and a sentence; one that ends TLS in order has closed it.
 *
 * An archive of its own: what has no TLS links no OpenSSL. Thread: the stream's.
 */
#ifndef LOOP_STREAM_TLS_H
#define LOOP_STREAM_TLS_H

#include "stream.h"
#include "tls.h"

/*
 * Of a stream that was dialled, was adopted or has come to a listener just now. The handshake counts as dialling, and as what a listener's
 * silent peer says. Errors of tls_create(), with a sentence in err_why(): the stream is as it was.
 */
int stream_tls(struct stream *s, enum tls_side side, const struct tls_options *o) __attribute__((warn_unused_result));
/* Who the peer is, from opened() on; false: it is not open. */
bool stream_tls_peer(const struct stream *s, struct tls_peer *ret);

#endif
