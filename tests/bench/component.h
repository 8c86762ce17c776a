/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the cases of nodes and components. In a role an error ends the process, with an error text. */
#ifndef BENCH_COMPONENT_H
#define BENCH_COMPONENT_H

#include <sim/component.h>

#include "bench.h"

/* In reality. scheduler: JSON, or NULL. */
struct sim_host *bench_host(const struct bench *b, const char *name, const char *scheduler);
struct sim_node *bench_node(struct sim_host *h, const char *name);
/* Of small messages, for this machine alone. */
struct sim_node_writer *bench_writer(struct sim_node *n, const char *channel, enum sim_transport transport);

#endif
