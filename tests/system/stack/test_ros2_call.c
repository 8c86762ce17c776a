/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Services of nodes of ROS 2 for the clients of simd, all the way: listed, called by simctl and by programs, a hundred at once, and again after
 * the server, the bridge or simd was killed. The nodes are those of ../ros2/server.h.
 */
#include "peer.h"
#include "stack.h"

#include <sim/srv/SetBool.h>

#include "../ros2/server.h"

#define CONF \
	"\"TimeSource\":\"system\"," STACK_POOLS \
	",\"rigs\":[{\"name\":\"car\",\"bridges\":[{\"name\":\"ros\",\"plugin\":\"ros2\"," \
	"\"options\":{\"localhost\":\"true\",\"call\":{" \
	"\"/lamp\":{\"type\":\"std_srvs/srv/SetBool\",\"service\":\"lamp\"}," \
	"\"/horn\":{\"type\":\"std_srvs/srv/Trigger\",\"service\":\"horn\"}}}}]}]"
#define CALLERS 4
#define EACH    25

static pid_t simd;

static void start(void)
{
	simd = stack_start(CONF);
	AWAIT(!strcmp(stack_bridge_text("ros", "status"), "connected"));
}

static bool is_listed(const char *name)
{
	json_t *reply = stack_call("ListServices", NULL), *s;
	bool found = false;
	size_t i;

	json_array_foreach(json_object_get(reply, "services"), i, s)
		found |= strcmp(json_string_value(json_object_get(s, "name")), name) == 0;
	json_decref(reply);
	return found;
}

static const struct ctl_result *call_lamp(void)
{
	return stack_ctl("service", "call", "lamp", "{\"data\": true}", NULL);
}

/* At once, or when bridge and server have found each other. */
static void lamp_is_on(void)
{
	const struct ctl_result *r;

	AWAIT((r = call_lamp())->code == 0);
	assert_non_null(strstr(r->out, "\"message\":\"on\""));
}

TEST_WITH(they_are_listed_and_called, NULL, stack_sweep)
{
	struct server s = server_start("/lamp", "ra", HASH_RIGHT);
	const struct ctl_result *r;

	start();
	AWAIT(is_listed("/lamp") && is_listed("/horn"));
	r = stack_ctl("service", "list", NULL);
	assert_non_null(strstr(r->out, "sim/SetBool"));
	assert_non_null(strstr(r->out, "ros"));
	r = stack_ctl("service", "call", "horn", NULL);
	assert_int_equal(r->code, 1);
	assert_non_null(strstr(r->err, "/horn of ROS 2: no node serves it"));
	server_go(&s);
	server_await(&s, SERVER_MATCHED);
	r = call_lamp();
	assert_int_equal(r->code, 0);
	assert_non_null(strstr(r->out, "it is broken"));
	lamp_is_on();
	stack_stop(simd);
	server_stop(&s);
}

/* ---- a hundred ---- */

static void on_answer(void *user, int r, const char *why, const void *response, size_t size)
{
	const struct sim_SetBoolResponse *m = response;
	struct peer *p = user;

	(void)why;
	(void)size;
	if (r == 0 && m->success)
		atomic_fetch_add(&p->ok, 1);
	else if (r == -ETIMEDOUT)
		atomic_fetch_add(&p->refused, 1);
	atomic_fetch_add(&p->called, 1);
}

static int call_many(struct peer *p)
{
	struct sim_client *c = peer_connect(p, "caller");
	const struct sim_SetBoolRequest q = { .data = true };

	p->ready = 1;
	PEER_AWAIT(p, atomic_load(&p->command));
	for (int i = 0; i < EACH; i++)
		PEER(p, sim_service_call_async(c, "lamp", &sim_SetBool_service, &q, sizeof(q), 0, on_answer, p) == 0);
	PEER_IDLE(p);
	sim_disconnect(c);
	return 0;
}

/* simd asks for one after the other; none is refused. On a machine that takes five seconds for them some are late. */
TEST_WITH(a_hundred_at_once, NULL, stack_sweep)
{
	struct server s = server_start("/lamp", "a", HASH_RIGHT);
	struct peer *p[CALLERS];
	pid_t pid[CALLERS];
	uint64_t ok = 0, late = 0;
	int64_t begin_mono_ns;

	for (int i = 0; i < CALLERS; i++)
		p[i] = peer_new();
	start();
	AWAIT(is_listed("/lamp"));
	server_go(&s);
	server_await(&s, SERVER_MATCHED);
	for (int i = 0; i < CALLERS; i++)
		pid[i] = peer_fork(p[i], call_many);
	for (int i = 0; i < CALLERS; i++)
		AWAIT(p[i]->ready || p[i]->failed);
	begin_mono_ns = mono_now_ns();
	for (int i = 0; i < CALLERS; i++)
		peer_tell(p[i], 1);
	for (int i = 0; i < CALLERS; i++) {
		AWAIT(p[i]->called == EACH || p[i]->failed);
		ok += p[i]->ok;
		late += p[i]->refused;
	}
	if (mono_now_ns() - begin_mono_ns < 4 * NS_PER_S)
		assert_int_equal(late, 0);
	assert_int_equal(ok + late, CALLERS * EACH);
	for (int i = 0; i < CALLERS; i++) {
		peer_join(p[i], pid[i]);
		peer_free(p[i]);
	}
	stack_stop(simd);
	server_stop(&s);
}

/* ---- deaths ---- */

/* Its lease is not over when the next one is there: both are asked, and the living one answers. */
TEST_WITH(a_server_that_is_killed, NULL, stack_sweep)
{
	struct server first = server_start("/lamp", "a", HASH_RIGHT), second = server_start("/lamp", "a", HASH_RIGHT);
	const struct ctl_result *r;

	start();
	server_go(&first);
	server_await(&first, SERVER_MATCHED);
	lamp_is_on();
	server_stop(&first);
	r = call_lamp();
	assert_int_equal(r->code, 1);
	assert_non_null(strstr(r->err, "/lamp of ROS 2: it does not answer in time"));
	server_go(&second);
	server_await(&second, SERVER_MATCHED);
	lamp_is_on();
	stack_stop(simd);
	server_stop(&second);
}

TEST_WITH(a_bridge_that_is_killed, NULL, stack_sweep)
{
	struct server s = server_start("/lamp", "a", HASH_RIGHT);

	start();
	server_go(&s);
	server_await(&s, SERVER_MATCHED);
	lamp_is_on();
	stack_expects_crash();
	assert_int_equal(kill((pid_t)stack_bridge("ros", "pid"), SIGKILL), 0);
	lamp_is_on();
	assert_int_equal(stack_ctl("bridge", "restart", "ros", NULL)->code, 0);
	lamp_is_on();
	stack_stop(simd);
	server_stop(&s);
}

TEST_WITH(a_simd_that_is_killed, NULL, stack_sweep)
{
	struct server s = server_start("/lamp", "a", HASH_RIGHT);

	start();
	server_go(&s);
	server_await(&s, SERVER_MATCHED);
	lamp_is_on();
	stack_kill(simd);
	start();
	lamp_is_on();
	stack_stop(simd);
	server_stop(&s);
}
