/* SPDX-License-Identifier: Apache-2.0 */
/* A socket that listens, and names of addresses. Thread: any. */
#ifndef SOURCES_SS2_LISTEN_H
#define SOURCES_SS2_LISTEN_H

#include <stddef.h>
#include <sys/socket.h>

/*
 * bind_to: a numeric address, the name of an interface, or * for all; IPv6 where there is a colon in it. The descriptor does not block.
 * -EADDRINUSE and others, with a sentence that names the options.
 */
int listen_at(const char *bind_to, int port);

/* "ADDRESS:PORT"; "": it has none. */
void listen_name(const struct sockaddr_storage *at, char *ret, size_t size);

#endif
