/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Inside bridge_rosbridge: a WebSocket to a rosbridge server, which publishes in its ROS graph what it is sent. Lanes convert to JSON and
 * put it into the outbox; a thread of the bridge's own, in which all of libwebsockets runs, sends and reads.
 *
 * Locks: that of the remotes, that of the outbox, then the topics'; `context_lock` is a leaf.
 */
#ifndef ROSBRIDGE_H
#define ROSBRIDGE_H

#include <pthread.h>
#include <stdatomic.h>

#include <libwebsockets.h>

#include "address.h"
#include "enc_json.h"
#include "far_time.h"
#include "named_reader.h"
#include "outbox.h"
#include "timeutil.h"
#include "topics.h"

#define ROSBRIDGE_IN_MAX    (32u << 20) /* bytes of a message that comes in */
#define ROSBRIDGE_PIECE     (128u << 10)
#define ROSBRIDGE_HEAD_MAX  (2 * TOPIC_NAME_MAX + 256u)
#define ROSBRIDGE_CLOSE_MS  2000 /* without progress: for what was sent last to arrive */
#define ROSBRIDGE_PARTS_MAX 4u   /* messages that come in fragments, at once */
#define ROSBRIDGE_ID_MAX    200u

enum flavour { FLAVOUR_ROS2, FLAVOUR_ROS, FLAVOUR_APOLLO };

struct rosbridge_server {
	struct address at;
	char path[512];
	bool tls;
};

struct rosbridge_topic {
	struct topic_out out; /* first */
	struct outbox_topic *queue;
	unsigned connection;         /* that has heard of it; 0: none */
	int64_t throttle_dur_ms;     /* between two messages; 0: all go */
	_Atomic int64_t due_mono_ms; /* of the next one, with that */
};

enum compression { COMPRESSION_NONE, COMPRESSION_CBOR, COMPRESSION_CBOR_RAW };

struct rosbridge_in {
	struct topic_in in; /* first */
	char type[TOPIC_NAME_MAX + 8];
	long throttle_ms, queue_length; /* -1: not given */
	enum compression compression;
	_Atomic unsigned connection; /* that was asked for it; 0: nobody listens */
};

struct sending {                       /* the message that is on its way out */
	struct outbox_item *item;      /* NULL: none */
	char head[ROSBRIDGE_HEAD_MAX]; /* {"op":"publish","topic":"/a","msg": */
	struct iovec piece[IOV_BUF_PIECES + 2];
	unsigned n, at_piece;
	size_t at_byte, total, at; /* at: bytes of all */
	bool begun;                /* of the message of WebSocket: it goes on */
	/* of one that goes in fragments; parts 0: it does not */
	size_t part, parts, part_end;
	uint64_t id;
};

struct reading { /* what is coming in */
	char *data;
	size_t len, room;
	bool binary, too_long;
};

struct part { /* a message that comes in fragments */
	char id[64];
	uint32_t next, total; /* total 0: it is free */
	char *data;
	size_t len;
	uint64_t turn; /* when it was added to last */
};

struct rosbridge_service;

struct remote { /* a service of the server's, for the clients of simd */
	struct sim_bridge *bridge;
	const struct topics_call *call;
	bool served; /* the host's main thread's */
	/* guarded by remotes.lock; pending is taken by the link's thread alone */
	struct sim_pending *pending; /* NULL: no request */
	char id[40];
	int64_t due_mono_ms;
};

struct remotes {
	pthread_mutex_t lock; /* above the outbox's */
	struct remote all[TOPICS_CALLS_MAX];
	unsigned n;       /* set by remotes_read() */
	bool open;        /* there is a connection */
	uint64_t n_asked; /* the ids of all connections are different */
	_Atomic uint64_t n_failed;
};

struct sim_bridge {
	const struct sim_bridge_host *host;
	struct topics common;
	struct outbox outbox;
	struct rosbridge_in in[TOPICS_IN_MAX];
	unsigned n_in;
	enum flavour flavour;
	enum json_nan nan;
	long connect_ms, stall_ms, fragment_size;
	const char *ca_file;
	char *auth; /* the operation; NULL: none */

	struct rosbridge_server server; /* set before the thread begins */
	pthread_t thread;
	bool running; /* there is a thread to be joined */
	_Atomic int status;
	_Atomic bool stop;
	_Atomic unsigned connection; /* number of the one that is, or that will be */

	pthread_mutex_t context_lock;
	struct lws_context *context; /* NULL: there is none. Changed by the thread, under context_lock */

	/* the thread's */
	struct lws *wsi;
	lws_sorted_usec_list_t tick;
	bool connected, over;
	int64_t begun_mono_ms, tick_mono_ms, moved_mono_ms, heard_mono_ms, asked_mono_ms, report_mono_ms;
	bool ping, closing; /* ping: one is to be sent */
	char why[240];      /* the connection has ended; "": it has not */
	uint8_t *piece;     /* LWS_PRE + ROSBRIDGE_PIECE */
	struct sending sending;
	struct reading reading;
	struct named_reader reader;
	struct part part[ROSBRIDGE_PARTS_MAX];
	uint64_t n_fragmented, n_parts, n_status, n_refused, n_bad_clocks;
	_Atomic uint64_t n_bad_requests; /* of services; any thread's */
	bool clock_followed;

	pthread_mutex_t services_lock; /* below nothing; guards the list */
	struct rosbridge_service *services;
	struct remotes remotes;
	struct far_time sim_time;
};

/* What anybody can cause is logged ever more rarely. */
static inline bool rosbridge_worth_saying(uint64_t n)
{
	return n <= 8 || (n & (n - 1)) == 0;
}

static inline int64_t rosbridge_mono_ms(void)
{
	return mono_now_ns() / NS_PER_MS;
}

/* "ws://host:port/path", "wss://...", "host:port", "". 0, or -EINVAL and a sentence in why. */
int rosbridge_server_read(const char *text, struct rosbridge_server *ret, char *why, size_t why_size);

/*
 * link.c: the connection. open() begins to connect, on a thread of its own; close() ends it without waiting, join() waits. Status is
 * reported to the host.
 */
int rosbridge_link_open(struct sim_bridge *b);
void rosbridge_link_close(struct sim_bridge *b);
void rosbridge_link_join(struct sim_bridge *b);
/* Something is in the outbox that was empty. Thread: any. */
void rosbridge_link_wake(struct sim_bridge *b);

extern const struct outbox_ops rosbridge_outbox_ops; /* send.c */
/* send.c: the next piece of what goes out, into to: its length, and whether it begins or ends a message. 0: nothing waits. Link thread. */
size_t sending_fill(struct sim_bridge *b, uint8_t *to, size_t room, bool *ret_first, bool *ret_last);
void sending_drop(struct sim_bridge *b); /* what is on its way: the connection has ended */

/* in.c: a whole message has come. Thread: the link's. */
void rosbridge_take(struct sim_bridge *b, const char *data, size_t len, bool binary);
void rosbridge_forget_parts(struct sim_bridge *b); /* the connection has ended */

/* service.c: ops->service(); and a request that has come, d open at its operation. */
void rosbridge_service(struct sim_bridge *b, const char *name, const struct sim_service_type *type);
void rosbridge_serve(struct sim_bridge *b, struct sim_dec *d, const char *id);
void rosbridge_services_finish(struct sim_bridge *b);

/* The fields of half a service, as JSON: returns a buffer of the pool. Errors: as of topic_out_emit(). Thread: any. */
int rosbridge_encode(struct sim_bridge *b, const struct sim_type *t, const void *body, size_t size,
		     struct iov_buf **ret);

/*
 * remote.c: read() the option; errors are logged. serve() offers the services to the host, or withdraws them: its main thread. open(): the
 * connection is there, or has ended. look(): for those that wait too long. take(): an answer has come, d open at its operation; false:
 * nobody waits for that id. Thread: the link's.
 */
int remotes_read(struct sim_bridge *b);
void remotes_serve(struct sim_bridge *b, bool on);
void remotes_open(struct sim_bridge *b, bool on);
void remotes_look(struct sim_bridge *b, int64_t now_mono_ms);
bool remotes_take(struct sim_bridge *b, struct sim_dec *d, const char *id);

/* sim_time.c: the server's /clock. ask(): there is a connection; take(): a message of it, d open at its operation. Thread: the link's. */
void sim_time_ask(struct sim_bridge *b);
void sim_time_take(struct sim_bridge *b, struct sim_dec *d);
void sim_time_lost(struct sim_bridge *b);

/* topic.c */
int rosbridge_topic_open(void *bridge, const struct sim_bridge_channel *ch, const struct topic_options *w,
			 struct topic_out **ret, char *why, size_t why_size);
void rosbridge_topic_close(void *bridge, struct topic_out *t);
int rosbridge_write(struct sim_bridge *b, struct sim_bridge_topic *t, const struct sim_message *m,
		    struct sim_task *task);
int rosbridge_subscribe(void *bridge, const char *topic, const struct topic_options *w, struct topic_in **ret,
			char *why, size_t why_size);
/* "sensor_msgs/msg/Imu" in ROS 2, "sensor_msgs/Imu" else. */
void rosbridge_type_name(const struct sim_bridge *b, const struct ros_type *t, char *ret, size_t size);
void rosbridge_listen(struct sim_bridge *b, const char *channel, int on);
/* A text that was read, in room for size bytes: printable, and cut. False: it has no such field. */
bool rosbridge_text(struct sim_dec *d, const char *name, char *ret, size_t size);

/* An operation, and waking who sends it. Errors are logged. */
int rosbridge_say(struct sim_bridge *b, enum outbox_place place, const char *text, struct iov_buf *body);

#endif
