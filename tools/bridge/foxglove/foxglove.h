/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Inside bridge_foxglove: a WebSocket server for Foxglove, Lichtblick and its own web page, at one port. Lanes convert
 * a message once, if it has subscribers, and queue it for each client; one thread, in which all of libwebsockets runs,
 * sends it from the slot. Two more threads call simd: for the state of simd that is shown, and for requests of clients.
 *
 * Lock order: `lock`, then the pool's and the topics'; `context_lock` and `calls.lock` are leaves.
 */
#ifndef FOXGLOVE_H
#define FOXGLOVE_H

#include <pthread.h>
#include <stdatomic.h>

#include <jansson.h>
#include <libwebsockets.h>

#include "guard.h"
#include "message.h"
#include "named_reader.h"
#include "topics.h"

#define FOXGLOVE_CLIENTS_MAX       64u
#define FOXGLOVE_CONNECTIONS_MAX   256u
#define FOXGLOVE_GUESTS_MAX        (FOXGLOVE_CONNECTIONS_MAX + 32) /* including those being closed */
#define FOXGLOVE_SUBSCRIPTIONS_MAX 2048u                           /* of one client */
/* bytes queued for a client; one larger message if nothing else is queued */
#define FOXGLOVE_HELD_MAX  (32u << 20)
#define FOXGLOVE_TEXTS_MAX 4096u /* answers queued for a client */
#define FOXGLOVE_QUEUE_MAX 1000u
#define FOXGLOVE_OP_MAX    (1u << 20)  /* bytes of an operation as JSON */
#define FOXGLOVE_IN_MAX    (64u << 20) /* largest message of a client that may publish */
#define FOXGLOVE_ASSET_MAX (16u << 20)
#define FOXGLOVE_PIECE     65536u
/* bytes of a fragment sent directly from the slot; limit of lws_write() */
#define FOXGLOVE_DIRECT_MAX     (8u << 20)
#define FOXGLOVE_CALLS_MAX      32u /* queued, of all clients together */
#define FOXGLOVE_ADVERTISED_MAX 64u /* by one client */

struct subscription;
struct client;
struct pb_type;

/* A Foxglove channel, to which clients may subscribe: a topic of the rig, or a part of simd's state. */
struct channel {
	struct channel *next;
	uint32_t id;
	unsigned refs; /* number of topics */
	char *topic, *type;
	char *text; /* {"id":1,"topic":...}, the advertisement */
	bool latch;
	_Atomic unsigned n_subscribers;
	struct subscription *subscriptions;
	struct message *latched;
	int64_t latched_sim_ns;
};

struct subscription {
	struct subscription *next_of_channel, *next_of_client;
	struct channel *channel;
	struct client *client;
	uint32_t id;
	struct item *first, *last; /* its queued messages */
	unsigned n;
	uint64_t dropped, told;
	bool missed; /* the last message, of a channel that is latched */
};

struct item { /* queued for a client */
	struct item *next, *prev, *next_of_sub;
	struct subscription *sub; /* NULL: an operation, or the subscription has ended */
	struct message *message;  /* NULL: an operation */
	uint8_t *text;            /* LWS_PRE bytes, then len bytes */
	size_t len;
	bool binary;
	uint32_t sub_id;
	int64_t log_sim_ns;
};

struct reading { /* the message being received */
	uint8_t *data;
	size_t len, room;
	bool binary;
};

struct advertised { /* advertised by a client */
	uint32_t id;
	struct topic_in *in;
	bool json;
};

struct client {
	struct client *next;
	struct sim_bridge *bridge;
	struct lws *wsi;
	unsigned id;
	char peer[64];
	bool known;   /* it connected with the token */
	bool leaves;  /* it is being disconnected to make room */
	bool control; /* it may change things */
	/* guarded by sim_bridge::lock */
	struct subscription *subscriptions;
	unsigned n_subscriptions, n_texts, n_calls;
	struct item *first, *last;
	size_t bytes; /* of queued items and the one being sent */
	bool parameters, graph, graph_new;
	bool missed;       /* one of its subscriptions has */
	bool slow;         /* it has held a slot for too long since its queue was last empty */
	_Atomic bool over; /* it does not read its answers: disconnect */
	/* used by the server thread only */
	struct item *sending;
	size_t at; /* bytes of it sent */
	bool time_due;
	struct reading reading;
	struct advertised advertised[FOXGLOVE_ADVERTISED_MAX];
	unsigned n_advertised;
	uint64_t n_complaints;
};

struct service { /* a service of simd's clients */
	struct service *next;
	uint32_t id;
	char *name;
	const struct sim_service_type *type;
	char *text; /* the advertisement */
};

struct foxglove_topic {
	struct topic_out out; /* first member */
	struct channel *channel;
	struct pb_type *defined; /* messages are sent as this protobuf type; NULL: as the type of `out` */
};

struct call { /* a request to simd on behalf of a client */
	struct call *next;
	unsigned client;
	int kind; /* enum in call.c */
	uint32_t service, call_id;
	char *id, *method, *text;
};

struct calls {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	struct call *first, *last;
	unsigned n;
	bool stop;
	pthread_t thread;
	bool running;
};

/* The parts of simd's state that are shown, each on a channel. Indices of watch.c's table. */
enum { WATCH_CHANNELS, WATCH_BRIDGES, WATCH_CLIENTS, WATCH_CLOCK, WATCH_INFO, WATCH_N };

struct watch {
	pthread_t thread;
	bool running, stop;     /* stop: guarded by lock */
	pthread_mutex_t lock;   /* a leaf */
	pthread_cond_t changed; /* a client subscribes, or the thread must stop */
	struct channel *channel[WATCH_N];
	_Atomic unsigned n_graph, n_parameters; /* clients that subscribe to them */
	json_t *graph;                          /* used by its thread: the graph as last sent */
};

struct sim_bridge {
	const struct sim_bridge_host *host;
	struct topics common;
	struct message_pool pool;
	struct guard guard;
	_Atomic long queue;
	bool control, markers;
	const char *cert, *key, *token_file;
	json_t *assets; /* {"package://car/": "/path"} */

	struct guard_address address; /* set before the thread starts */
	pthread_t thread;
	bool running;
	_Atomic int status;
	_Atomic bool stop;
	char session[40];

	pthread_mutex_t context_lock;
	struct lws_context *context;
	_Atomic bool wake;

	pthread_mutex_t lock;
	struct channel *channels;
	struct client *clients; /* changed only by the server thread */
	struct item *free;
	unsigned n_free;
	struct service *services;
	uint32_t n_ids;
	_Atomic unsigned n_clients;
	_Atomic bool holding;

	/* used by the server thread only */
	unsigned n_connections, n_client_ids;
	struct lws *guests[FOXGLOVE_GUESTS_MAX]; /* connections without WebSocket; the one idle for longest first */
	unsigned n_guests;
	lws_sorted_usec_list_t tick;
	bool ticking;
	unsigned n_ticks;
	uint8_t *piece; /* LWS_PRE + FOXGLOVE_PIECE */
	char url[320], told[480];
	uint64_t n_refused;
	int port;
	struct named_reader reader;

	struct topic_in in[TOPICS_IN_MAX];
	unsigned n_in;
	struct calls calls;
	struct watch watch;
	_Atomic uint64_t converted, skipped;
};

/* Whether to log the n-th event of a kind that any peer can cause: the first 8, then at powers of 2. */
static inline bool foxglove_worth_saying(uint64_t n)
{
	return n <= 8 || (n & (n - 1)) == 0;
}

int64_t foxglove_mono_ms(void);

static inline void put_le(uint8_t *at, uint64_t v, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		at[i] = (uint8_t)(v >> 8 * i);
}

/* server.c: open() listens, on a thread of its own; close() stops it and waits. The status is reported to the host. */
int foxglove_server_open(struct sim_bridge *b);
void foxglove_server_close(struct sim_bridge *b);
/* Something was queued. Thread: any. */
void foxglove_server_wake(struct sim_bridge *b);

/* page.c: a file of the web page, by name ("": the start page). Static. */
struct page_file {
	const char *name, *type;
	const uint8_t *begin, *end;
};
bool page_find(const char *name, struct page_file *ret);

/* ---- queue.c: the queue of a client. The caller holds the bridge's lock ---- */

/*
 * Queues an operation; takes ownership of text, from malloc(); NULL: no memory. Sets `over` if the client does not read
 * its answers.
 */
void client_say_text(struct client *c, char *text);
void client_say(struct client *c, json_t *j); /* takes the reference */
__attribute__((format(printf, 3, 4))) void client_status(struct client *c, int level, const char *fmt, ...);
/* Queues a copy of the bytes. False: over a limit, or no memory. */
bool client_say_bytes(struct client *c, const void *head, size_t head_len, const void *data, size_t len);
/*
 * client_make_room() drops older messages before a new one is copied; client_queue() queues a message of a
 * subscription. Finished jobs are prepended to *done.
 */
void client_make_room(struct subscription *s, const struct message *m, struct job **done);
void client_queue(struct subscription *s, struct message *m, int64_t log_sim_ns, struct job **done);
struct item *client_take(struct client *c);
void client_done(struct client *c, struct item *i, struct job **done);
void client_forget(struct client *c, struct job **done); /* drops everything queued, and all subscriptions */
struct subscription *client_subscribe(struct client *c, struct channel *ch, uint32_t id);
void client_unsubscribe(struct subscription *s);
struct client *client_find(struct sim_bridge *b, unsigned id);
/* Copies messages that have held a slot since before that time. Returns whether any still holds one. */
bool client_release(struct client *c, int64_t before_mono_ns, struct job **done);
void foxglove_queue_finish(struct sim_bridge *b);

/*
 * send.c: sends the next piece of the queue. 1: sent; 0: nothing to send; negative: the connection is broken. Thread:
 * the server's, without a lock.
 */
int client_send(struct client *c);

/* ---- channel.c: topics and their messages. Thread: the host's ---- */
int foxglove_topic_open(void *bridge, const struct sim_bridge_channel *ch, const struct topic_options *w,
			struct topic_out **ret, char *why, size_t why_size);
void foxglove_topic_close(void *bridge, struct topic_out *t);
/* Adds a topic of markers to a channel's topics, if its message is one that viewers do not draw. */
void foxglove_add_markers(struct sim_bridge *b, const struct sim_bridge_channel *ch, struct sim_bridge_topic *t);
int foxglove_publish(struct sim_bridge *b, struct sim_bridge_topic *t, const struct sim_message *m,
		     struct sim_task *task);
/*
 * Returns a reference to the channel with that topic and type, creating it if necessary. schema: in the language of
 * schema_encoding. -ENOMEM.
 */
int channel_get(struct sim_bridge *b, const char *topic, const char *encoding, const char *type,
		const char *schema_encoding, const char *schema, bool latch, struct channel **ret);
void channel_unref(struct sim_bridge *b, struct channel *ch);
void channel_advertise(const struct channel *ch, struct client *c); /* caller holds the lock */
/* Queues a message for all subscribers; takes over the caller's reference. hold: as in message.h. */
int channel_send(struct sim_bridge *b, struct channel *ch, struct message *m, int64_t log_sim_ns, struct sim_task *hold,
		 struct job **job);

/* ---- op.c: operations of clients. Thread: the server's ---- */
void client_greet(struct client *c); /* sends the server's information and advertisements */
void client_text(struct client *c, const char *text, size_t len);
void client_binary(struct client *c, const uint8_t *data, size_t len);
/* Reports an invalid operation to the client and logs it. */
__attribute__((format(printf, 2, 3))) void client_complain(struct client *c, const char *fmt, ...);

/* publish.c: channels on which a client publishes; and foxglove_subscribe(), a struct topics::subscribe. */
int foxglove_subscribe(void *bridge, const char *topic, const struct topic_options *w, struct topic_in **ret, char *why,
		       size_t why_size);
void client_advertise(struct client *c, json_t *j);
void client_unadvertise(struct client *c, json_t *j);
void client_publish(struct client *c, uint32_t id, const uint8_t *data, size_t len);

/* service.c */
void foxglove_service(struct sim_bridge *b, const char *name, const struct sim_service_type *type);
void foxglove_services_finish(struct sim_bridge *b);
json_t *foxglove_services_text(struct sim_bridge *b); /* all advertisements; caller holds the lock */
void client_request(struct client *c, uint32_t service, uint32_t call, const char *encoding, size_t encoding_len,
		    const uint8_t *data, size_t len);
void client_refuse_call(struct client *c, uint32_t service, uint32_t call, const char *why); /* caller holds the lock */
void client_answer_call(struct client *c, uint32_t service, uint32_t call, const void *data,
			size_t len); /* caller holds the lock */

/*
 * call.c: requests to simd on behalf of clients, on a thread of their own, because a step of the clock may take long.
 */
int calls_open(struct sim_bridge *b);
void calls_close(struct sim_bridge *b);
/* for control requests; NULL: see sim_why() */
struct sim_client *calls_connect(struct sim_bridge *b, const char *name);
/* Appends the advertisements of simd's own services to a list. */
void calls_advertise(json_t *list);
/* Whether `service` is one of these; the request is then answered, now or later. */
bool calls_request(struct client *c, uint32_t service, uint32_t call, const uint8_t *data, size_t len);
void calls_get_parameters(struct client *c, json_t *names, const char *id);
void calls_set_parameters(struct client *c, json_t *list, const char *id);
void calls_asset(struct client *c, const char *uri, uint32_t request);
/* The parameters in a reply of GetClock, and the bridge's own; names NULL: all. */
json_t *calls_parameters(const struct sim_bridge *b, const char *clock, json_t *names);

/* asset.c: reads a file that the rig offers to clients, by its URI. Free *ret with free(). Errors with a reason. */
int asset_read(const json_t *assets, const char *uri, uint8_t **ret, size_t *ret_len, char *why, size_t why_size);
int asset_check(const struct sim_bridge_host *host, json_t **ret); /* reads the option */

/* watch.c: simd's state, requested while a client subscribes to it. */
int watch_open(struct sim_bridge *b);
void watch_close(struct sim_bridge *b);
void watch_wake(struct sim_bridge *b);
/* graph.c: changes since *last, which is updated; *ret_whole: the complete graph. NULL: no change. */
json_t *graph_update(struct sim_bridge *b, const char *channels, const char *services, json_t **last,
		     json_t **ret_whole);

#endif
