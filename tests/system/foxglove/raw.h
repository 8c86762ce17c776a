/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A client that sends bytes of HTTP and frames of WebSocket one by one, also such as no library would send. Thread: the
 * test's.
 */
#ifndef FOXGLOVE_RAW_H
#define FOXGLOVE_RAW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Connected to 127.0.0.1:port; -1: refused. */
int raw_connect(unsigned port);
void raw_send(int fd, const void *data, size_t n); /* what the other side does not take any more is no failure */
/* A request with these lines between its first one and the empty one. The head of the answer; static. */
const char *raw_request(unsigned port, const char *first, const char *lines);
/* A socket whose upgrade was accepted, with these lines more; -1: it was not. */
int raw_open(unsigned port, const char *path, const char *lines);
void raw_frame(int fd, unsigned first_byte, const void *data, size_t n); /* masked */
void raw_text(int fd, const char *text);
/* Bytes come in until the other side closes. */
void raw_await_close(int fd);
/* Until a text is in the received bytes; false: the other side closes before. */
bool raw_hears(int fd, const char *text);

#endif
