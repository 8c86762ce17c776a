/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rig's options of one topic, on its way out ("ros2" or the like in a channel's options) or in ("subscribe" in the bridge's): checked
 * key by key, with a sentence for each mistake. Pure functions of their arguments: any thread.
 */
#ifndef TOPIC_OPTIONS_H
#define TOPIC_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include <jansson.h>

#define TOPIC_NAME_MAX 247u /* as rmw has it, so that the DDS name stays below 256 */

enum topic_direction { TOPIC_OUT = 1, TOPIC_IN = 2 };

/* Keys that not every far side has: DDS's QoS, ROS 1's queues, what a rosbridge server does for a subscription. */
enum topic_keys { TOPIC_QOS = 4, TOPIC_ROS1 = 8, TOPIC_ROSBRIDGE = 16 };

struct topic_origin { /* of the map, UTM */
	bool given;
	double at[3];
};

struct topic_options { /* texts borrow from the JSON tree; NULL: not given */
	const char *topic, *type, *frame, *child_frame, *channel, *definition, *as;
	double covariance; /* 0: not given */
	double undulation; /* m */
	struct topic_origin origin;
	int depth;                     /* 0: not given; of a queue too */
	int throttle_ms, queue_length; /* -1: not given */
	int raw;                       /* 1: what comes in keeps its own fields, though there is a mapping */
	int max_body;                  /* bytes of a message of ours that comes in; 0: not given */
	int points, position, encoding, sentence, compat, orientation, compression, reliability, durability,
		latch; /* numbers of the choice; -1: not given */
};

/* way, keys: which ones there may be. 0, or -EINVAL and a sentence in why, which names key, value and what would do. */
int topic_options_read(json_t *j, enum topic_direction way, unsigned keys, struct topic_options *ret, char *why,
		       size_t why_size);

/* As ROS names it; NULL: not given. Static. */
const char *topic_options_encoding(const struct topic_options *w);

/* "/a/b_2": what ROS takes for the full name of a topic. */
bool topic_name_ok(const char *name);
/* The same where keys has TOPIC_ROS1, in which a word may begin with a digit. */
bool topic_name_fits(const char *name, unsigned keys);

/* A word of a ROS name, "simd"; or, as a namespace, "/" or "/a/b". */
bool ros_name_ok(const char *s, bool is_namespace);

/*
 * The automatic form of a channel's name that is no name of a topic: "/car/radar/0" becomes "/car/radar/n0". In each word
 * what is no letter, digit or '_' becomes '_'; a word that began with a digit or with such a character gets an 'n' before it; empty
 * words go. False: nothing is left, or it is too long.
 */
bool topic_name_auto(const char *channel, char ret[TOPIC_NAME_MAX + 1]);

/* The sentence for an invalid name. */
void topic_name_bad(const char *name, char *why, size_t why_size);

#endif
