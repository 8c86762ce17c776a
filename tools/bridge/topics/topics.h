/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What every plug-in has in common that carries channels as topics of ROS: what the rig makes of a channel, under which names and
 * as which types, and what comes in. It knows no middleware; struct topics is the part of a plug-in's instance that it works on.
 *
 * A channel becomes one topic, or several, as a vehicle's status becomes six reports in Autoware: its options under `key`
 * ("ros2") are an object, or a list of them. What comes in is in the bridge's option "subscribe", topic to channel:
 * {"/control/command/gear_cmd": {"type": "autoware_vehicle_msgs/msg/GearCommand", "channel": "gear"}}.
 */
#ifndef TOPICS_H
#define TOPICS_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include <sim/bridge.h>

#include "conversion.h"
#include "enc_wire.h"
#include "option.h"
#include "ros/ros_generic.h"
#include "slot_in.h"
#include "static_frames.h"
#include "topic_options.h"

#define TOPICS_MAX       512u
#define TOPICS_FAN_MAX   16u /* of one channel */
#define TOPICS_IN_MAX    32u
#define TOPICS_CALLS_MAX 32u
#define TOPICS_BUFS_MAX  16u

struct topics;

/* A topic on its way out, of one channel. A plug-in's own begins with it. */
struct topic_out {
	struct topics *topics;
	struct conversion_out conversion;
	struct map_options options;
	struct topic_origin origin; /* what options point to */
	struct static_frames
		*static_frames; /* of /tf_static: all frames so far go with each message; NULL: another topic */
	char *name; /* on the far side; first of the texts that options and channel point to, freed with it */
	const char *channel;
	const char *
		protobuf; /* the message that goes out instead of the conversion's type; NULL: none; set by the plug-in */
	bool automatic;   /* the name is the channel's, made such that ROS allows it */
	_Atomic int failure_logged; /* of its converter */
};

/* What becomes of one channel: its topics. */
struct sim_bridge_topic {
	unsigned n;
	struct topic_out *out[TOPICS_FAN_MAX];
};

/* A topic that comes in. A plug-in's own begins with it. */
struct topic_in {
	struct topics *topics;
	_Atomic bool waits; /* for topic_in_learn(), which sets conversion and slot: until then neither is looked at */
	struct conversion_in conversion;
	/* of the rig */
	double undulation; /* m */
	struct topic_origin origin;
	char name[TOPIC_NAME_MAX + 1], channel[SIM_CHANNEL_MAX + 1];
	struct slot_in slot;
	_Atomic uint64_t dropped;
	_Atomic bool unknown_named; /* the log has said that its messages have fields that its definition lacks */
	/* what the rig says of one that waits, "": nothing */
	char type[ROS_GENERIC_NAME_MAX], as[SIM_TYPE_NAME_MAX + 1];
	size_t max_body;
	bool raw;
};

/* A service of the far side for the clients of simd. */
struct topics_call {
	char name[TOPIC_NAME_MAX + 1]; /* over there */
	char own[SIM_CHANNEL_MAX + 1]; /* for the clients */
	const struct sim_service_type *sim;
	struct msg_file *file; /* sim, where it had to be read */
};

/* Set before the first call; the plug-in keeps it until topics_finish(). */
struct topics {
	const struct sim_bridge_host *host;
	void *arg;                           /* of the functions below */
	const struct ros_type *const *known; /* ros1_types or ros2_types */
	const char *key;                     /* of a channel's options */
	unsigned keys;                       /* enum topic_keys that this plug-in has */
	enum wire_format format;
	bool named;          /* fields go out by their names instead */
	bool strict_names;   /* a channel whose name ROS does not allow is not carried */
	const char *package; /* whose messages types become first ("pb_msgs"); NULL: the usual ones */
	bool msg_names;      /* types are called package/msg/Name */
	bool before_1_8;     /* the far side's autoware_msgs */
	bool jazzy;          /* the far side's ROS 2, for messages that are other ones there */
	bool apollo;         /* the far side is Apollo before Cyber RT */
	bool late;           /* a type that is not known here, or not named by the rig, comes with its messages */
	bool svl;            /* its users want SVL Simulator's mistakes, but where a topic says otherwise */

	/* NULL, or what a name of the rig is over there: into ret, or -EINVAL with a sentence in why. */
	int (*resolve)(void *arg, const char *name, char ret[TOPIC_NAME_MAX + 1], char *why, size_t why_size);
	/* Make one topic and topic_out_open() it; remove it. Errors with a sentence in why, as of that; -EBUSY: it has logged itself why not. */
	int (*open)(void *arg, const struct sim_bridge_channel *ch, const struct topic_options *w,
		    struct topic_out **ret, char *why, size_t why_size);
	void (*close)(void *arg, struct topic_out *t);
	/* The same of a topic that comes in, by topic_in_open(); removed by the plug-in, with topic_in_close(). */
	int (*subscribe)(void *arg, const char *topic, const struct topic_options *w, struct topic_in **ret, char *why,
			 size_t why_size);

	pthread_mutex_t lock; /* a leaf; guards out and buf, and their numbers */
	struct topic_out *out[TOPICS_MAX];
	unsigned n_out;
	struct iov_buf *buf[TOPICS_BUFS_MAX]; /* encoders' memory that no message uses just now */
	unsigned n_buf;
	struct topic_in *in[TOPICS_IN_MAX]; /* set by topics_read_subscribe(), then unchanged */
	unsigned n_in;
	struct topics_call call[TOPICS_CALLS_MAX]; /* set by topics_read_call(), then unchanged */
	unsigned n_call;
};

void topics_init(struct topics *s);
void topics_finish(struct topics *s); /* when no topic is left */

/* What the type, "package/Name", is called over there, for people. */
void topics_type_name(const struct topics *s, const char *type, char *ret, size_t size);

/* For reg(): all mappings, both ways, and "*": what else there is crosses field by field. 0 or the registry's error. */
int topics_register(struct sim_bridge_registry *r);

/* ---- out: topic_out.c, channel.c ---- */

/*
 * All topics of a channel, by open(), and what it is called over there, for `simctl bridge info`. 0 or the first error, logged; then
 * there are none. Thread: the host's main one.
 */
int topics_open_channel(struct topics *s, const struct sim_bridge_channel *ch, struct sim_bridge_topic **ret);
void topics_close_channel(struct topics *s, struct sim_bridge_topic *t);

/*
 * Begin t: its name, its conversion and its options. Errors, with a sentence in why: -EINVAL options or name, -ENOTSUP, -ELIBBAD of
 * conversion_out_open(), -ENOSPC there are TOPICS_MAX, -ENOMEM. topic_out_close() follows also then.
 */
int topic_out_open(struct topics *s, const struct sim_bridge_channel *ch, const struct topic_options *w,
		   struct topic_out *t, char *why, size_t why_size);
void topic_out_close(struct topic_out *t);

/* Whether it is "/tf_static", in a namespace or without: who reads it asks for what was sent before. */
bool topic_is_tf_static(const char *name);

/* What goes through a message of the host; borrows m. */
struct map_message topic_message(const struct sim_message *m);

/* Hand the fields of one to an encoder. Errors: of conversion_out_emit(), a converter's logged. */
int topic_out_emit(struct topic_out *t, const struct map_message *in, struct sim_enc *e);
/* Encode one into a buffer of the pool: returns it, topics_put_buf(). Errors: of conversion_out_emit() and wire_finish(), a converter's logged. */
int topic_out_encode(struct topic_out *t, const struct map_message *in, struct iov_buf **ret);
struct iov_buf *topics_get_buf(struct topics *s); /* of the pool: returns it, with what was in it. NULL: no memory */
void topics_put_buf(struct topics *s, struct iov_buf *o);

/* ---- in: topic_in.c ---- */

/* Read the option, by subscribe(). 0 or the first error, logged. */
int topics_read_subscribe(struct topics *s);

/* For check(): whether "subscribe", and "call" where the plug-in has it, can be read. like: as for those; errors are logged as by those. */
int topics_check(const struct topics *like, bool call);

/* Begin t; errors and topic_in_close() as of topic_out_open(). */
int topic_in_open(struct topics *s, const char *topic, const struct topic_options *w, struct topic_in *t, char *why,
		  size_t why_size);
void topic_in_close(struct topic_in *t);

/*
 * What a publisher of one that waits says of its messages: the type, the hash of its definition, and that itself, NULL: it does not give it. From then on it is as
 * if the rig had named them. -EINVAL, -ENOTSUP, with a sentence: another type or definition than the rig's, or than that of another topic, or one of which nothing of ours can be
 * made; it goes on waiting then. -ENOMEM. Thread: one, always the same.
 */
int topic_in_learn(struct topic_in *t, const char *type, const char *hash, const char *definition, char *why,
		   size_t why_size);

/* Offer their channels to the host, but for those that wait: from connect() on. */
void topics_offer(struct topics *s);
/* Offer that of one that has learnt its type. */
void topic_in_offer(const struct topic_in *t);

/* A message has come: read and published, or dropped, counted, and named in the log. One at a time for a topic. */
void topic_in_take(struct topic_in *t, const void *data, size_t len);
void topic_in_drop(struct topic_in *t, int r);
/* Bytes of a message of theirs from which on nothing of ours is made of it: what fits may have more bytes over there. */
size_t topic_in_wire_max(const struct topic_in *t);
/* The same from a decoder of any format, of the message that is open there, in a text of so many bytes. */
void topic_in_take_from(struct topic_in *t, struct sim_dec *d, size_t len);

/* ---- services of the far side: call.c ---- */

/* Read the option "call". 0 or the first error, logged. */
int topics_read_call(struct topics *s);

/* What a service of ours is called in ROS: "std_srvs/SetBool". */
void topics_service_name(const struct topics *s, const struct sim_service_type *t, char ret[ROS_GENERIC_NAME_MAX]);

#endif
