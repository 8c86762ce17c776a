/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What bridges say of the channels that their rigs list for them: carried, as which topic of which type over there, or
 * refused, and why. A bridge that has not said anything yet is taken to carry all that its globs name.
 *
 * Thread: simd-main.
 */
#ifndef REGISTRY_CARRIED_H
#define REGISTRY_CARRIED_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

struct bridge;
struct channel;
struct simd;

/* result 0: carried; below 0: refused, name says why. Texts borrow. */
void carried_set(struct bridge *b, const struct channel *ch, int result, const char *name, const char *type);
/* All that it has said is void. */
void carried_clear(struct bridge *b);
/* The channel's number is free again: no bridge has said anything of it. */
void carried_forget(struct simd *s, uint32_t channel_id);

bool carried_refused(const struct bridge *b, const struct channel *ch);
/* New JSON arrays: {"bridge","channel","name","type","why"}; why is empty where it is carried. */
json_t *carried_of_bridge(const struct bridge *b);
json_t *carried_of_channel(const struct channel *ch);

#endif
