/* SPDX-License-Identifier: Apache-2.0 */
/* Asking services, several at a time, in JSON: what `param`, `node` and `info` do. Thread: main. */
#ifndef SIMCTL_ASK_H
#define SIMCTL_ASK_H

#include "simctl.h"

#define ASK_DUR_NS INT64_C(2000000000) /* of wall time: who does not answer by then is not waited for */

struct ask {
	char service[SIM_CHANNEL_MAX + 1];
	const struct sim_service_type *type; /* borrows */
	json_t *request;                     /* NULL: {} */
	/* the answer */
	bool done;
	int result;       /* 0: response, else why */
	json_t *response; /* with what 64-bit numbers cannot hold as strings */
	char why[256];    /* fit to be shown */
};

/*
 * Ask all of them, a few at a time, and wait until each has answered or the time is over, which is an answer too. False: interrupted, or simd is
 * silent; then some are not done, and the client is gone.
 */
bool ctl_ask_all(struct ctl *c, struct ask *a, size_t n, int64_t timeout_dur_ns);
/* Gives references back, and frees the array. */
void ask_finish(struct ask *a, size_t n);
/*
 * Ask NODE/what. NULL: it failed; printed, but for *ret_result -ENOENT: nobody offers that. request: borrows. Returns: json_decref().
 */
json_t *ctl_ask(struct ctl *c, const char *node, const char *what, const struct sim_service_type *type, json_t *request,
		int *ret_result);

/* [{"name": "/car/lidar"}, ...]: the nodes that offer NODE/what of that type; NULL: failed, printed. Returns: json_decref(). */
json_t *ctl_nodes(struct ctl *c, const char *what, const struct sim_service_type *type);
/* Prints that there is no such node, and which is near; list: the command that shows them. Returns 1. */
int ctl_no_node(struct ctl *c, const char *node, const char *what, const struct sim_service_type *type,
		const char *list);

/* ---- node.c ---- */

/*
 * Who reads and who writes a channel, of the nodes that answer: {"readers": [...], "writers": [...]}, each what sim/NodeInfo says with "node".
 * NULL: no node does. Returns: json_decref().
 */
json_t *ctl_nodes_at(struct ctl *c, const char *channel);

#endif
