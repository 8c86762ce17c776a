/* SPDX-License-Identifier: Apache-2.0 */
/* Addresses, and connections to them that do not block. Thread: any. */
#ifndef WORLD_DIAL_H
#define WORLD_DIAL_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

struct dial_address {
	struct sockaddr_storage at;
	socklen_t len;
	char text[256]; /* as it was given */
	char host[256]; /* of it, without port and brackets */
};

/*
 * HOST:PORT, [IPV6]:PORT; looks names up, which may block. -EINVAL it is none; -ENOENT no such name; -EACCES it is not this machine, where that is asked for. With a
 * sentence.
 */
int dial_parse(const char *text, bool this_machine, struct dial_address *ret) __attribute__((warn_unused_result));
/* A socket that is being connected: writable when dial_result() tells how it went. -errno. */
int dial_begin(const struct dial_address *a) __attribute__((warn_unused_result));
/* A socket for datagrams with the same host, at that port. -errno. */
int dial_datagrams(const struct dial_address *a, uint16_t port) __attribute__((warn_unused_result));
int dial_result(int fd) __attribute__((warn_unused_result));

#endif
