/* SPDX-License-Identifier: Apache-2.0 */
/* What net.c and net_udp.c share. */
#ifndef WORLD_NET_PRIVATE_H
#define WORLD_NET_PRIVATE_H

#include <netinet/in.h>

#include "list.h"
#include "log.h"
#include "net.h"

struct peer {
	struct list link; /* list net::peers */
	struct net *n;
	struct stream *stream;
	char from[LISTENER_FROM_MAX];
	struct session *s;     /* NULL: a stranger, whose handshake is not complete */
	int64_t until_mono_ns; /* after the session's end: until when its last bytes may wait; 0: not set yet */
};

struct net {
	struct exec *x;
	struct world *w;
	const struct tls_keys *keys; /* NULL: plain text */
	struct listener *listener;
	int udp_fd;      /* -1: none */
	bool one_by_one; /* the kernel has no UDP segmentation offload here */
	struct exec_io udp, stop;
	struct exec_timer turn, grace;
	bool stops;
	int64_t grace_dur_ns;
	struct list peers; /* list by peer::link */
	struct log_limit refused, failed;
	int64_t (*also)(void *user, int64_t now_mono_ns); /* NULL: none */
	void *user;
};

/* ---- net_udp.c ---- */

/* Opens the UDP socket on the address of the listening socket. With a sentence. */
int net_udp_open(struct net *n, const char *host) __attribute__((warn_unused_result));
/* Sends the session's datagrams; those that the kernel does not take are lost. */
void net_udp_write(struct net *n, struct session *s, int64_t now_mono_ns);

#endif
