/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A whole simd in one process over the in-memory data plane, for tests of libsimclient. In virtual time
 * (world_create) everything runs in the test's thread: whenever a client waits, the daemon runs. With real
 * threads (world_create_threads) the daemon has a thread of its own.
 */
#ifndef SCENARIO_CLIENT_WORLD_H
#define SCENARIO_CLIENT_WORLD_H

#include "tests/support/test.h"

#include <pthread.h>
#include <string.h>

#include <sim/lane.h>
#include <sim/sim.h>

#include "exec.h"
#include "ipc_mem.h"
#include "libclient/src/client.h"
#include "mem.h"

#define MS INT64_C(1000000)
#define S  INT64_C(1000000000)

struct world {
	struct exec *x, *dx; /* dx: executor of dispatch if it has a thread of its own; otherwise the same as x */
	struct pool *pool;   /* with threads */
	struct ipc_mem_bus *bus;
	struct conf *conf;
	struct simd *simd;
	struct control *control;
	struct client_env env;
	uint64_t id, buried;
	uint32_t life;
	unsigned late, looks; /* dispatch apart: it runs only every late + 1 looks */
	bool threads, left;
	pthread_t thread;
	char path[TEST_PATH_MAX];
	char text[4096];
	struct mem_stats before;
};

/* For tests that need nothing beside a world: it, `w`, with their setup and teardown. */
#define WORLD_FIXTURE(seed, extra) \
	static struct world w; \
	static int setup(void **state) \
	{ \
		(void)state; \
		world_create(&w, (seed), (extra)); \
		return 0; \
	} \
	static int teardown(void **state) \
	{ \
		(void)state; \
		world_destroy(&w); \
		return 0; \
	} \
	struct world /* a semicolon follows */

struct bridge_peer {
	struct sim_client *c;
	struct sim_bridge_session *s;
	struct sim_lane *lane;
	struct sim_lane_packet p;
	uint64_t ticket;  /* the newest */
	uint64_t flushed; /* the newest flush */
	unsigned tickets, flushes, unreadable;
	unsigned channels, connects;
};

/* extra: more members of the configuration, "" or ", \"dispatch\": {...}"; or, with a brace, all of it. */
void world_create(struct world *w, uint64_t seed, const char *extra);
/* Dispatch is a thread of its own, still in virtual time: as late as w->late says, which may change at any time. */
void world_create_late(struct world *w, uint64_t seed, const char *extra);
void world_create_threads(struct world *w, const char *extra);
void world_destroy(struct world *w); /* checks that nothing was leaked */

void world_run(struct world *w, int64_t dur_ns); /* virtual time */
void world_kill_simd(struct world *w);
void world_start_simd(struct world *w);
/* Frees what dead simds held, as a new simd does once their bridges have released it. */
void world_bury(struct world *w);
void world_kill_roudi(struct world *w);
void world_leave_roudi(struct world *w); /* simd takes it for dead, though it lives */
void world_start_roudi(struct world *w);
/*
 * The same in virtual time, while simd's allocation of that number and all after it fail. Negative: the generation is
 * not usable.
 */
int world_try_roudi(struct world *w, int64_t fail_after);

struct sim_client *world_client(struct world *w, const char *name, unsigned flags);
void world_process(struct world *w, struct sim_client *c); /* run and process until nothing happens */
void world_until(struct world *w, struct sim_client *c, enum sim_client_state state);

/* An external bridge "log" that answers by hand. */
void bridge_start(struct world *w, struct bridge_peer *b);
void bridge_start_as(struct world *w, struct bridge_peer *b, const char *name);
void bridge_connected(struct world *w, struct bridge_peer *b);
/* Receives the next deliveries within timeout_ms; returns their number. */
unsigned bridge_next(struct bridge_peer *b, int timeout_ms);
void bridge_answer(struct bridge_peer *b, int result); /* all of the last packet */
void bridge_end(struct bridge_peer *b);

/* Outcome of a callback. */
struct outcome {
	unsigned calls, ok;
	enum sim_reason reason;
};
void on_done(void *user, bool ok, enum sim_reason reason);

#endif
