/* SPDX-License-Identifier: Apache-2.0 */
/* The data plane's memory as the control interface shows it. Thread: simd-main. */
#ifndef REGISTRY_REPORT_POOLS_H
#define REGISTRY_REPORT_POOLS_H

#include <jansson.h>

struct simd;

/* The size classes that have memory, each with the channels that have reserved most of it. NULL: no memory. */
json_t *report_pools(const struct simd *s);

#endif
