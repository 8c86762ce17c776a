/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by params.c (which nodes have parameters) and param_node.c (one node's requests and answers). */
#ifndef PARAMS_H
#define PARAMS_H

#include "param_wire.h"
#include "service.h"

struct ros2_param_node {
	struct sim_bridge *bridge;
	char simd[SIM_CHANNEL_MAX +
		  1]; /* as simd calls it; "": it is our own, whose parameters are the bridge's options */
	char full[TOPIC_NAME_MAX + 1]; /* ROS name: namespace and name */
	char node_namespace[TOPIC_NAME_MAX + 1];
	const char *name; /* points into full */
	struct ros2_service *services[PARAM_CALLS_N];
	pthread_t thread;
	bool running;
	/* guarded by ros2_params::lock */
	pthread_cond_t changed;
	struct ros2_request *first, *last;
	bool stop;
	/* used by the node's thread alone */
	struct param_table *table; /* as last fetched; NULL: not yet. Our own node's: set when created */
	int64_t due_mono_ns;       /* when to fetch the parameters next */
	uint64_t n_failed;
	char why[PARAM_WHY_MAX]; /* why the last call of the program failed */
};

/*
 * param_node.c: starts and stops the node's thread. When stop() returns, every request has been answered. If the table
 * is NULL, the thread fetches it from the simd node.
 */
int param_node_start(struct ros2_param_node *n);
void param_node_stop(struct ros2_param_node *n);

#endif
