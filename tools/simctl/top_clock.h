/* SPDX-License-Identifier: Apache-2.0 */
/* The clock's state as rows of a table. Thread: any. */
#ifndef SIMCTL_TOP_CLOCK_H
#define SIMCTL_TOP_CLOCK_H

#include <jansson.h>

/* Rows from GetClock's clock: objects with name, value and, for some, state. NULL: no rows. Free with json_decref(). */
json_t *top_clock_lines(const json_t *clock);
/* Short description: "running", "paused", "driver stopped", ... Static. */
const char *top_clock_state(const json_t *clock);

#endif
