/* SPDX-License-Identifier: Apache-2.0 */
/* Metrics of a world in the text format of Prometheus. Thread: that of the ticks. */
#ifndef WORLD_METRICS_H
#define WORLD_METRICS_H

#include "world.h"

#define METRICS_CLIENTS 256u /* listed individually; sums include all */

/* Free with free(); NULL: out of memory. */
char *metrics_text(const struct world *w);

#endif
