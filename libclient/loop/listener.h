/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A listening TCP port or Unix socket. Each connection becomes a stream of the owner, within bounds that are the same
 * in all listeners:
 *
 *	peers, peers_of_one    connections; at the limit the oldest silent peer is closed, else the oldest idle one
 *	header, header_dur_ns  bytes and time that a silent peer (no complete message yet) may take
 *	idle_dur_ns            how long a peer may be idle (PEER_RESTS)
 *
 * Thread: the exec's. Callbacks come from the loop.
 */
#ifndef LOOP_LISTENER_H
#define LOOP_LISTENER_H

#include "stream.h"

#define LISTENER_FROM_MAX 128u

struct listener;

struct listener_bounds {
	unsigned peers;
	unsigned peers_of_one; /* connections from one address, or one user of this machine; 0: no limit but peers */
	size_t header;         /* bytes; 0: the stream's buffer */
	int64_t header_dur_ns; /* as that of stream_deadline() */
	int64_t idle_dur_ns;
};

struct listener_options {
	struct listener_bounds bounds;
	struct stream_options stream; /* for each peer's stream; its arg is ignored */
	void *arg;
	/*
	 * A new peer, silent so far, from "address:port" or "user 1000". Returns the arg of its stream, which the owner
	 * ends by stream_destroy(). NULL: closes the connection.
	 */
	void *(*came)(void *arg, struct stream *s, const char *from);
	/*
	 * A connection was refused because the limits are reached; from NULL: no connection can be accepted for 0.1 s.
	 * why borrows. NULL: not reported.
	 */
	void (*refused)(void *arg, const char *from, const char *why);
};

/*
 * Listens at an address or name of this machine (port 0: any free one), or at a path, which begins with '/' and is open
 * to the owner and its group. Copies the options. Looks the name up, which blocks. Errors with a sentence in why:
 * -EADDRNOTAVAIL, -EADDRINUSE, -EACCES, -ENOMEM ...
 */
int listener_create(struct exec *x, const struct address *at, const struct listener_options *o, struct listener **ret,
		    char why[STREAM_WHY_MAX]);
unsigned listener_port(const struct listener *l);
/* Accepts no more connections; existing peers stay, without bounds. NULL is fine. */
void listener_destroy(struct listener *l);

/*
 * State of a peer: it has sent a complete message; it is idle; it is silent; it takes no place any more, because its
 * owner limits such peers itself.
 */
enum peer_mood { PEER_BUSY, PEER_RESTS, PEER_SILENT, PEER_LEAVES };
void listener_mood(struct stream *peer, enum peer_mood mood);

#endif
