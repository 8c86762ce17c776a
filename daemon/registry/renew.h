/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Subscribers in place of those whose queue may be damaged: a publisher that dies inside a push takes an index of the queue
 * with it, which makes that queue shorter for good. Simd's own feed is replaced, and the clients are asked to replace theirs; each
 * takes from both for a while, so nothing is lost (libclient/ipc/README.md).
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
/* A publisher of these channels has died in the present generation. A channel is renewed once a second at most. */
void renew_channels(struct simd *s, const uint32_t *ids, uint32_t n);

#endif
