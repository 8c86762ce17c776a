/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Nodes of ROS 2 in processes of their own, each configured as its rmw configures it for a setting of the environment: rmw_cyclonedds
 * 1.3.4 of Humble and 2.2.2 of Jazzy, rmw_fastrtps 6.2 and 8.4. They read /clock and /camera and write the gear. Thread: one.
 */
#ifndef TEST_NODE_H
#define TEST_NODE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#define NODE_SETTINGS       5u
#define NODE_LOCALHOST_ONLY 1u /* of Humble */
#define NODE_HIDDEN         4u /* ROS_AUTOMATIC_DISCOVERY_RANGE=OFF: nobody sees it */
extern const char *const node_settings[NODE_SETTINGS];

struct node {
	const char *name;
	pid_t pid;
	int in, out;
	char said[2048]; /* lines, with one before the first */
	size_t n;
};

/* Whether nodes of that kind can be had: Fast DDS may not be there. */
bool node_can_be(bool fast);
/*
 * Starts one, which writes `command` to the gear. net: of whose process it has the network, 0: ours; then it looks for
 * peers at 10.77.0.1 as well, as with ROS_STATIC_PEERS.
 */
void node_start(struct node *n, bool fast, unsigned setting, unsigned command, pid_t net);
/* Waits until it has had /clock and the image. */
void node_wait(struct node *n);
/* Whether it has had either, since it was started or what it had was forgotten. */
bool node_has(struct node *n);
void node_forget(struct node *n);
/* It says goodbye. */
void node_end(struct node *n);

#endif
