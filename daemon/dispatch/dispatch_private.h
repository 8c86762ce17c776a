/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Inside dispatch: its objects, and the functions that its files call in each other.
 *
 *   client ──< publisher >── channel ──< route >── bridge ──< lane
 *                    │          │          │          │
 *                 message ──────┘       delivery ─────┘        message ──< delivery
 *
 * Messages live in an array of their channel, deliveries in an array of their bridge: nothing is allocated
 * while messages flow. All of it belongs to the dispatch exec's thread.
 */
#ifndef DISPATCH_DISPATCH_PRIVATE_H
#define DISPATCH_DISPATCH_PRIVATE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include <sim/slot.h>

#include "bitmap.h"
#include "dispatch.h"
#include "histogram.h"
#include "inbox.h"
#include "list.h"
#include "log.h"
#include "wire/lane.h"

#define D_HASH        512                  /* buckets of the publisher and client tables */
#define D_DRAIN       64                   /* slots of one channel that are taken in a row */
#define D_REPLACED_NS INT64_C(10000000000) /* by then RouDi has removed a replaced feed */
#define D_ROUNDS      4                    /* drains in one turn before other descriptors get theirs */
#define D_PACKETS     16                   /* packets read from one lane in a row */
#define D_RX          8192                 /* largest packet a bridge may send */
#define D_DETAIL      512
#define D_TEXT        (LANE_CARRIES_MAX + 2) /* two texts of an event, each with its NUL */
#define D_HOUSE_NS    INT64_C(1000000000)
#define D_AGAIN_NS    INT64_C(60000000000) /* least interval of log lines about lasting faults */
#define D_RENEW_NS    INT64_C(100000000)   /* between two checks of fresh feeds */

/* When a feed is deferred, see d_channel_defer() */
#define D_DEFER_OUT        16               /* each lane has at least so many deliveries */
#define D_DEFER_SERVICE_NS INT64_C(10000)   /* the bridge needs at most that long for each */
#define D_DEFER_NS         INT64_C(1000000) /* longest deferral; also the longest time since the bridge's last answer */

/* deliveries out on a lane before the bridge's speed is known, and always for an ordered channel */
#define D_ROOM_FIRST 8

#define D_SPAN \
	512 /* tracked messages of a publisher, from the oldest outstanding one; twice as many as a client waits for */

#define D_INDEX_BITS 12 /* bits of a delivery's number that are its place in the bridge's array */

/* One subscriber of a channel in one generation of the data plane. Freed when no slot of it is held. */
struct d_feed {
	struct ipc_sub *sub;
	uint32_t generation; /* iox_generation */
	uint32_t held;
	bool retired;
	struct d_channel *replaced_in; /* the channel continues with another feed; else NULL */
};

struct d_route_stages { /* times since a message was taken */
	struct histogram lane, answer;
};

struct d_route {                 /* one bridge carries one channel */
	struct list bridge_link; /* in: bridge::routes */
	struct d_channel *ch;
	struct d_bridge *b;
	uint32_t open;                 /* deliveries that are not freed yet, including late ones */
	uint32_t n_out;                /* ... that are on a lane */
	struct d_lane *lane;           /* their lane; NULL: none or several, as in lock-step */
	uint64_t slow;                 /* messages that the bridge missed because it was slow */
	bool slow_told;                /* ... which was logged, once */
	struct d_route_stages *stages; /* NULL: stages are not counted */
	uint32_t text_len;
	char *text;      /* body of LANE_CHANNEL */
	bool known;      /* the bridge has reported on the channel */
	bool report_due; /* ... and main has not been notified yet */
	int32_t result;  /* negative: refused, so no delivery is made */
	char *said; /* topic and type on the other side, or the reason: two texts, each with its NUL; NULL: no memory */
};

struct d_channel {
	struct list link;         /* in: dispatch::channels */
	struct list freed_link;   /* in: dispatch::freed, when a credit came back in this turn */
	struct list closing_link; /* in: dispatch::closing_channels */
	struct list suspect_link; /* in: dispatch::suspects, when a message may have been lost */
	uint32_t id, depth;
	uint32_t cells;  /* cells that can hold its claims, from the first on: the largest window since it was opened */
	uint32_t window; /* as published to producers */
	uint64_t type_hash, max_body;
	char *name, *type_json;
	bool ordered, closing;
	bool overflowed;                     /* the feed has been full at least once */
	uint32_t n_replaced;                 /* replaced feeds of which slots are still held */
	int64_t replaced_mono_ns;            /* when the last of these was released; 0: never */
	struct d_feed *feed;                 /* NULL: no data plane */
	uint64_t drains;                     /* how often the feed was found empty */
	int64_t deferred_mono_ns;            /* since when the feed is deferred; 0: it is not */
	bool asked;                          /* deferral was already checked in this round */
	bool starved;                        /* the feed may have more, but no message is free */
	uint64_t busy[WIRE_WINDOW_MAX / 64]; /* credit cells of messages in hand */
	struct d_message *messages;          /* [depth] */
	struct list free;                    /* messages */
	struct list pubs;
	struct list backlog;                         /* messages that lossless bridges have no room for, oldest first */
	uint32_t n_backlog;                          /* its messages there and in dispatch::sorted */
	uint32_t n_waited;                           /* routes whose bridge is waited for */
	uint32_t n_routes, n_refused;                /* routes[n_routes + i]: refused by their bridge */
	struct d_route *routes[DISPATCH_ROUTES_MAX]; /* used ones, then refused ones */
	struct dispatch_channel_stats stats;         /* in_flight is live */
	struct histogram *take;                      /* times from publishing to taking; NULL: not counted */
	struct log_limit limit, strangers, missing;

	/* a feed that will replace `feed`; slots are taken from both until then */
	struct d_feed *fresh; /* NULL: none */
	bool fresh_connected; /* it was connected to all publishers at the last check */
	bool fresh_due;       /* it has been connected for a while: it replaces feed once that is found empty */
	const void *ahead;    /* slot taken from it, to be handled after all in feed; NULL: none */
	size_t ahead_size;
	uint32_t repeats; /* slots still in the feed that may repeat slots of the replaced feed */
};

struct d_client {
	struct list hash_link;
	struct list owing_link; /* in: dispatch::owing, when completions are to be sent in this turn */
	uint32_t id;
	char name[DISPATCH_NAME_MAX + 1];
	int completion_fd, doorbell_fd;
	struct exec_io doorbell, writable;
	bool full;        /* its completion socket is full */
	bool stuck;       /* ... and watched for room */
	bool deaf;        /* ... is closed at the other end */
	struct list owed; /* messages whose completion is to be sent, oldest first */
	struct list pubs;
	struct fd_shared *counters;
	struct dispatch *d;
};

struct d_publisher {
	struct list hash_link;
	struct list client_link;  /* in: client::pubs */
	struct list channel_link; /* in: channel::pubs */
	struct list closing_link; /* in: dispatch::closing_pubs */
	uint32_t id;
	struct d_channel *ch;
	struct d_client *client;                 /* NULL: it is gone */
	char client_name[DISPATCH_NAME_MAX + 1]; /* kept when the client is gone */
	uint64_t max_body;
	const struct wire_counters *counters; /* written by its client; NULL: none */
	/*
	 * Which of its messages were taken, or given up as missing. Each message is counted once; a published message
	 * that is not counted is missing, whatever slots and cells say. See d_sequence.c.
	 */
	bool begun;                            /* its first sequence is known */
	uint64_t sequence, newest;             /* all up to `sequence` are counted; none beyond `newest` */
	uint64_t beyond[BITMAP_WORDS(D_SPAN)]; /* which beyond `sequence` are counted: bit sequence % D_SPAN */
	uint64_t looked;                       /* during a check: all up to this one were published */
	uint64_t origin;                       /* its port: ipc_slot_origin() of its probe */
	uint32_t in_flight;
	uint32_t proved_generation; /* iox_generation of its last probe */
	uint64_t drain_mark;        /* closing: channel::drains at that time */
	bool strays;                /* closing: slots of it may be outside the feed */
	bool closing;
	bool again; /* made by dispatch_publisher_again(): its process has exited */
};

struct d_message {
	struct list link; /* in: channel::free, channel::backlog, client::owed, dispatch::holding, dispatch::sorted */
	struct list release_link; /* in: dispatch::release */
	struct d_channel *ch;
	struct d_publisher *pub;
	struct d_feed *feed;
	const struct sim_slot *slot; /* NULL: released */
	int64_t ref;                 /* ipc_export() of it */
	uint64_t size;               /* header + body */
	uint64_t sequence;
	int64_t stamp_sim_ns, publish_mono_ns;
	int64_t take_mono_ns;   /* 0: stages are not counted */
	uint32_t generation;    /* iox_generation */
	uint32_t token, credit; /* cell + 1 in hand; 0: none */
	uint16_t open;          /* deliveries without an outcome */
	uint16_t held;          /* deliveries that a bridge may still be reading */
	uint8_t reason;         /* enum sim_reason of its first failed delivery */
	uint8_t carriers;       /* bridges it was offered to, less those that then refused its channel */
	bool counted;           /* accepted for dispatch: not a probe */
	bool answered;          /* the completion is sent, or there is no client to get it */
	bool of_step;           /* dispatch_step() waits for its completion */
	bool in_order;          /* accepted in lock-step: bridges write such messages in the order of sending */
	bool patient;           /* counts in dispatch::n_patient */
};

enum d_state { D_FREE, D_QUEUED, D_OUT };

struct d_delivery {
	struct list link;     /* in: bridge::free, bridge::queue, lane::out, bridge::orphans */
	struct list age_link; /* in: bridge::aging, bridge::late: oldest first */
	struct d_message *m;
	struct d_route *route;
	struct d_lane *lane; /* NULL: the lane is closed */
	uint64_t number;
	int64_t deadline_mono_ns, sent_mono_ns;
	enum d_state state;
	bool decided; /* its outcome is known; if it is still out, it is late */
};

struct d_lane {
	struct list link; /* in: bridge::lanes */
	struct d_bridge *b;
	uint32_t number; /* 0: carries the control packets too */
	int fd;
	struct exec_io io;
	bool blocked; /* its socket is full (waits for EPOLLOUT), or the bridge receives no more */
	bool over;    /* it broke the protocol, or is being closed: no further packet is read or refused */
	uint32_t n_out;
	struct list out;                        /* deliveries, in sending order */
	int64_t head_mono_ns;                   /* since when the present first one has been the first */
	int64_t worked_mono_ns;                 /* last time it had work */
	uint64_t knows[WIRE_CHANNELS_MAX / 64]; /* channels announced on it */
};

enum d_flush { D_FLUSH_NONE, D_FLUSH_STEP, D_FLUSH_OVER }; /* flush to be sent; OVER: lock-step has ended */

struct d_bridge {
	struct dispatch *d;
	uint32_t id, queue_max, lanes_max;
	char name[DISPATCH_NAME_MAX + 1];
	int64_t deadline_dur_ns, kill_after_dur_ns;
	char *connection; /* NULL: disconnect */
	bool connect_due; /* LANE_CONNECT is to be sent */
	bool attached;    /* lane 0 is open */
	enum sim_bridge_status status;
	char detail[D_DETAIL];
	int64_t notified_mono_ns; /* start of the second in which notified_n status events were sent */
	uint32_t notified_n;
	bool status_due; /* a status event was postponed */
	bool idle_reported;
	bool announce_due;       /* some channels were not announced to it yet */
	uint32_t reported;       /* channels about which main was notified in this second */
	bool report_due;         /* reports of some route were postponed */
	uint32_t generation;     /* iox_generation that it is attached to */
	struct d_delivery *pool; /* [queue_max] */
	struct list free, queue, orphans, aging, late;
	uint32_t n_queued, n_out;
	struct list lanes, routes;
	struct d_route *moving; /* route that changes its lane when nothing of it is out; NULL: none */
	uint32_t n_lanes, next_lane;
	int64_t grown_mono_ns;    /* when a lane was last opened */
	int64_t answered_mono_ns; /* time of its last answer */
	int64_t service_dur_ns;
	bool measured; /* service_dur_ns is valid */
	uint64_t attaches;
	struct {                 /* lock-step */
		uint64_t ticket; /* newest ticket sent; in a new row, the number before its first ticket */
		bool unflushed;  /* a ticket was sent since the last flush */
		bool stepping;   /* tickets were sent since it was last notified that lock-step has ended */
		enum d_flush flush;
		uint32_t lane; /* number of the lane that got the newest ticket */
	} order;
	struct exec_timer deadline;
	int64_t armed_mono_ns; /* when the deadline timer is due; 0: not armed */
	enum dispatch_lossless asked;
	bool keeps;           /* its plug-in keeps data */
	bool comes_back;      /* simd restarts its process when it exits */
	bool lossless;        /* producers wait for it while it answers */
	bool stalled;         /* lossless, but does not answer */
	bool waited;          /* producers wait for it: lossless, and answering or coming back */
	bool answered;        /* it has answered since it was connected */
	int64_t back_mono_ns; /* disconnected, and waited for until then; 0: not */
	int64_t busy_mono_ns; /* since when it has undecided deliveries */
	struct dispatch_bridge_stats stats;
	struct log_limit limit;
};

struct event; /* d_events.c */

struct d_waiter { /* a caller to be notified */
	struct d_waiter *next;
	dispatch_fn fn;
	void *arg;
};

struct dispatch {
	struct exec *x;
	struct inbox in, out; /* commands; events */
	struct exec_post in_post, out_post;
	struct dispatch_events ev;
	void *user;
	struct wire_layout_page *layout;
	struct wire_shard *shard; /* of the layout page */
	uint32_t number, n_shards;
	struct wire_dispatch_page *page;
	const struct sim_clock_page *clock;
	int64_t cycle_dur_ns;
	int64_t idle_dur_ns;
	uint32_t lanes_max, n_lanes;
	atomic_uint *all_lanes, own_lanes; /* lanes of all shards; own_lanes: used if this is the only shard */

	struct ipc *ipc; /* NULL: none, as between restart_begin and set_ipc */
	uint32_t generation;
	bool hold, hold_paused, closing, closing_now;

	struct d_channel *by_id[WIRE_CHANNELS_MAX];
	struct d_bridge *bridges[DISPATCH_BRIDGES_MAX];
	struct list channels;
	struct list clients[D_HASH], pubs[D_HASH];
	struct list closing_pubs, closing_channels;
	uint64_t token_busy[BITMAP_WORDS(WIRE_TOKENS_MAX)];
	uint32_t claimed_id; /* a channel that had a claimed credit at the last check */
	uint64_t serial;     /* last serial number of a delivery */
	struct list holding; /* messages, while hold */
	struct list sorted;  /* messages of steps, in order, that lossless bridges have no room for yet */
	uint32_t n_patient;  /* undecided messages that were accepted while all bridges were lossless */
	bool mode_ends;      /* that mode has ended, and n_patient is 0: bridges are to be updated */
	bool freewheel;      /* the engine is freewheeling */
	atomic_uint outstanding;
	_Atomic int64_t accepted_mono_ns; /* publish time of the latest message */

	/* sets of channels that have work in this turn, so that the others cost nothing */
	struct wire_rung *rung;                               /* bits in the dispatch page */
	uint32_t n_ids;                                       /* above all channel numbers used so far; whole words */
	uint64_t due[BITMAP_WORDS(WIRE_CHANNELS_MAX)];        /* to be checked */
	uint64_t deferred[BITMAP_WORDS(WIRE_CHANNELS_MAX)];   /* deferred for a moment */
	uint64_t flowing[BITMAP_WORDS(WIRE_CHANNELS_MAX)];    /* gave slots in this round */
	uint64_t backlogged[BITMAP_WORDS(WIRE_CHANNELS_MAX)]; /* have a backlog */
	/* sets of bridges */
	uint64_t pumped[BITMAP_WORDS(DISPATCH_BRIDGES_MAX)]; /* have something to send */
	uint64_t loaded[BITMAP_WORDS(DISPATCH_BRIDGES_MAX)]; /* have at least D_DEFER_OUT deliveries out */

	/* this turn */
	int64_t now;
	uint64_t turns; /* as in the page */
	bool in_turn;
	struct list release;  /* messages whose slot is released, newest first */
	struct list owing;    /* clients */
	struct list freed;    /* channels */
	struct list suspects; /* channels */

	struct exec_timer turn, house, quiet_timer, defer_timer, renew_timer;
	struct d_waiter *quiet, *shut, *step;
	uint32_t n_step; /* of_step messages without an outcome */
	/* simulated time of the last step; the second of the last flush of the bridges */
	int64_t step_sim_ns, flushed_sim_s;
	int64_t unheld_mono_ns; /* when the last hold ended */

	struct {
		uint64_t wakeups, packets_out, packets_in, invalid, strange_claims;
	} n;
	struct histogram queue_hist, publish_hist;
	struct log_limit limit;
	_Alignas(16) unsigned char rx[D_RX];
};

/* ---- dispatch.c: turns ---- */
void d_turn_begin(struct dispatch *d);
void d_turn_end(struct dispatch *d);

/* ---- credits.c: credits, tokens, bridge words of the dispatch page ---- */
/* Marks a claimed credit as in use: m->credit. */
void credits_take(struct d_message *m, uint32_t credit_cell);
/*
 * Takes the token that the slot names (0: none): m->token. Returns false if the message has not claimed that token;
 * then takes the one that it has claimed, if any.
 */
bool credits_take_token(struct dispatch *d, struct d_message *m, uint32_t token_cell);
void credits_free(struct dispatch *d, struct d_message *m);
/* Frees the credit of a slot for local subscribers only. */
void credits_free_local(struct dispatch *d, struct d_channel *ch, uint64_t claim, uint32_t credit_cell);
/* Frees the claims of publisher_id (0: all) that belong to no message in hand; ch NULL: in all channels. */
void credits_sweep(struct dispatch *d, struct d_channel *ch, uint32_t publisher_id);
void credits_sweep_strangers(struct dispatch *d);
bool credits_all_free(struct dispatch *d);
/* Whether the credit that a slot names is claimed for it, and not in use. */
bool credits_holds(const struct dispatch *d, const struct d_channel *ch, uint64_t claim, uint32_t credit_cell);
/* The credit cell + 1 with that claim; 0: none. */
uint32_t credits_find(const struct dispatch *d, const struct d_channel *ch, uint64_t claim);
/* The token cell + 1 with that claim; 0: none. */
uint32_t credits_find_token(const struct dispatch *d, uint64_t claim);
void credits_wake(struct dispatch *d); /* wakes clients that wait for a credit */
void credits_bridges(struct dispatch *d, struct d_channel *ch);

/* ---- d_client.c ---- */
struct d_client *d_client_find(struct dispatch *d, uint32_t id);
struct d_publisher *d_publisher_find(const struct dispatch *d, uint32_t id);
void d_client_add(struct dispatch *d, struct d_client *c); /* owns c; frees it on failure */
void d_client_gone(struct dispatch *d, struct d_client *c);
void d_client_free(struct d_client *c);
void d_client_owe(struct d_client *c, struct d_message *m); /* the completion is to be sent */
void d_client_flush(struct d_client *c);
void d_publisher_add(struct dispatch *d, struct d_publisher *p, uint32_t channel_id, uint32_t client_id);
void d_publisher_close(struct dispatch *d, struct d_publisher *p);
void d_publisher_reap(struct dispatch *d); /* frees closed publishers without messages */
void d_publisher_free(struct d_publisher *p);

/* ---- d_channel.c ---- */
int d_channel_add(struct dispatch *d, struct d_channel *ch);
void d_channel_free(struct dispatch *d, struct d_channel *ch);
void d_channel_feed(struct dispatch *d, struct d_channel *ch, struct d_feed *f);
void d_channel_retire(struct dispatch *d, struct d_channel *ch); /* stops using the feeds */
void d_channel_reap(struct dispatch *d);
/* f will replace the feed, whose queue may be damaged; no message is lost or taken twice. Owns f. */
void d_channel_renew(struct dispatch *d, struct d_channel *ch, struct d_feed *f);
bool d_channel_has_data(const struct d_channel *ch); /* in its feeds */
void d_channel_renewed(struct dispatch *d);          /* fresh feeds that are connected replace the old ones */
/* Whether its feed is left alone (deferred) in this turn. */
bool d_channel_defer(struct dispatch *d, struct d_channel *ch);
/* Takes at most max slots and returns how many; the rest is taken in this turn or the next. */
unsigned d_channel_drain(struct dispatch *d, struct d_channel *ch, unsigned max);
/*
 * Makes a message of that publisher from a header, without a slot, and not counted as accepted. The channel must have a
 * free one.
 */
struct d_message *d_channel_message(struct dispatch *d, struct d_publisher *p, const struct sim_slot *h);
/* As d_channel_message(), and accepts it for dispatch. */
struct d_message *d_channel_accept(struct dispatch *d, struct d_publisher *p, const struct sim_slot *h);
void d_feed_put(struct dispatch *d, struct d_feed *f);

/* ---- d_rung.c: channels to be looked at ---- */
void d_rung_look(struct dispatch *d, struct d_channel *ch); /* the channel is checked soon */
void d_rung_look_all(struct dispatch *d);
void d_rung_collect(struct dispatch *d); /* marks the channels whose bit is set */
bool d_rung_pending(struct dispatch *d);
void d_rung_drain(struct dispatch *d);
void d_rung_defer(struct dispatch *d); /* defers channels that gave slots if the lanes are full now */

/* ---- d_sequence.c: which messages of a publisher were taken ---- */
bool d_sequence_seen(const struct d_publisher *p, uint64_t sequence);
/* Counts the message. False: it was counted before, or is out of range. */
bool d_sequence_take(struct dispatch *d, struct d_publisher *p, uint64_t sequence);
/* Sets where the publisher begins: at this message or shortly before it; d_publisher::begun. */
void d_sequence_begin(const struct dispatch *d, struct d_publisher *p, uint64_t up_to);
void d_sequence_skip(struct d_publisher *p); /* skips all that it has published until now */

/* ---- d_missing.c ---- */
void d_missing_suspect(struct dispatch *d, struct d_channel *ch); /* the channel is checked in this turn */
void d_missing_run(struct dispatch *d);                           /* checks the suspects */
void d_missing_house(struct dispatch *d);                         /* checks all channels */

/* ---- d_message.c ---- */
/* Offers it to the bridges now, or puts it into a backlog until the lossless ones have room. */
void d_message_route(struct dispatch *d, struct d_message *m);
void d_message_offer(struct dispatch *d, struct d_message *m);
/* for a message without deliveries */
void d_message_fail(struct dispatch *d, struct d_message *m, enum sim_reason reason);
void d_message_outcome(struct dispatch *d, struct d_message *m, enum sim_reason reason); /* of one delivery */
/* outcome of a delivery whose bridge refuses the channel */
void d_message_not_carried(struct dispatch *d, struct d_message *m);
void d_message_unheld(struct dispatch *d, struct d_message *m); /* one bridge has stopped reading its slot */
void d_message_answered(struct dispatch *d, struct d_message *m);
void d_message_unreported(struct dispatch *d, struct d_message *m); /* as answered: there is no client to get it */
void d_message_release(struct dispatch *d);                         /* releases the slots of this turn, newest first */
void d_message_hold(struct dispatch *d, struct d_message *m);
/*
 * Sets hold from the clock page, which is always current, while commands may arrive late: SIM_CLOCK_LOCKSTEP is set
 * before any participant runs, and cleared before the command to release is sent. To be called after a slot was taken,
 * so that a message of a round is never treated as one of the time before.
 */
void d_message_hold_look(struct dispatch *d);
/* Runs the command; all that was published before it must have been taken. */
void d_message_hold_told(struct dispatch *d, enum dispatch_hold hold);
/* queues held messages in order, and counts them for dispatch_step() */
void d_message_step(struct dispatch *d);
void d_message_drop_held(struct dispatch *d, enum sim_reason reason); /* also drops the backlogs */

/* ---- d_lossless.c ---- */
/* Recomputes whether producers wait for the bridge; to be called after any change of its conditions. */
void d_lossless_update(struct d_bridge *b);
void d_lossless_update_all(struct dispatch *d);
void d_lossless_full(struct d_client *c, bool full); /* c's completion socket is full, or no longer */
void d_lossless_accept(struct dispatch *d, struct d_message *m);
void d_lossless_decided(struct dispatch *d, struct d_message *m);
void d_lossless_count(struct dispatch *d, struct d_channel *ch); /* the channel's routes have changed */
void d_lossless_answered(struct d_bridge *b);
void d_lossless_away(struct d_bridge *b); /* its connection or process is lost; it may come back */
void d_lossless_back(struct d_bridge *b); /* it is connected */
void d_lossless_check_away(struct d_bridge *b);
/*
 * For lossless bridges, in place of expiry by age: decides the deliveries that are due. Returns when to check again;
 * INT64_MAX: nothing is undecided.
 */
int64_t d_lossless_expire(struct d_bridge *b);
/* True: the message waits in a backlog. */
bool d_backlog_take(struct dispatch *d, struct d_message *m);
void d_backlog_flow(struct dispatch *d);
void d_backlog_sorted(struct dispatch *d, struct list *messages); /* of a step: strictly in this order */
void d_backlog_drop(struct dispatch *d, enum sim_reason reason);

/* ---- d_route.c ---- */
struct d_route *d_route_find(const struct d_channel *ch, const struct d_bridge *b);
/* -EEXIST, -ENOSPC: the caller keeps rt */
int d_route_add(struct d_channel *ch, struct d_bridge *b, struct d_route *rt);
void d_route_drop(struct dispatch *d, struct d_route *rt); /* removes and frees it */
/* Stores the bridge's report. text: name and type, borrowed; characters that are not printable are replaced. */
void d_route_reported(struct d_route *rt, int32_t result, const char *text, size_t name_len, size_t len);
void d_route_forget(struct d_bridge *b);   /* a new process of the bridge: it has reported nothing yet */
void d_route_announce(struct d_bridge *b); /* sends it the channels that it does not know yet */
void d_route_report(struct d_bridge *b);   /* notifies main of what was postponed */

/* ---- d_bridge.c ---- */
int d_bridge_add(struct dispatch *d, struct d_bridge *b);
void d_bridge_free(struct d_bridge *b);
void d_bridge_attach(struct d_bridge *b, int lane0_fd);
void d_bridge_gone(struct d_bridge *b);
/* it has disconnected or is disconnecting: its lanes may close at any time */
bool d_bridge_leaves(const struct d_bridge *b);
void d_bridge_broken(struct d_bridge *b, const char *why);
/* It has disconnected and then closed its lanes; its process exits by itself. */
void d_bridge_left(struct d_bridge *b);
void d_bridge_set_status(struct d_bridge *b, enum sim_bridge_status status, const char *detail);
/* Whether the bridge is behind others on a channel whose window is nearly used up. */
bool d_route_lags(const struct d_route *rt);
/* NONE: a delivery was queued; otherwise the reason why not. */
enum sim_reason d_bridge_offer(struct d_bridge *b, struct d_route *rt, struct d_message *m, bool lags);
void d_bridge_arm(struct d_bridge *b, int64_t due_mono_ns); /* arms its deadline timer, no later than that */
void d_bridge_pump_due(struct d_bridge *b);                 /* it is to be pumped in this turn */
void d_bridge_off_lane(struct d_delivery *dl);              /* the delivery is answered, or its lane closes */
void d_bridge_decide_out(struct d_bridge *b, struct d_delivery *dl, enum sim_reason reason);
void d_bridge_pump(struct d_bridge *b);
void d_bridge_flush(struct d_bridge *b, enum d_flush flush); /* sent after all deliveries so far */
bool d_bridge_busy(const struct d_bridge *b);                /* it answers soon, and its lanes have work until then */
void d_bridge_fail_queued(struct d_bridge *b, enum sim_reason reason);
void d_bridge_fail_out(struct d_bridge *b, enum sim_reason reason); /* decides the deliveries; their slots stay held */
void d_bridge_done(struct d_bridge *b, const struct lane_done *r);
void d_bridge_house(struct d_bridge *b);
void d_bridge_violation(struct d_bridge *b, const char *what);

/* ---- d_lane.c ---- */
int d_lane_open(struct d_bridge *b, int fd, struct d_lane **ret); /* owns fd, also on failure */
int d_lane_open_further(struct d_bridge *b);
void d_lane_drain(struct d_lane *l);  /* reads what the bridge has sent, before the lane or its process ends */
void d_lane_close(struct d_lane *l);  /* deliveries out on it become orphans */
void d_lane_retire(struct d_lane *l); /* for a lane with nothing out: notifies the bridge and closes it */
unsigned d_lane_room(const struct d_lane *l);
/*
 * Sends these deliveries in one packet, after announcing their channels. 0; -EAGAIN: lane blocked; others: lane broken.
 */
int d_lane_deliver(struct d_lane *l, struct d_delivery *const *v, unsigned n);
/* does nothing if it is announced already; errors as d_lane_deliver() */
int d_lane_announce(struct d_lane *l, const struct d_route *rt);
/* The ticket of the n-th delivery to be sent next. */
struct lane_ticket d_lane_ticket(const struct d_bridge *b, unsigned n);
int d_lane_control(struct d_lane *l, uint16_t op, uint16_t count, const void *body, uint32_t len);

/* ---- dispatch_api.c: from the owner ---- */
void d_commands_run(struct dispatch *d, bool drop); /* inside a turn; drop: only free them */

/* ---- d_events.c: to the owner ---- */
void d_event_bridge_status(struct d_bridge *b);
void d_event_bridge_broken(struct d_bridge *b, const char *why);
void d_event_bridge_stuck(struct d_bridge *b, int64_t late_dur_ns);
void d_event_bridge_idle(struct d_bridge *b);
void d_event_bridge_forgot(struct d_bridge *b);
void d_event_bridge_carries(struct d_route *rt);
void d_event_channel_free(struct dispatch *d, uint32_t channel_id);
void d_event_publisher_reaped(struct dispatch *d, const struct d_publisher *p);
void d_event_sub_free(struct dispatch *d, struct ipc_sub *sub, uint32_t generation);
void d_event_call(struct dispatch *d, dispatch_fn fn, void *arg);
/* The answer is allocated with the request, so that it can always be sent. NULL: no memory. */
struct event *d_event_stats_new(dispatch_stats_fn fn, void *arg);
void d_event_stats(struct dispatch *d, struct event *e, struct dispatch_stats *s); /* owns both; s NULL: no memory */
struct event *d_event_stages_new(dispatch_stages_fn fn, void *arg);
void d_event_stages(struct dispatch *d, struct event *e, struct dispatch_stages *s); /* as d_event_stats() */
void d_events_read(void *arg);
void d_events_drop(struct dispatch *d);

/* ---- d_stats.c ---- */
struct dispatch_stats *d_stats_take(const struct dispatch *d);

/* ---- d_stages.c: only if the channel's or the route's are counted ---- */
void d_stages_taken(struct dispatch *d, struct d_message *m, int64_t publish_mono_ns);
void d_stages_handed(const struct d_route *rt, const struct d_message *m);
void d_stages_answered(const struct d_route *rt, const struct d_message *m);
/* Starts counting if it was not on. NULL: no memory. mem_free() */
struct dispatch_stages *d_stages_take(struct d_channel *ch);

#endif
