/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where peers come: a port or a Unix socket. Whoever connects is a stream of the owner's, within bounds that all listeners keep alike:
 *
 *	peers, peers_of_one  places; when they are used up, the oldest peer that is silent goes, else the oldest that rests
 *	header, header_dur_ns  what a silent peer, which has not said anything whole yet, may say, and for how long
 *	idle_dur_ns          how long one that rests may do so
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
	unsigned peers_of_one; /* of these from one address, or user of this machine; 0: as many as there are */
	size_t header;         /* bytes; 0: the stream's buffer */
	int64_t header_dur_ns; /* as that of stream_deadline() */
	int64_t idle_dur_ns;
};

struct listener_options {
	struct listener_bounds bounds;
	struct stream_options stream; /* of each peer, but for arg */
	void *arg;
	/* A peer, silent so far, from "address:port" or "user 1000": what its stream's arg is, whose stream_destroy() ends it. NULL: go. */
	void *(*came)(void *arg, struct stream *s, const char *from);
	/* One was sent away, as there is no place; from NULL: nobody can be accepted for 0.1 s. why borrows. NULL: nobody wants to know. */
	void (*refused)(void *arg, const char *from, const char *why);
};

/*
 * At an address or name of this machine, port 0: a free one; or at a path, which begins with '/', for the owner and its group. Copies the
 * options. Looks the name up, which blocks. Errors with a sentence in why: -EADDRNOTAVAIL, -EADDRINUSE, -EACCES, -ENOMEM ...
 */
int listener_create(struct exec *x, const struct address *at, const struct listener_options *o, struct listener **ret,
		    char why[STREAM_WHY_MAX]);
unsigned listener_port(const struct listener *l);
/* Nobody comes any more; peers stay, without bounds. NULL is fine. */
void listener_destroy(struct listener *l);

/* Of a peer: it has said something whole; it has nothing to say for now; it needs no place, as its owner counts it. */
enum peer_mood { PEER_BUSY, PEER_RESTS, PEER_SILENT, PEER_LEAVES };
void listener_mood(struct stream *peer, enum peer_mood mood);

#endif
