/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Types of topics that come in, from their publishers, where the rig leaves them open: name and hash by discovery, the definition from schemas/ros,
 * else from the type description service of a node of the publisher's. Thread: the graph's; open and close before and after it runs.
 */
#ifndef LEARN_H
#define LEARN_H

#include <stdbool.h>
#include <stdint.h>

#include <dds/dds.h>

#include "limit.h"
#include "ros/ros_generic.h"
#include "rpc.h"

#define LEARN_WRITERS_MAX 64u /* publishers on such topics that are looked at */
#define LEARN_HASH_MAX    80u
#define LEARN_NODE_MAX    300u
#define LEARN_WHY_MAX     360u

struct sim_bridge;
struct ros_text;

struct learn_writer { /* a publisher on a topic whose type the rig leaves open */
	dds_instance_handle_t instance;
	dds_guid_t participant;
	unsigned topic;                  /* of sim_bridge::inbound */
	char type[ROS_GENERIC_NAME_MAX]; /* "pkg/Name"; "": it is no message of ROS */
	char hash[LEARN_HASH_MAX];       /* "": it says none, as those of Humble */
	bool looked;                     /* for its definition here, in vain */
	unsigned server;                 /* of its participant's services: the next one to be asked */
	dds_time_t pause;                /* no question before then */
	char said[LEARN_WHY_MAX];        /* why nothing was learnt from it, "": nothing yet */
};

struct learn_question {               /* one at a time */
	dds_instance_handle_t writer; /* of a learn_writer; 0: none */
	char node[LEARN_NODE_MAX];
	dds_entity_t entities[4]; /* topics, writer, reader */
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
	char waits[LEARN_WHY_MAX]; /* "; /topic waits for its type: ..." of the first one that does, "": none does */
	struct limit lines;
};

/* A publication that comes, and one that is gone. */
void ros2_learn_add(struct sim_bridge *b, const dds_builtintopic_endpoint_t *e, dds_instance_handle_t instance);
void ros2_learn_drop(struct sim_bridge *b, dds_instance_handle_t instance);
/* Goes on. Returns when it wants to be called again, from now. */
int64_t ros2_learn_look(struct sim_bridge *b);
void ros2_learn_close(struct sim_bridge *b);

#endif
