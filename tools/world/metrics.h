/* SPDX-License-Identifier: Apache-2.0 */
/* A page of metrics of a world, as Prometheus reads them. Thread: that of the ticks. */
#ifndef WORLD_METRICS_H
#define WORLD_METRICS_H

#include "world.h"

#define METRICS_CLIENTS 256u /* one by one; the sums are of all */

/* returns: free(); NULL: no memory. */
char *metrics_text(const struct world *w);

#endif
