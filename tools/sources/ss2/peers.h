/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Clients of a ZeroMQ REP socket, without ZeroMQ: they connect, ask and are answered, one request at a time, in turns.
 *
 * Started by simd, all of it outlives this process (keep.h): the socket that listens, the connections, what has come from them and
 * answers that are not sent yet. The next process goes on where this one was killed, so that no request is lost: what was
 * not answered is asked again.
 *
 * What a client can make it keep: PEERS_MAX connections with a request of 2 MiB and an answer each. One more puts out the one that has
 * been silent longest.
 *
 * Thread: the owner's; nothing here waits but peers_close().
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
	int fd;               /* -1: none */
	uint64_t in_to, sent; /* up to where its bytes have been read, and answers sent */
	int64_t met_mono_ns, heard_mono_ns;
	struct zmtp_unit unit;     /* what lies at `done` */
	char name[PEERS_NAME_MAX]; /* "ADDRESS:PORT" */
};

struct peers {
	struct keep keep;
	struct peers_memory memory;
	int listen_fd; /* -1: not yet */
	bool taken;    /* from a process that was killed */
	struct peers_peer peer[PEERS_MAX];
	const char *spared;
	int in_hand, last; /* whose request is, and was, handled; in_hand -1: none */
	struct log_limit limit;
};

/* Take over what a killed process has left, if anything. Errors: memory; a sentence in err_why(). */
int peers_open(struct peers *p);
/* Listen, unless that was taken over. As listen_at(). */
int peers_listen(struct peers *p, const char *bind_to, int port);
/* Sends what is left, if the far ends take it within a moment. The next process finds the connections, if simd starts one. */
void peers_close(struct peers *p);

/* This client is never put out. Keeps the text, which may change. */
void peers_spare(struct peers *p, const char *name);
bool peers_has(struct peers *p, const char *name);

/* What to wait for; returns how many. */
unsigned peers_poll(struct peers *p, struct pollfd ret[PEERS_POLL_MAX]);
/* Read, write and accept what is there, as that poll says. */
void peers_look(struct peers *p, const struct pollfd *polled, unsigned n);

struct peers_request {
	const uint8_t *data; /* until it is answered */
	size_t len;
	unsigned parts;  /* data is the first */
	unsigned tries;  /* processes that have begun with it, with this one */
	uint64_t number; /* from 1 on, one after the other */
	const char *from;
};

/* The next request, which is to be answered before the next call. 0, -EAGAIN. */
int peers_next(struct peers *p, struct peers_request *ret);
/* From here on it is answered, whatever becomes of this process. */
void peers_answer(struct peers *p, const void *data, size_t len);
/* The number of the last request that was. */
uint64_t peers_answered(const struct peers *p);

#endif
