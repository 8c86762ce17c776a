/* SPDX-License-Identifier: Apache-2.0 */
/* iceoryx's C binding as a careful user would use it, nothing around it: the peer of api_overhead. */
#ifndef RAW_IOX_H
#define RAW_IOX_H

#include <stddef.h>

struct raw_sender;
struct raw_receiver;

void raw_attach(const char *app, const char *plane); /* plane: simd's data plane */
struct raw_sender *raw_sender_create(const char *channel);
/* Loan, write 16 bytes, publish. 0 or -1. */
int raw_send(struct raw_sender *s, size_t size);
int raw_sender_connected(struct raw_sender *s);
struct raw_receiver *raw_receiver_create(const char *channel);
/* Wait until there is something (bounded by 50 ms), take one: 1, or 0. The chunk is released by raw_release(). */
int raw_wait_take(struct raw_receiver *r, const void **ret);
int raw_take(struct raw_receiver *r, const void **ret); /* 1 or 0, at once */
void raw_release(struct raw_receiver *r, const void *chunk);

#endif
