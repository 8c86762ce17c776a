/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A component that misbehaves where its configuration says: {"where": "proc", "how": "segv"}. It runs by a timer,
 * writes /bad, reads it by a reader of its node, and has a timer of its node, a parameter "p" and a service NAME/poke.
 * With BAD_LOAD the library itself is bad: a constructor crashes.
 */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <sim/component.h>
#include <sim/msg/Int32.h>
#include <sim/param.h>
#include <sim/srv/Trigger.h>

#define MS INT64_C(1000000)

struct bad {
	struct sim_component *c;
	struct sim_node_writer *out;
	struct sim_node_reader *in;
	struct sim_node_timer *timer;
	struct sim_params *params;
	struct sim_service *poke;
	int32_t n;
};

#ifdef BAD_LOAD
__attribute__((constructor)) static void loaded(void)
{
	abort();
}
#endif

/* ---- its faults ---- */

static volatile int *volatile nowhere;

__attribute__((noinline)) static unsigned deeper(unsigned n)
{
	volatile char room[4096];

	room[n % sizeof(room)] = (char)n;
	return (n == UINT32_MAX ? 0 : deeper(n + 1)) + (unsigned)room[n % sizeof(room)];
}

static int put(struct bad *x)
{
	struct sim_Int32 m = { .data = ++x->n };

	return sim_node_write_copy(x->out, &m, sizeof(m), 0);
}

static void *alone(void *arg)
{
	if (strcmp(arg, "thread") == 0)
		*nowhere = 1;
	else
		exit(0);
	return NULL;
}

static void start_thread(const char *how)
{
	pthread_t t;

	if (pthread_create(&t, NULL, alone, (void *)(uintptr_t)how) == 0)
		pthread_join(t, NULL);
}

static int misbehave(struct bad *x, const char *how)
{
	if (strcmp(how, "segv") == 0)
		*nowhere = 1;
	else if (strcmp(how, "overflow") == 0)
		x->n = (int32_t)deeper(0);
	else if (strcmp(how, "abort") == 0)
		abort();
	else if (strcmp(how, "exit") == 0)
		exit(0);
	else if (strcmp(how, "thread") == 0)
		start_thread("thread");
	else if (strcmp(how, "thread_exit") == 0)
		start_thread("thread_exit");
	while (strcmp(how, "hang") == 0)
		pause();
	while (strcmp(how, "flood") == 0)
		(void)put(x);
	return strcmp(how, "fail") == 0 ? -EIO : 0;
}

static bool has(const char *conf, const char *word)
{
	char quoted[40];

	snprintf(quoted, sizeof(quoted), "\"%s\"", word);
	return strstr(conf, quoted);
}

/* "segv" of {"where": "init", "how": "segv"} in init, else "". */
static const char *how_in(const struct bad *x, const char *where)
{
	static const char *const how[] = { "segv",        "overflow", "abort", "exit", "thread",
					   "thread_exit", "hang",     "flood", "fail" };
	const char *conf = sim_component_config(x->c);

	for (unsigned i = 0; has(conf, where) && i < sizeof(how) / sizeof(how[0]); i++)
		if (has(conf, how[i]))
			return how[i];
	return "";
}

static int in(struct bad *x, const char *where)
{
	return misbehave(x, how_in(x, where));
}

/* ---- where ---- */

static void on_message(void *user, const struct sim_message *m)
{
	(void)m;
	(void)in(user, "reader");
}

static void on_timer(void *user, int64_t due_sim_ns, uint64_t missed)
{
	(void)due_sim_ns;
	(void)missed;
	(void)in(user, "timer");
}

static int on_change(void *user, const char *name, const struct sim_param_value *v, char *why, size_t why_size)
{
	(void)name;
	(void)v;
	(void)why;
	(void)why_size;
	return in(user, "param");
}

static int on_poke(void *user, struct sim_request *req)
{
	(void)req;
	return in(user, "service");
}

static int init(struct sim_component *c, void *self)
{
	struct sim_param_options po = { .size = sizeof(po), .changed = on_change, .user = self };
	struct sim_param_value zero = sim_param_int(0);
	struct sim_node *node = sim_component_node(c);
	struct sim_client *client = sim_host_client(sim_node_host(node));
	struct bad *x = self;
	char poke[100];
	int r;

	x->c = c;
	r = in(x, "init");
	snprintf(poke, sizeof(poke), "%s/poke", sim_component_name(c));
	if (r == 0)
		r = sim_node_writer_create(node, "/bad", &sim_Int32_type, NULL, &x->out);
	if (r == 0)
		r = sim_node_reader_create(node, "/bad", &sim_Int32_type, NULL, on_message, x, &x->in);
	if (r == 0)
		r = sim_node_timer_create(node, NULL, 5 * MS, false, on_timer, x, &x->timer);
	if (r == 0)
		r = sim_params_create(client, sim_component_name(c), &x->params);
	if (r == 0)
		r = sim_params_declare(x->params, "p", &zero, &po);
	return r == 0 ? sim_service_offer(client, poke, &sim_Trigger_service, NULL, on_poke, x, &x->poke) : r;
}

static int proc(struct sim_component *c, void *self, const struct sim_message *const *m)
{
	int r = in(self, "proc");

	(void)c;
	(void)m;
	return r < 0 ? r : put(self);
}

static void shut(struct sim_component *c, void *self)
{
	struct bad *x = self;

	(void)c;
	(void)in(x, "shutdown");
	sim_service_destroy(x->poke);
	sim_params_destroy(x->params);
	sim_node_timer_destroy(x->timer);
	sim_node_reader_destroy(x->in);
	sim_node_writer_destroy(x->out);
}

SIM_COMPONENT(Bad) = {
	.abi = SIM_COMPONENT_ABI,
	.size = sizeof(struct sim_component_class),
	.name = "Bad",
	.self_size = sizeof(struct bad),
	.init = init,
	.proc = proc,
	.shutdown = shut,
};

/* Of an older version: no member behind the first two is as today. */
SIM_API extern const uint32_t sim_component_Old[64];
const uint32_t sim_component_Old[64] = { SIM_COMPONENT_ABI + 1, 16, 0x6c6f, 0x64 };

/* No class at all. */
SIM_API int sim_component_None(int n);
int sim_component_None(int n)
{
	return n * n;
}

/* ---- another definition of a message that others have as well ---- */

static struct sim_type other_Int32;

static int other_init(struct sim_component *c, void *self)
{
	other_Int32 = sim_Int32_type;
	other_Int32.hash ^= 1;
	return sim_node_writer_create(sim_component_node(c), "/count", &other_Int32, NULL, &((struct bad *)self)->out);
}

static void other_shut(struct sim_component *c, void *self)
{
	(void)c;
	sim_node_writer_destroy(((struct bad *)self)->out);
}

SIM_COMPONENT(Other) = {
	.abi = SIM_COMPONENT_ABI,
	.size = sizeof(struct sim_component_class),
	.name = "Other",
	.self_size = sizeof(struct bad),
	.init = other_init,
	.shutdown = other_shut,
};
