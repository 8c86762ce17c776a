/* SPDX-License-Identifier: Apache-2.0 */
/* The clock as rows of a table. Thread: any. */
#ifndef SIMCTL_TOP_CLOCK_H
#define SIMCTL_TOP_CLOCK_H

#include <jansson.h>

/* Of GetClock's clock: objects with name, value and, where it is a judgement, state. NULL: no rows. Returns: json_decref(). */
json_t *top_clock_lines(const json_t *clock);
/* "running", "paused", "driver stopped", ...: in a word or two. Static. */
const char *top_clock_state(const json_t *clock);

#endif
