/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rig's options of one topic, outgoing ("ros2" or the like in a channel's options) or incoming ("subscribe" in the
 * bridge's): checked key by key, with a reason for each mistake. Pure functions of their arguments: any thread.
 */
#ifndef TOPIC_OPTIONS_H
#define TOPIC_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include <jansson.h>

#define TOPIC_NAME_MAX 247u /* rmw's limit, so that the DDS name stays below 256 */

enum topic_direction { TOPIC_OUT = 1, TOPIC_IN = 2 };

/* Keys that not every plug-in supports: DDS QoS, queues of ROS 1, options of a subscription at a rosbridge server. */
enum topic_keys { TOPIC_QOS = 4, TOPIC_ROS1 = 8, TOPIC_ROSBRIDGE = 16 };

struct topic_origin { /* origin of the map, UTM */
	bool given;
	double at[3];
};

struct topic_options { /* texts borrow from the JSON tree; NULL: not given */
	const char *topic, *type, *frame, *child_frame, *channel, *definition, *as;
	double covariance; /* 0: not given */
	double undulation; /* m */
	struct topic_origin origin;
	int depth;                     /* 0: not given; "depth" or "queue" */
	int throttle_ms, queue_length; /* -1: not given */
	int raw;                       /* 1: incoming messages keep their own fields, even if there is a mapping */
	int max_body;                  /* bytes of an incoming message in our form; 0: not given */
	int points, position, encoding, sentence, compat, orientation, compression, reliability, durability,
		latch; /* index of the choice; -1: not given */
};

/*
 * way, keys: which keys are allowed. 0, or -EINVAL with a reason in why that names the key, the value and what is
 * expected.
 */
int topic_options_read(json_t *j, enum topic_direction way, unsigned keys, struct topic_options *ret, char *why,
		       size_t why_size);

/* The ROS name of the encoding; NULL: not given. Static. */
const char *topic_options_encoding(const struct topic_options *w);

/* Whether ROS 2 accepts it as the full name of a topic: "/a/b_2". */
bool topic_name_ok(const char *name);
/* The same; if keys has TOPIC_ROS1, a word may begin with a digit. */
bool topic_name_fits(const char *name, unsigned keys);

/* Whether it is a word of a ROS name, "simd"; or, with is_namespace, "/" or "/a/b". */
bool ros_name_ok(const char *s, bool is_namespace);

/*
 * Derives a topic name from a channel name that is no valid one: "/car/radar/0" becomes "/car/radar/n0". In each word,
 * characters other than letters, digits and '_' become '_'; a word that began with a digit or such a character gets an
 * 'n' before it; empty words are dropped. False: nothing is left, or it is too long.
 */
bool topic_name_auto(const char *channel, char ret[TOPIC_NAME_MAX + 1]);

/* Writes the reason for an invalid name. */
void topic_name_bad(const char *name, char *why, size_t why_size);

#endif
