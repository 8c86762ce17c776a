/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Inside bridge_cyber: a TCP connection to Apollo's cyber_bridge, which publishes in Cyber RT what it is sent. Lanes convert to protobuf
 * and put it into the outbox; the link's thread sends, large messages straight from the slot, and reads.
 *
 * Locks: that of the outbox is a leaf, so is `lock`.
 */
#ifndef CYBER_H
#define CYBER_H

#include <pthread.h>
#include <stdatomic.h>

#include <jansson.h>

#include <sim/msg/VehicleControl.h>

#include "apollo_in.h"
#include "apollo_set.h"
#include "link.h"
#include "option.h"
#include "slot_in.h"
#include "timeutil.h"

#define CYBER_NAME_MAX    255u
#define CYBER_FRAMES_MAX  32u
#define CYBER_MESSAGE_MAX (32u << 20) /* from which on Cyber's shared memory breaks */

struct cyber_topic { /* a channel of Apollo's that one of ours becomes */
	struct sim_bridge *bridge;
	const struct apollo_type *type; /* NULL: own */
	struct cyber_own *own;
	struct cyber_frames *frames; /* of /tf_static; NULL: another */
	struct outbox_topic *out;
	struct apollo_options options;
	double origin[3];
	char *name, *frame;                     /* frame: NULL: as it comes */
	char *rfu_frames[CYBER_FRAMES_MAX + 1]; /* what options has of them, ended by NULL */
	_Atomic uint64_t too_large;
	_Atomic bool large; /* its last message was */
	uint32_t channel;   /* ours */

	/* guarded by the probe's lock */
	struct cyber_topic *next;
	bool of_before; /* of an earlier connection: this one does not know it, and the host opens it again */
	bool waits;     /* for whether the peer knows its type, and its messages with it */
	bool closed;    /* while it waited: freed when that is decided */
	enum cyber_writer { WRITER_UNKNOWN, WRITER_UNCONFIRMED, WRITER_REFUSED, WRITER_ACCEPTED } writer;
	bool asked;    /* the probe listens to it now */
	bool witness;  /* it has come back before, and is listened to beside the others */
	uint64_t sent; /* messages of it when the probe began to listen */
	uint64_t back; /* messages of it that the probe has heard since then */
	const struct cyber_topic
		*other;      /* one that comes back while this one does not; NULL: none, or it is too early to say */
	uint64_t other_sent; /* of its messages, counted as `back`, when MISSED_SENT of this one had been sent */
	bool overtaken;      /* more of the other's than these are back */
	unsigned tries;      /* probes that have not found it */
	unsigned misses;     /* of these the last ones, in which it was overtaken */
	int64_t due_mono_ns; /* of the next probe */
};

/* What becomes of one channel. */
struct sim_bridge_topic {
	unsigned n;
	struct cyber_topic *topic[TOPICS_FAN_MAX];
};

struct cyber_safe {             /* what a vehicle gets when its commands stop coming */
	int64_t timeout_dur_ns; /* of simulated time; 0: nothing */
	struct sim_VehicleControl body;
	_Atomic int64_t heard_sim_ns; /* the last command; INT64_MIN: none */
	int64_t acted_sim_ns;         /* the thread's, and what follows */
	bool acting;
};

struct cyber_in { /* one that comes in */
	struct sim_bridge *bridge;
	const struct apollo_type *type; /* NULL: own */
	struct cyber_own *own;
	struct apollo_options options; /* of the way back */
	char name[CYBER_NAME_MAX + 1], channel[SIM_CHANNEL_MAX + 1];
	struct slot_in slot;
	_Atomic bool listened;
	_Atomic uint64_t dropped;
	bool unknown_named; /* the log has said that its messages have fields that its definition lacks */
	struct cyber_safe safe;
};

/*
 * Whether the peer has writers, of which it says nothing: a second connection listens to our own channels, until each has come back. For
 * large ones that is one at a time, and their messages are not read beyond the head.
 */
struct cyber_probe {
	bool on;
	struct tcp_link link;
	pthread_mutex_t lock;       /* a leaf; guards topics */
	struct cyber_topic *topics; /* all that go out */
	int64_t next_mono_ns;       /* the main link's thread's: when to look */
	int64_t since_mono_ns;      /* the probe's thread's: when it began to listen */
	bool heard;                 /* the probe's thread's: something has come back since then */
};

/* Whether the peer knows Apollo's types by itself: see known.c. */
#define CYBER_KNOWN_MAX 32u
struct cyber_known {
	struct tcp_link link;
	atomic_uint undecided; /* of list */
	int64_t next_mono_ns;  /* its thread's: when to send again */

	/* guarded by the probe's lock */
	struct cyber_known_type {
		char type[CYBER_NAME_MAX + 1];
		enum cyber_type_state { CYBER_TYPE_UNDECIDED, CYBER_TYPE_DEFINED, CYBER_TYPE_MISSING } state;
		bool asked;          /* on this connection */
		uint64_t since_back; /* `back` then */
		int64_t since_mono_ns;
	} list[CYBER_KNOWN_MAX];
	unsigned n;
	uint64_t back; /* messages of the type that is linked in */
};

struct sim_bridge {
	const struct sim_bridge_host *host;
	enum apollo_release release;
	struct apollo_set *definitions; /* the user's; NULL: those of schemas/apollo */
	const char *vehicle;            /* NULL: any */
	int64_t max_age_dur_ns;
	long pace_ms, utm_zone, static_ms;
	double undulation, origin[3];
	bool has_origin;
	struct tcp_link link;
	struct cyber_probe probe;
	struct cyber_known known;
	int64_t report_mono_ns;      /* the link's thread's: when to tell next what was dropped */
	struct cyber_frames *frames; /* guarded by the probe's lock */
	struct cyber_in in[TOPICS_IN_MAX];
	unsigned n_in;
	pthread_t safe_thread;
	int safe_stop; /* eventfd */
	bool safe_runs;

	pthread_mutex_t lock;                 /* guards buf */
	struct iov_buf *buf[TOPICS_BUFS_MAX]; /* encoders' memory that no message uses just now */
	unsigned n_buf;
};

/* ---- channel.c ---- */

/* What the rig makes of a channel. 0 or an error, logged. */
int cyber_channel_open(struct sim_bridge *b, const struct sim_bridge_channel *ch, struct sim_bridge_topic **ret);
void cyber_channel_close(struct sim_bridge *b, struct sim_bridge_topic *t);
/* To the peer: the definition of its type, if that is wanted, each file once a connection, and its writer. An errno. */
int cyber_announce(struct sim_bridge *b, const struct cyber_topic *t, bool define);
/* What defines its type, dependencies first; 0: nothing, or nothing has to. */
size_t cyber_files(const struct sim_bridge *b, const struct cyber_topic *t, struct iovec file[APOLLO_FILES_MAX]);
void cyber_topic_free(struct sim_bridge *b, struct cyber_topic *t); /* the probe's lock is held */

/* ---- send.c ---- */

int cyber_publish(struct sim_bridge *b, struct sim_bridge_topic *t, const struct sim_message *m, struct sim_task *task);
struct iov_buf *cyber_get_buf(void *bridge); /* empty; NULL: no memory. These: of the link */
void cyber_put_buf(void *bridge, struct iov_buf *o);
void cyber_answer(void *bridge, struct sim_task *task, int result);

/* ---- own.c ---- */

/* Whether a converter of the rig is for that type of ours, to what is wanted (NULL: to anything). */
bool cyber_own_converts(const struct sim_bridge *b, const char *sim, const char *wanted);
/* Whether a type was made of the definition of that message of protobuf. */
bool cyber_own_carries(const struct sim_type *type, const char *message);
/* What becomes of a type; wanted: "std_msgs.Float32MultiArray", NULL: the first. Errors of conversion_out_open(), with a sentence. */
int cyber_own_open(const struct sim_bridge *b, const struct sim_type *type, const char *wanted, struct cyber_own **ret,
		   char *why, size_t why_size);
/* What comes in; definition: the path of a .msg or a .proto file, or NULL. Errors of conversion_in_open() and pb_type_create(), with a sentence. */
int cyber_own_in_open(const struct sim_bridge *b, const char *type, const char *definition, struct cyber_own **ret,
		      char *why, size_t why_size);
void cyber_own_close(struct cyber_own *o);                        /* NULL is fine */
const char *cyber_own_name(const struct cyber_own *o);            /* "example.FloatArray" */
const struct sim_type *cyber_own_type(const struct cyber_own *o); /* ours, of what comes in */
/* Its FileDescriptorProtos, each behind those that it imports. */
size_t cyber_own_files(const struct cyber_own *o, struct iovec file[APOLLO_FILES_MAX]);
bool cyber_own_is_defined(const struct cyber_own *o); /* of a definition of protobuf, which others may have too */
/* Append to out. Errors of conversion_out_emit(), a converter's logged once. */
int cyber_own_encode(struct cyber_topic *t, const struct sim_message *m, struct iov_buf *out);
int cyber_own_decode(struct cyber_own *o, const void *data, size_t len, struct message_in *ret);

/* ---- frames.c ---- */

bool cyber_frames_is(const char *name); /* "/tf_static", in a namespace or without */
int cyber_frames_of(struct sim_bridge *b, const char *name, struct cyber_frames **ret);
void cyber_frames_finish(struct sim_bridge *b);
/* Add those of a sim/Transforms, and encode all there are. Errors of static_frames_lock_and_add(), apollo_encode(). */
int cyber_frames_encode(struct cyber_topic *t, struct apollo_message *in, struct iov_buf *out, char *why,
			size_t why_size);
/* Queue what is to be sent again: when to look next, ns; -1: there is nothing. */
int64_t cyber_frames_repeat(struct sim_bridge *b, int64_t now_mono_ns);
void cyber_frames_again(struct sim_bridge *b); /* a new connection knows none */

/* ---- probe.c ---- */

int cyber_probe_init(struct sim_bridge *b);
void cyber_probe_finish(struct sim_bridge *b);
void cyber_probe_remove(struct sim_bridge *b, struct cyber_topic *t); /* lock is held */
void cyber_probe_forget(struct sim_bridge *b); /* the connection has ended: what it said may not hold of the next */
/* Whether another channel of ours goes out under that name; then why says so. */
bool cyber_probe_taken(struct sim_bridge *b, const char *name, uint32_t channel, char *why, size_t why_size);
int64_t cyber_look(void *bridge); /* of the main link */

/* ---- known.c ---- */

int cyber_known_init(struct sim_bridge *b);
void cyber_known_finish(struct sim_bridge *b);
/* Announce it, at once or when it is decided whether its type is to be defined. An errno. The probe's lock is held. */
int cyber_known_add(struct sim_bridge *b, struct cyber_topic *t);
void cyber_known_forget(struct sim_bridge *b);  /* the connection has ended */
int64_t cyber_known_look(struct sim_bridge *b); /* of the main link: when to look next, ns; -1: whenever */
/* Whether its type's definition was registered, as it was missing; then in which file. The probe's lock is held. */
bool cyber_known_registered(struct sim_bridge *b, const struct cyber_topic *t, char ret_file[CYBER_NAME_MAX + 1]);
/* Where the definition of a topic's type is from, NULL: of any of Apollo's: "Apollo 10.0", a path. */
const char *cyber_known_source(const struct sim_bridge *b, const struct cyber_topic *t);

/* ---- in.c ---- */

/* The option "subscribe". 0 or an error, logged. */
int cyber_read_subscribe(struct sim_bridge *b);
void cyber_in_finish(struct sim_bridge *b);
void cyber_offer(struct sim_bridge *b);
void cyber_listen(struct sim_bridge *b, const char *channel, int on);
void cyber_take(void *bridge, const struct frame *f); /* of the link */

/* ---- safe.c ---- */

/* Of a subscription: "safe_input" and "control_timeout_ms", NULL where the rig has them not. 0, or -EINVAL with a sentence. */
int cyber_safe_read(json_t *safe, json_t *timeout_ms, struct cyber_safe *ret, char *why, size_t size);
void cyber_safe_heard(struct cyber_in *in); /* a command was published */
int cyber_safe_start(struct sim_bridge *b);
void cyber_safe_stop(struct sim_bridge *b);

/* Values of options, of the bridge or a channel. 0, or -EINVAL with a sentence. */
int cyber_read_undulation(json_t *v, double *ret, char *why, size_t size);
int cyber_read_origin(json_t *v, double ret[3], char *why, size_t size);

/* The names of types over there, and of ours. */
const char *cyber_topic_type(const struct cyber_topic *t);
const char *cyber_in_type(const struct cyber_in *in);
const struct sim_type *cyber_in_sim(const struct cyber_in *in);

/* "/a/b": what goes out and comes in under. False, with a sentence. */
bool cyber_name_ok(const char *name, char *why, size_t why_size);

#endif
