/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Clients of a ZeroMQ REP socket, without ZeroMQ: they connect, send requests and get answers, one request at a time,
 * in turns.
 *
 * Under simd all of it outlives this process (keep.h): the listening socket, the connections, the bytes received from
 * them and answers not sent yet. The next process continues where this one was killed, so that no request is lost: a
 * request without an answer is handled again.
 *
 * Limits: PEERS_MAX connections, each with a request of 2 MiB and an answer. One connection more closes the one that
 * has been silent longest.
 *
 * Thread: the owner's; no function blocks except peers_close().
 */
#ifndef SOURCES_SS2_PEERS_H
#define SOURCES_SS2_PEERS_H

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../keep.h"
#include "log.h"
#include "peers_memory.h"

#define PEERS_NAME_MAX 64
#define PEERS_POLL_MAX (PEERS_MAX + 1)

struct peers_peer {
	int fd;               /* -1: no connection */
	uint64_t in_to, sent; /* positions in its stream: end of the bytes read, end of the answer bytes sent */
	int64_t met_mono_ns, heard_mono_ns;
	struct zmtp_unit unit;     /* the unit that begins at position `done` */
	char name[PEERS_NAME_MAX]; /* "ADDRESS:PORT" */
};

struct peers {
	struct keep keep;
	struct peers_memory memory;
	int listen_fd; /* -1: not listening yet */
	bool taken;    /* taken over from a killed process */
	struct peers_peer peer[PEERS_MAX];
	const char *spared;
	int in_hand, last; /* connection of the request being handled (-1: none), and of the last request */
	struct log_limit limit;
};

/* Take over what a killed process has left, if anything. Errors: of memory, with err_why(). */
int peers_open(struct peers *p);
/* Listen, unless the socket was taken over. Returns as listen_at(). */
int peers_listen(struct peers *p, const char *bind_to, int port);
/*
 * Send the rest of the answers, as far as clients take them within a moment. If simd starts another process, that one
 * finds the connections.
 */
void peers_close(struct peers *p);

/* The client of that name is never cut off to make room. Keeps the pointer name; the text may change. */
void peers_spare(struct peers *p, const char *name);
bool peers_has(struct peers *p, const char *name);

/* Descriptors and events to wait for; returns their number. */
unsigned peers_poll(struct peers *p, struct pollfd ret[PEERS_POLL_MAX]);
/* Read, write and accept as the poll reports. */
void peers_look(struct peers *p, const struct pollfd *polled, unsigned n);

struct peers_request {
	const uint8_t *data; /* valid until the request is answered */
	size_t len;
	unsigned parts;  /* parts of the request; data is the first */
	unsigned tries;  /* processes that have begun to handle it, including this one */
	uint64_t number; /* from 1 on, consecutive */
	const char *from;
};

/* The next request; answer it before the next call. Returns 0, or -EAGAIN. */
int peers_next(struct peers *p, struct peers_request *ret);
/* Answer the request. After this call it counts as answered, even if this process is killed. */
void peers_answer(struct peers *p, const void *data, size_t len);
/* Number of the last request that was answered. */
uint64_t peers_answered(const struct peers *p);

#endif
