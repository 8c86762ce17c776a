/* SPDX-License-Identifier: Apache-2.0 */
/* Calls services in JSON, several at a time, for `param`, `node` and `info`. Thread: main. */
#ifndef SIMCTL_ASK_H
#define SIMCTL_ASK_H

#include "simctl.h"

#define ASK_DUR_NS INT64_C(2000000000) /* timeout of a call, wall time */

struct ask {
	char service[SIM_CHANNEL_MAX + 1];
	const struct sim_service_type *type; /* borrowed */
	json_t *request;                     /* owned; NULL: {} */
	/* a response or an error has arrived */
	bool done;
	int result;       /* 0: response is set; else a negative errno, with why */
	json_t *response; /* owned; 64-bit numbers that a JSON number cannot hold are strings */
	char why[256];    /* printable */
};

/*
 * Makes all calls, a few at a time, and waits until each has an answer or has timed out (which counts as done). Returns
 * false if interrupted, or if simd does not answer: then some calls are not done, and the client is disconnected.
 */
bool ctl_ask_all(struct ctl *c, struct ask *a, size_t n, int64_t timeout_dur_ns);
/* Frees the requests, the responses and the array. */
void ask_finish(struct ask *a, size_t n);
/*
 * Calls NODE/what. Returns the response (free with json_decref()), or NULL after printing why; for *ret_result -ENOENT
 * (no provider of that name) nothing is printed. request: borrowed.
 */
json_t *ctl_ask(struct ctl *c, const char *node, const char *what, const struct sim_service_type *type, json_t *request,
		int *ret_result);

/*
 * The nodes that offer NODE/what with that type, as [{"name": "/car/lidar"}, ...]; free with json_decref(). NULL:
 * failed, and printed.
 */
json_t *ctl_nodes(struct ctl *c, const char *what, const struct sim_service_type *type);
/* Prints that no such node answers, with the most similar name. list: the command that lists them. Returns 1. */
int ctl_no_node(struct ctl *c, const char *node, const char *what, const struct sim_service_type *type,
		const char *list);

/* ---- node.c ---- */

/*
 * The nodes that read and write a channel: {"readers": [...], "writers": [...]}, each entry from its sim/NodeInfo plus
 * "node". NULL: no node reads or writes it. Free with json_decref().
 */
json_t *ctl_nodes_at(struct ctl *c, const char *channel);

#endif
