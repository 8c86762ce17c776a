/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The interface file and the socket agree: calls are generated from the file that simd hands out, and each reply, event
 * and error is held against it. What a declaration cannot say, values that simd accepts, is in the table `samples`.
 */
#include "unit/control/idl.h"
#include "unit/control/peer.h"

#include <errno.h>
#include <sim/types.h>
#include <stdatomic.h>
#include <sys/socket.h>

#include "control/conn.h"
#include "err.h"
#include "fd.h"
#include "registry/bridge.h"
#include "registry/event.h"
#include "registry/simd.h"
#include "wire/driver.h"
#include "wire/lane.h"
#include "wire/pages.h"

enum mode { MINIMAL = 1, FULL = 2, NULLS = 4 /* optional ones are null */ };

static struct desk desk;
static struct peer tool, sensor, source, bridge;
static struct idl idl;
static json_t *known;  /* members of replies so far, by name: the value of "@name" */
static int sockets[5]; /* of lane, drivers and steps */
static unsigned n_sockets;
static json_t *covered; /* {"Method": modes in which it has succeeded} */

/* ---- calls from declarations ---- */

/* The value of a parameter, of one method or of all that have it. "@x": x of the last reply that had it. */
static const struct sample {
	const char *method, *param, *value;
} samples[] = {
	{ "Hello", "name", "\"cam\"" },
	{ "Hello", "role", "\"client\"" },
	{ "Hello", "bridge", "\"log\"" },
	{ "Subscribe", "type", "\"t/A\"" },
	{ "OfferService", "type", "\"t/Set\"" },
	{ "OfferService", "request", "{\"name\": \"t/SetRequest\", \"hash\": \"00000000000000aa\"}" },
	{ "OfferService", "response", "{\"name\": \"t/SetResponse\", \"hash\": \"00000000000000bb\"}" },
	{ "CallService", "type", "\"t/Set\"" },
	{ "GetChannel", "name", "\"cam\"" },
	{ "RestartBridge", "name", "\"log\"" },
	{ "RestartProcess", "name", "\"log\"" },
	{ "SetBridgeConnection", "name", "\"log\"" },
	{ "NameTopic", "channel", "\"/in\"" },
	{ "NameTopic", "type", "\"t/A\"" },
	{ "NameTopic", "inbound", "true" },
	{ "SetBridgeConnection", "connection", "\"there:1\"" },
	{ NULL, "name", "\"set\"" },
	{ NULL, "abi", "@abi" },
	{ NULL, "version", "\"0\"" },
	{ NULL, "bridge", "\"log\"" },
	{ NULL, "iox_generation", "1" },
	{ NULL, "app", "@app" },
	{ NULL, "channel", "\"cam\"" },
	{ NULL, "type", TYPE_A },
	{ NULL, "hash", "\"00000000000000aa\"" },
	{ NULL, "max_body", "100" },
	{ NULL, "flags", "1" },
	{ NULL, "host", "\"b\"" },
	{ NULL, "depth", "2" },
	{ NULL, "publisher_id", "@publisher_id" },
	{ NULL, "subscriber_id", "@subscriber_id" },
	{ NULL, "cell", "@cell" },
	{ NULL, "freewheel", "true" },
	{ NULL, "lockstep", "true" },
	{ NULL, "rank", "7" },
	{ NULL, "service", "\"set\"" },
	{ NULL, "service_id", "@service_id" },
	{ NULL, "request_id", "@request_id" },
	{ NULL, "request", "{\"on\": true}" },
	{ NULL, "response", "{\"ok\": true}" },
	{ NULL, "request_hash", "\"00000000000000aa\"" },
	{ NULL, "response_hash", "\"00000000000000bb\"" },
	{ NULL, "queue", "3" },
	{ NULL, "deadline_ms", "1000" },
	{ NULL, "timeout_ms", "900" },
	{ NULL, "timeout_ns", "900000000" },
	{ NULL, "tag", "5" },
	{ NULL, "errno", "-5" },
	{ NULL, "why", "\"no power\"" },
	{ NULL, "what", "\"a scene\"" },
	{ NULL, "dur_ns", "1000000" },
	{ NULL, "scale", "2.5" },
	{ NULL, "source", "\"simulation\"" },
	{ NULL, "stages", "true" },
	{ NULL, "wait", "true" },
	{ NULL, "drain", "true" },
	{ NULL, "continue", "true" },
};

static json_t *sample(const char *method, const char *param)
{
	for (size_t i = 0; i < sizeof(samples) / sizeof(*samples); i++) {
		const struct sample *s = &samples[i];

		if (strcmp(s->param, param) != 0 || (s->method && strcmp(s->method, method) != 0))
			continue;
		if (s->value[0] != '@')
			return json_loads(s->value, JSON_DECODE_ANY, NULL);
		if (!json_object_get(known, s->value + 1))
			fail_msg("%s: no reply has had a %s yet", method, s->value + 1);
		return json_deep_copy(json_object_get(known, s->value + 1));
	}
	fail_msg("%s: parameter %s is new: give the table a sample", method, param);
	return NULL;
}

static json_t *part(const char *method, const char *half)
{
	json_t *m = json_object_get(idl.methods, method);

	if (!m)
		fail_msg("method %s is not declared", method);
	return json_object_get(m, half);
}

/* own: members that replace samples, as JSON text; NULL: none. */
static json_t *params_of(const char *method, enum mode mode, const char *own)
{
	json_t *o = json_object(), *mine = own ? json_loads(own, 0, NULL) : NULL, *field;
	const char *name;

	assert_true(!own || mine);
	json_object_foreach(idl_fields(part(method, "in")), name, field) {
		bool optional;

		(void)idl_field_type(field, &optional);
		if (optional && mode != FULL)
			(void)(mode == NULLS && json_object_set_new(o, name, json_null()));
		else if (!json_object_get(mine, name))
			json_object_set_new(o, name, sample(method, name));
	}
	json_object_update(o, mine);
	json_decref(mine);
	return o;
}

/* Takes params. */
static void ask(struct peer *p, const char *method, json_t *params, bool more)
{
	json_t *m = json_pack("{s:o, s:o*, s:b}", "method", json_sprintf("%s.%s", idl.name, method), "parameters",
			      params, "more", more);
	char *text = json_dumps(m, JSON_COMPACT);

	peer_send(p, text, strlen(text) + 1);
	free(text);
	json_decref(m);
}

/* ---- answers ---- */

static void expect(bool ok, const char *what)
{
	if (!ok)
		fail_msg("%s: %s", what, idl.why);
}

static void remember(json_t *params)
{
	const char *key;
	json_t *v;

	json_object_foreach(params, key, v)
		json_object_set(known, key, v);
}

/* The comment behind each member names the events that have it. */
static void check_event(json_t *params)
{
	json_t *fields = idl_fields(part("Events", "out")), *v;
	const char *event = json_string_value(json_object_get(params, "event")), *key;

	expect(idl_check(&idl, part("Events", "out"), params, "Events"), "event");
	json_object_foreach(params, key, v) {
		const char *doc = json_string_value(json_object_get(json_object_get(fields, key), "doc"));
		size_t n = strlen(event);

		if (strcmp(key, "event") != 0 && (strncmp(doc, event, n) != 0 || doc[n] != ':'))
			fail_msg("event %s has %s, which is documented as \"%s\"", event, key, doc);
	}
	json_object_set_new(covered, event, json_true());
	remember(params);
}

/* The next reply that is no event; events on the way are checked. NULL: nothing comes. */
static json_t *next_reply(struct peer *p)
{
	for (int i = 0; i < 200; i++) {
		json_t *m = peer_next(p, NULL);

		if (m && !json_object_get(m, "continues"))
			return m;
		if (m)
			check_event(json_object_get(m, "parameters"));
	}
	return NULL;
}

/* 0, or the errno of an error that is declared. */
static int check_reply(struct peer *p, const char *method)
{
	json_t *m = next_reply(p), *params = json_object_get(m, "parameters"), *fds;
	const char *error = json_string_value(json_object_get(m, "error"));
	size_t n = strlen(idl.name);

	if (!m)
		fail_msg("%s is not answered", method);
	if (!error) {
		expect(idl_check(&idl, part(method, "out"), params, method), "reply");
		fds = json_object_get(params, "fds");
		assert_int_equal(json_array_size(fds), p->msg.n_fds);
		remember(params);
		return 0;
	}
	if (strncmp(error, idl.name, n) != 0 || !json_object_get(idl.errors, error + n + 1))
		fail_msg("%s: error %s is not declared", method, error);
	expect(idl_check(&idl, json_object_get(idl.errors, error + n + 1), params, error + n + 1), method);
	err_set(0, "%s", json_string_value(json_object_get(params, "why")));
	assert_true(json_integer_value(json_object_get(params, "errno")) < 0);
	return (int)json_integer_value(json_object_get(params, "errno"));
}

/* The socket of the last reply: closing it gives up the resource behind it. */
static void keep_socket(struct peer *p)
{
	assert_true(n_sockets < sizeof(sockets) / sizeof(*sockets));
	sockets[n_sockets] = varlink_msg_take_fd(&p->msg, 0);
	assert_true(sockets[n_sockets++] >= 0);
}

static void is_covered(const char *method, enum mode mode)
{
	int64_t was = json_integer_value(json_object_get(covered, method));

	json_object_set_new(covered, method, json_integer(was | mode));
}

static void call(struct peer *p, const char *method, enum mode mode, const char *own)
{
	int r;

	ask(p, method, params_of(method, mode, own), false);
	r = check_reply(p, method);
	if (r < 0)
		fail_msg("%s: %d: %s", method, r, err_why());
	is_covered(method, mode);
}

/* ---- one of everything ---- */

static int restart(void *user, const char *name)
{
	(void)user;
	assert_string_equal(name, "log");
	return 0;
}

static json_t *given_up(void *user)
{
	(void)user;
	return json_pack("[{s:s, s:s}]", "name", "sumo", "why", "it ended three times");
}

static int begin(void **state)
{
	static const char describe[] = "{\"method\": \"org.varlink.service.GetInterfaceDescription\", "
				       "\"parameters\": {\"interface\": \"io.simd.Control\"}}";
	json_t *m;

	(void)state;
	desk_open(&desk, "");
	desk.ops.bridge_restart = restart;
	desk.ops.process_restart = restart;
	desk.ops.given_up = given_up;
	assert_int_equal(bridge_find_plugins(desk.simd, (const char *const[]){ NULL }), 0);
	peer_open(&desk, &tool);
	peer_open(&desk, &sensor);
	peer_open(&desk, &source);
	peer_open(&desk, &bridge);
	known = json_pack("{s:i}", "abi", (int)WIRE_ABI);
	covered = json_object();
	peer_send(&tool, describe, sizeof(describe));
	m = json_object_get(peer_next(&tool, NULL), "parameters");
	expect(idl_parse(json_string_value(json_object_get(m, "description")), &idl), "description");
	return 0;
}

static int end(void **state)
{
	(void)state;
	idl_finish(&idl);
	while (n_sockets)
		fd_close(sockets[--n_sockets]);
	json_decref(known);
	json_decref(covered);
	peer_close(&tool);
	peer_close(&sensor);
	peer_close(&source);
	peer_close(&bridge);
	desk_close(&desk);
	return 0;
}

static void begin_sessions(void)
{
	struct wire_counter_page *page;
	void *map;
	int fd;

	call(&sensor, "Hello", MINIMAL, NULL);
	fd = varlink_msg_take_fd(&sensor.msg, 3);
	call(&sensor, "Attached", MINIMAL, NULL);
	call(&sensor, "Advertise", MINIMAL, NULL);
	assert_int_equal(fd_shared_map(fd, sizeof(*page), true, &map), 0);
	page = map;
	atomic_store(&page->row[json_integer_value(json_object_get(known, "row"))].dropped[SIM_REASON_TOKEN], 3);
	fd_shared_unmap(map, sizeof(*page));
	fd_close(fd);
	ask(&sensor, "Events", NULL, true);
	is_covered("Events", MINIMAL);
	call(&source, "Hello", NULLS, "{\"name\": \"engine\", \"role\": \"source\"}");
	call(&bridge, "Hello", FULL, "{\"name\": \"log\", \"role\": \"bridge\"}");
	call(&sensor, "Advertise", FULL, "{\"channel\": \"other\"}");
	call(&sensor, "Subscribe", MINIMAL, NULL);
	call(&sensor, "Subscribe", FULL, NULL);
	call(&sensor, "OpenToken", MINIMAL, NULL);
}

static void send_lane(int lane, uint16_t op, const void *record, size_t len, const char *text)
{
	char packet[1024];
	struct lane_head h = { .op = op, .count = 1, .length = (uint32_t)(len + strlen(text)) };

	memcpy(packet, &h, sizeof(h));
	memcpy(packet + sizeof(h), record, len);
	memcpy(packet + sizeof(h) + len, text, strlen(text));
	assert_true(send(lane, packet, sizeof(h) + h.length, MSG_NOSIGNAL) > 0);
	desk_run(&desk, MS);
}

/*
 * The bridge reports that it is connected, that another process publishes /clock there, and how it carries two
 * channels.
 */
static void attach_bridge(void)
{
	struct lane_status s = { .status = SIM_BRIDGE_CONNECTED };
	uint32_t other = (uint32_t)json_integer_value(json_object_get(known, "channel_id"));
	int lane;

	call(&bridge, "AttachBridge", MINIMAL, NULL);
	keep_socket(&bridge);
	lane = sockets[0];
	call(&bridge, "NameTopic", FULL, NULL);
	call(&bridge, "NameTopic", MINIMAL, NULL);
	call(&bridge, "NameTopic", NULLS, NULL);
	send_lane(lane, LANE_STATUS, &s, sizeof(s), "to here\nrosbag of host b");
	send_lane(lane, LANE_CARRIES, &(struct lane_carries){ .channel_id = other, .name_len = 4 },
		  sizeof(struct lane_carries), "/camsensor_msgs/Image");
}

/* Only of a clock that follows another one it is known by how much it may be off. */
static void follow_a_clock(void)
{
	const struct driver_follow_packet p = {
		.op = DRIVER_FOLLOW, .mono_ns = exec_now(desk.x), .rate_e6 = 1000000, .scale_e6 = 1000000
	};

	call(&tool, "SetSource", NULLS, "{\"source\": \"link\"}");
	call(&source, "AcquireDriver", MINIMAL, NULL);
	keep_socket(&source);
	assert_int_equal(send(sockets[n_sockets - 1], &p, sizeof(p), MSG_NOSIGNAL), sizeof(p));
	desk_run(&desk, MS);
	call(&tool, "GetClock", MINIMAL, NULL);
}

static void use_the_clock(void)
{
	call(&tool, "SetSource", MINIMAL, NULL);
	call(&tool, "SetScale", MINIMAL, NULL);
	call(&tool, "PauseClock", MINIMAL, NULL);
	call(&tool, "PauseClock", NULLS, NULL);
	call(&tool, "PauseClock", FULL, NULL);
	call(&tool, "StepClock", MINIMAL, NULL);
	call(&tool, "StepClock", FULL, NULL);
	call(&tool, "ResumeClock", MINIMAL, NULL);
	follow_a_clock();
	call(&tool, "SetSource", FULL, "{\"source\": \"system\"}");
	call(&tool, "SetSource", NULLS, "{\"source\": \"unity\"}");
	call(&source, "AcquireDriver", FULL, NULL);
	keep_socket(&source);
	call(&source, "DriverWaits", MINIMAL, NULL);
	call(&source, "JoinStep", FULL, NULL);
	keep_socket(&source);
	call(&sensor, "JoinStep", MINIMAL, NULL);
	keep_socket(&sensor);
	call(&tool, "GetClock", MINIMAL, NULL);
}

static void use_services(void)
{
	call(&sensor, "OfferService", MINIMAL, NULL);
	ask(&tool, "CallService", params_of("CallService", MINIMAL, NULL), false);
	call(&sensor, "ListServices", MINIMAL, NULL); /* the request comes before its reply */
	call(&sensor, "AnswerService", MINIMAL, "{\"response\": {\"ok\": true}}");
	assert_int_equal(check_reply(&tool, "CallService"), 0);
	is_covered("CallService", MINIMAL);
	call(&sensor, "CallService", FULL, NULL);
	call(&tool, "ListServices", MINIMAL, NULL);
	call(&sensor, "AnswerService", FULL, NULL);
	call(&sensor, "CallService", FULL, NULL);
	call(&tool, "ListServices", MINIMAL, NULL);
	call(&sensor, "AnswerService", MINIMAL, "{\"response\": {\"ok\": true}}");
	call(&sensor, "OfferService", FULL, "{\"name\": \"get\"}");
	call(&tool, "GetService", MINIMAL, NULL);
	call(&sensor, "WithdrawService", MINIMAL, NULL);
}

static void look_and_end(void)
{
	static const char *const lists[] = { "GetInfo",     "ListChannels", "GetChannel", "ListClients",
					     "ListBridges", "GetDispatch",  "GetConfig" };

	for (size_t i = 0; i < sizeof(lists) / sizeof(*lists); i++)
		call(&tool, lists[i], MINIMAL, NULL);
	call(&tool, "GetChannel", FULL, NULL);
	call(&sensor, "Enlarge", MINIMAL, NULL);
	call(&sensor, "Unadvertise", MINIMAL, NULL);
	call(&sensor, "Requeue", MINIMAL, NULL);
	call(&sensor, "Unsubscribe", MINIMAL, NULL);
	call(&sensor, "CloseToken", MINIMAL, NULL);
	call(&sensor, "Ready", MINIMAL, NULL);
	call(&sensor, "Goodbye", MINIMAL, NULL);
	call(&tool, "RestartBridge", MINIMAL, NULL);
	list_first(&desk.simd->bridges, struct bridge, link)->external = false;
	call(&tool, "SetBridgeConnection", MINIMAL, NULL);
	call(&tool, "RestartProcess", MINIMAL, NULL);
	call(&tool, "Shutdown", MINIMAL, NULL);
	event_renew(desk.simd, "/c");
	event_queues(desk.simd, "/c");
	event_shutdown(desk.simd);
	call(&sensor, "GetClock", MINIMAL, NULL);
}

/*
 * Fields that never had a value: nothing here makes a bridge too slow, or a message fail, time waits for no client, and
 * no message with measured stages is on its way.
 */
static const char *const not_met[] = { "Bridge.slow", "DispatchChannel.failed", "Clock.waits_for", "Durations.up_to",
				       "Durations.counts" };

static void all_were_met(void)
{
	json_t *names = json_array(), *v;
	const char *key;
	size_t i;

	json_object_foreach(idl.types, key, v)
		idl_unseen(&idl, v, key, names);
	json_object_foreach(idl.methods, key, v)
		idl_unseen(&idl, json_object_get(v, "out"), key, names);
	json_array_foreach(names, i, v) {
		bool expected = false;

		for (size_t k = 0; k < sizeof(not_met) / sizeof(*not_met); k++)
			expected |= !strcmp(json_string_value(v), not_met[k]);
		if (!expected)
			fail_msg("no reply or event had a value of %s", json_string_value(v));
	}
	json_decref(names);
}

static bool has_optional(const char *method)
{
	bool any = false, optional;
	const char *name;
	json_t *field;

	json_object_foreach(idl_fields(part(method, "in")), name, field) {
		(void)idl_field_type(field, &optional);
		any |= optional;
	}
	return any;
}

TEST_WITH(replies_and_events_match_their_declaration, begin, end)
{
	json_t *v, *events;
	const char *key;

	begin_sessions();
	attach_bridge();
	use_the_clock();
	use_services();
	look_and_end();

	json_object_foreach(idl.methods, key, v) {
		int64_t modes = json_integer_value(json_object_get(covered, key));

		if (!(modes & MINIMAL) && !(modes & FULL))
			fail_msg("method %s is declared and nothing here calls it", key);
		if (has_optional(key) && !(modes & FULL))
			fail_msg("method %s is not called with all its parameters", key);
	}
	events = json_object_get(json_object_get(idl_fields(part("Events", "out")), "event"), "type");
	json_object_foreach(json_object_get(events, "enum"), key, v)
		if (!json_object_get(covered, key))
			fail_msg("event %s is declared and never came", key);
	all_were_met();
}

/* ---- undeclared parameters ---- */

/* Calls with one thing wrong are refused, and the sentence names it. */
static void refused(const char *method, json_t *params, const char *name, const char *what)
{
	bool free_of_session = strcmp(method, "Hello") == 0;
	int r;

	ask(free_of_session ? &tool : &sensor, method, params, false);
	r = check_reply(free_of_session ? &tool : &sensor, method);
	if (r == 0)
		fail_msg("%s with %s %s is accepted", method, name, what);
	if (!strstr(err_why(), name))
		fail_msg("%s with %s %s: %d, and the sentence does not name it: %s", method, name, what, r, err_why());
}

static json_t *with(const char *method, const char *name, json_t *value)
{
	json_t *o = params_of(method, FULL, NULL);

	if (value)
		json_object_set_new(o, name, value);
	else
		json_object_del(o, name);
	return o;
}

static void refuse_values(const char *method, const char *name, const json_t *type)
{
	const char *plain = json_is_string(type) ? json_string_value(type) : "enum";
	static char longest[5000];

	memset(longest, 'x', sizeof(longest) - 1);
	refused(method, with(method, name, json_array()), name, "of a wrong type");
	if (!strcmp(plain, "string") || !strcmp(plain, "object"))
		refused(method, with(method, name, json_integer(3)), name, "a number");
	else
		refused(method, with(method, name, json_string("no such")), name, "a word");
	if (!strcmp(plain, "int"))
		refused(method, with(method, name, json_integer(INT64_MIN)), name, "out of range");
	else if (!strcmp(plain, "float"))
		refused(method, with(method, name, json_real(1e300)), name, "out of range");
	else if (!strcmp(plain, "string"))
		refused(method, with(method, name, json_string(longest)), name, "too long");
}

TEST_WITH(wrong_parameters_are_refused, begin, end)
{
	static const char *const ids[] = { "publisher_id", "subscriber_id", "service_id", "request_id", "cell" };
	const char *method, *name;
	json_t *m, *field;

	call(&sensor, "Hello", MINIMAL, NULL);
	ask(&sensor, "Events", NULL, true);
	for (size_t i = 0; i < sizeof(ids) / sizeof(*ids); i++)
		json_object_set_new(known, ids[i], json_integer(1));
	json_object_foreach(idl.methods, method, m) {
		refused(method, with(method, "colour", json_integer(1)), "colour", "(unknown)");
		json_object_foreach(idl_fields(json_object_get(m, "in")), name, field) {
			bool optional;
			const json_t *type = idl_field_type(field, &optional);

			if (!optional)
				refused(method, with(method, name, NULL), name, "missing");
			refuse_values(method, name, type);
		}
	}
}

/* "1 .. 256" in the comment of a parameter. */
static bool documented_range(const char *doc, int64_t *ret_min, int64_t *ret_max)
{
	const char *dots = strstr(doc, " .. "), *at = dots;

	while (at && at > doc && strchr("-0123456789", at[-1]))
		at--;
	if (!at || at == dots)
		return false;
	*ret_min = strtoll(at, NULL, 10);
	*ret_max = strtoll(dots + 4, NULL, 10);
	return true;
}

static void same_range(const char *method, const struct jsonx_field *f, const char *doc)
{
	int64_t min, max;

	if (f->type == JSONX_INT && documented_range(doc, &min, &max) && (min != f->min || max != f->max))
		fail_msg("%s: %s is %lld .. %lld in daemon/control, not %lld .. %lld", method, f->key,
			 (long long)f->min, (long long)f->max, (long long)min, (long long)max);
}

/* What daemon/control would accept without the declaration's knowing is found here: a call cannot show it. */
static void same_parameters(const struct method *m)
{
	static const char *const names[] = { [JSONX_INT] = "int",
					     [JSONX_BOOL] = "bool",
					     [JSONX_REAL] = "float",
					     [JSONX_STRING] = "string",
					     [JSONX_OBJECT] = "object" };
	json_t *fields = idl_fields(part(m->name, "in"));
	size_t n = 0;

	for (const struct jsonx_field *f = m->params; f && f->key; f++, n++) {
		json_t *field = json_object_get(fields, f->key);
		bool optional;
		const json_t *type = idl_field_type(field, &optional);
		const char *name = json_object_get(type, "enum") ? "string" : json_string_value(type);

		if (!field || optional != f->optional || strcmp(name, names[f->type]) != 0)
			fail_msg("%s: parameter %s is a %s%s in daemon/control, and not so declared", m->name, f->key,
				 f->optional ? "?" : "", names[f->type]);
		same_range(m->name, f, json_string_value(json_object_get(field, "doc")));
	}
	assert_int_equal(n, json_object_size(fields));
}

static const struct method *find(const char *name)
{
	static const struct method *const tables[] = { session_methods, service_methods, list_methods, clock_methods,
						       admin_methods };

	for (size_t i = 0; i < sizeof(tables) / sizeof(*tables); i++)
		for (const struct method *m = tables[i]; m->name; m++)
			if (!strcmp(m->name, name))
				return m;
	return NULL;
}

TEST_WITH(tables_and_declarations_have_the_same_methods, begin, end)
{
	static const struct method *const tables[] = { session_methods, service_methods, list_methods, clock_methods,
						       admin_methods };
	const char *name;
	json_t *m;

	json_object_foreach(idl.methods, name, m)
		if (!find(name))
			fail_msg("method %s is declared and not in the tables of daemon/control", name);
	for (size_t i = 0; i < sizeof(tables) / sizeof(*tables); i++)
		for (const struct method *t = tables[i]; t->name; t++)
			same_parameters(t);
}

TEST_WITH(every_method_is_documented, begin, end)
{
	const char *name, *key;
	json_t *t, *field;

	json_object_foreach(idl.types, name, t)
		json_object_foreach(idl_fields(t), key, field)
			if (!*json_string_value(json_object_get(field, "doc")))
				fail_msg("%s.%s has no comment", name, key);
	json_object_foreach(idl.methods, name, t)
		for (int half = 0; half < 2; half++)
			json_object_foreach(idl_fields(json_object_get(t, half ? "out" : "in")), key, field)
				if (!*json_string_value(json_object_get(field, "doc")))
					fail_msg("%s: %s has no comment", name, key);
}

/* ---- errors ---- */

TEST_WITH(documented_errors_are_returned, begin, end)
{
	static const struct {
		const char *method, *own;
		int r; /* 0: what the next rows need */
	} rows[] = {
		{ "Hello", NULL, -EINVAL }, /* a second time */
		{ "Attached", "{\"iox_generation\": 9}", -ESTALE },
		{ "Advertise", "{\"type\": " TYPE_B "}", -EMEDIUMTYPE },
		{ "Advertise", "{\"max_body\": 1000000}", -EMSGSIZE },
		{ "Unadvertise", "{\"publisher_id\": 77}", -ENOENT },
		{ "Subscribe", "{\"hash\": \"00000000000000bb\"}", -EMEDIUMTYPE },
		{ "Unsubscribe", "{\"subscriber_id\": 77}", -ENOENT },
		{ "Requeue", "{\"subscriber_id\": 77}", -ENOENT },
		{ "CloseToken", "{\"cell\": 4000}", -ENOENT },
		{ "AttachBridge", NULL, -EPERM },
		{ "NameTopic", NULL, -EPERM },
		{ "WithdrawService", "{\"service_id\": 77}", -ENOENT },
		{ "CallService", "{\"tag\": null}", -ENOENT },
		{ "GetService", NULL, -ENOENT },
		{ "GetChannel", "{\"name\": \"nothing\"}", -ENOENT },
		{ "RestartBridge", "{\"name\": \"nobody\"}", -ENOENT },
		{ "SetBridgeConnection", "{\"name\": \"nobody\"}", -ENOENT },
		{ "SetScale", "{\"scale\": 1000}", -ERANGE },
		{ "SetSource", "{\"source\": \"sundial\"}", -ENOENT },
		{ "SetSource", "{\"source\": \"ss2\"}", -EINVAL }, /* and continue */
		{ "DriverWaits", NULL, -EPERM },
		{ "AcquireDriver", NULL, 0 },
		{ "DriverWaits", NULL, 0 },
		{ "AcquireDriver", NULL, -EBUSY },
		{ "JoinStep", NULL, 0 },
		{ "JoinStep", NULL, -EBUSY },
		{ "SetSource", "{\"source\": \"system\"}", 0 },
		{ "AcquireDriver", NULL, -EOPNOTSUPP },
		{ "StepClock", NULL, -EBUSY },
		{ "SetSource", "{\"source\": \"ss2\", \"continue\": null}", 0 },
		{ "PauseClock", NULL, -EOPNOTSUPP },
		{ "ResumeClock", NULL, -EOPNOTSUPP },
		{ "StepClock", NULL, -EOPNOTSUPP },
		{ "SetSource", "{\"source\": \"unity\", \"continue\": null}", 0 },
		{ "PauseClock", NULL, 0 },
		{ "StepClock", NULL, -ENOTCONN },
		{ "OfferService", NULL, 0 },
		{ "OfferService", NULL, -EEXIST },
		{ "CallService", "{\"tag\": null, \"type\": \"t/Get\"}", -EMEDIUMTYPE },
	};

	for (size_t i = 0; i < 2; i++) { /* of a method that does not exist, and of one that wants a session */
		ask(&tool, i ? "OpenToken" : "Fly", json_pack("{s:s}", "name", "t"), false);
		assert_string_equal(json_string_value(json_object_get(next_reply(&tool), "error")),
				    i ? "io.simd.Control.Failed" : "org.varlink.service.MethodNotFound");
	}
	call(&sensor, "Hello", MINIMAL, NULL);
	call(&sensor, "Advertise", MINIMAL, NULL);
	ask(&sensor, "Events", NULL, true);
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		int r;

		ask(&sensor, rows[i].method, params_of(rows[i].method, FULL, rows[i].own), false);
		r = check_reply(&sensor, rows[i].method);
		if (r != rows[i].r)
			fail_msg("%s %s: %d, not %d: %s", rows[i].method, rows[i].own ? rows[i].own : "", r, rows[i].r,
				 err_why());
		if (r == 0 && sensor.msg.n_fds)
			keep_socket(&sensor);
	}
}

/* Refused before it is served: the same error in the same words. */
TEST_WITH(a_refused_connection_hears_a_declared_error, begin, end)
{
	struct peer p = { .d = &desk };
	int sv[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, sv), 0);
	p.fd = sv[0];
	assert_int_equal(varlink_create(NULL, &p.v), 0);
	conn_refuse(sv[1], -EMFILE, "no room");
	assert_int_equal(check_reply(&p, "Hello"), -EMFILE);
	assert_string_equal(err_why(), "no room");
	peer_close(&p);
}

/* What a definition may not be: the parser that all this rests on. */
TEST_WITH(the_interface_parser_refuses_invalid_input, begin, end)
{
	static const char *const wrong[] = {
		"",
		"interface 1",
		"interface a.b\nmethod a() -> ()",
		"interface a.b\nmethod A()",
		"interface a.b\nmethod A(a: int) -> (a: ??int)",
		"interface a.b\nmethod A(a: int, b) -> ()",
		"interface a.b\nmethod A(a: int a: int) -> ()",
		"interface a.b\nmethod A(a: int, a: int) -> ()",
		"interface a.b\nmethod A(a_: int) -> ()",
		"interface a.b\nmethod A(a: Nothing) -> ()",
		"interface a.b\nmethod A(a: []Nothing) -> ()",
		"interface a.b\nerror A (a, b)",
		"interface a.b\ntype A (a: int)\ntype A (a: int)",
		"interface a.b\nmethod A(a: int",
		"interface a.b\nrecord A (a: int)",
	};

	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
		struct idl other;

		if (idl_parse(wrong[i], &other))
			fail_msg("this is accepted: %s", wrong[i]);
		assert_true(*other.why);
		idl_finish(&other);
	}
}
