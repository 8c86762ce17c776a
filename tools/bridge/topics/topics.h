/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What plug-ins that carry channels as ROS topics have in common: which topics, names and types the rig gives a
 * channel, and what comes in. Independent of the middleware; struct topics is the part of a plug-in's instance that
 * these functions use.
 *
 * A channel becomes one topic, or several, as a vehicle's status becomes six reports in Autoware: its options under
 * `key` ("ros2") are an object, or a list of them. Incoming topics are listed in the bridge's option "subscribe", topic
 * to channel: {"/control/command/gear_cmd": {"type": "autoware_vehicle_msgs/msg/GearCommand", "channel": "gear"}}.
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
#define TOPICS_FAN_MAX   16u /* topics of one channel */
#define TOPICS_IN_MAX    32u
#define TOPICS_CALLS_MAX 32u
#define TOPICS_BUFS_MAX  16u

struct topics;

/* An outgoing topic of one channel; first member of the plug-in's own struct. */
struct topic_out {
	struct topics *topics;
	struct conversion_out conversion;
	struct map_options options;
	struct topic_origin origin; /* options.origin points to it */
	struct static_frames
		*static_frames; /* for /tf_static: each message carries all frames so far; NULL: any other topic */
	uint64_t frames_sent;   /* static_frames_version() of the last message; guarded by the frames' lock */
	bool keeps; /* a late reader gets the last message, so a repeated one is not sent; set by the plug-in */
	char *name; /* name on the far side; owns the block that also holds the texts of options and channel */
	const char *channel;
	const char *
		/* the protobuf message sent instead of the conversion's type; NULL: none; set by the plug-in */
		protobuf;
	bool automatic;             /* the name is derived from the channel's, which is no valid ROS name */
	_Atomic int failure_logged; /* a failure of its converter has been logged */
};

/* The topics of one channel. */
struct sim_bridge_topic {
	unsigned n;
	struct topic_out *out[TOPICS_FAN_MAX];
};

/* An incoming topic; first member of the plug-in's own struct. */
struct topic_in {
	struct topics *topics;
	_Atomic bool waits; /* conversion and slot are not valid yet: topic_in_learn() sets them */
	struct conversion_in conversion;
	/* from the rig */
	double undulation; /* m */
	struct topic_origin origin;
	char name[TOPIC_NAME_MAX + 1], channel[SIM_CHANNEL_MAX + 1];
	struct slot_in slot;
	_Atomic uint64_t dropped;
	_Atomic bool unknown_named; /* fields that the definition lacks have been logged */
	/* while it waits: the rig's "type" and "as"; "": not given */
	char type[ROS_GENERIC_NAME_MAX], as[SIM_TYPE_NAME_MAX + 1];
	size_t max_body;
	bool raw;
};

/* A service of the far side, offered to the clients of simd. */
struct topics_call {
	char name[TOPIC_NAME_MAX + 1]; /* on the far side */
	char own[SIM_CHANNEL_MAX + 1]; /* for the clients of simd */
	const struct sim_service_type *sim;
	struct msg_file *file; /* owns sim if that was read from a file; else NULL */
	/* what sim consists of if it is made of a definition of schemas/ros */
	struct sim_service_type made;
	const struct sim_type *made_halves[2];
	char made_name[SIM_TYPE_NAME_MAX + 1];
};

/* The plug-in fills it in before the first call and keeps it until topics_finish(). */
struct topics {
	const struct sim_bridge_host *host;
	void *arg;                           /* first argument of the functions below */
	const struct ros_type *const *known; /* ros1_types or ros2_types */
	const char *key;                     /* key of a topic in a channel's options */
	unsigned keys;                       /* enum topic_keys that this plug-in supports */
	enum wire_format format;
	bool named;          /* outgoing fields are sent by name, not in `format` */
	bool strict_names;   /* refuse a channel whose name is no valid ROS name, instead of deriving one */
	const char *package; /* package whose message types are preferred ("pb_msgs"); NULL: none */
	bool msg_names;      /* type names have the form package/msg/Name */
	bool before_1_8;     /* the far side's autoware_msgs is older than 1.8 */
	bool jazzy;          /* the far side is ROS 2 Jazzy, where some definitions differ */
	bool apollo;         /* the far side is Apollo as of before Cyber RT */
	/* a type that is unknown here, or that the rig does not name, is learnt from the publisher */
	bool late;
	bool svl; /* default of a topic's "compat": reproduce SVL Simulator's mistakes */

	/* NULL, or writes the far side's form of a name of the rig into ret. -EINVAL, with the reason in why. */
	int (*resolve)(void *arg, const char *name, char ret[TOPIC_NAME_MAX + 1], char *why, size_t why_size);
	/*
	 * open() creates a topic with topic_out_open(), close() frees it. Errors as of topic_out_open(), with the
	 * reason in why; -EBUSY: the plug-in has logged the reason.
	 */
	int (*open)(void *arg, const struct sim_bridge_channel *ch, const struct topic_options *w,
		    struct topic_out **ret, char *why, size_t why_size);
	void (*close)(void *arg, struct topic_out *t);
	/* Creates an incoming topic with topic_in_open(); the plug-in frees it, with topic_in_close(). */
	int (*subscribe)(void *arg, const char *topic, const struct topic_options *w, struct topic_in **ret, char *why,
			 size_t why_size);

	pthread_mutex_t lock; /* a leaf; guards out, buf, n_out and n_buf */
	struct topic_out *out[TOPICS_MAX];
	unsigned n_out;
	struct iov_buf *buf[TOPICS_BUFS_MAX]; /* unused encoding buffers */
	unsigned n_buf;
	struct topic_in *in[TOPICS_IN_MAX]; /* set by topics_read_subscribe(), then unchanged */
	unsigned n_in;
	struct topics_call call[TOPICS_CALLS_MAX]; /* set by topics_read_call(), then unchanged */
	unsigned n_call;
};

void topics_init(struct topics *s);
void topics_finish(struct topics *s); /* call after all topics are closed */

/* Writes the name of the type "package/Name" as the far side has it, for display. */
void topics_type_name(const struct topics *s, const char *type, char *ret, size_t size);

/*
 * For reg(): registers all mappings, both ways, and "*", as all other types cross field by field. 0 or the registry's
 * error.
 */
int topics_register(struct sim_bridge_registry *r);

/* ---- out: topic_out.c, channel.c ---- */

/*
 * Opens all topics of a channel, by open(), and reports their names to the host, for `simctl bridge info`. 0, or the
 * first error, logged, with no topic left open. Thread: the host's main one.
 */
int topics_open_channel(struct topics *s, const struct sim_bridge_channel *ch, struct sim_bridge_topic **ret);
void topics_close_channel(struct topics *s, struct sim_bridge_topic *t);

/*
 * Initialises t: its name, conversion and options. Errors, with the reason in why: -EINVAL options or name, -ENOTSUP,
 * -ELIBBAD of conversion_out_open(), -ENOSPC TOPICS_MAX are open, -ENOMEM. Call topic_out_close() also after an error.
 */
int topic_out_open(struct topics *s, const struct sim_bridge_channel *ch, const struct topic_options *w,
		   struct topic_out *t, char *why, size_t why_size);
void topic_out_close(struct topic_out *t);

/* Whether the last word of the name is tf_static: late readers of it expect all earlier frames. */
bool topic_is_tf_static(const char *name);

/*
 * For a topic with static_frames: adds the frames of `in`, and makes `in` the message with all of them. Returns 1: send
 * it; 0: it says nothing new, and a late reader gets the last one; errors of static_frames_lock_and_add(). Locked until
 * topic_out_end_frames(), also after an error; r there is the result of sending, or of this call.
 */
int topic_out_begin_frames(struct topic_out *t, struct map_message *in);
void topic_out_end_frames(struct topic_out *t, int r);

/* A message of the host as input of a mapping; borrows m. */
struct map_message topic_message(const struct sim_message *m);

/* Passes the fields of a message to an encoder. Errors: of conversion_out_emit(); those of a converter are logged. */
int topic_out_emit(struct topic_out *t, const struct map_message *in, struct sim_enc *e);
/*
 * Encodes a message into a pooled buffer, which the caller returns by topics_put_buf(). Errors: of
 * conversion_out_emit() and wire_finish(); those of a converter are logged.
 */
int topic_out_encode(struct topic_out *t, const struct map_message *in, struct iov_buf **ret);
/* A pooled buffer, with its old contents; return it by topics_put_buf(). NULL: no memory. */
struct iov_buf *topics_get_buf(struct topics *s);
void topics_put_buf(struct topics *s, struct iov_buf *o);

/* ---- in: topic_in.c ---- */

/* Reads the option "subscribe", calling subscribe() for each topic. 0 or the first error, logged. */
int topics_read_subscribe(struct topics *s);

/*
 * For check(): reads "subscribe", and with `call` also "call", as at the start, and discards the result. like: the
 * plug-in's settings. Errors are logged.
 */
int topics_check(const struct topics *like, bool call);

/* Initialises t; errors and topic_in_close() as for topic_out_open(). */
int topic_in_open(struct topics *s, const char *topic, const struct topic_options *w, struct topic_in *t, char *why,
		  size_t why_size);
void topic_in_close(struct topic_in *t);

/*
 * For a topic that waits: what a publisher states about its messages, namely the type, the hash of its definition, and
 * the definition, or NULL. From then on the topic works as if the rig had named them. -EINVAL, -ENOTSUP, with the
 * reason: the type or definition contradicts the rig or another topic, or cannot be converted; the topic goes on
 * waiting. -ENOMEM. Thread: always the same one.
 */
int topic_in_learn(struct topic_in *t, const char *type, const char *hash, const char *definition, char *why,
		   size_t why_size);

/* Offers the topics' channels to the host, except those that wait for a type. Call from connect() on. */
void topics_offer(struct topics *s);
/* Offers the channel of a topic that has learnt its type. */
void topic_in_offer(const struct topic_in *t);

/*
 * Reads and publishes a message that has arrived; if that fails, it is dropped, counted, and logged. One call at a time
 * for a topic.
 */
void topic_in_take(struct topic_in *t, const void *data, size_t len);
void topic_in_drop(struct topic_in *t, int r);
/* Largest foreign message, in bytes, that is read: the foreign form of a message that fits may be longer than ours. */
size_t topic_in_wire_max(const struct topic_in *t);
/* The same with a decoder of any format, positioned at the message; len: bytes of the text that contains it. */
void topic_in_take_from(struct topic_in *t, struct sim_dec *d, size_t len);

/* ---- services of the far side: call.c ---- */

/* Reads the option "call". 0 or the first error, logged. */
int topics_read_call(struct topics *s);
void topics_call_finish(struct topics_call *c); /* for topics_finish() */

/* Writes the ROS name of a service type of ours: "std_srvs/SetBool". */
void topics_service_name(const struct topics *s, const struct sim_service_type *t, char ret[ROS_GENERIC_NAME_MAX]);

#endif
