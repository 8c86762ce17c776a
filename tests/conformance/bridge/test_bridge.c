/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The contract of every bridge plug-in, for any protocol. One source, compiled once for each plug-in: PLUGIN is its path,
 * CONNECTION a string that connects at once (%s: a scratch folder), REQUIRED what an option without a default is set
 * to. With PEER there is another side (peer.h) instead of CONNECTION.
 */
#include "support/test.h"
#include "support/message.h"
#include "support/wait.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include <sim/bridge.h>
#include <sim/msg/Clock.h>
#include <sim/msg/Imu.h>
#include <sim/srv/SetBool.h>
#include <sim/srv/Trigger.h>

#ifdef PEER
#include "peer.h"
#endif
#ifndef REQUIRED
#define REQUIRED NULL
#endif

#define THREADS 4
#define EACH    200

struct peer { /* the host's side */
	struct sim_bridge_host host;
	const struct sim_bridge_ops *ops;
	struct sim_bridge *b;
	_Atomic int status, reports;
	unsigned registered, services;
	bool all;
	void *handle;
	char connection[256];
	uint32_t bell; /* rung when its status changes */
};

static void host_log(void *ctx, int level, const char *fmt, ...)
{
	(void)ctx;
	(void)level;
	(void)fmt;
}

static const char *host_option(void *ctx, const char *name)
{
	struct peer *p = ctx;

	for (const struct sim_bridge_option *o = p->ops->options; o && o->name; o++)
		if (!strcmp(o->name, name))
			return o->deflt ? o->deflt : REQUIRED;
	return NULL;
}

static void host_status(void *ctx, enum sim_bridge_status status, const char *detail)
{
	struct peer *p = ctx;

	(void)detail;
	p->status = (int)status;
	p->reports++;
	bell_ring(&p->bell);
}

static void host_complete(void *ctx, struct sim_task *task, int result)
{
	(void)ctx;
	(void)task;
	(void)result;
}

static int64_t host_now(void *ctx)
{
	(void)ctx;
	return 1;
}

static int host_publish(void *ctx, const char *channel, const struct sim_type *type, const void *body, size_t size)
{
	(void)ctx;
	(void)channel;
	(void)type;
	(void)body;
	(void)size;
	return -EACCES;
}

static int host_offer(void *ctx, const char *channel, const struct sim_type *type)
{
	(void)ctx;
	(void)channel;
	(void)type;
	return -EACCES;
}

/* No service is available here. */
static int host_call(void *ctx, const char *service, const struct sim_service_type *type, const void *request,
		     size_t size, int64_t timeout_dur_ns, sim_answer_fn fn, void *user)
{
	(void)ctx;
	assert_true(service && type && fn && timeout_dur_ns >= 0);
	assert_true(request && size >= type->request->fixed_size);
	fn(user, -ETIMEDOUT, "not in time", NULL, 0);
	return 0;
}

static int reg_service(void *ctx, const char *type_name, const char *foreign)
{
	struct peer *p = ctx;

	assert_true(type_name && *type_name && foreign && *foreign);
	p->services++;
	return 0;
}

static int reg_publisher(void *ctx, const char *type_name, const char *foreign)
{
	struct peer *p = ctx;

	assert_true(type_name && *type_name && foreign && *foreign);
	p->registered++;
	p->all |= !strcmp(type_name, "*");
	return 0;
}

static void connection_of(struct peer *p)
{
#ifdef PEER
	peer_start(p->connection, sizeof(p->connection));
#else
	char path[TEST_PATH_MAX];

	snprintf(p->connection, sizeof(p->connection), CONNECTION, test_path(path, "bridge"));
#endif
}

static int load(void **state)
{
	struct peer *p = calloc(1, sizeof(*p));
	struct sim_bridge_registry r = { .abi = SIM_BRIDGE_ABI,
					 .size = sizeof(r),
					 .ctx = p,
					 .add_publisher = reg_publisher,
					 .add_subscriber = reg_publisher,
					 .add_service = reg_service };
	sim_bridge_plugin_fn entry;
	void *sym;

	assert_non_null(p);
	p->handle = dlopen(PLUGIN, RTLD_NOW | RTLD_LOCAL);
	if (!p->handle)
		fail_msg("%s", dlerror());
	sym = dlsym(p->handle, SIM_BRIDGE_SYMBOL);
	assert_non_null(sym);
	memcpy(&entry, &sym, sizeof(entry));
	p->ops = entry();
	p->host = (struct sim_bridge_host){ .abi = SIM_BRIDGE_ABI,
					    .size = sizeof(p->host),
					    .ctx = p,
					    .log = host_log,
					    .option = host_option,
					    .status = host_status,
					    .complete = host_complete,
					    .now = host_now,
					    .publish = host_publish,
					    .offer = host_offer,
					    .call = host_call };
	connection_of(p);
	assert_int_equal(p->ops->reg(&r), 0);
	assert_int_equal(p->ops->create(&p->host, &p->b), 0);
	*state = p;
	return 0;
}

static int unload(void **state)
{
	struct peer *p = *state;

	p->ops->destroy(p->b);
	dlclose(p->handle);
	free(p);
#ifdef PEER
	peer_stop();
#endif
	return 0;
}

static void connect_it(struct peer *p)
{
	assert_int_equal(p->ops->connect(p->b, p->connection), 0);
#ifdef PEER
	AWAIT_BELL(&p->bell, atomic_load(&p->status) == SIM_BRIDGE_CONNECTED);
#endif
	assert_int_equal(p->ops->status(p->b), SIM_BRIDGE_CONNECTED);
	assert_int_equal(p->status, SIM_BRIDGE_CONNECTED);
}

static struct sim_bridge_topic *open_topic(struct peer *p)
{
	static const struct sim_bridge_channel ch = { .id = 1, .name = "/imu", .type = &sim_Imu_type, .options = "{}" };
	struct sim_bridge_topic *t = NULL;

	assert_int_equal(p->ops->open(p->b, &ch, &t), 0);
	return t;
}

static struct sim_slot *new_slot(size_t *ret_size)
{
	struct sim_slot *s = aligned_alloc(64, 4096);
	struct sim_builder b;

	assert_non_null(s);
	memset(s, 0, 4096);
	s->magic = SIM_SLOT_MAGIC;
	s->version = SIM_SLOT_VERSION;
	s->type_hash = sim_Imu_type.hash;
	s->sequence = 1;
	assert_non_null(sim_Imu_init(sim_slot_body_mut(s), 4096 - sizeof(*s), &b));
	s->body_size = sim_builder_size(&b);
	*ret_size = s->body_size;
	return s;
}

TEST_WITH(the_table_of_functions_is_valid, load, unload)
{
	struct peer *p = *state;

	assert_int_equal(p->ops->abi, SIM_BRIDGE_ABI);
	assert_true(p->ops->size >= offsetof(struct sim_bridge_ops, flush));
	assert_true(strlen(p->ops->name) > 0 && strlen(p->ops->type) > 0);
	assert_true(p->registered > 0);
}

TEST_WITH(a_bridge_connects_and_disconnects_repeatedly, load, unload)
{
	struct peer *p = *state;

	assert_int_equal(p->ops->status(p->b), SIM_BRIDGE_DISCONNECTED);
	connect_it(p);
	p->ops->disconnect(p->b);
	assert_int_equal(p->ops->status(p->b), SIM_BRIDGE_DISCONNECTED);
	assert_int_equal(p->status, SIM_BRIDGE_DISCONNECTED);
	connect_it(p);
	p->ops->disconnect(p->b);
}

TEST_WITH(a_message_is_published, load, unload)
{
	struct peer *p = *state;
	size_t size;
	struct sim_slot *s = new_slot(&size);
	struct sim_bridge_topic *t;

	connect_it(p);
	t = open_topic(p);
	assert_int_equal(p->ops->publish(p->b, t, MESSAGE_OF(s), NULL), 0);
	if (SIM_BRIDGE_HAS(p->ops, flush))
		assert_int_equal(p->ops->flush(p->b), 0);
	p->ops->close(p->b, t);
	p->ops->disconnect(p->b);
	free(s);
}

TEST_WITH(a_body_that_is_too_short_is_survived, load, unload)
{
	struct peer *p = *state;
	struct sim_bridge_topic *t;
	struct sim_slot *s;
	size_t size;

	connect_it(p);
	t = open_topic(p);
	s = new_slot(&size);
	s->body_size = 3; /* shorter than the fixed struct: an error or nothing, never a crash */
	p->ops->publish(p->b, t, MESSAGE_OF(s), NULL);
	p->ops->close(p->b, t);
	p->ops->disconnect(p->b);
	free(s);
}

struct worker {
	struct peer *p;
	struct sim_bridge_topic *t;
	struct sim_slot *s;
	pthread_t thread;
	int bad;
};

static void *work(void *arg)
{
	struct worker *w = arg;

	for (int i = 0; i < EACH; i++)
		w->bad += w->p->ops->publish(w->p->b, w->t, MESSAGE_OF(w->s), NULL) != 0;
	return NULL;
}

TEST_WITH(several_threads_may_publish, load, unload)
{
	struct peer *p = *state;
	struct worker w[THREADS];
	struct sim_bridge_topic *t;
	size_t size;

	connect_it(p);
	t = open_topic(p);
	for (int i = 0; i < THREADS; i++) {
		w[i] = (struct worker){ .p = p, .t = t, .s = new_slot(&size) };
		assert_int_equal(pthread_create(&w[i].thread, NULL, work, &w[i]), 0);
	}
	for (int i = 0; i < THREADS; i++) {
		pthread_join(w[i].thread, NULL);
		assert_int_equal(w[i].bad, 0);
		free(w[i].s);
	}
	p->ops->close(p->b, t);
	p->ops->disconnect(p->b);
}

/* /clock has no task: publish() returns done or failed, but never defers it. */
TEST_WITH(publishing_the_clock_is_never_deferred, load, unload)
{
	struct peer *p = *state;
	struct sim_bridge_channel ch = { .id = UINT32_MAX, .name = "/clock", .type = &sim_Clock_type, .options = "{}" };
	_Alignas(64) uint8_t memory[256] = { 0 };
	struct sim_slot *s = (struct sim_slot *)(void *)memory;
	struct sim_bridge_topic *t = NULL;

	s->magic = SIM_SLOT_MAGIC;
	s->version = SIM_SLOT_VERSION;
	s->type_hash = SIM_CLOCK_HASH;
	s->body_size = sizeof(struct sim_Clock);
	((struct sim_Clock *)sim_slot_body_mut(s))->clock = 1;
	connect_it(p);
	assert_int_equal(p->ops->open(p->b, &ch, &t), 0);
	for (int i = 0; i < 100; i++)
		assert_int_equal(p->ops->publish(p->b, t, MESSAGE_OF(s), NULL), 0);
	p->ops->close(p->b, t);
	p->ops->disconnect(p->b);
}

/*
 * Services appear and disappear while the bridge is connected, and again after the next connect; a bridge that
 * registered no service is notified of none.
 */
TEST_WITH(services_are_optional, load, unload)
{
	struct peer *p = *state;

	assert_true(!p->services || SIM_BRIDGE_HAS(p->ops, service));
	for (int i = 0; i < 2; i++) {
		connect_it(p);
		if (p->services) {
			p->ops->service(p->b, "/lamp", &sim_SetBool_service);
			p->ops->service(p->b, "/horn/once", &sim_Trigger_service);
			p->ops->service(p->b, "/lamp", NULL);
			p->ops->service(p->b, "/lamp", &sim_SetBool_service);
			p->ops->service(p->b, "/nothing", NULL);
			p->ops->service(p->b, "/horn/once", NULL);
			p->ops->service(p->b, "/lamp", NULL);
		}
		p->ops->disconnect(p->b);
	}
}

/* A host built before members were added at the ends: members beyond its struct sizes are absent. */
TEST_WITH(a_plug_in_works_with_an_older_host, load, unload)
{
	struct sim_bridge_registry r = { .abi = SIM_BRIDGE_ABI,
					 .size = offsetof(struct sim_bridge_registry, add_service),
					 .add_publisher = reg_publisher,
					 .add_subscriber = reg_publisher };
	struct sim_bridge_host old;
	struct peer *p = *state;

	r.ctx = p;
	p->services = 0;
	assert_int_equal(p->ops->reg(&r), 0);
	assert_int_equal(p->services, 0);

	p->ops->destroy(p->b);
	old = p->host;
	old.size = offsetof(struct sim_bridge_host, offer);
	memset((char *)&old + old.size, 0xee, sizeof(old) - old.size);
	assert_int_equal(p->ops->create(&old, &p->b), 0);
	connect_it(p);
	p->ops->disconnect(p->b);
	p->ops->destroy(p->b);
	assert_int_equal(p->ops->create(&p->host, &p->b), 0);
}
