/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by host.c, host_loop.c, host_udp.c and host_api.c. */
#ifndef WORLD_HOST_PRIVATE_H
#define WORLD_HOST_PRIVATE_H

#include <pthread.h>

#include <sim/world.h>

#include "dial.h"
#include "side.h"
#include "loop/tls.h"

#define HOST_CIPHER_MAX 65536u /* bytes of TLS that are read at once */

struct sim_world {
	pthread_mutex_t lock; /* guards everything below; not held in callbacks */
	pthread_cond_t news;  /* signals a tick, or a new state */
	struct sim_world_events events;
	void *user;
	unsigned flags, history;
	int64_t guess_dur_ns;
	enum sim_world_role role;
	struct side *side;
	struct dial_address address;
	struct tls_keys *keys;               /* NULL: plain text */
	struct tls *tls;                     /* TLS of the connection; NULL: no connection, or plain text */
	uint8_t *cipher;                     /* buffer for TLS input: HOST_CIPHER_MAX bytes; NULL without keys */
	int fd, udp_fd;                      /* the connection, and its datagram socket; -1: none */
	int epoll_fd, wake_fd, timer_fd;     /* timer: next attempt to connect */
	bool dialling, blocked;              /* EPOLLOUT is awaited: for the connect, for room to write */
	int64_t backoff_dur_ns, udp_mono_ns; /* udp: when the timer is set for datagrams */
	pthread_t thread, caller;            /* caller: thread in a callback, while `calling` */
	bool has_thread, stop, calling;
	bool inside;  /* a thread takes a turn */
	bool waits;   /* the program uses waits (sim_world_wait(), sim_world_step()) */
	bool in_wait; /* it is in one now */
	/*
	 * disconnected because the program did something else for too long, such as a pause: reconnects with the
	 * program's next call
	 */
	bool away;
	uint64_t at_tick; /* latest tick that the program knows: returned by a wait, or reported by a callback */
	bool news_tick;   /* there is a tick that no wait has returned */
	bool waited;      /* a wait has returned waited_tick on this connection */
	uint64_t waited_tick;
	uint64_t done_world, done_tick; /* of the last Done */
	bool paused;                    /* a pause was declared since then */
	enum sim_world_state state;
	int error;                  /* why it is not connected */
	struct sim_world_info info; /* counters and why */
};

/* ---- host_loop.c: with the lock held, unless stated otherwise ---- */

/*
 * Reads, calls back, writes, reconnects: all that can be done without blocking. Releases the lock for callbacks.
 * Returns how many ticks came.
 */
int host_turn(struct sim_world *w);
/* ---- host_udp.c: with the lock held ---- */

/*
 * Opens the datagram socket for the port of a Welcome. A refusal by the system is not an error: then everything goes
 * over TCP.
 */
void host_udp_open(struct sim_world *w, uint16_t port);
void host_udp_close(struct sim_world *w);
/* Reads a datagram; side_next() returns its events. Returns false when there is no more for now. */
bool host_udp_read(struct sim_world *w);
/* Sends what is due, and sets the timer for what will be. */
void host_udp_flush(struct sim_world *w);
void host_udp_set_timer(struct sim_world *w);

/* ---- host_loop.c again ---- */

void host_set_timer(const struct sim_world *w, int64_t dur_ns);
/* The program has called: reconnects if that was waiting for it. */
void host_come_back(struct sim_world *w);
/* Sends queued data, as far as possible. */
void host_flush(struct sim_world *w);
/* The bytes for the server, to be sent: with TLS, as many as fit; the second function tells how many were sent. */
size_t host_output(struct sim_world *w, const void **ret);
void host_sent(struct sim_world *w, size_t n);
/* Starts to connect. */
void host_dial(struct sim_world *w);
bool host_in_callback(const struct sim_world *w);
/* Fills an object as a callback or a caller gets it. */
void host_object(const struct sim_world *w, const struct remote *r, const struct motion_real *m, enum remote_how how,
		 struct sim_world_object *ret);
void host_tick(const struct side_tick *t, struct sim_world_tick *ret);

#endif
