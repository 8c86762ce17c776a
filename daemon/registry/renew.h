/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Replaces subscribers whose queue may be damaged: a publisher that dies inside a push takes an index of the queue with
 * it, which makes the queue shorter for good. simd replaces its own feed and asks the clients to replace theirs; each
 * reads from both for a while, so nothing is lost (libclient/ipc/README.md).
 *
 * Thread: simd-main.
 */
#ifndef REGISTRY_RENEW_H
#define REGISTRY_RENEW_H

#include "exec.h"

#include <stdint.h>

struct simd;

void renew_init(struct simd *s);
void renew_finish(struct simd *s);
/* A publisher of these channels has died in the present generation. A channel is renewed at most once a second. */
void renew_channels(struct simd *s, const uint32_t *ids, uint32_t n);

#endif
