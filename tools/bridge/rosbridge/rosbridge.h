/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Inside bridge_rosbridge: a WebSocket to a rosbridge server, which publishes what it receives in its ROS graph. Lanes
 * convert to JSON and queue it in the outbox; a thread of the bridge, in which all of libwebsockets runs, sends and
 * reads.
 *
 * Lock order: remotes.lock, then the outbox's, then the topics'; `context_lock` is a leaf.
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

#define ROSBRIDGE_IN_MAX    (32u << 20) /* largest incoming message, in bytes */
#define ROSBRIDGE_PIECE     (128u << 10)
#define ROSBRIDGE_HEAD_MAX  (2 * TOPIC_NAME_MAX + 256u)
#define ROSBRIDGE_CLOSE_MS  2000 /* without progress, at the end, until the last data has been taken */
#define ROSBRIDGE_PARTS_MAX 4u   /* incoming fragmented messages that are assembled at the same time */
#define ROSBRIDGE_ID_MAX    200u

enum flavour { FLAVOUR_ROS2, FLAVOUR_ROS, FLAVOUR_APOLLO };

struct rosbridge_server {
	struct address at;
	char path[512];
	bool tls;
};

struct rosbridge_topic {
	struct topic_out out; /* first member */
	struct outbox_topic *queue;
	unsigned connection;         /* the connection on which it is advertised; 0: none */
	int64_t throttle_dur_ms;     /* minimum between two messages; 0: no limit */
	_Atomic int64_t due_mono_ms; /* earliest time of the next message, with throttle_dur_ms */
};

enum compression { COMPRESSION_NONE, COMPRESSION_CBOR, COMPRESSION_CBOR_RAW };

struct rosbridge_in {
	struct topic_in in; /* first member */
	char type[TOPIC_NAME_MAX + 8];
	long throttle_ms, queue_length; /* -1: not given */
	enum compression compression;
	_Atomic unsigned connection; /* the connection on which it is subscribed; 0: none */
};

struct sending {                       /* the message being sent */
	struct outbox_item *item;      /* NULL: none */
	char head[ROSBRIDGE_HEAD_MAX]; /* {"op":"publish","topic":"/a","msg": */
	struct iovec piece[IOV_BUF_PIECES + 2];
	unsigned n, at_piece;
	size_t at_byte, total, at; /* at: bytes sent of total */
	bool begun;                /* the WebSocket message has begun */
	/* for a message in fragments; parts 0: it is sent as a whole */
	size_t part, parts, part_end;
	uint64_t id;
};

struct reading { /* the message being received */
	char *data;
	size_t len, room;
	bool binary, too_long;
};

struct part { /* a message received in fragments */
	char id[64];
	uint32_t next, total; /* total 0: unused */
	char *data;
	size_t len;
	uint64_t turn; /* value of n_parts when a fragment was added last */
};

struct rosbridge_service;

struct remote { /* a service of the server, offered to the clients of simd */
	struct sim_bridge *bridge;
	const struct topics_call *call;
	bool served; /* used by the host's main thread */
	/* guarded by remotes.lock; only the link's thread removes pending */
	struct sim_pending *pending; /* NULL: no request */
	char id[40];
	int64_t due_mono_ms;
};

struct remotes {
	pthread_mutex_t lock; /* taken before the outbox's */
	struct remote all[TOPICS_CALLS_MAX];
	unsigned n;       /* set by remotes_read() */
	bool open;        /* connected */
	uint64_t n_asked; /* makes ids unique over all connections */
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
	char *auth; /* the "auth" operation as JSON; NULL: none */

	struct rosbridge_server server; /* set before the thread starts */
	pthread_t thread;
	bool running; /* thread must be joined */
	_Atomic int status;
	_Atomic bool stop;
	_Atomic unsigned connection; /* number of the present connection, or of the next one */

	pthread_mutex_t context_lock;
	struct lws_context *context; /* NULL: none. Changed by the thread, under context_lock */

	/* used by the thread only */
	struct lws *wsi;
	lws_sorted_usec_list_t tick;
	bool connected, over;
	int64_t begun_mono_ms, tick_mono_ms, moved_mono_ms, heard_mono_ms, asked_mono_ms, report_mono_ms;
	bool ping, closing; /* ping: send one */
	char why[240];      /* why the connection has ended; "": it has not */
	uint8_t *piece;     /* LWS_PRE + ROSBRIDGE_PIECE */
	struct sending sending;
	struct reading reading;
	struct named_reader reader;
	struct part part[ROSBRIDGE_PARTS_MAX];
	uint64_t n_fragmented, n_parts, n_status, n_refused, n_bad_clocks;
	_Atomic uint64_t n_bad_requests; /* for services; any thread */
	bool clock_followed;

	pthread_mutex_t services_lock; /* taken last; guards the list */
	struct rosbridge_service *services;
	struct remotes remotes;
	struct far_time sim_time;
};

/* Whether to log the n-th event of a kind that any peer can cause: the first 8, then at powers of 2. */
static inline bool rosbridge_worth_saying(uint64_t n)
{
	return n <= 8 || (n & (n - 1)) == 0;
}

static inline int64_t rosbridge_mono_ms(void)
{
	return mono_now_ns() / NS_PER_MS;
}

/* Parses "ws://host:port/path", "wss://...", "host:port", "". 0, or -EINVAL with the reason in why. */
int rosbridge_server_read(const char *text, struct rosbridge_server *ret, char *why, size_t why_size);

/*
 * connection.c: the connection. open() starts to connect, on a thread of its own; close() ends the connection without
 * waiting, join() waits for the thread. The status is reported to the host.
 */
int rosbridge_link_open(struct sim_bridge *b);
void rosbridge_link_close(struct sim_bridge *b);
void rosbridge_link_join(struct sim_bridge *b);
/* The outbox was empty and now has something. Thread: any. */
void rosbridge_link_wake(struct sim_bridge *b);

extern const struct outbox_ops rosbridge_outbox_ops; /* send.c */
/*
 * send.c: writes the next piece of what is to be sent into `to`. Returns its length, and whether it begins or ends a
 * message. 0: nothing to send. Thread: the link's.
 */
size_t sending_fill(struct sim_bridge *b, uint8_t *to, size_t room, bool *ret_first, bool *ret_last);
void sending_drop(struct sim_bridge *b); /* the connection has ended: drops the message being sent */

/* in.c: handles a complete received message. Thread: the link's. */
void rosbridge_take(struct sim_bridge *b, const char *data, size_t len, bool binary);
void rosbridge_forget_parts(struct sim_bridge *b); /* the connection has ended */

/* service.c: ops->service(); and handles a received request, d positioned at its operation. */
void rosbridge_service(struct sim_bridge *b, const char *name, const struct sim_service_type *type);
void rosbridge_serve(struct sim_bridge *b, struct sim_dec *d, const char *id);
void rosbridge_services_finish(struct sim_bridge *b);

/*
 * Encodes the fields of half a service as JSON; *ret is a buffer of the pool. Errors: as of topic_out_emit(). Thread:
 * any.
 */
int rosbridge_encode(struct sim_bridge *b, const struct sim_type *t, const void *body, size_t size,
		     struct iov_buf **ret);

/*
 * remote.c. read() reads the option; errors are logged. serve() offers the services to the host, or withdraws them:
 * main thread of the host. open() is called when the connection begins or ends. look() ends calls that take too long.
 * take() handles a received answer, d positioned at its operation; false: no call has that id. Thread: the link's.
 */
int remotes_read(struct sim_bridge *b);
void remotes_serve(struct sim_bridge *b, bool on);
void remotes_open(struct sim_bridge *b, bool on);
void remotes_look(struct sim_bridge *b, int64_t now_mono_ms);
bool remotes_take(struct sim_bridge *b, struct sim_dec *d, const char *id);

/*
 * sim_time.c: the server's /clock. ask(): call when connected; take(): handles a message of it, d positioned at its
 * operation. Thread: the link's.
 */
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
/* Reads a string into ret, of size bytes, cut and made printable. False: the field is missing. */
bool rosbridge_text(struct sim_dec *d, const char *name, char *ret, size_t size);

/* Queues an operation and wakes the link's thread. Errors are logged. */
int rosbridge_say(struct sim_bridge *b, enum outbox_place place, const char *text, struct iov_buf *body);

#endif
