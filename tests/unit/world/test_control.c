/* SPDX-License-Identifier: Apache-2.0 */
/* io.simd.World on a socket pair, with a world in memory and in virtual time. Thread: the test's. */
#include "support/test.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "client.h"
#include "err.h"
#include "fd.h"
#include "mem.h"
#include "tools/world/control.h"
#include "unit/control/idl.h"
#include "varlink.h"

#define MS    INT64_C(1000000)
#define STEP  (10 * MS)
#define N_MAX 300u

static struct world *w;
static struct control *ctl;
static struct client clients[N_MAX];
static struct idl idl;
static int64_t now;
static char events[20000];

struct tool {
	int fd;
	struct varlink *v;
	struct varlink_msg m;
};
static struct tool tool;

static void on_event(void *user, enum world_event what, uint32_t connection, const char *name, const char *sentence)
{
	size_t len = strlen(events);

	(void)user;
	snprintf(events + len, sizeof(events) - len, "%d %u %s: %s\n", what, connection, name, sentence);
}

/* ---- a tool ---- */

static void tool_open(struct tool *t)
{
	int fds[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fds), 0);
	assert_int_equal(control_serve(ctl, fds[0]), 0);
	assert_int_equal(varlink_create(NULL, &t->v), 0);
	t->m = (struct varlink_msg){ 0 };
	t->fd = fds[1];
}

static void tool_close(struct tool *t)
{
	varlink_msg_finish(&t->m);
	varlink_destroy(t->v);
	close(t->fd);
}

/* Its next answer, as the server's turns bring it; false: it is cut off. */
static bool hear(struct tool *t)
{
	int r;

	varlink_msg_finish(&t->m);
	t->m = (struct varlink_msg){ 0 };
	while ((r = varlink_next(t->v, &t->m)) == 0) {
		control_turn(ctl, now);
		if (varlink_read(t->v, t->fd) < 0)
			return false;
	}
	return r > 0;
}

static void say(struct tool *t, const char *method, json_t *params)
{
	assert_int_equal(varlink_queue_call(t->v, method, params, 0, NULL), 0);
	assert_int_equal(varlink_write(t->v, t->fd), 1);
}

/* Its reply, held against the declaration; NULL: an error, its sentence in err_why(). Valid until the next call. */
static json_t *call(const char *method, json_t *params)
{
	json_t *m = json_object_get(idl.methods, method);
	struct varlink_answer a;
	char full[64];

	assert_non_null(m);
	snprintf(full, sizeof(full), "io.simd.World.%s", method);
	say(&tool, full, params);
	assert_true(hear(&tool));
	assert_int_equal(varlink_msg_answer(&tool.m, &a), 0);
	if (varlink_answer_errno(&a) < 0) {
		if (strncmp(a.error, "org.varlink.service", 19) != 0 &&
		    !idl_check(&idl, json_object_get(idl.errors, "Failed"), a.params, "Failed"))
			fail_msg("%s", idl.why);
		return NULL;
	}
	if (!idl_check(&idl, json_object_get(m, "out"), a.params, method))
		fail_msg("%s", idl.why);
	return a.params;
}

static void must_fail(const char *method, json_t *params, const char *why)
{
	assert_null(call(method, params));
	if (!strstr(err_why(), why))
		fail_msg("%s: \"%s\" is not in \"%s\"", method, why, err_why());
}

/* ---- the world ---- */

static int begin(void **state)
{
	const struct world_options o = {
		.store = { .objects_max = 2000, .objects_each_max = 100, .section_mm = 100000, .step_dur_ns = STEP },
		.number = 0xabc,
		.sessions_max = N_MAX,
		.members_max = 2 * N_MAX,
		.radius_mm = INT64_MAX,
		.ahead_dur_ns = 100 * MS,
		.event = on_event,
	};
	struct varlink_answer a;

	(void)state;
	now = 1000 * MS;
	*events = 0;
	memset(clients, 0, sizeof(clients));
	assert_int_equal(world_create(&o, now, &w), 0);
	assert_int_equal(control_create(w, &ctl), 0);
	tool_open(&tool);
	say(&tool, "org.varlink.service.GetInterfaceDescription", json_pack("{s:s}", "interface", "io.simd.World"));
	assert_true(hear(&tool));
	assert_int_equal(varlink_msg_answer(&tool.m, &a), 0);
	if (!idl_parse(json_string_value(json_object_get(a.params, "description")), &idl))
		fail_msg("%s", idl.why);
	return 0;
}

static int end(void **state)
{
	(void)state;
	for (unsigned i = 0; i < N_MAX; i++)
		if (clients[i].s)
			client_lose(&clients[i], now);
	idl_finish(&idl);
	tool_close(&tool);
	control_destroy(ctl);
	world_destroy(w);
	return 0;
}

static struct client *come(unsigned i, const char *name, Sim__World__Role role)
{
	client_connect(&clients[i], w,
		       &(struct client_options){ .name = name, .role = role, .identity = (uint8_t)(i + 1) }, now);
	client_receive(&clients[i], SIZE_MAX, now);
	return &clients[i];
}

static void turn(void)
{
	while (world_turn(w, now) <= now)
		;
	for (unsigned i = 0; i < N_MAX; i++)
		if (clients[i].s)
			client_receive(&clients[i], SIZE_MAX, now);
}

static json_t *client_at(size_t i)
{
	return json_array_get(json_object_get(call("Clients", NULL), "clients"), i);
}

static double number(const json_t *j, const char *key)
{
	assert_true(json_is_number(json_object_get(j, key)));
	return json_number_value(json_object_get(j, key));
}

static const char *text(const json_t *j, const char *key)
{
	assert_true(json_is_string(json_object_get(j, key)));
	return json_string_value(json_object_get(j, key));
}

/* A tick every 10 ms: of 1 and 2 an object each, and their promises. */
static void run(unsigned ticks)
{
	for (unsigned t = 0; t < ticks; t++) {
		for (unsigned i = 0; i < 2; i++) {
			client_object(&clients[i], 0, t, 0, now);
			client_done(&clients[i], now);
		}
		turn();
		now += STEP;
	}
}

TEST_WITH(the_state_of_a_world_and_its_clients_is_reported, begin, end)
{
	json_t *j;

	j = json_object_get(call("Status", NULL), "world");
	assert_true(number(j, "tick") <= 0 && number(j, "clients") <= 0);
	come(0, "a", SIM__WORLD__ROLE__REGULATING);
	come(1, "b", SIM__WORLD__ROLE__REGULATING);
	come(2, "c", SIM__WORLD__ROLE__OBSERVER);
	turn();
	run(300);
	j = json_object_get(call("Status", NULL), "world");
	assert_true(number(j, "tick") >= 300);
	assert_true(number(j, "clients") > 2.5 && number(j, "regulating") > 1.5 && number(j, "regulating") < 2.5);
	assert_true(number(j, "objects") > 1.5 && number(j, "updates") >= 598);
	assert_string_equal(text(j, "number"), "0000000000000abc");
	j = client_at(0);
	assert_string_equal(text(j, "name"), "a");
	assert_string_equal(text(j, "role"), "regulating");
	assert_string_equal(text(j, "rung"), "in_time");
	assert_true(number(j, "ticks_per_s") > 95 && number(j, "ticks_per_s") < 105);
	assert_true(number(j, "bytes_out_per_s") > 1000 && number(j, "bytes_in_per_s") > 1000);
	assert_true(number(j, "bytes_out_per_s") < number(j, "bytes_out")); /* 3 s of it */
	assert_true(number(j, "lag") < 2 && number(j, "objects") > 0.5 && number(j, "ticks") >= 300);
	assert_true(json_is_integer(json_object_get(j, "rtt_ns")));
	j = client_at(2);
	assert_string_equal(text(j, "role"), "observer");
	assert_true(json_is_null(json_object_get(j, "rtt_ns")));
	assert_true(number(j, "lag") < 1);
}

TEST_WITH(a_client_that_delays_time_is_shown_on_the_ladder, begin, end)
{
	static const char *const rungs[] = { "in_time", "warned", "resent", "demoted" };
	unsigned seen = 0;
	json_t *j;

	come(0, "a", SIM__WORLD__ROLE__REGULATING);
	come(1, "slow", SIM__WORLD__ROLE__REGULATING);
	turn();
	run(200);
	for (int i = 0; i < 60 && clients[1].s; i++, now += STEP) {
		client_done(&clients[0], now);
		turn();
		j = client_at(1);
		if (j && seen < 4 && !strcmp(text(j, "rung"), rungs[seen]))
			seen++;
		if (seen == 4)
			break;
	}
	assert_int_equal(seen, 4);
	for (int i = 0; i < 10; i++, now += STEP) {
		client_done(&clients[0], now);
		turn();
	}
	j = client_at(1);
	assert_true(number(j, "lag") >= 10);
	assert_string_equal(text(j, "role"), "regulating"); /* it has asked for that */
	assert_non_null(strstr(events, "slow: time has waited"));
	for (int i = 0; i < 300; i++, now += STEP) { /* it has been sent away long ago */
		client_done(&clients[0], now);
		turn();
	}
	assert_null(client_at(1));
	assert_true(number(client_at(0), "ticks_per_s") > 90);
}

TEST_WITH(a_kicked_client_gets_the_reason_and_is_removed, begin, end)
{
	struct client *a = come(0, "a", SIM__WORLD__ROLE__REGULATING), *b = come(1, "b", SIM__WORLD__ROLE__REGULATING);
	json_t *j;

	turn();
	run(5);
	must_fail("Kick", json_pack("{s:i}", "connection", 9), "no client with connection 9");
	must_fail("Kick", json_pack("{s:i, s:s}", "connection", 2, "reason", "a\nb"), "printable");
	must_fail("Kick", json_pack("{s:i}", "connection", 0), "connection");
	must_fail("Kick", NULL, "connection");
	must_fail("Kick", json_pack("{s:i, s:i}", "connection", 2, "other", 1), "other");
	assert_false(b->bye);
	j = call("Kick", json_pack("{s:i, s:s}", "connection", (int)b->connection, "reason", "it is late"));
	assert_string_equal(text(j, "name"), "b");
	client_receive(b, SIZE_MAX, now);
	assert_int_equal(b->reason, SIM__WORLD__BYE__REASON__KICKED);
	assert_string_equal(b->sentence, "the operator has ended its session: it is late");
	assert_non_null(strstr(events, "1 2 b: the operator has ended its session: it is late\n"));
	must_fail("Kick", json_pack("{s:i}", "connection", 2), "no client");
	client_done(a, now);
	turn();
	assert_true(number(json_object_get(call("Status", NULL), "world"), "objects") < 1.5);
}

TEST_WITH(many_clients_are_listed_in_pages, begin, end)
{
	json_t *j, *next;
	size_t n;

	for (unsigned i = 0; i < N_MAX; i++) { /* of as many identities */
		Sim__World__Hello m = SIM__WORLD__HELLO__INIT;
		uint8_t identity[16] = { (uint8_t)i, (uint8_t)(i >> 8), 1 };

		frame_reader_init(&clients[i].in, FRAME_MAX_SERVER);
		assert_int_equal(session_open(w, now, &clients[i].s), 0);
		m.version = 1;
		m.name = (char *)(uintptr_t) "one";
		m.role = SIM__WORLD__ROLE__OBSERVER;
		m.identity = (ProtobufCBinaryData){ sizeof(identity), identity };
		client_send(&clients[i], 32, &m.base, now);
	}
	j = call("Clients", NULL);
	n = json_array_size(json_object_get(j, "clients"));
	assert_int_equal(n, 200);
	next = json_incref(json_object_get(j, "next"));
	j = call("Clients", json_pack("{s:o}", "after", next));
	n += json_array_size(json_object_get(j, "clients"));
	assert_int_equal(n, N_MAX);
	assert_true(json_is_null(json_object_get(j, "next")));
	assert_true(number(json_array_get(json_object_get(j, "clients"), 0), "connection") > 200.5);
}

/* ---- metrics ---- */

TEST_WITH(metrics_are_a_page_of_text, begin, end)
{
	const char *page, *line;
	unsigned samples = 0;

	come(0, "a \"quoted\" \\name", SIM__WORLD__ROLE__REGULATING);
	come(1, "b", SIM__WORLD__ROLE__REGULATING);
	turn();
	run(20);
	page = text(call("Metrics", NULL), "text");
	assert_non_null(strstr(page, "\n# TYPE simworld_clients gauge\nsimworld_clients 2\n"));
	assert_non_null(
		strstr(page, "simworld_client_objects{connection=\"1\",name=\"a \\\"quoted\\\" \\\\name\"} 1\n"));
	assert_non_null(strstr(page, "\nsimworld_clients_objects 2\n"));
	for (line = page; *line; line = strchr(line, '\n') + 1) {
		const char *space, *stop = strchr(line, '\n');
		char *last;

		assert_non_null(stop);
		if (*line == '#')
			continue;
		space = memrchr(line, ' ', (size_t)(stop - line));
		assert_non_null(space);
		(void)strtod(space + 1, &last);
		assert_ptr_equal(last, stop);
		samples++;
	}
	assert_true(samples > 35);
}

/* ---- malicious callers ---- */

TEST_WITH(a_caller_that_breaks_the_protocol_is_disconnected, begin, end)
{
	static const char *const noise[] = { "GET / HTTP/1.1\r\n\r\n", "{}", "[1]", "{\"method\":1}" };

	for (unsigned i = 0; i < sizeof(noise) / sizeof(noise[0]); i++) {
		struct tool t;

		tool_open(&t);
		assert_true(write(t.fd, noise[i], strlen(noise[i]) + 1) > 0);
		assert_false(hear(&t));
		tool_close(&t);
	}
	assert_non_null(call("Status", NULL)); /* the other one goes on */
	say(&tool, "io.simd.World.Nothing", NULL);
	assert_true(hear(&tool));
	assert_non_null(json_object_get(tool.m.json, "error"));
}

TEST_WITH(of_simultaneous_calls_one_runs_per_turn, begin, end)
{
	unsigned turns = 0, got = 0;

	for (unsigned i = 0; i < 20; i++)
		say(&tool, "io.simd.World.Status", NULL);
	for (; turns < 1000 && got < 20; turns++) {
		struct varlink_msg m = { 0 };

		control_turn(ctl, now);
		assert_true(varlink_read(tool.v, tool.fd) >= 0);
		while (varlink_next(tool.v, &m) == 1) {
			varlink_msg_finish(&m);
			got++;
		}
		assert_true(got <= turns + 1);
	}
	assert_int_equal(got, 20);
}

TEST_WITH(of_too_many_connections_the_silent_one_is_closed, begin, end)
{
	struct tool t[CONTROL_CONNECTIONS];

	tool_open(&t[0]);
	assert_non_null(call("Status", NULL)); /* so it is t[0] that is silent */
	for (unsigned i = 1; i < CONTROL_CONNECTIONS; i++)
		tool_open(&t[i]);
	assert_false(hear(&t[0]));
	assert_non_null(call("Status", NULL));
	for (unsigned i = 0; i < CONTROL_CONNECTIONS; i++)
		tool_close(&t[i]);
}
