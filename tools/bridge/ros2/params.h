/* SPDX-License-Identifier: Apache-2.0 */
/* Inside params.c (which nodes have parameters) and param_node.c (what is asked of one, and answered). */
#ifndef PARAMS_H
#define PARAMS_H

#include "param_wire.h"
#include "service.h"

struct ros2_param_node {
	struct sim_bridge *bridge;
	char simd[SIM_CHANNEL_MAX +
		  1]; /* as simd calls it; "": it is our own, whose parameters are the bridge's options */
	char full[TOPIC_NAME_MAX + 1]; /* as ROS does: namespace and name */
	char node_namespace[TOPIC_NAME_MAX + 1];
	const char *name; /* in full */
	struct ros2_service *services[PARAM_CALLS_N];
	pthread_t thread;
	bool running;
	/* guarded by ros2_params::lock */
	pthread_cond_t changed;
	struct ros2_request *first, *last;
	bool stop;
	/* of its thread */
	struct param_table *table; /* as it was last; NULL: not known yet. Our own: since create */
	int64_t due_mono_ns;       /* the next look */
	uint64_t n_failed;
	char why[PARAM_WHY_MAX]; /* the last question was not answered */
};

/* param_node.c: its thread. stop(): every request is answered when it returns; NULL table of a node of simd: it is asked. */
int param_node_start(struct ros2_param_node *n);
void param_node_stop(struct ros2_param_node *n);

#endif
