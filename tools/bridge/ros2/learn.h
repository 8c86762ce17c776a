/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the types of inbound topics that the rig leaves open: name and hash from discovery of the publisher, the
 * definition from schemas/ros, else from the type description service of a node in the publisher's process. Thread: the
 * graph's; open and close run before and after it.
 */
#ifndef LEARN_H
#define LEARN_H

#include <stdbool.h>
#include <stdint.h>

#include <dds/dds.h>

#include "limit.h"
#include "ros/ros_generic.h"
#include "rpc.h"

#define LEARN_WRITERS_MAX 64u /* publishers on such topics that are tracked */
#define LEARN_HASH_MAX    80u
#define LEARN_NODE_MAX    300u
#define LEARN_WHY_MAX     360u

struct sim_bridge;
struct ros_text;

struct learn_writer { /* a publisher on a topic whose type the rig leaves open */
	dds_instance_handle_t instance;
	dds_guid_t participant;
	unsigned topic;                  /* index in sim_bridge::inbound */
	char type[ROS_GENERIC_NAME_MAX]; /* "pkg/Name"; "": not a ROS message */
	char hash[LEARN_HASH_MAX];       /* "": the publisher announces none, as up to Humble */
	bool looked;                     /* the local definitions were searched, without success */
	unsigned server;                 /* index of the participant's next service to ask */
	dds_time_t pause;                /* no request before this time */
	char said[LEARN_WHY_MAX];        /* last reason for failure; "": none yet */
};

struct learn_question {               /* the request in progress; one at a time */
	dds_instance_handle_t writer; /* the learn_writer's instance; 0: no request */
	char node[LEARN_NODE_MAX];
	dds_entity_t entities[4]; /* two topics, writer, reader */
	struct ros_text *made[2];
	bool with_id, sent;
	struct rpc_id id;
	dds_time_t due;
};

struct learn {
	struct learn_writer one[LEARN_WRITERS_MAX];
	unsigned n;
	struct learn_question question;
	int64_t n_questions;
	char waits[LEARN_WHY_MAX]; /* "; /topic waits for its type: ..." of the first waiting topic; "": none waits */
	struct limit lines;
};

/* For a publication that was discovered, and for one that disappeared. */
void ros2_learn_add(struct sim_bridge *b, const dds_builtintopic_endpoint_t *e, dds_instance_handle_t instance);
void ros2_learn_drop(struct sim_bridge *b, dds_instance_handle_t instance);
/* Makes progress with open topics. Returns in how many ns it wants to be called again. */
int64_t ros2_learn_look(struct sim_bridge *b);
void ros2_learn_close(struct sim_bridge *b);

#endif
