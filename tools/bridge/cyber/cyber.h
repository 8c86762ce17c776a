/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Internal to bridge_cyber: a TCP connection to Apollo's cyber_bridge, which publishes in Cyber RT what it receives.
 * Lanes convert messages to protobuf and put them into the outbox. The link's thread sends them, large ones directly
 * from the slot, and reads what the peer sends.
 *
 * Locks, in this order: the probe's; that of a cyber_frames; those of a tcp_link and its outbox, or `lock`.
 */
#ifndef CYBER_H
#define CYBER_H

#include <pthread.h>
#include <stdatomic.h>

#include <jansson.h>

#include <sim/msg/VehicleControl.h>

#include "apollo_in.h"
#include "apollo_set.h"
#include "connection.h"
#include "option.h"
#include "slot_in.h"
#include "timeutil.h"

#define CYBER_NAME_MAX    255u
#define CYBER_FRAMES_MAX  32u
#define CYBER_MESSAGE_MAX (32u << 20) /* Cyber's shared memory fails from this size on */

struct cyber_topic { /* an Apollo channel made from one of our channels */
	struct sim_bridge *bridge;
	const struct apollo_type *type; /* NULL: `own` is used */
	struct cyber_own *own;
	struct cyber_frames *frames; /* for /tf_static; else NULL */
	struct outbox_topic *out;
	struct apollo_options options;
	double origin[3];
	char *name, *frame;                     /* frame NULL: the frame of each message is kept */
	char *rfu_frames[CYBER_FRAMES_MAX + 1]; /* the strings of options.rfu_frames, ended by NULL */
	_Atomic uint64_t too_large;
	_Atomic bool large; /* whether its last message was large */
	uint32_t channel;   /* ID of our channel */

	/* guarded by the probe's lock */
	struct cyber_topic *next;
	/* opened for an earlier connection: not announced on this one, and the host opens the channel again */
	bool of_before;
	bool waits;  /* messages are held in the outbox until it is known whether the peer has the type */
	bool closed; /* closed while it waits: freed when the wait ends */
	enum cyber_writer { WRITER_UNKNOWN, WRITER_UNCONFIRMED, WRITER_REFUSED, WRITER_ACCEPTED } writer;
	bool asked;    /* the probe is listening for it */
	bool witness;  /* an accepted one that the probe also listens to, to compare with */
	uint64_t sent; /* messages sent until the probe began to listen */
	uint64_t back; /* messages that the probe received since then */
	const struct cyber_topic
		/* a channel that comes back while this one does not; NULL: none, or too few were sent yet */
		*other;
	/* messages of `other` sent since the probe began, at the time that MISSED_SENT of this one had been */
	uint64_t other_sent;
	bool overtaken;      /* `other` came back more often than that */
	unsigned tries;      /* probes that did not find it */
	unsigned misses;     /* the last probes in a row in which it was overtaken */
	int64_t due_mono_ns; /* when it may be probed next */
};

/* The Apollo channels made from one channel. */
struct sim_bridge_topic {
	unsigned n;
	struct cyber_topic *topic[TOPICS_FAN_MAX];
};

struct cyber_safe {             /* the input a vehicle gets when no more commands arrive */
	int64_t timeout_dur_ns; /* in simulated time; 0: no safe input */
	struct sim_VehicleControl body;
	_Atomic int64_t heard_sim_ns; /* when the last command was published; INT64_MIN: none yet */
	int64_t acted_sim_ns;         /* this and `acting`: used by the safe thread only */
	bool acting;
};

struct cyber_in { /* an Apollo channel that we subscribe to */
	struct sim_bridge *bridge;
	const struct apollo_type *type; /* NULL: `own` is used */
	struct cyber_own *own;
	struct apollo_options options; /* for conversion to our type */
	char name[CYBER_NAME_MAX + 1], channel[SIM_CHANNEL_MAX + 1];
	struct slot_in slot;
	_Atomic bool listened;
	_Atomic uint64_t dropped;
	bool unknown_named; /* the log has a warning about fields missing in the definition */
	struct cyber_safe safe;
};

/*
 * Finds out whether the peer has our writers, which it does not report: a second connection subscribes to our own
 * channels until a message of each has come back. Large ones are listened to one at a time, and only the head of their
 * messages is read.
 */
struct cyber_probe {
	bool on;
	struct tcp_link link;
	/* guards topics, and members of cyber_topic, cyber_known and sim_bridge as stated there */
	pthread_mutex_t lock;
	struct cyber_topic *topics; /* all channels that we send */
	int64_t next_mono_ns;       /* used by the main link's thread only: when to look next */
	int64_t since_mono_ns;      /* used by the probe's thread only: when it began to listen */
	bool heard;                 /* used by the probe's thread only: a message has come back since then */
};

/* Finds out whether the peer has the definition of a type: see known.c. */
#define CYBER_KNOWN_MAX 32u
struct cyber_known {
	struct tcp_link link;
	atomic_uint undecided; /* types in list whose state is undecided */
	int64_t next_mono_ns;  /* used by its own thread only: when to send next */

	/* guarded by the probe's lock */
	struct cyber_known_type {
		char type[CYBER_NAME_MAX + 1];
		enum cyber_type_state { CYBER_TYPE_UNDECIDED, CYBER_TYPE_DEFINED, CYBER_TYPE_MISSING } state;
		bool asked;          /* writer and reader were added on this connection */
		uint64_t since_back; /* value of `back` at that time */
		int64_t since_mono_ns;
	} list[CYBER_KNOWN_MAX];
	unsigned n;
	uint64_t back; /* messages of the linked-in type that came back */
};

struct sim_bridge {
	const struct sim_bridge_host *host;
	enum apollo_release release;
	struct apollo_set *definitions; /* read from the option "definitions"; NULL: those of schemas/apollo are used */
	const char *vehicle;            /* NULL: any vehicle */
	int64_t max_age_dur_ns;
	long pace_ms, utm_zone, static_ms;
	double undulation, origin[3];
	bool has_origin;
	struct tcp_link link;
	struct cyber_probe probe;
	struct cyber_known known;
	int64_t report_mono_ns;      /* used by the link's thread only: when dropped messages may be reported next */
	struct cyber_frames *frames; /* changed under the probe's lock */
	struct cyber_in in[TOPICS_IN_MAX];
	unsigned n_in;
	pthread_t safe_thread;
	int safe_stop; /* eventfd */
	bool safe_runs;

	pthread_mutex_t lock;                 /* guards buf and n_buf */
	struct iov_buf *buf[TOPICS_BUFS_MAX]; /* unused encoding buffers */
	unsigned n_buf;
};

/* ---- channel.c ---- */

/* Opens the Apollo channels that the rig makes from a channel. 0 or an error, which is logged. */
int cyber_channel_open(struct sim_bridge *b, const struct sim_bridge_channel *ch, struct sim_bridge_topic **ret);
void cyber_channel_close(struct sim_bridge *b, struct sim_bridge_topic *t);
/*
 * Sends the topic's writer to the peer, with `define` after the files that define its type; each file is sent once per
 * connection. 0 or -ERR.
 */
int cyber_announce(struct sim_bridge *b, const struct cyber_topic *t, bool define);
/* The files that define the topic's type, dependencies first. 0: there is no definition, or none is needed. */
size_t cyber_files(const struct sim_bridge *b, const struct cyber_topic *t, struct iovec file[APOLLO_FILES_MAX]);
void cyber_topic_free(struct sim_bridge *b, struct cyber_topic *t); /* caller holds the probe's lock */

/* ---- send.c ---- */

int cyber_publish(struct sim_bridge *b, struct sim_bridge_topic *t, const struct sim_message *m, struct sim_task *task);
struct iov_buf *cyber_get_buf(void *bridge); /* empty; NULL: out of memory. This and the next two: for tcp_link_ops */
void cyber_put_buf(void *bridge, struct iov_buf *o);
void cyber_answer(void *bridge, struct sim_task *task, int result);

/* ---- own.c ---- */

/* Whether the rig has a converter from our type `sim` to `wanted` (NULL: to any type). */
bool cyber_own_converts(const struct sim_bridge *b, const char *sim, const char *wanted);
/* Whether our type was made from the definition of the protobuf message with this name. */
bool cyber_own_carries(const struct sim_type *type, const char *message);
/*
 * Chooses the message that a type is sent as; wanted: such as "std_msgs.Float32MultiArray", NULL: the first one. Errors
 * as of conversion_out_open(), with the reason in why.
 */
int cyber_own_open(const struct sim_bridge *b, const struct sim_type *type, const char *wanted, struct cyber_own **ret,
		   char *why, size_t why_size);
/*
 * For a type that is received; definition: the path of a .msg or .proto file, or NULL. Errors as of
 * conversion_in_open() and pb_type_create(), with the reason in why.
 */
int cyber_own_in_open(const struct sim_bridge *b, const char *type, const char *definition, struct cyber_own **ret,
		      char *why, size_t why_size);
void cyber_own_close(struct cyber_own *o);                        /* o may be NULL */
const char *cyber_own_name(const struct cyber_own *o);            /* "example.FloatArray" */
const struct sim_type *cyber_own_type(const struct cyber_own *o); /* our type that received messages become */
/* Its definition as FileDescriptorProtos, each after those that it imports. */
size_t cyber_own_files(const struct cyber_own *o, struct iovec file[APOLLO_FILES_MAX]);
/* the type has a protobuf definition, so the peer may have it too */
bool cyber_own_is_defined(const struct cyber_own *o);
/* Appends to out. Errors as of conversion_out_emit(); the first error of a converter is logged. */
int cyber_own_encode(struct cyber_topic *t, const struct sim_message *m, struct iov_buf *out);
int cyber_own_decode(struct cyber_own *o, const void *data, size_t len, struct message_in *ret);

/* ---- frames.c ---- */

bool cyber_frames_is(const char *name); /* "/tf_static", with or without a namespace before it */
int cyber_frames_of(struct sim_bridge *b, const char *name, struct cyber_frames **ret);
void cyber_frames_finish(struct sim_bridge *b);
/*
 * Adds the frames of a sim/Transforms and encodes all frames known. Errors as of static_frames_lock_and_add() and
 * apollo_encode().
 */
int cyber_frames_encode(struct cyber_topic *t, struct apollo_message *in, struct iov_buf *out, char *why,
			size_t why_size);
/* Queues the frames that are due to be sent again. Returns in how many ns to look again; -1: there are none. */
int64_t cyber_frames_repeat(struct sim_bridge *b, int64_t now_mono_ns);
void cyber_frames_again(struct sim_bridge *b); /* after a connection ended: the next one is sent all frames */

/* ---- probe.c ---- */

int cyber_probe_init(struct sim_bridge *b);
void cyber_probe_finish(struct sim_bridge *b);
void cyber_probe_remove(struct sim_bridge *b, struct cyber_topic *t); /* caller holds the probe's lock */
void cyber_probe_forget(struct sim_bridge *b); /* after a connection ended: the next peer may have other writers */
/* Whether another of our channels is published under that name; if so, with the reason in why. */
bool cyber_probe_taken(struct sim_bridge *b, const char *name, uint32_t channel, char *why, size_t why_size);
int64_t cyber_look(void *bridge); /* tcp_link_ops.look of the main link */

/* ---- known.c ---- */

int cyber_known_init(struct sim_bridge *b);
void cyber_known_finish(struct sim_bridge *b);
/*
 * Announces the topic, at once or after it is known whether the peer needs the definition. 0 or -ERR. Caller holds the
 * probe's lock.
 */
int cyber_known_add(struct sim_bridge *b, struct cyber_topic *t);
void cyber_known_forget(struct sim_bridge *b); /* after a connection ended */
/* used by the main link's thread; returns in how many ns to look again; -1: any time */
int64_t cyber_known_look(struct sim_bridge *b);
/*
 * Whether we registered the type's definition because the peer did not have it; if so, ret_file is the file that
 * defines it. Caller holds the probe's lock.
 */
bool cyber_known_registered(struct sim_bridge *b, const struct cyber_topic *t, char ret_file[CYBER_NAME_MAX + 1]);
/* Where the definition of a topic's type comes from: "Apollo 10.0", a path; t NULL: for any of Apollo's types. */
const char *cyber_known_source(const struct sim_bridge *b, const struct cyber_topic *t);

/* ---- in.c ---- */

/* Reads the option "subscribe". 0 or an error, which is logged. */
int cyber_read_subscribe(struct sim_bridge *b);
void cyber_in_finish(struct sim_bridge *b);
void cyber_offer(struct sim_bridge *b);
void cyber_listen(struct sim_bridge *b, const char *channel, int on);
void cyber_take(void *bridge, const struct frame *f); /* tcp_link_ops.take of the main link */

/* ---- safe.c ---- */

/*
 * Reads "safe_input" and "control_timeout_ms" of a subscription; NULL: not given. 0, or -EINVAL with the reason in why.
 */
int cyber_safe_read(json_t *safe, json_t *timeout_ms, struct cyber_safe *ret, char *why, size_t size);
void cyber_safe_heard(struct cyber_in *in); /* after a command was published */
int cyber_safe_start(struct sim_bridge *b);
void cyber_safe_stop(struct sim_bridge *b);

/* Read options that both the bridge and a channel may have. 0, or -EINVAL with the reason in why. */
int cyber_read_undulation(json_t *v, double *ret, char *why, size_t size);
int cyber_read_origin(json_t *v, double ret[3], char *why, size_t size);

/* Names of the peer's types, and our type. */
const char *cyber_topic_type(const struct cyber_topic *t);
const char *cyber_in_type(const struct cyber_in *in);
const struct sim_type *cyber_in_sim(const struct cyber_in *in);

/* Whether the name of a Cyber channel, such as "/a/b", is valid; if not, with the reason in why. */
bool cyber_name_ok(const char *name, char *why, size_t why_size);

#endif
