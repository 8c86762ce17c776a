/* SPDX-License-Identifier: Apache-2.0 */
/* What host.c, host_loop.c and host_api.c share. */
#ifndef WORLD_HOST_PRIVATE_H
#define WORLD_HOST_PRIVATE_H

#include <pthread.h>

#include <sim/world.h>

#include "dial.h"
#include "side.h"
#include "tls.h"

#define HOST_CIPHER_MAX 65536u /* bytes of TLS that are read at once */

struct sim_world {
	pthread_mutex_t lock; /* over all below; not held in callbacks */
	pthread_cond_t news;  /* news, state */
	struct sim_world_events events;
	void *user;
	unsigned flags, history;
	int64_t guess_dur_ns;
	enum sim_world_role role;
	struct side *side;
	struct dial_address address;
	struct tls_keys *keys;               /* NULL: plain text */
	struct tls *tls;                     /* of the connection; NULL: none, or plain text */
	uint8_t *cipher;                     /* what came by TLS: HOST_CIPHER_MAX; NULL without keys */
	int fd, udp_fd;                      /* of the connection, and its datagrams; -1: none */
	int epoll_fd, wake_fd, timer_fd;     /* timer: when it is tried again */
	bool dialling, blocked;              /* EPOLLOUT is waited for: to be connected, for room */
	int64_t backoff_dur_ns, udp_mono_ns; /* udp: when the timer wakes it for datagrams */
	pthread_t thread, caller;            /* caller: in a callback, while calling */
	bool has_thread, stop, calling;
	bool inside;  /* somebody takes a turn */
	bool waits;   /* the program does */
	bool in_wait; /* now */
	bool away; /* it was put out while the program did something else, such as a pause: it comes again with the program */
	uint64_t at_tick; /* the one that it knows of: which a wait has returned, or a callback told */
	bool news_tick;   /* a tick that no wait has returned */
	bool waited;      /* a wait has returned waited_tick of this connection */
	uint64_t waited_tick;
	uint64_t done_world, done_tick; /* the last Done */
	bool paused;                    /* said since then */
	enum sim_world_state state;
	int error;                  /* why it is not connected */
	struct sim_world_info info; /* counters and why */
};

/* ---- host_loop.c: with the lock held, unless said ---- */

/* Reads, tells, writes, connects again: what can be done now. Lets go of the lock for callbacks. Returns how many ticks came. */
int host_turn(struct sim_world *w);
/* ---- host_udp.c: with the lock held ---- */

/* The Welcome has a port for them. What the system refuses is no failure: all goes by the connection. */
void host_udp_open(struct sim_world *w, uint16_t port);
void host_udp_close(struct sim_world *w);
/* What has come; the events of it are side_next()'s. Returns false when there is no more for now. */
bool host_udp_read(struct sim_world *w);
/* What is due; and the timer, for what will be. */
void host_udp_flush(struct sim_world *w);
void host_udp_set_timer(struct sim_world *w);

/* ---- host_loop.c again ---- */

void host_set_timer(const struct sim_world *w, int64_t dur_ns);
/* The program is here: a connection that waits for it is made. */
void host_come_back(struct sim_world *w);
/* What waits goes out, as far as it does. */
void host_flush(struct sim_world *w);
/* What is for the server, as it goes out: by TLS what there is room for; and that so much of it went. */
size_t host_output(struct sim_world *w, const void **ret);
void host_sent(struct sim_world *w, size_t n);
/* A connection is begun. */
void host_dial(struct sim_world *w);
bool host_in_callback(const struct sim_world *w);
/* Of an object as a callback or a caller gets it. */
void host_object(const struct sim_world *w, const struct remote *r, const struct motion_real *m, enum remote_how how,
		 struct sim_world_object *ret);
void host_tick(const struct side_tick *t, struct sim_world_tick *ret);

#endif
