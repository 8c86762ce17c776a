/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A world on TCP and UDP: listens, reads and writes for its sessions, and makes its ticks when they are due. One thread
 * and one loop for all clients. With keys it uses TLS; without, plain text, and then only on loopback.
 */
#ifndef WORLD_NET_H
#define WORLD_NET_H

#include "loop/listener.h"
#include "world.h"

struct net;
struct tls_keys;

struct net_options {
	const char *host;            /* address to listen on, loopback if there are no keys; NULL: 127.0.0.1 */
	uint16_t port;               /* 0: any */
	const struct tls_keys *keys; /* NULL: plain text. Kept until destroy */
	bool tcp_only;               /* no datagrams */
};

/*
 * Keeps x and w until destroy; only the net may use w meanwhile. -EINVAL: not an address; -EACCES: an address that
 * other machines reach, without keys; -EADDRINUSE; other errors of the system. With a sentence.
 */
int net_create(struct exec *x, const struct net_options *o, struct world *w, struct net **ret)
	__attribute__((warn_unused_result));
void net_destroy(struct net *n);
uint16_t net_port(const struct net *n);

struct exec *net_exec(const struct net *n); /* borrows */
/* Requests a turn of the loop, in which due work runs and pending messages to clients are sent. */
void net_soon(struct net *n);
/*
 * Calls turn() in each turn of the loop, after the world's own work; it returns when to be called again. At most one.
 * Keeps user until destroy.
 */
void net_also(struct net *n, int64_t (*turn)(void *user, int64_t now_mono_ns), void *user);
/*
 * Another listener in the same loop. at: a numeric IPv4 address; closed: why it has to be loopback; NULL: any address
 * will do. Errors of listener_create(), -EINVAL and -EACCES as above.
 */
int net_listen(const struct net *n, const struct net_options *at, const char *closed, const struct listener_options *o,
	       struct listener **ret) __attribute__((warn_unused_result));

/*
 * When stop_fd is readable, tells the clients, waits for them up to grace_dur_ns, and ends the loop. Errors of the
 * system, with a sentence.
 */
int net_stop_at(struct net *n, int stop_fd, int64_t grace_dur_ns) __attribute__((warn_unused_result));

#endif
