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
	char text[256]; /* as given */
	char host[256]; /* host part, without brackets */
};

/*
 * Parses HOST:PORT or [IPV6]:PORT; looks up names, which may block. -EINVAL malformed; -ENOENT no such name; -EACCES it
 * is not this machine, if this_machine is set. With a sentence.
 */
int dial_parse(const char *text, bool this_machine, struct dial_address *ret) __attribute__((warn_unused_result));
/* Starts to connect a socket: it becomes writable when dial_result() has the outcome. -errno. */
int dial_begin(const struct dial_address *a) __attribute__((warn_unused_result));
/* Creates a datagram socket to the same host, at that port. -errno. */
int dial_datagrams(const struct dial_address *a, uint16_t port) __attribute__((warn_unused_result));
int dial_result(int fd) __attribute__((warn_unused_result));

#endif
