/* SPDX-License-Identifier: Apache-2.0 */
/* A socket that listens, and names of addresses. Thread: any. */
#ifndef SOURCES_SS2_LISTEN_H
#define SOURCES_SS2_LISTEN_H

#include <stddef.h>
#include <sys/socket.h>

/*
 * Listen on bind_to: a numeric address, the name of an interface, or * for all; with a colon in it, it is IPv6. Returns
 * a non-blocking descriptor, or -EADDRINUSE or another errno, with err_why() naming the options.
 */
int listen_at(const char *bind_to, int port);

/* "ADDRESS:PORT"; "": the address has no name. */
void listen_name(const struct sockaddr_storage *at, char *ret, size_t size);

#endif
