/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Services between real processes: the example and simctl, callers at full speed, a provider killed in the middle of a
 * call, a simd that is killed and started again. Each call is answered exactly once.
 */
#include "peer.h"
#include "stack.h"

#include <pthread.h>
#include <sim/srv/SetBool.h>
#include <sim/srv/Trigger.h>

#define CONF "\"TimeSource\":\"system\"," STACK_POOLS ",\"rigs\":[{\"name\":\"car\",\"prefix\":\"/car\"}]"

#define CALLS 500 /* of each of two callers */

static pid_t simd;

static int setup(void **state)
{
	(void)state;
	simd = stack_start(CONF);
	setenv("SIMD_SOCKET", STACK_SOCKET, 1);
	return 0;
}

/* ---- the example and simctl ---- */

struct running {
	pid_t pid;
	int in;
};

/* Beside this program in the build. */
static void run_example(const char *name)
{
	char path[4096];
	ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - 100);
	char *slash;

	path[n > 0 ? n : 0] = '\0';
	slash = strrchr(path, '/');
	if (slash)
		snprintf(slash, 100, "/../examples/%s", name);
	execl(path, name, (char *)NULL);
	_exit(127);
}

static struct running start_example(void)
{
	struct running e;
	int fd[2];

	assert_int_equal(pipe(fd), 0);
	e.pid = fork();
	assert_true(e.pid >= 0);
	if (e.pid == 0) {
		dup2(fd[0], STDIN_FILENO);
		close(fd[0]);
		close(fd[1]);
		run_example("service");
	}
	close(fd[0]);
	e.in = fd[1];
	return e;
}

static void said(const struct ctl_result *r, int code, const char *out, const char *err)
{
	if (r->code != code || !strstr(r->out, out) || !strstr(r->err, err) || (code && *r->out) || (!code && *r->err))
		fail_msg("exit code %d, \"%s\", \"%s\"", r->code, r->out, r->err);
}

TEST_WITH(the_example_service_is_called_by_simctl, setup, stack_sweep)
{
	struct running e = start_example();

	AWAIT(stack_int("ListServices", "services/0/deadline_ms") == 5000);
	said(stack_ctl("service", "list", NULL), 0, "/car/headlights", "");
	said(stack_ctl("service", "list", "--names", NULL), 0, "/car/headlights\n", "");
	said(stack_ctl("service", "info", "/car/headlights", NULL), 0, "bool data", "");
	said(stack_ctl("service", "call", "headlights", "{\"data\": true}", NULL), 0,
	     "{\"success\":true,\"message\":\"head lights on\"}\n", "");
	said(stack_ctl("service", "call", "/car/headlights", NULL), 0, "lights off", "");
	said(stack_ctl("--pretty", "service", "call", "headlights", NULL), 0, "{\n  \"success\": true", "");
	said(stack_ctl("service", "call", "headlights", "{\"data\": 7.5}", NULL), 1, "", "whole number");
	said(stack_ctl("service", "call", "headlights", "{\"dat\": 1}", NULL), 1, "", "no field 'dat'");
	said(stack_ctl("service", "call", "headlights", "{", NULL), 1, "", "at byte");
	said(stack_ctl("service", "call", "nothing", NULL), 1, "", "no client offers service /car/nothing");
	said(stack_ctl("service", "info", "nothing", NULL), 1, "", "no client offers");
	said(stack_ctl("service", "call", NULL), 2, "", "SERVICE");
	assert_int_equal(stack_int("ListServices", "services/0/answered"), 3);
	close(e.in);
	assert_int_equal(stack_wait(e.pid), 0);
	assert_int_equal(stack_int("ListServices", "services/0/deadline_ms"), -1);
	stack_stop(simd);
}

/* ---- processes ---- */

static int answer(struct sim_request *req, const char *text)
{
	struct sim_builder b;

	sim_TriggerResponse_init(req->response, req->response_capacity, &b)->success = true;
	sim_TriggerResponse_message_set(&b, text);
	req->response_size = sim_builder_size(&b);
	return 0;
}

static int on_count(void *user, struct sim_request *req)
{
	struct peer *p = user;
	char text[32];

	snprintf(text, sizeof(text), "%llu", (unsigned long long)atomic_fetch_add(&p->ok, 1));
	return answer(req, text);
}

/* An answer is late in no test but the one that sets a time of its own. */
static const struct sim_service_options hour = { .size = sizeof(hour), .deadline_dur_ns = 3600 * NS_PER_S };

static int provider(struct peer *p)
{
	struct sim_client *c = peer_connect(p, "counter");
	struct sim_service *sv;

	PEER(p, sim_service_offer(c, "count", &sim_Trigger_service, &hour, on_count, p, &sv) == 0);
	p->ready = 1;
	PEER_IDLE(p);
	sim_service_destroy(sv);
	sim_disconnect(c);
	return 0;
}

static int trigger(struct sim_client *c, const char *name, int64_t timeout_dur_ns)
{
	uint8_t out[256] __attribute__((aligned(8)));
	struct sim_TriggerRequest q = { .pad0_ = { 0 } };

	return sim_service_call(c, name, &sim_Trigger_service, &q, sizeof(q), timeout_dur_ns, out, sizeof(out), NULL);
}

static void on_answer(void *user, int r, const char *why, const void *response, size_t size)
{
	struct peer *p = user;

	(void)why;
	(void)response;
	(void)size;
	atomic_fetch_add(&p->called, 1);
	if (r == 0)
		atomic_fetch_add(&p->ok, 1);
	p->result = r;
}

/* Every other call without waiting for it, never more than a few of them open. */
static int caller(struct peer *p)
{
	struct sim_client *c = peer_connect(p, "caller");
	struct sim_TriggerRequest q = { .pad0_ = { 0 } };

	for (int i = 0; i < CALLS; i++) {
		p->offered++;
		if (i % 2) {
			on_answer(p, trigger(c, "count", 0), NULL, NULL, 0);
			continue;
		}
		PEER(p, sim_service_call_async(c, "count", &sim_Trigger_service, &q, sizeof(q), 0, on_answer, p) == 0);
		AWAIT(p->offered - p->called <= 4);
	}
	sim_disconnect(c);
	return 0;
}

TEST_WITH(a_thousand_calls_are_answered, setup, stack_sweep)
{
	struct peer *prov = peer_new(), *one = peer_new(), *two = peer_new();
	pid_t pid = peer_fork(prov, provider), a, b;

	AWAIT(prov->ready);
	a = peer_fork(one, caller);
	b = peer_fork(two, caller);
	AWAIT(one->called == CALLS && two->called == CALLS);
	peer_join(one, a);
	peer_join(two, b);
	assert_int_equal(one->called + two->called, 2 * CALLS);
	assert_int_equal(one->ok + two->ok, prov->ok);
	assert_int_equal(prov->ok, 2 * CALLS);
	assert_int_equal(stack_int("ListServices", "services/0/answered"), 2 * CALLS);
	peer_join(prov, pid);
	peer_free(prov);
	peer_free(one);
	peer_free(two);
	stack_stop(simd);
}

/* A handler that never comes back. */
static int on_stuck(void *user, struct sim_request *req)
{
	struct peer *p = user;

	(void)req;
	p->ready = 2;
	while (!p->stop)
		pause();
	return -EINTR;
}

static int stuck_provider(struct peer *p)
{
	struct sim_client *c = peer_connect(p, "stuck");
	struct sim_service *sv;

	PEER(p, sim_service_offer(c, "stuck", &sim_Trigger_service, &hour, on_stuck, p, &sv) == 0);
	p->ready = 1;
	for (;;)
		pause();
}

static int one_call(struct peer *p)
{
	struct sim_client *c = peer_connect(p, "caller");

	p->result = trigger(c, "stuck", p->command * INT64_C(1000000));
	p->called = 1;
	sim_disconnect(c);
	return 0;
}

TEST_WITH(calls_end_when_the_provider_is_killed, setup, stack_sweep)
{
	struct peer *prov = peer_new(), *waits = peer_new(), *queued = peer_new();
	pid_t pid = peer_fork(prov, stuck_provider), a, b;

	AWAIT(prov->ready == 1);
	a = peer_fork(waits, one_call);
	AWAIT(prov->ready == 2);
	b = peer_fork(queued, one_call);
	AWAIT(stack_int("ListServices", "services/0/waiting") == 1);
	stack_kill(pid);
	AWAIT(waits->called && queued->called); /* long before the deadline */
	assert_int_equal(waits->result, -EPIPE);
	assert_int_equal(queued->result, -EPIPE);
	peer_join(waits, a);
	peer_join(queued, b);
	peer_free(prov);
	peer_free(waits);
	peer_free(queued);
	stack_stop(simd);
}

TEST_WITH(a_call_ends_at_its_deadline, setup, stack_sweep)
{
	struct peer *prov = peer_new(), *waits = peer_new();
	pid_t pid = peer_fork(prov, stuck_provider), a;

	peer_tell(waits, 50);
	AWAIT(prov->ready == 1);
	a = peer_fork(waits, one_call);
	AWAIT(waits->called);
	assert_int_equal(waits->result, -ETIMEDOUT);
	peer_join(waits, a);
	stack_kill(pid);
	peer_free(prov);
	peer_free(waits);
	stack_stop(simd);
}

/* Calls whenever there is a provider, until told to stop. */
static int steady_caller(struct peer *p)
{
	struct sim_client *c = peer_connect(p, "caller");

	while (!p->stop) {
		int r = trigger(c, "count", 0);

		p->offered++;
		p->called++;
		if (r == 0)
			p->ok++;
		else if (r == -ENOTCONN || r == -ENOENT || r == -EPIPE)
			pace_us(1000);
		else
			p->failed = 1;
	}
	sim_disconnect(c);
	return 0;
}

TEST_WITH(services_work_again_after_simd_is_killed, setup, stack_sweep)
{
	struct peer *prov = peer_new(), *k = peer_new();
	pid_t pid = peer_fork(prov, provider), a;
	uint64_t before;

	AWAIT(prov->ready);
	a = peer_fork(k, steady_caller);
	AWAIT(k->ok > 50);
	stack_kill(simd);
	simd = stack_start(CONF);
	AWAIT(stack_int("ListServices", "services/0/deadline_ms") == 3600000);
	before = k->ok;
	AWAIT(k->ok > before + 50);
	assert_true(k->called > k->ok); /* some had their answer from the library */
	peer_join(k, a);
	peer_join(prov, pid);
	assert_int_equal(k->failed, 0);
	assert_int_equal(k->called, k->offered);
	peer_free(prov);
	peer_free(k);
	stack_stop(simd);
}

/* ---- bridges ---- */

#define BRIDGES \
	"\"TimeSource\":\"system\"," STACK_POOLS ",\"rigs\":[{\"name\":\"car\",\"prefix\":\"/car\",\"bridges\":[" \
	"{\"name\":\"calls\",\"plugin\":\"" FAULTY "\",\"options\":{\"call\":\"/car/count\",\"calls\":20}}," \
	"{\"name\":\"narrow\",\"plugin\":\"" FAULTY "\",\"services\":[\"*\",\"!count\"]," \
	"\"options\":{\"call\":\"/car/count\",\"calls\":1000}}]}]"

static int setup_bridges(void **state)
{
	(void)state;
	simd = stack_start(BRIDGES);
	setenv("SIMD_SOCKET", STACK_SOCKET, 1);
	AWAIT(!strcmp(stack_bridge_text("calls", "status"), "connected"));
	AWAIT(!strcmp(stack_bridge_text("narrow", "status"), "connected"));
	return 0;
}

/* A bridge calls the services that its rig allows, each time a provider appears; a bridge without access does not. */
TEST_WITH(bridges_call_the_services_their_rig_allows, setup_bridges, stack_sweep)
{
	struct peer *prov = peer_new();
	pid_t pid = peer_fork(prov, provider);

	AWAIT(prov->ok == 20);
	assert_int_equal(stack_int("ListServices", "services/0/calls"), 20);
	AWAIT(stack_count("/car/count", "\"success\":true") == 20); /* the bridge says each answer */
	peer_join(prov, pid);
	peer_free(prov);
	stack_stop(simd);
}
