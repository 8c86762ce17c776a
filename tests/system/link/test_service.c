/* SPDX-License-Identifier: Apache-2.0 */
/* Services over machines: each request has exactly one answer, whichever process dies. */
#include "traffic.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include <sim/srv/SetBool.h>

#define CALLS   64u
#define CALL_NS INT64_C(3600000000000) /* no call is given up here */

static struct machine m[2];
static struct net_switch *net;

static struct shared {
	_Atomic bool stop, offered, silent; /* silent: the service takes requests and does not answer */
	_Atomic unsigned asked;             /* requests that the service has had */
	_Atomic unsigned calls, answers;
	_Atomic int result[CALLS];
	_Atomic unsigned times[CALLS]; /* that a call was answered */
} * shared;

static int start_with(const char *options)
{
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	assert_true(shared != MAP_FAILED);
	net = machines_start(m, 2, test_seed(5));
	for (unsigned i = 0; i < 2; i++)
		machine_simd_start(&m[i], machine_conf(&m[i], 2, options, ""));
	return 0;
}

static int start(void **state)
{
	(void)state;
	return start_with(MACHINE_NEVER_LATE);
}

/* A silent machine counts as lost soon. */
static int start_mortal(void **state)
{
	(void)state;
	return start_with(",\"lease_ms\":1000");
}

static int end(void **state)
{
	(void)state;
	machines_end(m, 2, net);
	munmap(shared, sizeof(*shared));
	return 0;
}

TEST_PROCESSES()

#define MUST(cond) \
	do { \
		if (!(cond)) { \
			fprintf(stderr, "%s:%d: not so: %s (%s)\n", __FILE__, __LINE__, #cond, sim_why()); \
			_exit(99); \
		} \
	} while (0)

static struct sim_client *connect_as(const char *name)
{
	const struct sim_client_options o = { .size = sizeof(o), .name = name };
	struct sim_client *c;

	MUST(sim_connect(&o, &c) == 0);
	return c;
}

static struct sim_client *server_client;

static int on_request(void *user, struct sim_request *req)
{
	const struct sim_SetBoolRequest *q = req->body;
	struct sim_SetBoolResponse *a = req->response;
	struct sim_pending *p;

	(void)user;
	atomic_fetch_add(&shared->asked, 1);
	if (atomic_load(&shared->silent)) {
		MUST(sim_service_defer(server_client, &p) == 0);
		return 0;
	}
	a->success = q->data;
	return 0;
}

static int serve(void *arg)
{
	struct sim_client *c = server_client = connect_as("server");
	struct sim_service *s;

	(void)arg;
	MUST(sim_service_offer(c, "/lamp", &sim_SetBool_service, NULL, on_request, NULL, &s) == 0);
	atomic_store(&shared->offered, true);
	AWAIT(atomic_load(&shared->stop));
	sim_service_destroy(s);
	sim_disconnect(c);
	return 0;
}

static void on_answer(void *user, int result, const char *why, const void *response, size_t size)
{
	unsigned i = (unsigned)(uintptr_t)user;
	const struct sim_SetBoolResponse *a = response;

	(void)why;
	(void)size;
	atomic_store(&shared->result[i], result == 0 ? a->success : result);
	atomic_fetch_add(&shared->times[i], 1);
	atomic_fetch_add(&shared->answers, 1);
}

/* One call after another until told to stop; each has its cell. */
static int call(void *arg)
{
	struct sim_client *c = connect_as("caller");
	struct sim_SetBoolRequest q = { .data = 1 };
	unsigned n = 0;

	(void)arg;
	while (!atomic_load(&shared->stop) && n < CALLS) {
		int r = sim_service_call_async(c, "/lamp", &sim_SetBool_service, &q, sizeof(q), CALL_NS, on_answer,
					       (void *)(uintptr_t)n);

		if (r == 0)
			atomic_store(&shared->calls, ++n);
		AWAIT(atomic_load(&shared->answers) == n || atomic_load(&shared->stop));
		pace_us(20000);
	}
	AWAIT(atomic_load(&shared->answers) == n);
	sim_disconnect(c);
	return 0;
}

static void stop(pid_t a, pid_t b)
{
	atomic_store(&shared->stop, true);
	if (a)
		assert_int_equal(machine_wait(a), 0);
	assert_int_equal(machine_wait(b), 0);
	assert_int_equal(atomic_load(&shared->answers), atomic_load(&shared->calls));
	for (unsigned i = 0; i < atomic_load(&shared->calls); i++)
		assert_int_equal(atomic_load(&shared->times[i]), 1);
}

TEST_WITH(a_service_is_called_from_another_machine, start, end)
{
	pid_t server = machine_fork(&m[0], serve, NULL), caller;

	AWAIT(machine_says(&m[1], "service list", "/lamp"));
	caller = machine_fork(&m[1], call, NULL);
	AWAIT(atomic_load(&shared->answers) >= 10);
	for (unsigned i = 0; i < 10; i++)
		assert_int_equal(atomic_load(&shared->result[i]), 1);
	stop(server, caller);
	AWAIT(!machine_says(&m[1], "service list", "/lamp"));
}

/* The provider has taken a request and dies: its machine answers instead. */
TEST_WITH(calls_end_when_a_remote_service_dies, start, end)
{
	pid_t server = machine_fork(&m[0], serve, NULL), caller;

	atomic_store(&shared->silent, true);
	AWAIT(machine_says(&m[1], "service list", "/lamp"));
	caller = machine_fork(&m[1], call, NULL);
	AWAIT(atomic_load(&shared->asked) == 1);
	kill(server, SIGKILL);
	waitpid(server, NULL, 0);
	AWAIT(atomic_load(&shared->answers) >= 1);
	assert_int_equal(atomic_load(&shared->result[0]), -EPIPE);
	stop(0, caller);
}

/* Its whole machine is gone: ours answers, when the lease is over. */
TEST_WITH(calls_end_when_a_remote_machine_dies, start_mortal, end)
{
	pid_t server = machine_fork(&m[0], serve, NULL), caller;

	atomic_store(&shared->silent, true);
	AWAIT(machine_says(&m[1], "service list", "/lamp"));
	caller = machine_fork(&m[1], call, NULL);
	AWAIT(atomic_load(&shared->asked) == 1);
	kill(server, SIGKILL);
	machine_simd_kill(&m[0]);
	waitpid(server, NULL, 0);
	AWAIT(atomic_load(&shared->answers) >= 1);
	assert_true(atomic_load(&shared->result[0]) < 0);
	AWAIT(!machine_says(&m[1], "service list", "/lamp"));
	stop(0, caller);
}
