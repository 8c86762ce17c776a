/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rigs for Autoware as AWSIM serves it and for SVL's users, config/rigs/{awsim,svl}.json, as a user has them: one
 * simulator that publishes on every channel, a DDS program that must find exactly the rig's topics, each with its type
 * and QoS, and decode the messages; and commands, which must reach the vehicle. topics_*.json beside this file list the
 * messages sent and expected: "S" is the stamp of 1640995200.125 s.
 */
#include "rig.h"

#include <stdlib.h>

#include <sim/srv/ControlModeCommand.h>

#include "../../support/ros_tree.h"
#include "../ros2/asker.h"
#include "../ros2/reader.h"
#include "../ros2/typed.h"

#define STAMP INT64_C(1640995200125000000)

static char *commands_qos;

/* ---- Autoware's side ---- */

/* What discovery tells of an endpoint, in the words of the table: "R V 1". */
static void qos_words(const dds_qos_t *q, char words[32])
{
	dds_reliability_kind_t reliability = DDS_RELIABILITY_BEST_EFFORT;
	dds_durability_kind_t durability = DDS_DURABILITY_VOLATILE;
	dds_history_kind_t history = DDS_HISTORY_KEEP_ALL;
	dds_duration_t wait;
	int32_t depth = 0;

	dds_qget_reliability(q, &reliability, &wait);
	dds_qget_durability(q, &durability);
	dds_qget_history(q, &history, &depth);
	snprintf(words, 32, "%s %s %d", reliability == DDS_RELIABILITY_RELIABLE ? "R" : "BE",
		 durability == DDS_DURABILITY_VOLATILE          ? "V"
		 : durability == DDS_DURABILITY_TRANSIENT_LOCAL ? "TL"
								: "?",
		 history == DDS_HISTORY_KEEP_LAST ? (int)depth : 0);
}

static void check_endpoint(struct peer *p, const dds_builtintopic_endpoint_t *e, json_t *row, const char *qos)
{
	const struct ros_type *t = ros_type_find(ros2_types, rig_text(row, "type"));
	char words[32], name[128], hash[128], why[640];
	void *data = NULL;
	size_t size = 0;

	qos_words(e->qos, words);
	snprintf(hash, sizeof(hash), "typehash=%s;", t->hash);
	PEER(p, ros_type_dds_name(t, name, sizeof(name)) == 0);
	dds_qget_userdata(e->qos, &data, &size);
	snprintf(why, sizeof(why), "%s: %s, %s, %.*s", e->topic_name, e->type_name, words, (int)size, (char *)data);
	if (strcmp(words, qos) != 0 || strcmp(e->type_name, name) != 0 || size != strlen(hash) ||
	    memcmp(data, hash, size) != 0)
		peer_fail(p, __FILE__, __LINE__, why);
	dds_free(data);
}

/* Discovery may tell of an endpoint again. */
static bool was_seen(dds_instance_handle_t seen[128], size_t *n, dds_instance_handle_t one)
{
	for (size_t i = 0; i < *n; i++)
		if (seen[i] == one)
			return true;
	if (*n < 128)
		seen[(*n)++] = one;
	return false;
}

/* Reads discovery until every row's endpoint was seen, each once. A topic of the rig that no row has is a failure. */
static void check_discovery(struct peer *p, dds_entity_t dp, dds_entity_t builtin, const char *rows, const char *qos)
{
	dds_entity_t r = dds_create_reader(dp, builtin, NULL, NULL);
	bool publishes = builtin == DDS_BUILTIN_TOPIC_DCPSPUBLICATION;
	size_t left = rig_count(rows) + (publishes ? rig_count("clock") : 0), n = 0;
	dds_instance_handle_t seen[128];

	while (left) {
		const dds_builtintopic_endpoint_t *e;
		void *sample = NULL;
		dds_sample_info_t info;
		json_t *row;
		bool clock;

		PEER(p, reader_wait(dp, r) == 0);
		if (dds_take(r, &sample, &info, 1, 1) <= 0)
			continue;
		e = sample;
		clock = !strcmp(e->topic_name, "rt/clock");
		if (info.valid_data && !was_seen(seen, &n, info.instance_handle) && !strncmp(e->topic_name, "rt/", 3) &&
		    (!clock || (publishes && rig_count("clock"))) &&
		    strcmp(e->topic_name, "rt/parameter_events") != 0) {
			row = rig_row_of(clock ? "clock" : rows, e->topic_name + 2);
			if (!row)
				peer_fail(p, __FILE__, __LINE__, e->topic_name);
			check_endpoint(p, e, row, qos ? qos : rig_text(row, "qos"));
			json_object_del(row, "qos"); /* a second one of that topic would be seen */
			left--;
		}
		dds_return_loan(r, &sample, 1);
	}
	dds_delete(r);
}

static void check_content(struct peer *p, dds_entity_t dp, json_t *row)
{
	struct typed *t = typed_new(ros_type_find(ros2_types, rig_text(row, "type")));
	char name[256], why[640];
	dds_entity_t r;
	void *sample;
	json_t *got;
	int n;

	PEER(p, t != NULL);
	snprintf(name, sizeof(name), "rt%s", rig_text(row, "topic"));
	r = reader_open(dp, typed_descriptor(t), name, false);
	sample = typed_sample(t);
	PEER(p, reader_take(r, sample) == 0);
	got = typed_tree(t, sample);
	n = snprintf(why, sizeof(why), "%s: ", name);
	if (ros_tree_compare(json_object_get(row, "message"), got, why + n, sizeof(why) - (size_t)n) < 0)
		peer_fail(p, __FILE__, __LINE__, why);
	dds_delete(r);
}

static void check_clock(struct peer *p, dds_entity_t dp)
{
	struct seen_time a = { 0, 0 };

	PEER(p, reader_take(reader_open(dp, &seen_clock_desc, "rt/clock", false), &a) == 0);
	PEER(p, a.sec > 1640995200);
}

static int look(struct peer *p)
{
	dds_entity_t dp = reader_participant();

	PEER(p, dp > 0);
	check_discovery(p, dp, DDS_BUILTIN_TOPIC_DCPSPUBLICATION, "topics", NULL);
	for (size_t i = 0; i < rig_count("topics"); i++)
		check_content(p, dp, rig_row("topics", i));
	check_clock(p, dp);
	atomic_store(&p->ready, 1);
	return 0;
}

static void topics_are_the_rigs(void)
{
	struct peer *p = peer_new(), *q = peer_new();
	pid_t simulator = peer_fork(p, rig_simulate), autoware = peer_fork(q, look);

	AWAIT(atomic_load(&p->failed) || atomic_load(&q->failed) || atomic_load(&q->ready));
	if (atomic_load(&p->failed) || atomic_load(&q->failed))
		fail_msg("%s", atomic_load(&p->failed) ? p->why : q->why);
	peer_join(q, autoware);
	peer_join(p, simulator);
	assert_int_equal(stack_bridge(rig_bridge, "failed"), 0);
	assert_int_equal(stack_bridge(rig_bridge, "dropped"), 0);
	peer_free(p);
	peer_free(q);
}

/* ---- commands ---- */

struct command {
	dds_entity_t writer;
	void *sample;
};

static struct command command_of(struct peer *p, dds_entity_t dp, json_t *row, bool keeps)
{
	struct typed *t = typed_new(ros_type_find(ros2_types, rig_text(row, "type")));
	struct command c;
	char name[256];

	PEER(p, t != NULL);
	snprintf(name, sizeof(name), "rt%s", rig_text(row, "topic"));
	c.sample = typed_sample(t);
	PEER(p, typed_fill(t, json_object_get(row, "message"), c.sample) == 0);
	c.writer = keeps ? reader_write_to(dp, typed_descriptor(t), name)
			 : reader_write_volatile(dp, typed_descriptor(t), name);
	PEER(p, c.writer > 0);
	return c;
}

/*
 * Autoware's commands are latched for late subscribers, so one is enough; SVL's users repeat theirs. Then the
 * subscriptions are checked.
 */
static int command(struct peer *p)
{
	bool keeps = strstr(commands_qos, "TL") != NULL;
	char last[256];
	struct reader_watch watch = { .topic = last };
	dds_entity_t dp = reader_participant();
	struct command c[RIG_ROWS_MAX];
	size_t n = rig_count("commands");

	PEER(p, dp > 0 && n <= RIG_ROWS_MAX);
	for (size_t i = 0; i < n; i++) {
		c[i] = command_of(p, dp, rig_row("commands", i), keeps);
		PEER(p, dds_write(c[i].writer, c[i].sample) == 0);
	}
	check_discovery(p, dp, DDS_BUILTIN_TOPIC_DCPSSUBSCRIPTION, "commands", commands_qos);
	snprintf(last, sizeof(last), "rt%s", rig_text(rig_row("commands", n - 1), "topic"));
	PEER(p, reader_watch(dp, &watch, true) == 0);
	atomic_store(&p->ready, 1);
	while (!atomic_load(&p->stop)) {
		for (size_t i = 0; i < n && !keeps; i++)
			PEER(p, dds_write(c[i].writer, c[i].sample) == 0);
		pace_us(10000);
	}
	PEER(p, reader_watch(dp, &watch, false) == 0); /* the vehicle has left, and the subscription with it */
	return 0;
}

static void commands_come_to_the_vehicle(void)
{
	struct peer *p = peer_new(), *q = peer_new();
	pid_t vehicle = peer_fork(p, rig_drive), autoware = peer_fork(q, command);

	AWAIT(atomic_load(&p->failed) || atomic_load(&q->failed) ||
	      (atomic_load(&p->received) == rig_count("commands") && atomic_load(&q->ready)));
	if (atomic_load(&p->failed) || atomic_load(&q->failed))
		fail_msg("%s", atomic_load(&p->failed) ? p->why : q->why);
	peer_join(p, vehicle);
	peer_join(q, autoware);
	peer_free(p);
	peer_free(q);
}

/* ---- the service of AWSIM ---- */

#define MODE_SERVICE "/input/control_mode_request"
#define MODE_TYPE    "autoware_vehicle_msgs::srv::dds_::ControlModeCommand_"

struct mode_request {
	struct ask_id id;
	int32_t sec;
	uint32_t nanosec;
	uint8_t mode;
};
struct mode_response {
	struct ask_id id;
	uint8_t success;
};

#define MODE_U4(m)    DDS_OP_ADR | DDS_OP_TYPE_4BY, offsetof(struct mode_request, m)
#define MODE_U1(s, m) DDS_OP_ADR | DDS_OP_TYPE_1BY, offsetof(struct s, m)

static const uint32_t request_ops[] = { ASK_ID(mode_request), MODE_U4(sec), MODE_U4(nanosec),
					MODE_U1(mode_request, mode), DDS_OP_RTS };
static const uint32_t response_ops[] = { ASK_ID(mode_response), MODE_U1(mode_response, success), DDS_OP_RTS };
static const dds_topic_descriptor_t request_desc = ASK_DESC(mode_request, request_ops, MODE_TYPE "Request_");
static const dds_topic_descriptor_t response_desc = ASK_DESC(mode_response, response_ops, MODE_TYPE "Response_");

/* Only the vehicle accepts complete control. */
static int on_mode(void *user, struct sim_request *req)
{
	const struct sim_ControlModeCommandRequest *q = req->body;
	struct sim_ControlModeCommandResponse *a = req->response;
	struct peer *p = user;

	a->success = q->stamp == STAMP && q->mode == SIM_CONTROL_MODE_COMMAND_REQUEST_AUTONOMOUS;
	atomic_fetch_add(&p->received, 1);
	return 0;
}

static int offer_mode(struct peer *p)
{
	struct sim_client *c = peer_connect(p, "vehicle");
	struct sim_service *sv;

	PEER(p, sim_service_offer(c, MODE_SERVICE, &sim_ControlModeCommand_service, NULL, on_mode, p, &sv) == 0);
	PEER_IDLE(p);
	sim_service_destroy(sv);
	sim_disconnect(c);
	return 0;
}

static int ask_mode(struct peer *p)
{
	struct asker a = asker_open(reader_participant(), MODE_SERVICE, &request_desc, &response_desc, "1.2.3");
	struct mode_request q = { { ASK_CLIENT, 1 }, 1640995200, 125000000, 1 };
	struct mode_response r = { { 0, 0 }, 9 };

	PEER(p, dds_write(a.writer, &q) == 0 && reader_take(a.reader, &r) == 0);
	PEER(p, r.id.client == ASK_CLIENT && r.id.sequence == 1 && r.success == 1);
	q.id.sequence = 2;
	q.mode = 4;
	PEER(p, dds_write(a.writer, &q) == 0 && reader_take(a.reader, &r) == 0);
	PEER(p, r.id.sequence == 2 && r.success == 0);
	atomic_store(&p->ready, 1);
	return 0;
}

static void autoware_asks_to_drive(void)
{
	struct peer *p = peer_new(), *q = peer_new();
	pid_t vehicle = peer_fork(p, offer_mode), autoware = peer_fork(q, ask_mode);

	AWAIT(atomic_load(&p->failed) || atomic_load(&q->failed) || atomic_load(&q->ready));
	if (atomic_load(&p->failed) || atomic_load(&q->failed))
		fail_msg("%s", atomic_load(&p->failed) ? p->why : q->why);
	peer_join(q, autoware);
	peer_join(p, vehicle);
	assert_int_equal(atomic_load(&p->received), 2);
	peer_free(p);
	peer_free(q);
}

/* ---- the rates of AWSIM ---- */

/* The channel that the rig makes this topic of. */
static const char *channel_of(json_t *rig, const char *topic)
{
	json_t *ch, *one;
	size_t i, k;

	json_array_foreach(json_object_get(rig, "channels"), i, ch) {
		json_t *options = json_object_get(json_object_get(ch, "options"), "ros2");

		if (!strcmp(rig_text(options, "topic"), topic))
			return rig_text(ch, "name");
		json_array_foreach(options, k, one)
			if (!strcmp(rig_text(one, "topic"), topic))
				return rig_text(ch, "name");
	}
	fail_msg("%s: no channel of the rig", topic);
	return "";
}

/* The rate that config/rigs/STACKS.md gives for a channel: the first of its tables is AWSIM's. */
static double told_hz(const char *channel)
{
	FILE *f = fopen("config/rigs/STACKS.md", "r");
	char name[80], *line = NULL, *cell;
	double hz = -1;
	size_t room = 0;

	assert_non_null(f);
	snprintf(name, sizeof(name), "`%s`", channel);
	while (hz < 0 && getline(&line, &room, f) >= 0) {
		cell = !strncmp(line, "| `", 3) ? strstr(line, name) : NULL;
		for (int i = 0; cell && i < 2; i++)
			cell = strchr(cell, '|') ? strchr(cell, '|') + 1 : NULL;
		hz = cell ? strtod(cell, NULL) : -1;
	}
	free(line);
	fclose(f);
	return hz;
}

static void rates_are_told(void)
{
	json_t *rig = json_load_file("config/rigs/awsim.json", 0, NULL);

	for (size_t i = 0; i < rig_count("topics"); i++) {
		json_t *row = rig_row("topics", i);
		const char *channel = channel_of(rig, rig_text(row, "topic"));

		if (told_hz(channel) != json_number_value(json_object_get(row, "hz")))
			fail_msg("%s of %s: %g Hz", rig_text(row, "topic"), channel, told_hz(channel));
	}
	json_decref(rig);
	assert_non_null(strstr(stack_ctl("config", NULL)->out, "\n  clock.rate_hz = 100 "));
	assert_int_equal(json_integer_value(json_object_get(rig_row("clock", 0), "hz")), 100);
}

static int stop(void **state)
{
	if (!rig_is(NULL))
		return 0;
	free(commands_qos);
	return rig_stop(state);
}

/* The tests of one rig share a simd. */
static int use(void **state, const char *name, const char *qos)
{
	if (rig_is(name))
		return 0;
	if (stop(state) < 0)
		return -1;
	commands_qos = strdup(qos);
	return rig_start(name, name, NULL);
}

static int awsim(void **state)
{
	return use(state, "awsim", "R TL 1");
}

static int svl(void **state)
{
	return use(state, "svl", "R V 10");
}

TEST_WITH(topics_match_those_of_awsim, awsim, NULL)
{
	topics_are_the_rigs();
}

TEST_WITH(control_commands_reach_the_vehicle_of_awsim, awsim, NULL)
{
	commands_come_to_the_vehicle();
}

TEST_WITH(rates_are_those_of_awsim, awsim, NULL)
{
	rates_are_told();
}

TEST_WITH(autoware_takes_control_of_awsim, awsim, NULL)
{
	assert_string_equal(rig_text(rig_row("services", 0), "service"), MODE_SERVICE);
	assert_string_equal(rig_text(rig_row("services", 0), "type"), "autoware_vehicle_msgs/srv/ControlModeCommand");
	autoware_asks_to_drive();
}

TEST_WITH(awsim_stops_and_leaves_nothing, awsim, stop)
{
	stack_stop(rig_simd);
}

TEST_WITH(topics_match_those_of_svl, svl, NULL)
{
	topics_are_the_rigs();
}

TEST_WITH(control_commands_reach_the_vehicle_of_svl, svl, NULL)
{
	commands_come_to_the_vehicle();
}

TEST_WITH(svl_stops_and_leaves_nothing, svl, stop)
{
	stack_stop(rig_simd);
}

TEST_GROUP(NULL, stop)
