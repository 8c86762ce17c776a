/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The node as it is, at both ends of a line that is slow, loses and is cut: it asks itself by XML-RPC, and subscribes
 * to itself by TCPROS. In virtual time, so what costs minutes elsewhere costs none here. The host only takes notes.
 * Thread: the test's.
 */
#include "ros1.h"
#include "support/test.h"

#include <errno.h>

#include "ask.h"
#include "publication.h"
#include "ros/ros_type.h"
#include "support/vnet.h"
#include "timeutil.h"
#include "xmlrpc.h"

#define STEPS 100

static struct sim_bridge_host host;
static struct sim_bridge *b;
static struct vnet_rules rules;
static struct publication *horn;
static char uri[ROS1_TEXT_MAX];
static struct {
	unsigned n, sum; /* messages that came in, and what was in them */
} got;
static struct {
	unsigned n;
	int result, pid; /* of the last one */
} answer;

__attribute__((format(printf, 3, 4))) static void on_log(void *ctx, int level, const char *fmt, ...)
{
	(void)ctx;
	(void)level;
	(void)fmt;
}

static void on_status(void *ctx, enum sim_bridge_status status, const char *text)
{
	(void)ctx;
	(void)status;
	(void)text;
}

/* As in ros1.c. */
static const char *on_option(void *ctx, const char *name)
{
	static const char *const options[][2] = {
		{ "node", "simd" },
		{ "namespace", "/" },
		{ "remap", "[]" },
		{ "names", "automatic" },
		{ "queue", "100" },
		{ "compat", "none" },
		{ "apollo", "false" },
		{ "set_use_sim_time", "false" },
		{ "use_sim_time", "false" },
		{ "call", "{}" },
		{ "subscribe", "{\"/horn\":{\"type\":\"std_msgs/Bool\",\"channel\":\"horn\"}}" },
	};

	(void)ctx;
	for (size_t i = 0; i < sizeof(options) / sizeof(*options); i++)
		if (strcmp(options[i][0], name) == 0)
			return options[i][1];
	return "";
}

static int on_offer(void *ctx, const char *channel, const struct sim_type *type)
{
	(void)ctx;
	(void)channel;
	(void)type;
	return 0;
}

static int on_publish(void *ctx, const char *channel, const struct sim_type *type, const void *body, size_t size)
{
	const uint8_t *bytes = body;

	(void)ctx;
	(void)type;
	assert_string_equal(channel, "horn");
	got.n++;
	for (size_t i = 0; i < size; i++)
		got.sum += bytes[i];
	return 0;
}

static void on_brings(void *ctx, const char *channel, const char *name, const char *type)
{
	(void)ctx;
	(void)channel;
	(void)name;
	(void)type;
}

static void begin(void)
{
	char why[200];

	unsetenv("ROS_IP");
	unsetenv("ROS_HOSTNAME");
	memset(&got, 0, sizeof(got));
	memset(&answer, 0, sizeof(answer));
	host = (struct sim_bridge_host){ .size = sizeof(host),
					 .log = on_log,
					 .status = on_status,
					 .option = on_option,
					 .offer = on_offer,
					 .publish = on_publish,
					 .brings = on_brings };
	rules = (struct vnet_rules){ .delay_dur_ns = NS_PER_MS };
	b = calloc(1, sizeof(*b));
	b->host = &host;
	b->strangers = b->peers = (struct log_limit)LOG_LIMIT(NS_PER_S, 2);
	b->common = (struct topics){ .host = &host,
				     .arg = b,
				     .known = ros1_types,
				     .key = "ros1",
				     .keys = TOPIC_ROS1,
				     .format = WIRE_ROS1,
				     .resolve = node_resolve };
	topics_init(&b->common);
	message_pool_init(&b->pool, &b->common);
	assert_int_equal(exec_sim_create(test_seed(1), NS_PER_S, &b->x), 0);
	vnet_create(b->x, test_seed(1), &rules);
	assert_int_equal(node_read_options(b), 0);
	assert_int_equal(node_open(b), 0);
	b->off = false; /* as if a master had answered */
	atomic_store(&b->status, SIM_BRIDGE_CONNECTED);
	snprintf(uri, sizeof(uri), "%.*s", (int)strlen(b->uri) - 1, b->uri); /* without "/": somebody else's, it says */
	assert_int_equal(publication_get(b, "/horn", ros_type_find(ros1_types, "std_msgs/Bool"), 100, false, &horn, why,
					 sizeof(why)),
			 0);
}

static void finish(void)
{
	publication_unref(horn);
	vnet_destroy();
	node_close(b);
	message_pool_finish(&b->pool);
	topics_finish(&b->common);
	free(b);
	b = NULL;
}

static int set_up(void **state)
{
	(void)state;
	begin();
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	if (b)
		finish();
	return 0;
}

static void run(int64_t dur_ns)
{
	assert_true(exec_sim_run(b->x, exec_now(b->x) + dur_ns) >= 0);
}

/* Within two minutes. */
#define UNTIL(cond) \
	do { \
		for (int i_ = 0; i_ < 12000 && !(cond); i_++) \
			run(10 * NS_PER_MS); \
		assert_true(cond); \
	} while (0)

/* So many callbacks, about. */
static void step(int callbacks)
{
	while (callbacks > 0) {
		int r = exec_sim_run(b->x, exec_now(b->x) + NS_PER_MS / 10);

		assert_true(r >= 0);
		callbacks -= r ? r : 1; /* time that passes without one counts as well */
	}
}

/* ---- XML-RPC ---- */

static void on_answer(void *arg, int r, struct xmlrpc_doc *d, const char *why)
{
	(void)arg;
	(void)why;
	answer.n++;
	answer.result = r;
	if (d)
		answer.pid = (int)xmlrpc_int(xmlrpc_at(xmlrpc_at(d->params, 0), 2), 0);
	xmlrpc_free(d);
}

static struct ask *ask_pid(void)
{
	struct xmlrpc_writer w = { .text = NULL };
	struct ask *a;

	xmlrpc_call(&w, "getPid");
	xmlrpc_put_text(&w, "/test");
	a = ask_start(b, b->master_names, uri, &w, 5 * NS_PER_S, on_answer, NULL);
	assert_non_null(a);
	return a;
}

static void expect_pid(unsigned n)
{
	UNTIL(answer.n == n);
	assert_int_equal(answer.result, 0);
	assert_int_equal(answer.pid, getpid());
}

TEST_WITH(calls_over_a_bad_line, set_up, tear_down)
{
	rules = (struct vnet_rules){
		.delay_dur_ns = 20 * NS_PER_MS, .jitter_dur_ns = 20 * NS_PER_MS, .lost_permille = 20, .piece = 20
	};
	for (unsigned i = 1; i <= 20; i++) {
		(void)ask_pid();
		expect_pid(i);
	}
}

/* Who asked is told once, and who answers keeps nothing; both go on. */
static void lose_call_at(int callbacks, void (*fault)(unsigned which))
{
	begin();
	(void)ask_pid();
	step(callbacks);
	fault(0);
	UNTIL(answer.n == 1);
	if (answer.result && answer.result != -ETIMEDOUT && answer.result != -ECONNRESET &&
	    answer.result != -EBADMSG) /* in the midst of it */
		fail_msg("step %d: %s", callbacks, strerror(-answer.result));
	(void)ask_pid();
	expect_pid(2);
	UNTIL(list_empty(&b->askers));
	finish();
}

TEST(a_call_whose_peer_vanishes_at_any_step)
{
	for (int k = 0; k < STEPS; k++)
		lose_call_at(k, vnet_vanish);
}

TEST(a_call_that_is_reset_at_any_step)
{
	for (int k = 0; k < STEPS; k++)
		lose_call_at(k, vnet_reset);
}

TEST(a_call_that_is_cancelled_at_any_step)
{
	for (int k = 0; k < STEPS; k++) {
		struct ask *a;

		begin();
		a = ask_pid();
		step(k);
		if (!answer.n)
			ask_cancel(a);
		answer.n = 0;
		(void)ask_pid();
		expect_pid(1);
		UNTIL(list_empty(&b->askers));
		finish();
	}
}

/* ---- TCPROS ---- */

static void subscribe(void)
{
	struct xmlrpc_value place = { .kind = XMLRPC_STRING, .text = uri },
			    places = { .kind = XMLRPC_ARRAY, .first = &place };

	subscriptions_listen(b, "horn", 1);
	subscription_publishers(b, "/horn", &places, true);
}

static void publish(bool value)
{
	struct message *m = message_get(&b->pool);
	const uint8_t bytes[] = { 1, 0, 0, 0, value };
	uint8_t *data = malloc(sizeof(bytes));
	struct job *job = NULL;

	memcpy(data, bytes, sizeof(bytes));
	message_set_own(m, data, sizeof(bytes));
	assert_int_equal(publication_send(horn, m, NULL, &job), 0);
}

static unsigned subscribers(void)
{
	return atomic_load(&horn->n_subscribers);
}

TEST_WITH(messages_over_a_bad_line, set_up, tear_down)
{
	rules = (struct vnet_rules){
		.delay_dur_ns = 20 * NS_PER_MS, .jitter_dur_ns = 20 * NS_PER_MS, .lost_permille = 20, .piece = 7
	};
	subscribe();
	UNTIL(subscribers() == 1);
	for (int i = 0; i < 90; i++)
		publish(i % 3 == 0);
	UNTIL(got.n == 90);
	assert_int_equal(got.sum, 30);
}

/* Whatever is lost of asking for the place, of the headers or of the messages, it is asked again until messages come. */
static void lose_topic_at(int callbacks, void (*fault)(unsigned which))
{
	static unsigned n;

	begin();
	subscribe();
	step(callbacks);
	fault(vnet_dialled() - 1);
	for (n = 0; got.n < 3; n++) {
		assert_true(n < 12000);
		if (subscribers())
			publish(true);
		run(10 * NS_PER_MS);
	}
	finish();
}

TEST(a_topic_that_is_reset_at_any_step_comes_back)
{
	for (int k = 1; k < STEPS; k++)
		lose_topic_at(k, vnet_reset);
}

/* A tenth of a second later, as it was connected; then the pauses grow. */
TEST_WITH(a_publisher_that_is_lost_is_asked_after_a_pause, set_up, tear_down)
{
	unsigned n;

	subscribe();
	UNTIL(subscribers() == 1);
	n = vnet_dialled();
	vnet_reset(n - 1);
	run(99 * NS_PER_MS);
	assert_int_equal(vnet_dialled(), n);
	run(2 * NS_PER_MS);
	assert_int_equal(vnet_dialled(), n + 1);
	UNTIL(subscribers() == 1);
}

/* ---- what it is asked ---- */

static void flatten(const struct xmlrpc_value *v, char text[1000])
{
	size_t n = strlen(text);

	if (v->kind == XMLRPC_INT || v->kind == XMLRPC_BOOL) {
		snprintf(text + n, 1000 - n, "%d", (int)xmlrpc_int(v, -99));
	} else if (v->kind == XMLRPC_STRING) {
		snprintf(text + n, 1000 - n, "%s", xmlrpc_text(v));
	} else {
		strcat(text, "[");
		for (const struct xmlrpc_value *i = v->first; i; i = i->next) {
			flatten(i, text);
			strcat(text, i->next ? " " : "");
		}
		strcat(text, "]");
	}
}

/* protocol: of requestTopic; NULL: no more than the two texts. */
static const char *asked(const char *method, const char *topic, const char *protocol)
{
	static char text[1000];
	struct xmlrpc_writer q = { .text = NULL }, a = { .text = NULL };
	struct xmlrpc_doc *d = NULL, *e = NULL;
	char why[100];

	xmlrpc_call(&q, method);
	xmlrpc_put_text(&q, "/test");
	xmlrpc_put_text(&q, topic);
	if (protocol) {
		xmlrpc_array(&q);
		for (int i = 0; i < 2; i++) {
			xmlrpc_array(&q);
			xmlrpc_put_text(&q, i ? protocol : "UDPROS");
			xmlrpc_array_end(&q);
		}
		xmlrpc_array_end(&q);
	}
	assert_int_equal(xmlrpc_end(&q), 0);
	assert_int_equal(xmlrpc_parse(q.text, q.len, &d, why, sizeof(why)), 0);
	slave_answer(b, d, &a);
	assert_int_equal(xmlrpc_parse(a.text, a.len, &e, why, sizeof(why)), 0);
	*text = '\0';
	flatten(xmlrpc_at(e->params, 0), text);
	xmlrpc_free(d);
	xmlrpc_free(e);
	xmlrpc_writer_finish(&q);
	xmlrpc_writer_finish(&a);
	return text;
}

TEST_WITH(queries_by_tools_and_nodes, set_up, tear_down)
{
	char want[200];

	snprintf(want, sizeof(want), "[1 ready [TCPROS 127.0.0.1 %u]]", b->tcpros_port);
	assert_string_equal(asked("requestTopic", "/horn", "TCPROS"), want);
	assert_string_equal(asked("requestTopic", "/none", "TCPROS"), "[-1 not a publisher of that topic 0]");
	assert_string_equal(asked("requestTopic", "/horn", "SHM"),
			    "[0 no supported protocol: only TCPROS is supported 0]");
	assert_string_equal(asked("requestTopic", "/horn", NULL), "[-1 arguments are missing 0]");
	assert_string_equal(asked("getPublications", "", NULL), "[1 publications [[/horn std_msgs/Bool]]]");
	assert_string_equal(asked("getSubscriptions", "", NULL), "[1 subscriptions []]");
	assert_string_equal(asked("getBusInfo", "", NULL), "[1 bus info []]");
	assert_string_equal(asked("getBusStats", "", NULL), "[1  [[[/horn 0 []]] [[/horn []]] [0 0 0]]]");
	snprintf(b->master.uri, sizeof(b->master.uri), "http://master:11311");
	assert_string_equal(asked("getMasterUri", "", NULL), "[1  http://master:11311]");
	assert_string_equal(asked("paramUpdate", "", "x"), "[1  0]");
	subscribe();
	UNTIL(subscribers() == 1);
	publish(true);
	publish(true);
	UNTIL(got.n == 2);
	assert_string_equal(asked("getSubscriptions", "", NULL), "[1 subscriptions [[/horn std_msgs/Bool]]]");
	snprintf(want, sizeof(want),
		 "[1 bus info [[2 /simd o TCPROS /horn 1 127.0.0.1:20003] [1 %s i TCPROS /horn 1 /simd]]]", uri);
	assert_string_equal(asked("getBusInfo", "", NULL), want);
	assert_string_equal(asked("getBusStats", "", NULL),
			    "[1  [[[/horn 10 [[2 168 2 1]]]] [[/horn [[1 168 2 -1 1]]]] [0 0 0]]]");
}
