/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A world on TCP and UDP: listens, reads and writes for its sessions, and makes its ticks when they are due. One thread, one loop, however many clients.
 * With keys by TLS; else plain text, so on loopback alone.
 */
#ifndef WORLD_NET_H
#define WORLD_NET_H

#include "loop/listener.h"
#include "world.h"

struct net;
struct tls_keys;

struct net_options {
	const char *host;            /* an address, without keys of loopback; NULL: 127.0.0.1 */
	uint16_t port;               /* 0: any */
	const struct tls_keys *keys; /* NULL: plain text. Kept until destroy */
	bool tcp_only;               /* no datagrams */
};

/*
 * x, w: kept until destroy, w nobody else's meanwhile. -EINVAL no address; -EACCES an address that others reach, without keys; -EADDRINUSE; as the system says. With a sentence.
 */
int net_create(struct exec *x, const struct net_options *o, struct world *w, struct net **ret)
	__attribute__((warn_unused_result));
void net_destroy(struct net *n);
uint16_t net_port(const struct net *n);

struct exec *net_exec(const struct net *n); /* borrows */
/* A turn follows: what is due happens, and what clients have been told goes out. */
void net_soon(struct net *n);
/* In each turn, behind what the world does; turn() returns when to come again. One at most; user: kept until destroy. */
void net_also(struct net *n, int64_t (*turn)(void *user, int64_t now_mono_ns), void *user);
/*
 * Where others connect, in the same loop. at: an address of four numbers; closed: why it has to be of loopback; NULL: any. As listener_create(), -EINVAL and
 * -EACCES as above.
 */
int net_listen(const struct net *n, const struct net_options *at, const char *closed, const struct listener_options *o,
	       struct listener **ret) __attribute__((warn_unused_result));

/* When stop_fd is readable clients are told, and waited for up to grace_dur_ns, and then the loop ends. As the system says, with a sentence. */
int net_stop_at(struct net *n, int stop_fd, int64_t grace_dur_ns) __attribute__((warn_unused_result));

#endif
