/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Inside bridge_foxglove: a WebSocket server for Foxglove, Lichtblick and the web page that it serves at the same port. Lanes convert a
 * message once, if somebody watches, and put it into the queue of each who does; one thread, in which all of libwebsockets runs, sends it
 * from the slot. Two more ask simd, for what is shown of simd itself and for what clients have it do.
 *
 * Locks: `lock`, then the pool's and the topics'; `context_lock` and `calls.lock` are leaves.
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
#define FOXGLOVE_GUESTS_MAX        (FOXGLOVE_CONNECTIONS_MAX + 32) /* and those that are being closed */
#define FOXGLOVE_SUBSCRIPTIONS_MAX 2048u                           /* of a client */
#define FOXGLOVE_HELD_MAX          (32u << 20) /* bytes that wait for a client; one larger message, if nothing else waits */
#define FOXGLOVE_TEXTS_MAX         4096u       /* answers that wait for a client */
#define FOXGLOVE_QUEUE_MAX         1000u
#define FOXGLOVE_OP_MAX            (1u << 20)  /* bytes of an operation in JSON */
#define FOXGLOVE_IN_MAX            (64u << 20) /* of a message of a client that may publish */
#define FOXGLOVE_ASSET_MAX         (16u << 20)
#define FOXGLOVE_PIECE             65536u
#define FOXGLOVE_DIRECT_MAX        (8u << 20) /* bytes of a fragment that goes out from where it lies; of lws_write() */
#define FOXGLOVE_CALLS_MAX         32u        /* that wait, of all clients */
#define FOXGLOVE_ADVERTISED_MAX    64u        /* of a client */

struct subscription;
struct client;
struct pb_type;

/* What clients may subscribe to: a topic of the rig, or what is shown of simd. */
struct channel {
	struct channel *next;
	uint32_t id;
	unsigned refs; /* topics */
	char *topic, *type;
	char *text; /* {"id":1,"topic":...}, as it is advertised */
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
	struct item *first, *last; /* its messages that wait */
	unsigned n;
	uint64_t dropped, told;
};

struct item { /* that waits for a client */
	struct item *next, *prev, *next_of_sub;
	struct subscription *sub; /* NULL: an operation, or it is no subscription any more */
	struct message *message;  /* NULL: */
	uint8_t *text;            /* LWS_PRE bytes, then len */
	size_t len;
	bool binary;
	uint32_t sub_id;
	int64_t log_sim_ns;
};

struct reading { /* what is coming in */
	uint8_t *data;
	size_t len, room;
	bool binary;
};

struct advertised { /* by a client */
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
	bool known;   /* it has the token */
	bool leaves;  /* it was put out */
	bool control; /* it may change things */
	/* guarded by the bridge's lock */
	struct subscription *subscriptions;
	unsigned n_subscriptions, n_texts, n_calls;
	struct item *first, *last;
	size_t bytes; /* of what waits, and what is on its way */
	bool parameters, graph, graph_new;
	bool slow;         /* a slot was waited for in vain, since it had nothing to wait for last */
	_Atomic bool over; /* it is not reading its answers */
	/* the server thread's */
	struct item *sending;
	size_t at; /* bytes of it that are out */
	bool time_due;
	struct reading reading;
	struct advertised advertised[FOXGLOVE_ADVERTISED_MAX];
	unsigned n_advertised;
	uint64_t n_complaints;
};

struct service { /* of simd's clients */
	struct service *next;
	uint32_t id;
	char *name;
	const struct sim_service_type *type;
	char *text; /* as it is advertised */
};

struct foxglove_topic {
	struct topic_out out; /* first */
	struct channel *channel;
	struct pb_type *defined; /* its messages go out as this one's; NULL: as those of `out` */
};

struct call { /* that simd is asked, for a client */
	struct call *next;
	unsigned client;
	int kind; /* of call.c */
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

/* What is shown of simd: each a channel. Their numbers are those of watch.c's table. */
enum { WATCH_CHANNELS, WATCH_BRIDGES, WATCH_CLIENTS, WATCH_CLOCK, WATCH_INFO, WATCH_N };

struct watch {
	pthread_t thread;
	bool running, stop;     /* stop: guarded by lock */
	pthread_mutex_t lock;   /* a leaf */
	pthread_cond_t changed; /* somebody watches, or it stops */
	struct channel *channel[WATCH_N];
	_Atomic unsigned n_graph, n_parameters; /* clients that want them */
	json_t *graph;                          /* its thread's: as it was told last */
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

	struct guard_address address; /* set before the thread begins */
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
	struct client *clients; /* changed by the server thread alone */
	struct item *free;
	unsigned n_free;
	struct service *services;
	uint32_t n_ids;
	_Atomic unsigned n_clients;
	_Atomic bool holding;

	/* the server thread's */
	unsigned n_connections, n_client_ids;
	struct lws *guests
		[FOXGLOVE_GUESTS_MAX]; /* connections that are no WebSocket; first the one that did something longest ago */
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

/* What anybody can cause is logged ever more rarely. */
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

/* server.c: open() listens, on a thread of its own; close() ends it, and waits. Status is reported to the host. */
int foxglove_server_open(struct sim_bridge *b);
void foxglove_server_close(struct sim_bridge *b);
/* Something is in a queue. Thread: any. */
void foxglove_server_wake(struct sim_bridge *b);

/* page.c: a file of the web page, by its name ("": the first one). Static. */
struct page_file {
	const char *name, *type;
	const uint8_t *begin, *end;
};
bool page_find(const char *name, struct page_file *ret);

/* ---- queue.c: what waits for a client. The bridge's lock is held ---- */

/* An operation: text of malloc(), of which it takes all; NULL: no memory. A client that does not read its answers is over. */
void client_say_text(struct client *c, char *text);
void client_say(struct client *c, json_t *j); /* takes the reference */
__attribute__((format(printf, 3, 4))) void client_status(struct client *c, int level, const char *fmt, ...);
/* Bytes, copied. False: they would be too many, or there is no memory. */
bool client_say_bytes(struct client *c, const void *head, size_t head_len, const void *data, size_t len);
/* A message of a subscription; a job that nobody waits for any more is put before *done. */
void client_make_room(struct subscription *s, const struct message *m,
		      struct job **done); /* what goes for it, before it is copied */
void client_queue(struct subscription *s, struct message *m, int64_t log_sim_ns, struct job **done);
struct item *client_take(struct client *c);
void client_done(struct client *c, struct item *i, struct job **done);
void client_forget(struct client *c, struct job **done); /* all that waits, and all subscriptions */
struct subscription *client_subscribe(struct client *c, struct channel *ch, uint32_t id);
void client_unsubscribe(struct subscription *s);
struct client *client_find(struct sim_bridge *b, unsigned id);
/* What is held since before then is copied. Returns whether something is held yet. */
bool client_release(struct client *c, int64_t before_mono_ns, struct job **done);
void foxglove_queue_finish(struct sim_bridge *b);

/* send.c: the next piece of what waits. 1: sent; 0: nothing waits; negative: the connection is broken. Server thread, no lock. */
int client_send(struct client *c);

/* ---- channel.c: topics, and their messages. Thread: the host's ---- */
int foxglove_topic_open(void *bridge, const struct sim_bridge_channel *ch, const struct topic_options *w,
			struct topic_out **ret, char *why, size_t why_size);
void foxglove_topic_close(void *bridge, struct topic_out *t);
/* Beside the topics of a channel, one of markers: of what has a message that nobody draws. */
void foxglove_add_markers(struct sim_bridge *b, const struct sim_bridge_channel *ch, struct sim_bridge_topic *t);
int foxglove_publish(struct sim_bridge *b, struct sim_bridge_topic *t, const struct sim_message *m,
		     struct sim_task *task);
/* Of a topic of that name and type, or of a new one; a reference. schema: what `encoding` of schemas says. -ENOMEM. */
int channel_get(struct sim_bridge *b, const char *topic, const char *encoding, const char *type,
		const char *schema_encoding, const char *schema, bool latch, struct channel **ret);
void channel_unref(struct sim_bridge *b, struct channel *ch);
void channel_advertise(const struct channel *ch, struct client *c); /* the lock is held */
/* To all who watch it; takes the message's reference. hold: as of message.h. */
int channel_send(struct sim_bridge *b, struct channel *ch, struct message *m, int64_t log_sim_ns, struct sim_task *hold,
		 struct job **job);

/* ---- op.c: what a client says. Server thread ---- */
void client_greet(struct client *c); /* what there is */
void client_text(struct client *c, const char *text, size_t len);
void client_binary(struct client *c, const uint8_t *data, size_t len);
/* It has said what it should not. */
__attribute__((format(printf, 2, 3))) void client_complain(struct client *c, const char *fmt, ...);

/* publish.c: channels that a client publishes on; and a topic of the option "subscribe", struct topics::subscribe. */
int foxglove_subscribe(void *bridge, const char *topic, const struct topic_options *w, struct topic_in **ret, char *why,
		       size_t why_size);
void client_advertise(struct client *c, json_t *j);
void client_unadvertise(struct client *c, json_t *j);
void client_publish(struct client *c, uint32_t id, const uint8_t *data, size_t len);

/* service.c */
void foxglove_service(struct sim_bridge *b, const char *name, const struct sim_service_type *type);
void foxglove_services_finish(struct sim_bridge *b);
json_t *foxglove_services_text(struct sim_bridge *b); /* all, as they are advertised; the lock is held */
void client_request(struct client *c, uint32_t service, uint32_t call, const char *encoding, size_t encoding_len,
		    const uint8_t *data, size_t len);
void client_refuse_call(struct client *c, uint32_t service, uint32_t call, const char *why); /* the lock is held */
void client_answer_call(struct client *c, uint32_t service, uint32_t call, const void *data,
			size_t len); /* the lock is held */

/* call.c: what simd is asked for a client; a thread of its own, as a step of the clock may take long. */
int calls_open(struct sim_bridge *b);
void calls_close(struct sim_bridge *b);
struct sim_client *calls_connect(struct sim_bridge *b, const char *name); /* to simd, for control; NULL: sim_why() */
/* Simd's own services, as they are advertised, into a list. */
void calls_advertise(json_t *list);
/* Whether that is one; it is answered then, now or later. */
bool calls_request(struct client *c, uint32_t service, uint32_t call, const uint8_t *data, size_t len);
void calls_get_parameters(struct client *c, json_t *names, const char *id);
void calls_set_parameters(struct client *c, json_t *list, const char *id);
void calls_asset(struct client *c, const char *uri, uint32_t request);
/* Of a reply of GetClock, and the bridge's own; names NULL: all. */
json_t *calls_parameters(const struct sim_bridge *b, const char *clock, json_t *names);

/* asset.c: a file that the rig lets clients see, by its URI: returns it, malloc(). Errors with a sentence. */
int asset_read(const json_t *assets, const char *uri, uint8_t **ret, size_t *ret_len, char *why, size_t why_size);
int asset_check(const struct sim_bridge_host *host, json_t **ret); /* the option */

/* watch.c: what is shown of simd; asked while somebody looks. */
int watch_open(struct sim_bridge *b);
void watch_close(struct sim_bridge *b);
void watch_wake(struct sim_bridge *b);
/* graph.c: what has changed since *last, which becomes what is now; whole: all. NULL: nothing. */
json_t *graph_update(struct sim_bridge *b, const char *channels, const char *services, json_t **last,
		     json_t **ret_whole);

#endif
