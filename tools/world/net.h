/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A world on TCP and UDP: listens, reads and writes for its sessions, and makes its ticks when they are due. One thread, one epoll, however many clients.
 * With keys by TLS; else plain text, so on loopback alone.
 */
#ifndef WORLD_NET_H
#define WORLD_NET_H

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
 * w: kept until destroy, and nobody else's meanwhile. -EINVAL no address; -EACCES an address that others reach, without keys; -EADDRINUSE; as the system says. With a sentence.
 */
int net_create(const struct net_options *o, struct world *w, struct net **ret) __attribute__((warn_unused_result));
void net_destroy(struct net *n);
uint16_t net_port(const struct net *n);

/* Another part of the loop. */
struct net_source {
	int fd;
	void (*ready)(void *user, int64_t now_mono_ns);
	int64_t (*turn)(void *user,
			int64_t now_mono_ns); /* behind what the world does; when to come again. NULL: none */
	void *user;
};

#define NET_SOURCES 2u

/* NET_SOURCES at most; fd, user: kept until destroy. With a sentence. */
int net_also(struct net *n, const struct net_source *s) __attribute__((warn_unused_result));
/* Until stop_fd is readable; then clients are told, and waited for up to grace_dur_ns. 0, or what the system refused. */
int net_run(struct net *n, int stop_fd, int64_t grace_dur_ns) __attribute__((warn_unused_result));

#endif
