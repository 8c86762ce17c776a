/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Members of the interface's Clock object that come from the time engine; timekeeper_json() puts the object together.
 *
 * Thread: simd-main.
 */
#ifndef REGISTRY_REPORT_CLOCK_H
#define REGISTRY_REPORT_CLOCK_H

#include <jansson.h>

struct bridge;
struct time_engine;
struct time_run;
struct time_status;

/* New references. */
json_t *report_driver(const struct time_status *st); /* null: no driver */
json_t *report_participants(const struct time_engine *e);
json_t *report_run(const struct time_run *run); /* null: time has not moved yet */

/* Appends the other clocks that the bridge has reported of its far side, one per line. */
void report_far_clocks(json_t *a, const struct bridge *b);

#endif
