/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One dispatch in virtual time, with peers that the test controls: clients that claim cells and publish slots directly,
 * bridges that send and receive lane packets. Peers do nothing by themselves: the test calls each of their steps.
 *
 * Thread: one. Every helper asserts; world_destroy() asserts that nothing leaked.
 */
#ifndef TESTS_DISPATCH_WORLD_H
#define TESTS_DISPATCH_WORLD_H

#include "support/test.h"

#include <stdbool.h>
#include <string.h>

#include "dispatch/dispatch.h"
#include "ipc_mem.h"
#include "mem.h"
#include "sim/slot.h"
#include "wire/lane.h"

#define MS INT64_C(1000000)
#define S  INT64_C(1000000000)

#define WORLD_BODY     64   /* bytes of a message */
#define WORLD_PUBS     8    /* of one client */
#define WORLD_RECORDS  4096 /* completions of one client, deliveries of one bridge */
#define WORLD_LANES    8
#define WORLD_CHANNELS 8
#define WORLD_BRIDGES  4
#define WORLD_CLIENTS  4

struct world;

struct done_record {
	uint32_t publisher_id, reason;
	uint64_t sequence;
};

struct test_pub {
	uint32_t id, channel; /* id 0: not in use */
	uint64_t sequence;    /* of the last one accepted */
	struct wire_counters *row;
	struct ipc_pub *ipc;
};

struct test_client {
	struct world *w;
	uint32_t id; /* 0: not there */
	struct ipc *ipc;
	int completion, doorbell; /* the client's ends */
	struct test_pub pubs[WORLD_PUBS];
	struct wire_counters rows[WORLD_PUBS];
	struct done_record done[WORLD_RECORDS];
	unsigned n_done;
};

struct held { /* a delivery that a bridge has received and not answered */
	uint64_t delivery, sequence;
	int64_t ref;
	uint32_t channel, publisher_id;
	int lane;
	uint64_t ticket, predecessor; /* 0: not in lock-step */
};

struct test_bridge {
	struct world *w;
	uint32_t id;
	bool alive;
	int lanes[WORLD_LANES]; /* the bridge's ends; -1 */
	bool closing[WORLD_LANES];
	int n_lanes;
	struct held held[WORLD_RECORDS];
	unsigned n_held;
	unsigned received; /* deliveries received in all */
	uint64_t knows;    /* channels announced, by bit */
	char connection[64];
	unsigned connects, packets;
	struct lane_ticket flush; /* of the newest one */
	unsigned flushes, overs;  /* those with which lock-step is over count as both */
};

struct world {
	struct exec *x;
	struct ipc_mem_bus *bus;
	struct ipc *simd;
	uint32_t life;
	struct wire_layout_page *layout;
	struct wire_dispatch_page *page;
	struct sim_clock_page clock;
	struct dispatch *d;
	atomic_uint lanes; /* of all shards, this one's included */
	struct test_client clients[WORLD_CLIENTS];
	struct test_bridge bridges[WORLD_BRIDGES];
	uint32_t next_publisher, next_client;
	uint32_t base_slots; /* slots in use without a message: the beacon */
	/* notifications of dispatch */
	unsigned n_status, n_broken, n_stuck, n_idle, n_channel_free, n_sub_free, n_called, n_reaped, n_overflowed;
	enum sim_bridge_status status[WORLD_BRIDGES];
	char detail[WORLD_BRIDGES][32];
	char broken_why[128];
	unsigned n_carries, n_forgot;
	uint32_t carries_channel, carries_bridge; /* the last one */
	int carries_result;
	char carries_name[700], carries_type[700];
	uint32_t last_channel_free;
	struct dispatch_stats stats; /* last snapshot */
	struct dispatch_channel_stats channel_stats[WORLD_CHANNELS];
	struct dispatch_bridge_stats bridge_stats[WORLD_BRIDGES];
	struct dispatch_slow_stats slow_stats[WORLD_CHANNELS * WORLD_BRIDGES];
	bool forged; /* slots may have false contents: they are not compared */
	struct mem_stats before;
};

/* lanes_max 0: no scaling. */
void world_create(struct world *w, uint64_t seed, uint32_t lanes_max);
/* Ends all peers and the dispatch; asserts that no slot, cell, message or byte is left. */
void world_destroy(struct world *w);
/* Destroys the dispatch as it is, then the peers; asserts that no slot of simd's and no byte is left. */
void world_abort(struct world *w);
void world_settle(struct world *w);              /* run what is ready */
void world_run(struct world *w, int64_t dur_ns); /* let time pass */
void world_pause(struct world *w, bool paused);
void world_stats(struct world *w);
void world_roudi_dies(struct world *w);                      /* and dispatch is notified */
void world_roudi_back(struct world *w, unsigned n_channels); /* a new generation; clients and bridges follow */

void world_channel(struct world *w, uint32_t id, uint32_t window, bool ordered);
/* 1 s and a small amount that differs between bridges, so that deadlines have one order. */
#define WORLD_DEADLINE(id) (1 * S + (int64_t)(id) * (id)*1009)
void world_bridge(struct world *w, uint32_t id, uint32_t queue); /* configured, not attached; kill after 5 s */
void world_bridge_lossless(struct world *w, uint32_t id, uint32_t queue, enum dispatch_lossless lossless,
			   bool comes_back);
/* A publisher of it has died: its feed is replaced. */
void world_renew(struct world *w, uint32_t channel);
void world_renew_deep(struct world *w, uint32_t channel, uint32_t depth);
void world_route(struct world *w, uint32_t channel, uint32_t bridge);
unsigned world_credits_claimed(const struct world *w, uint32_t channel);
bool world_token_claimed(const struct world *w, uint32_t token);

struct test_client *client_new(struct world *w);
struct test_pub *client_advertise_only(struct test_client *c,
				       uint32_t channel); /* dispatch has been notified, nothing more */
struct test_pub *client_advertise(struct test_client *c, uint32_t channel);
void client_unadvertise(struct test_client *c, struct test_pub *p);
/* As kill -9, with the main thread notifying dispatch. Its published messages stay. */
void client_dies(struct test_client *c);
#define NO_TOKEN UINT32_MAX
/* sim_try_queue by hand: 0 or -ECANCELED, -EBUSY, -EAGAIN. Rings the doorbell as the protocol says. */
int client_try(struct test_client *c, struct test_pub *p, uint32_t token);
/* The same, but the slot is lost on its way. */
int client_try_lost(struct test_client *c, struct test_pub *p, uint32_t token);
/* The publisher proves its connection, as after a restart of the data plane. */
void client_prove(struct test_client *c, struct test_pub *p);
/* An application outside simd publishes on the channel, without credits: what lies in the feed is pushed out by it. */
void world_flood(struct world *w, uint32_t channel);
/* The same in single steps, for false data and for crashes in between. */
int client_claim_credit(struct test_client *c, struct test_pub *p); /* cell + 1 or -EAGAIN */
int client_claim_token(struct test_client *c, struct test_pub *p, uint32_t token);
struct sim_slot *client_loan(struct test_client *c, struct test_pub *p);
void client_publish(struct test_client *c, struct test_pub *p, struct sim_slot *s);
void client_mark(struct test_client *c, uint32_t channel); /* the channel's bit, set before ringing */
void client_ring(struct test_client *c);
/* Read completions; returns how many came. */
unsigned client_read(struct test_client *c);
/* Exactly one completion of it, with this reason. */
void client_expect(struct test_client *c, const struct test_pub *p, uint64_t sequence, enum sim_reason reason);
unsigned client_count(const struct test_client *c, const struct test_pub *p, uint64_t sequence);

struct test_bridge *bridge_attach(struct world *w, uint32_t id); /* attaches and reports CONNECTED */
struct test_bridge *bridge_attach_quiet(struct world *w, uint32_t id);
void bridge_status(struct test_bridge *b, enum sim_bridge_status status);
void bridge_status_flags(struct test_bridge *b, enum sim_bridge_status status, uint32_t flags);
void bridge_dies(struct test_bridge *b);   /* sockets close, main tells dispatch */
void bridge_closes(struct test_bridge *b); /* sockets close, the process lives */
/* Take what lanes hold; returns how many deliveries came. Checks each slot in place. */
unsigned bridge_read(struct test_bridge *b);
/* Answer held delivery i (of the order of receipt) and forget it. */
void bridge_answer(struct test_bridge *b, unsigned i, int result);
void bridge_answer_in(struct test_bridge *b, unsigned i, int result, uint32_t service_us);
void bridge_answer_all(struct test_bridge *b, int result, uint32_t service_us);
void bridge_send_done(struct test_bridge *b, int lane, uint64_t delivery, int result);
/* The state of the channel, in simbridge's form. */
void bridge_says(struct test_bridge *b, int lane, uint32_t channel, int result, const char *name, const char *type);
void bridge_send_raw(struct test_bridge *b, int lane, const void *data, size_t len);

#endif
