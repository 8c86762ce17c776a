/* SPDX-License-Identifier: Apache-2.0 */
/* See world.h. */
#include "scenario/client/world.h"

#include <errno.h>
#include <poll.h>
#include <unistd.h>

#include "conf.h"
#include "control/control.h"
#include "config/config.h"
#include "registry/admission.h"
#include "registry/dataplane.h"
#include "dispatch/pool.h"
#include "registry/registry.h"
#include "registry/shards.h"
#include "registry/simd.h"
#include "err.h"
#include "ipc.h"
#include "log.h"

static const struct ipc_mem_pool mem_pools[] = { { 512, 4000 }, { 65536, 200 }, { 1 << 20, 60 } };

static const char *const base_conf =
	"{\"backend\": \"mem\", \"TimeSource\": \"unity\", "
	"\"pools\": [{\"size\": 512, \"count\": 4000}, {\"size\": 65536, \"count\": 200}, "
	"{\"size\": 1048576, \"count\": 60}], "
	"\"rigs\": [{\"name\": \"car\", \"prefix\": \"/car\", "
	"\"channels\": [{\"name\": \"two\", \"window\": 2}, {\"name\": \"/clock\", \"options\": {\"depth\": 1}}], "
	"\"bridges\": [{\"name\": \"log\", \"plugin\": \"null\", \"start\": \"external\", \"channels\": [\"*\", \"!/car/alone\"]}, "
	"{\"name\": \"time\", \"plugin\": \"null\", \"start\": \"external\", \"channels\": [\"/clo?k\"]}, "
	"{\"name\": \"rest\", \"plugin\": \"null\", \"start\": \"external\", \"channels\": [\"/clock\", \"!/clock\"]}]}]"
	"%s}";

/* ---- the environment of clients in virtual time ---- */

static int64_t env_now(void *arg)
{
	return exec_now(((struct world *)arg)->x);
}

/* simd-main does all that it can; dispatch, where it is late, only every so many looks. */
static void settle(struct world *w)
{
	exec_sim_settle(w->x);
	if (w->dx == w->x || w->looks++ < w->late)
		return;
	w->looks = 0;
	exec_sim_run(w->dx, exec_now(w->x));
	exec_sim_settle(w->x);
}

static int env_wait(void *arg, int fd, short events, int64_t timeout_dur_ns)
{
	struct world *w = arg;
	int64_t end = exec_now(w->x) + timeout_dur_ns;

	for (;;) {
		struct pollfd p = { .fd = fd, .events = events };
		int64_t next = exec_now(w->x) + MS;

		settle(w);
		if (fd >= 0 && poll(&p, 1, 0) > 0)
			return 1;
		if (exec_now(w->x) >= end)
			return 0;
		exec_sim_run(w->x, next < end ? next : end);
	}
}

/* ---- simd ---- */

static void simd_app(uint64_t id, char ret[32])
{
	snprintf(ret, 32, "simd-%llu", (unsigned long long)id);
}

static int dataplane_try(struct world *w, int64_t fail_after)
{
	char app[32];
	struct ipc_options o = { .backend = "mem", .app = app, .bus = w->bus, .prompt = true };
	struct ipc *ipc;
	int r;

	simd_app(w->id, app);
	assert_ok(ipc_attach(&o, &ipc));
	mem_fail_after(fail_after);
	r = dataplane_up(w->simd, ipc, w->life);
	mem_fail_after(0);
	return r;
}

static void dataplane_begin(struct world *w)
{
	assert_ok(dataplane_try(w, 0));
}

static void simd_begin(struct world *w)
{
	struct registry_options o = {
		.x = w->x, .dx = w->dx, .conf = w->conf, .runtime_dir = "/test", .id = ++w->id << 33
	};
	struct pools pools;

	assert_ok(pools_compute(w->conf, -1, &pools));
	o.pools = &pools;
	assert_ok(registry_create(&o, &w->simd));
	assert_ok(control_create(w->simd, &w->control));
	dataplane_begin(w);
	assert_ok(control_listen(w->control, w->path));
}

static void simd_end(struct world *w)
{
	control_destroy(w->control);
	registry_destroy(w->simd);
	w->control = NULL;
	w->simd = NULL;
}

static void *simd_thread(void *arg)
{
	exec_run(((struct world *)arg)->x);
	return NULL;
}

/* As simd does it, but with more threads than would be needed. */
static void pool_begin(struct world *w)
{
	struct exec *execs[WIRE_SHARDS_MAX];
	struct pool_options o = { .execs = execs,
				  .n = w->simd->n_shards,
				  .threads = 4,
				  .backlog_dur_ns = MS / 20,
				  .idle_dur_ns = 5 * MS,
				  .owner = w->x };

	for (unsigned i = 0; i < o.n; i++)
		execs[i] = shard_exec(w->simd, i);
	assert_ok(pool_create(&o, &w->pool));
	w->simd->pool = w->pool;
}

static void thread_begin(struct world *w)
{
	if (!w->threads)
		return;
	pool_begin(w);
	assert_int_equal(pthread_create(&w->thread, NULL, simd_thread, w), 0);
}

static void thread_end(struct world *w)
{
	if (!w->threads)
		return;
	exec_quit(w->x);
	pthread_join(w->thread, NULL);
	w->simd->pool = NULL;
	pool_destroy(w->pool);
}

void world_kill_simd(struct world *w)
{
	thread_end(w);
	if (w->simd->dataplane.ipc) /* as kill -9: its slots stay held */
		ipc_mem_kill(w->simd->dataplane.ipc);
	simd_end(w);
	if (w->threads) {
		exec_destroy(w->dx);
		exec_destroy(w->x);
		assert_ok(exec_threads_create(&w->x));
		assert_ok(exec_threads_create(&w->dx));
	}
}

void world_bury(struct world *w)
{
	for (; w->buried + 1 < w->id; w->buried++) {
		char app[32];

		simd_app(w->buried + 1, app);
		if (w->simd && w->simd->dataplane.ipc)
			(void)!ipc_free_peer(w->simd->dataplane.ipc, app);
	}
}

void world_start_simd(struct world *w)
{
	simd_begin(w);
	thread_begin(w);
}

void world_kill_roudi(struct world *w)
{
	thread_end(w);
	ipc_mem_roudi_kill(w->bus);
	dataplane_lost(w->simd, "the test killed it");
	thread_begin(w);
}

void world_leave_roudi(struct world *w)
{
	dataplane_lost(w->simd, "the test says so");
	exec_sim_settle(w->x);
	w->left = true;
}

void world_start_roudi(struct world *w)
{
	thread_end(w);
	if (!w->left)
		assert_ok(ipc_mem_roudi_start(w->bus));
	w->left = false;
	w->life++;
	dataplane_begin(w);
	thread_begin(w);
}

int world_try_roudi(struct world *w, int64_t fail_after)
{
	assert_ok(ipc_mem_roudi_start(w->bus));
	w->life++;
	return dataplane_try(w, fail_after);
}

static void world_init(struct world *w, const char *extra, bool virtual_time)
{
	struct config_sources src = { .text = w->text };
	struct ipc_mem_options bus = { .pools = mem_pools, .n_pools = 3, .virtual_time = virtual_time };
	char name[32];

	memset(w, 0, sizeof(*w));
	log_set_spec("error");
	mem_stats(&w->before);
	if (extra[0] == '{')
		snprintf(w->text, sizeof(w->text), "%s", extra);
	else
		snprintf(w->text, sizeof(w->text), base_conf, extra);
	snprintf(name, sizeof(name), "control.%d", (int)getpid());
	test_path(w->path, name);
	unlink(w->path);
	w->life = 1;
	w->threads = !virtual_time;
	assert_ok(ipc_mem_bus_create(&bus, &w->bus));
	assert_ok(config_load(&src, &w->conf));
	w->env = (struct client_env){ .now = env_now, .wait = virtual_time ? env_wait : NULL, .arg = w, .bus = w->bus };
}

void world_create(struct world *w, uint64_t seed, const char *extra)
{
	world_init(w, extra, true);
	assert_ok(exec_sim_create(seed, 10 * S, &w->x));
	w->dx = w->x;
	simd_begin(w);
}

void world_create_late(struct world *w, uint64_t seed, const char *extra)
{
	world_init(w, extra, true);
	assert_ok(exec_sim_create(seed, 10 * S, &w->x));
	assert_ok(exec_sim_create(seed, 10 * S, &w->dx));
	simd_begin(w);
}

void world_create_threads(struct world *w, const char *extra)
{
	world_init(w, extra, false);
	assert_ok(exec_threads_create(&w->x));
	assert_ok(exec_threads_create(&w->dx));
	world_start_simd(w);
}

void world_destroy(struct world *w)
{
	struct mem_stats now;

	if (w->simd) {
		thread_end(w);
		simd_end(w);
	}
	if (w->dx != w->x)
		exec_destroy(w->dx);
	exec_destroy(w->x);
	conf_destroy(w->conf);
	assert_int_equal(ipc_mem_wrongly_freed(w->bus), 0);
	ipc_mem_bus_destroy(w->bus);
	unlink(w->path);
	mem_stats(&now);
	assert_int_equal(now.blocks, w->before.blocks);
}

void world_run(struct world *w, int64_t dur_ns)
{
	env_wait(w, -1, 0, dur_ns);
}

/* ---- clients ---- */

struct sim_client *world_client(struct world *w, const char *name, unsigned flags)
{
	struct sim_client_options o = { .size = sizeof(o), .name = name, .socket = w->path, .flags = flags };
	struct sim_client *c;

	if (!w->threads)
		o.flags |= SIM_CLIENT_NO_THREAD;
	else
		o.timeout_ms = 3600000; /* of wall time: longer than the runner's limit */
	assert_ok(client_connect(&o, &w->env, &c));
	return c;
}

void world_process(struct world *w, struct sim_client *c)
{
	for (int quiet = 0; quiet < 3;) {
		world_run(w, MS);
		quiet = sim_process(c) ? 0 : quiet + 1;
	}
}

void world_until(struct world *w, struct sim_client *c, enum sim_client_state state)
{
	if (w->threads)
		AWAIT(sim_client_state(c) == state);
	for (int i = 0; !w->threads && i < 10000 && sim_client_state(c) != state; i++) {
		world_run(w, MS);
		sim_process(c);
	}
	if (sim_client_state(c) != state)
		fail_msg("the client stays in state %d: %s", sim_client_state(c), sim_client_why(c));
}

/* ---- a bridge by hand ---- */

void bridge_start(struct world *w, struct bridge_peer *b)
{
	bridge_start_as(w, b, "log");
}

void bridge_start_as(struct world *w, struct bridge_peer *b, const char *name)
{
	char *json;

	memset(b, 0, sizeof(*b));
	b->c = world_client(w, name, SIM_CLIENT_BRIDGE);
	assert_ok(sim_bridge_attach(b->c, name, &json, &b->s, &b->lane));
	assert_non_null(strstr(json, "\"plugin\""));
	free(json);
}

static bool says_connected(struct sim_client *c)
{
	char *json = NULL;
	bool yes;

	assert_ok(sim_call(c, "ListBridges", "{}", &json));
	yes = strstr(json, "by hand");
	free(json);
	return yes;
}

void bridge_connected(struct world *w, struct bridge_peer *b)
{
	assert_ok(sim_lane_status(b->lane, SIM_BRIDGE_CONNECTED, 0, 0, 0, 0, "by hand"));
	if (w->threads)
		AWAIT(says_connected(b->c));
	else
		world_run(w, MS);
}

/* In lock-step each ticket names the one before it. */
static void note_tickets(struct bridge_peer *b, unsigned n)
{
	for (unsigned i = 0; b->p.tickets && i < n; i++) {
		assert_int_equal(b->p.tickets[i].predecessor, b->ticket);
		b->ticket = b->p.tickets[i].ticket;
		b->tickets++;
		b->unreadable += b->p.event == SIM_LANE_DELIVER && !b->p.deliveries[i].message.body;
	}
}

unsigned bridge_next(struct bridge_peer *b, int timeout_ms)
{
	for (;;) {
		int r = sim_lane_recv(b->lane, timeout_ms, &b->p);

		if (r <= 0)
			return 0;
		switch (b->p.event) {
		case SIM_LANE_DELIVER:
			note_tickets(b, b->p.count);
			return b->p.count;
		case SIM_LANE_FLUSH:
			note_tickets(b, 1);
			b->flushes++;
			b->flushed = b->ticket;
			break;
		case SIM_LANE_CHANNEL:
			b->channels++;
			break;
		case SIM_LANE_CONNECT:
			b->connects++;
			break;
		case SIM_LANE_GONE:
			return 0;
		default:
			break;
		}
	}
}

void bridge_answer(struct bridge_peer *b, int result)
{
	struct sim_lane_result r[64];
	unsigned n = 0;
	int err;

	for (unsigned i = 0; i < b->p.count; i++)
		if (b->p.deliveries[i].message.body) /* else it is answered */
			r[n++] = (struct sim_lane_result){ .id = b->p.deliveries[i].id, .result = result };
	err = n ? sim_lane_done(b->lane, r, n) : 0;
	if (err < 0 && err != -EPIPE) /* EPIPE: simd was killed meanwhile, which the next receive reports */
		fail_msg("%s", sim_why());
}

void bridge_end(struct bridge_peer *b)
{
	sim_lane_destroy(b->lane);
	sim_bridge_session_destroy(b->s);
	sim_disconnect(b->c);
}

void on_done(void *user, bool ok, enum sim_reason reason)
{
	struct outcome *o = user;

	o->calls++;
	o->ok += ok;
	o->reason = reason;
}
