/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The node and its master in virtual time: a master that hangs, sends false data or answers late costs the node
 * seconds, but none of wall time. The master is a socket of this thread; the host only records calls.
 */
#include "ros1.h"
#include "support/test.h"

#include <dlfcn.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <sim/srv/SetBool.h>

#include "http.h"
#include "ros/ros_type.h"
#include "tcpros.h"
#include "xmlrpc.h"

#define MS INT64_C(1000000)
#define S  (1000 * MS)

static struct sim_bridge_host host;
static struct sim_bridge *b;
static char said[8192]; /* by the bridge, in the log and as its status */
static int door;

static void note(const char *text)
{
	size_t n = strlen(said);

	snprintf(said + n, sizeof(said) - n, "%s\n", text);
}

__attribute__((format(printf, 3, 4))) static void on_log(void *ctx, int level, const char *fmt, ...)
{
	char text[512];
	va_list ap;

	(void)ctx;
	(void)level;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	note(text);
}

static void on_status(void *ctx, enum sim_bridge_status status, const char *text)
{
	(void)ctx;
	(void)status;
	note(text);
}

/* As in ros1.c. */
static const char *on_option(void *ctx, const char *name)
{
	static const char horn[] = "{\"/horn\":{\"type\":\"std_msgs/Bool\",\"channel\":\"horn\"}}";
	static const char *const options[][2] = {
		{ "node", "simd" },          { "namespace", "/" },  { "remap", "[]" },
		{ "names", "automatic" },    { "listen", "" },      { "queue", "10" },
		{ "compat", "none" },        { "apollo", "false" }, { "set_use_sim_time", "false" },
		{ "use_sim_time", "false" }, { "subscribe", horn }
	};

	(void)ctx;
	if (strcmp(name, "call") == 0)
		return "{\"lamp\":{\"type\":\"std_srvs/SetBool\",\"service\":\"ros/lamp\"}}";
	for (size_t i = 0; i < sizeof(options) / sizeof(*options); i++)
		if (strcmp(options[i][0], name) == 0)
			return options[i][1];
	return "";
}

static struct {
	sim_bridge_serve_fn fn;
	void *user;
	int n_answers, result;
} call; /* of the service of another node */

static int on_serve(void *ctx, const char *name, const struct sim_service_type *type, sim_bridge_serve_fn fn,
		    void *user)
{
	(void)ctx;
	(void)name;
	(void)type;
	call.fn = fn;
	call.user = user;
	return 0;
}

static int on_call_answer(void *ctx, struct sim_pending *p, int result, const char *why, const void *response,
			  size_t size)
{
	(void)ctx;
	(void)response;
	(void)size;
	assert_ptr_equal(p, &call);
	call.n_answers++;
	call.result = result;
	if (why)
		note(why);
	return 0;
}

/* Of names of hosts that are looked up. */
static struct {
	pthread_t loop; /* this test's thread, too */
	atomic_int n_slow;
	atomic_bool on_loop; /* a name was looked up there */
	atomic_bool open;    /* the lookup of "slow" continues */
} names;

/* "slow" is a name whose server does not answer, "master" one of this machine. */
int getaddrinfo(const char *name, const char *port, const struct addrinfo *hints, struct addrinfo **ret)
{
	bool slow = strcmp(name, "slow") == 0, master = strcmp(name, "master") == 0;
	typeof(getaddrinfo) *next;

	memcpy(&next, &(void *){ dlsym(RTLD_NEXT, "getaddrinfo") }, sizeof(next));
	if (hints->ai_flags & AI_NUMERICHOST || !(slow || master))
		return next(name, port, hints, ret);
	names.on_loop |= pthread_equal(pthread_self(), names.loop) != 0;
	if (master)
		return next("127.0.0.1", port, hints, ret);
	names.n_slow++;
	AWAIT(names.open || names.on_loop); /* on the loop it would wait for this test itself */
	return EAI_NONAME;
}

/* A socket of this machine that listens, and its port. */
static int open_door(unsigned *ret_port)
{
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t n = sizeof(a);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	assert_int_equal(bind(fd, (struct sockaddr *)&a, n), 0);
	assert_int_equal(listen(fd, 4), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&a, &n), 0);
	*ret_port = ntohs(a.sin_port);
	return fd;
}

static int set_up(void **state)
{
	unsigned port;
	char uri[64];

	(void)state;
	unsetenv("ROS_IP");
	unsetenv("ROS_HOSTNAME");
	*said = '\0';
	call.n_answers = 0;
	names.loop = pthread_self();
	names.n_slow = 0;
	names.on_loop = names.open = false;
	host = (struct sim_bridge_host){ .size = sizeof(host),
					 .log = on_log,
					 .status = on_status,
					 .option = on_option,
					 .serve = on_serve,
					 .answer = on_call_answer };
	door = open_door(&port);
	snprintf(uri, sizeof(uri), "http://127.0.0.1:%u", port);
	b = calloc(1, sizeof(*b));
	b->host = &host;
	b->strangers = b->peers = (struct log_limit)LOG_LIMIT(S, 2);
	b->common = (struct topics){ .host = &host,
				     .arg = b,
				     .known = ros1_types,
				     .key = "ros1",
				     .keys = TOPIC_ROS1,
				     .format = WIRE_ROS1,
				     .resolve = node_resolve };
	topics_init(&b->common);
	message_pool_init(&b->pool, &b->common);
	assert_int_equal(exec_sim_create(1, S, &b->x), 0);
	assert_int_equal(node_read_options(b), 0);
	if (node_open(b) < 0)
		fail_msg("%s", said);
	assert_int_equal(master_want(b, MASTER_SERVES, "/lamp", ""), 0);
	master_connect(b, uri);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	names.open = true; /* node_close() waits for a name that is looked up */
	node_close(b);
	message_pool_finish(&b->pool);
	topics_finish(&b->common);
	free(b);
	close(door);
	return 0;
}

static void run(int64_t dur_ns)
{
	assert_true(exec_sim_run(b->x, exec_now(b->x) + dur_ns) >= 0);
}

static void expect_said(const char *text)
{
	if (!strstr(said, text))
		fail_msg("\"%s\" is not in \"%s\"", text, said);
}

/* The call that is open: its method, and the connection on which it waits. */
static int next_call(const char *method)
{
	char data[4096], why[100];
	struct xmlrpc_doc *d = NULL;
	struct http_message m;
	size_t len = 0;
	int fd = -1;

	for (int r = 0; r == 0;) {
		ssize_t n;

		run(0);
		if (fd < 0)
			fd = accept(door, NULL, NULL);
		assert_true(fd >= 0);
		run(0);
		n = recv(fd, data + len, sizeof(data) - len, 0);
		assert_true(n > 0);
		len += (size_t)n;
		r = http_parse(data, len, HTTP_REQUEST, &m, why, sizeof(why));
	}
	assert_int_equal(xmlrpc_parse(m.body, m.body_len, &d, why, sizeof(why)), 0);
	assert_string_equal(d->method, method);
	xmlrpc_free(d);
	return fd;
}

static void respond(int fd, const char *body, size_t n)
{
	char head[512];
	int len = http_response_head(head, sizeof(head), 200, false, n);

	assert_int_equal(send(fd, head, (size_t)len, 0), len);
	assert_int_equal(send(fd, body, n, 0), n);
	run(0);
	close(fd);
	run(0);
}

/* [code, "said the master", text] */
static void answer(int fd, int code, const char *text)
{
	struct xmlrpc_writer w = { .text = NULL };

	xmlrpc_response(&w);
	xmlrpc_array(&w);
	xmlrpc_put_int(&w, code);
	xmlrpc_put_text(&w, "said the master");
	xmlrpc_put_text(&w, text);
	xmlrpc_array_end(&w);
	assert_int_equal(xmlrpc_end(&w), 0);
	respond(fd, w.text, w.len);
	xmlrpc_writer_finish(&w);
}

static bool is_connected(void)
{
	return atomic_load(&b->status) == SIM_BRIDGE_CONNECTED;
}

static void make_contact(void)
{
	answer(next_call("getPid"), 1, "");
	assert_true(is_connected());
	answer(next_call("registerService"), 1, "");
}

/* After five seconds, not before; then it is asked again, after pauses that grow. */
TEST_WITH(a_master_that_hangs_is_named, set_up, tear_down)
{
	int fd = next_call("getPid"), again;

	run(5 * S - 10 * MS);
	assert_null(strstr(said, "no master at"));
	run(20 * MS);
	expect_said("no master at http://127.0.0.1");
	expect_said("it does not answer in time");
	assert_int_equal(accept(door, NULL, NULL), -1); /* a pause of 0.2 s */
	run(200 * MS);
	again = next_call("getPid");
	close(fd);
	run(5 * S);
	run(300 * MS);
	assert_int_equal(accept(door, NULL, NULL), -1); /* of 0.4 s */
	run(110 * MS);
	close(again);
	make_contact();
}

TEST_WITH(a_master_with_invalid_answers_is_named, set_up, tear_down)
{
	static const char number[] = "<?xml version=\"1.0\"?><methodResponse><params><param><value><int>7</int></value>"
				     "</param></params></methodResponse>";

	respond(next_call("getPid"), "<html></html>", 13);
	expect_said("an element that XML-RPC does not have there");
	run(S);
	respond(next_call("getPid"), number, strlen(number));
	run(S);
	close(next_call("getPid")); /* in the middle */
	run(2 * S);
	make_contact();
}

/* Half an answer, byte by byte: the time is that of the whole call. */
TEST_WITH(a_master_that_answers_too_slowly_is_abandoned, set_up, tear_down)
{
	int fd = next_call("getPid");

	for (int i = 0; i < 12; i++) {
		assert_int_equal(send(fd, &"HTTP/1.1 200 OK"[i], 1, 0), 1);
		run(400 * MS);
	}
	assert_null(strstr(said, "no master at"));
	run(400 * MS);
	expect_said("it does not answer in time");
	close(fd);
}

/* The node checks each second; a node that the master has forgotten registers again, one that was replaced ends. */
TEST_WITH(the_node_checks_its_registration_each_second, set_up, tear_down)
{
	make_contact();
	run(900 * MS);
	assert_int_equal(accept(door, NULL, NULL), -1);
	run(100 * MS);
	answer(next_call("lookupNode"), 1, b->uri);
	run(S);
	answer(next_call("lookupNode"), -1, "");
	expect_said("does not know /simd any more: registering again");
	answer(next_call("registerService"), 1, "");
	run(S);
	answer(next_call("lookupNode"), 1, "http://192.0.2.7:5/");
	answer(next_call("unregisterService"), 1, "");
	expect_said("shut down: another node has our name at the master");
	assert_false(is_connected());
	run(100 * S);
	assert_int_equal(accept(door, NULL, NULL), -1); /* it stays so */
}

/*
 * A master that is unreachable for long does not end the node: registrations made meanwhile are sent when it is back.
 */
TEST_WITH(a_master_may_be_unreachable_for_a_while, set_up, tear_down)
{
	make_contact();
	run(S);
	close(next_call("lookupNode"));
	run(0);
	expect_said("does not answer: it ends the connection in the middle of an answer; connections stay open");
	assert_true(is_connected());
	assert_int_equal(master_want(b, MASTER_SERVES, "/horn", ""), 0);
	answer(next_call("lookupNode"), 1, b->uri);
	expect_said("the master answers again");
	answer(next_call("registerService"), 1, "");
}

/* Unregistering has one second, whatever the master does. */
TEST_WITH(unregistering_takes_one_second_at_most, set_up, tear_down)
{
	int fd;

	make_contact();
	master_disconnect(b);
	fd = next_call("unregisterService");
	run(900 * MS);
	assert_false(b->off);
	run(110 * MS);
	assert_true(b->off);
	close(fd);
}

/* Names are taken back where they are registered. */
TEST_WITH(another_master_is_contacted_after_unregistering, set_up, tear_down)
{
	unsigned port;
	int old = door, next = open_door(&port);
	char uri[64];

	make_contact();
	snprintf(uri, sizeof(uri), "http://127.0.0.1:%u", port);
	master_disconnect(b);
	master_connect(b, uri);
	answer(next_call("unregisterService"), 1, "");
	close(old);
	door = next;
	make_contact();
}

/* ---- a service of another node ---- */

#define LAMP_MD5 "09fb03525b03e7ea1fd3992bafd87e16"

static void ask_lamp(void)
{
	struct sim_SetBoolRequest q = { .data = true };

	call.fn(call.user, &q, sizeof(q), (struct sim_pending *)(void *)&call);
}

/* The master gives the provider's address; returns the connection made to it, welcomed and with the request. */
static int lamp(int lamp_door, unsigned port)
{
	struct tcpros_writer w = { .data = NULL };
	char uri[64], data[1024];
	int fd;

	snprintf(uri, sizeof(uri), "rosrpc://127.0.0.1:%u", port);
	answer(next_call("lookupService"), 1, uri);
	fd = accept(lamp_door, NULL, NULL);
	assert_true(fd >= 0);
	assert_true(recv(fd, data, sizeof(data), 0) > 5);
	tcpros_put(&w, "callerid", "/lamp");
	tcpros_put(&w, "md5sum", LAMP_MD5);
	assert_int_equal(tcpros_end(&w), 0);
	assert_int_equal(send(fd, w.data, w.len, 0), w.len);
	tcpros_writer_finish(&w);
	run(0);
	assert_int_equal(recv(fd, data, sizeof(data), 0), 5);
	return fd;
}

static void expect_lit(int fd, int n)
{
	assert_int_equal(send(fd, "\1\5\0\0\0\1\0\0\0\0", 10, 0), 10);
	run(0);
	assert_int_equal(call.n_answers, n);
	assert_int_equal(call.result, 0);
}

/* The loop has seen that the connection has ended, but has not reported it, when the next request arrives. */
TEST_WITH(a_connection_may_end_as_a_request_arrives, set_up, tear_down)
{
	unsigned port;
	int lamp_door = open_door(&port), fd;

	make_contact();
	remotes_serve(b, true);
	ask_lamp();
	fd = lamp(lamp_door, port);
	expect_lit(fd, 1);
	close(fd);
	assert_int_equal(exec_sim_one(b->x), 1);
	ask_lamp();
	fd = lamp(lamp_door, port);
	assert_int_equal(call.n_answers, 1);
	expect_lit(fd, 2);
	run(10 * S); /* nothing is due any more */
	assert_int_equal(call.n_answers, 2);
	close(fd);
	close(lamp_door);
}

/* ---- a topic that comes in ---- */

static void want_chatter(void)
{
	assert_int_equal(master_want(b, MASTER_SUBSCRIBES, "/chatter", "std_msgs/String"), 0);
}

/*
 * Its publishers are in the answer to a registration: a topic that is subscribed again while the master is busy has
 * none of them left.
 */
TEST_WITH(a_topic_subscribed_again_gets_its_publishers, set_up, tear_down)
{
	int fd;

	make_contact();
	want_chatter();
	answer(next_call("registerSubscriber"), 1, "");
	run(S);
	fd = next_call("lookupNode");
	master_unwant(b, MASTER_SUBSCRIBES, "/chatter");
	want_chatter();
	answer(fd, 1, b->uri);
	answer(next_call("registerSubscriber"), 1, "");
	want_chatter(); /* another one, too */
	fd = next_call("registerSubscriber");
	master_unwant(b, MASTER_SUBSCRIBES, "/chatter");
	want_chatter();
	master_unwant(b, MASTER_SUBSCRIBES, "/chatter");
	master_unwant(b, MASTER_SUBSCRIBES, "/chatter");
	answer(fd, 1, "");
	answer(next_call("unregisterSubscriber"), 1, ""); /* it is not forgotten that it is registered */
	run(0);
	assert_int_equal(accept(door, NULL, NULL), -1);
}

TEST_WITH(refused_peers_do_not_fill_the_log, set_up, tear_down)
{
	for (int i = 0; i < 4; i++)
		node_refuses(b, "stranger %d", i);
	expect_said("refused: stranger 1");
	assert_null(strstr(said, "stranger 2"));
	run(S);
	node_refuses(b, "stranger 4");
	expect_said("refused: stranger 4 (2 more like it before)");
}

/* ---- names that take long ---- */

static bool master_is_called(void)
{
	struct pollfd p = { .fd = door, .events = POLLIN };

	run(0);
	return poll(&p, 1, 0) == 1;
}

/* For each call the name of the master is looked up, beside the loop. */
static int next_call_by_name(const char *method)
{
	AWAIT(master_is_called());
	return next_call(method);
}

static void look_up_slow_publisher(void)
{
	struct xmlrpc_value place = { .kind = XMLRPC_STRING, .text = "http://slow:1/" },
			    places = { .kind = XMLRPC_ARRAY, .first = &place };

	subscriptions_listen(b, "horn", 1);
	answer(next_call("registerSubscriber"), 1, "");
	subscription_publishers(b, "/horn", &places, true);
	AWAIT(names.n_slow == 1);
}

static void look_up_slow_service(void)
{
	remotes_serve(b, true);
	ask_lamp();
	answer(next_call("lookupService"), 1, "rosrpc://slow:1");
	AWAIT(names.n_slow == 2);
}

static void move_master(void)
{
	char uri[64];
	unsigned port;

	master_disconnect(b);
	answer(next_call("unregisterSubscriber"), 1, "");
	answer(next_call("unregisterService"), 1, "");
	close(door);
	door = open_door(&port);
	snprintf(uri, sizeof(uri), "http://master:%u", port);
	master_connect(b, uri);
}

/* The names of a publisher and of a service are still being looked up when the master's is. */
TEST_WITH(a_slow_name_lookup_does_not_delay_the_master, set_up, tear_down)
{
	make_contact();
	look_up_slow_publisher();
	look_up_slow_service();
	assert_false(names.on_loop);
	move_master();
	answer(next_call_by_name("getPid"), 1, "");
	answer(next_call_by_name("registerSubscriber"), 1, "");
	answer(next_call_by_name("registerService"), 1, "");
	assert_true(is_connected());
	assert_false(names.on_loop);
	names.open = true;
	AWAIT((run(0), call.n_answers == 1));
	assert_int_equal(call.result, -ENOENT);
}
