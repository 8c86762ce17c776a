/* SPDX-License-Identifier: Apache-2.0 */
/* What a listener does to the streams of its peers. Nobody else includes this. */
#ifndef STREAM_PRIVATE_H
#define STREAM_PRIVATE_H

#include "stream.h"

/* left(peer) is called once, when the connection is closed. limit: bytes that may wait to be used; 0: the buffer. */
void stream_seat(struct stream *s, void (*left)(void *peer), void *peer, size_t limit);
void *stream_peer(const struct stream *s);
/* ended() follows; why NULL: that of the errno. */
void stream_give_up(struct stream *s, int error, const char *why);

#endif
