/* SPDX-License-Identifier: Apache-2.0 */
/*
 * TLS on a stream (tls.h): opened() comes when the peer is authenticated; stream_write() and take() have plain bytes. A
 * peer that fails to authenticate, or later violates TLS, ends the stream with -EPROTO and a sentence; close_notify
 * counts as closing.
 *
 *
 *
 * An archive of its own, so that programs without TLS do not link OpenSSL. Thread: the stream's.
 */
#ifndef LOOP_STREAM_TLS_H
#define LOOP_STREAM_TLS_H

#include "stream.h"
#include "tls.h"

/*
 * For a stream that was just dialled, adopted or accepted by a listener. The handshake counts as dialling, and as a
 * silent peer's time and bytes in a listener. Errors of tls_create(), with a sentence in err_why(): the stream is
 * unchanged.
 */
int stream_tls(struct stream *s, enum tls_side side, const struct tls_options *o) __attribute__((warn_unused_result));
/* The peer's identity, from opened() on; false: not open yet. */
bool stream_tls_peer(const struct stream *s, struct tls_peer *ret);

#endif
