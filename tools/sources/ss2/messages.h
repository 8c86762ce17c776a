/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From the scene to messages. Each function fills a body in place, at most `cap` bytes, and returns its size, 0
 * when it does not fit. Thread: any; pure.
 *
 * Objects are given around the ego, which itself is left out: in its frame "base_link", or, in a scenario without
 * an ego, in "map". Traffic lights have no place here, only an id: scenario_simulator_v2 tells none.
 */
#ifndef SOURCES_SS2_MESSAGES_H
#define SOURCES_SS2_MESSAGES_H

#include "scene.h"

#define FRAME_MAP  "map"
#define FRAME_BASE "base_link"

const char *message_frame(const struct scene *s); /* of the objects */

size_t message_objects(const struct scene *s, int64_t now_sim_ns, void *body, size_t cap);
size_t message_signals(const struct scene *s, void *body, size_t cap);

/* Bytes that n of them take at most. */
size_t message_objects_max(size_t n);
size_t message_signals_max(size_t n);

#endif
