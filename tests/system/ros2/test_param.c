/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parameters of simd's nodes as nodes of ROS find them: each call that `ros2 param` makes, from a program on Cyclone DDS and from one on
 * Fast DDS (caller.h), byte by byte; the graph, /parameter_events, a bridge that starts again, a node whose program hangs, and
 * peers that ask for nonsense, too much, or all at once. The host and simd's nodes are this test's.
 */
#include "test.h"

#include <errno.h>
#include <math.h>
#include <sys/wait.h>

#include <dds/ddsi/ddsi_serdata.h>

#include <sim/srv/GetParam.h>
#include <sim/srv/ListParams.h>
#include <sim/srv/SetBool.h>
#include <sim/srv/SetParam.h>

#include "caller.h"
#include "host.h"
#include "reader.h"
#include "sertype.h"
#include "tests/support/wait.h"

#define TYPE(name) "rcl_interfaces::srv::dds_::" name "_"
#define LIDAR      "/car/lidar-top" /* no name in ROS */
#define ROS_LIDAR  "/car/lidar_top"
#define PARAMS     4u
#define MANY       1000u
#define HUGE       (600u * 1024)
#define FLOOD      300

/* ---- the nodes of simd ---- */

struct fake {
	const char *name;
	struct sim_Param v; /* but for its strings */
	char text[64];
	double min, max;
	bool has_bounds, read_only;
};

static struct {
	pthread_mutex_t lock;
	struct fake at[PARAMS];
	unsigned n, n_set;
	bool hangs; /* what it is asked then is answered by none but free_held() */
	struct {
		sim_answer_fn fn;
		void *user;
	} held[64];
	unsigned n_held;
} node;

static void reset_node(void)
{
	node.n = PARAMS;
	node.n_set = node.n_held = 0;
	node.hangs = false;
	node.at[0] = (struct fake){ .name = "a.label", .v.type = SIM_PARAM_STRING, .text = "top" };
	node.at[1] = (struct fake){ .name = "a.rate",
				    .v = { .type = SIM_PARAM_DOUBLE, .double_value = 10 },
				    .min = 0.5,
				    .max = 40,
				    .has_bounds = true };
	node.at[2] =
		(struct fake){ .name = "beams", .v = { .type = SIM_PARAM_INT, .int_value = 64 }, .read_only = true };
	node.at[3] = (struct fake){ .name = "on", .v = { .type = SIM_PARAM_BOOL, .bool_value = 1 } };
}

static void put_fake(struct sim_builder *b, struct sim_ParamInfo *to, const struct fake *f)
{
	to->param = f->v;
	sim_Param_name_set_in(b, &to->param, f->name);
	if (*f->text)
		sim_Param_string_value_set_in(b, &to->param, f->text);
	sim_ParamInfo_description_set_in(b, to, "turns a second");
	to->min = f->min;
	to->max = f->max;
	to->has_min = to->has_max = f->has_bounds;
	to->read_only = f->read_only;
}

/* Two at a time, as a node does whose answer has no more room. */
static void list(const struct sim_ListParamsRequest *q, sim_answer_fn fn, void *user)
{
	_Alignas(64) uint8_t out[4096];
	struct sim_builder b;
	struct sim_ListParamsResponse *m = sim_ListParamsResponse_init(out, sizeof(out), &b);
	uint32_t n = q->start >= node.n ? 0 : node.n - q->start < 2 ? node.n - q->start : 2;
	struct sim_ParamInfo *info = n ? sim_ListParamsResponse_params_alloc(&b, n) : NULL;

	m->total = node.n;
	for (uint32_t i = 0; i < n; i++)
		put_fake(&b, &info[i], &node.at[q->start + i]);
	fn(user, 0, "", out, sim_builder_size(&b));
}

static const char *change(const struct sim_SetParamRequest *q, size_t size)
{
	const char *name = sim_Param_name_in(q, size, &q->param), *text = sim_Param_string_value_in(q, size, &q->param);

	for (unsigned i = 0; i < node.n; i++) {
		struct fake *f = &node.at[i];

		if (strcmp(f->name, name) != 0)
			continue;
		if (text && strcmp(text, "bad") == 0)
			return "parameter a.label: bad is no label";
		f->v.bool_value = q->param.bool_value;
		f->v.int_value = q->param.int_value;
		f->v.double_value = q->param.double_value;
		snprintf(f->text, sizeof(f->text), "%s", text ? text : "");
		node.n_set++;
		return "";
	}
	return "unknown";
}

static void set(const struct sim_SetParamRequest *q, size_t size, sim_answer_fn fn, void *user)
{
	_Alignas(64) uint8_t out[512];
	const char *why = change(q, size);
	struct sim_builder b;
	struct sim_SetParamResponse *m = sim_SetParamResponse_init(out, sizeof(out), &b);

	m->success = !*why;
	sim_SetParamResponse_message_set(&b, why);
	fn(user, 0, "", out, sim_builder_size(&b));
}

static int on_call(void *ctx, const char *service, const struct sim_service_type *type, const void *request,
		   size_t size, int64_t timeout_dur_ns, sim_answer_fn fn, void *user)
{
	(void)ctx;
	(void)timeout_dur_ns;
	pthread_mutex_lock(&node.lock);
	if (!strcmp(service, LIDAR "/list_parameters") && type == NULL)
		abort();
	if (node.hangs && !strncmp(service, LIDAR, strlen(LIDAR))) {
		if (node.n_held < 64) {
			node.held[node.n_held].fn = fn;
			node.held[node.n_held++].user = user;
		}
	} else if (strstr(service, "/list_parameters")) {
		list(request, fn, user);
	} else if (!strcmp(service, LIDAR "/set_parameter")) {
		set(request, size, fn, user);
	} else {
		fn(user, -ENOENT, "nobody offers it", NULL, 0);
	}
	pthread_mutex_unlock(&node.lock);
	return 0;
}

/* As the host does, at the latest when it disconnects. */
static void answer_held(void)
{
	pthread_mutex_lock(&node.lock);
	for (unsigned i = 0; i < node.n_held; i++)
		node.held[i].fn(node.held[i].user, -ECANCELED, "the bridge disconnects", NULL, 0);
	node.n_held = 0;
	pthread_mutex_unlock(&node.lock);
}

static bool is_held(void)
{
	bool is;

	pthread_mutex_lock(&node.lock);
	is = node.n_held > 0;
	pthread_mutex_unlock(&node.lock);
	return is;
}

/* ---- the bridge ---- */

struct bridge {
	struct host h;
	struct sim_bridge *b;
};

static void offer(struct bridge *k, const char *simd, bool there)
{
	static const struct {
		const char *name;
		const struct sim_service_type *type;
	} services[] = { { "get_parameter", &sim_GetParam_service },
			 { "set_parameter", &sim_SetParam_service },
			 { "list_parameters", &sim_ListParams_service } };
	char name[100];

	for (unsigned i = 0; i < 3; i++) {
		snprintf(name, sizeof(name), "%s/%s", simd, services[i].name);
		k->h.ops->service(k->b, name, there ? services[i].type : NULL);
	}
}

static void begin_with(struct bridge *k, const char *const *options)
{
	host_init(&k->h, PLUGIN, options);
	k->h.host.call = on_call;
	k->b = host_create(&k->h);
}

static void begin(struct bridge *k)
{
	static const char *const options[] = { "ros_distro", "humble", "localhost", "true", NULL };

	begin_with(k, options);
	offer(k, LIDAR, true);
}

static void end(struct bridge *k)
{
	offer(k, LIDAR, false);
	answer_held();
	k->h.ops->disconnect(k->b);
	k->h.ops->destroy(k->b);
}

static int setup(void **state)
{
	(void)state;
	pthread_mutex_init(&node.lock, NULL);
	reset_node();
	return 0;
}

/* ---- requests ---- */

static struct cdr names(unsigned n, ...)
{
	struct cdr c = { .n = 0 };
	va_list ap;

	va_start(ap, n);
	cdr_u32(&c, n);
	for (unsigned i = 0; i < n; i++)
		cdr_text(&c, va_arg(ap, const char *));
	va_end(ap);
	return c;
}

/* Of rcl_interfaces/Parameter: arrays are what it has too, of this length. */
static void put_wish(struct cdr *c, const char *name, uint8_t type, double v, const char *text, uint32_t arrays)
{
	cdr_text(c, name);
	cdr_u8(c, type);
	cdr_u8(c, type == 1 && v > 0);
	cdr_i64(c, type == 2 ? (int64_t)v : 0);
	cdr_f64(c, type == 3 ? v : 0);
	cdr_text(c, text);
	cdr_u32(c, arrays); /* bytes, bools, ints, doubles, strings */
	for (uint32_t i = 0; i < arrays; i++)
		cdr_u8(c, 0xff);
	cdr_u32(c, arrays);
	for (uint32_t i = 0; i < arrays; i++)
		cdr_u8(c, 1);
	for (unsigned k = 0; k < 2; k++) {
		cdr_u32(c, arrays);
		for (uint32_t i = 0; i < arrays; i++)
			cdr_i64(c, -1);
	}
	cdr_u32(c, arrays);
	for (uint32_t i = 0; i < arrays; i++)
		cdr_text(c, "an element");
}

static struct cdr ask(struct caller *c, const char *node_name, const char *what, const char *type, struct cdr request)
{
	char service[128];

	snprintf(service, sizeof(service), "%s/%s", node_name, what);
	return caller_call(c, service, type, request);
}

#define LIST(c, n, q)       ask(c, n, "list_parameters", TYPE("ListParameters"), q)
#define GET(c, n, q)        ask(c, n, "get_parameters", TYPE("GetParameters"), q)
#define TYPES(c, n, q)      ask(c, n, "get_parameter_types", TYPE("GetParameterTypes"), q)
#define DESCRIBE(c, n, q)   ask(c, n, "describe_parameters", TYPE("DescribeParameters"), q)
#define SET(c, n, q)        ask(c, n, "set_parameters", TYPE("SetParameters"), q)
#define ATOMICALLY(c, n, q) ask(c, n, "set_parameters_atomically", TYPE("SetParametersAtomically"), q)

static struct cdr prefixes(uint64_t depth, const char *prefix)
{
	struct cdr c = { .n = 0 };

	cdr_u32(&c, prefix != NULL);
	if (prefix)
		cdr_text(&c, prefix);
	cdr_i64(&c, (int64_t)depth);
	return c;
}

/* ---- replies ---- */

static void is_value(struct cdr *r, uint8_t type, double v, const char *text)
{
	assert_int_equal(cdr_get_u8(r), type);
	assert_int_equal(cdr_get_u8(r), type == 1 && v > 0);
	assert_int_equal(cdr_get_i64(r), type == 2 ? (int64_t)v : 0);
	assert_true(cdr_get_f64(r) == (type == 3 ? v : 0));
	assert_string_equal(cdr_get_text(r), text);
	for (unsigned i = 0; i < 5; i++)
		assert_int_equal(cdr_get_u32(r), 0);
}

static void is_texts(struct cdr *r, unsigned n, const char *const *texts)
{
	assert_int_equal(cdr_get_u32(r), n);
	for (unsigned i = 0; i < n; i++)
		assert_string_equal(cdr_get_text(r), texts[i]);
}

static void is_end(struct cdr *r)
{
	assert_true(cdr_ended(r));
	cdr_free(r);
}

static void is_nothing(struct cdr r)
{
	assert_int_equal(cdr_get_u32(&r), 0);
	is_end(&r);
}

static void is_result(struct cdr *r, const char *why)
{
	bool success = cdr_get_u8(r);

	assert_string_equal(cdr_get_text(r), why);
	assert_int_equal(success, !*why);
}

static void one_result(struct cdr r, const char *why)
{
	assert_int_equal(cdr_get_u32(&r), 1);
	is_result(&r, why);
	is_end(&r);
}

static struct cdr one_wish(const char *name, uint8_t type, double v, const char *text)
{
	struct cdr c = { .n = 0 };

	cdr_u32(&c, 1);
	put_wish(&c, name, type, v, text, 0);
	return c;
}

/* ---- each call ---- */

static void lists(struct caller *c)
{
	static const char *const all[] = { "a.label", "a.rate", "beams", "on" }, *const a[] = { "a" };
	struct cdr r = LIST(c, ROS_LIDAR, prefixes(0, NULL));

	is_texts(&r, 4, all);
	is_texts(&r, 1, a);
	is_end(&r);
	r = LIST(c, ROS_LIDAR, prefixes(1, NULL));
	is_texts(&r, 2, all + 2);
	is_texts(&r, 0, NULL);
	is_end(&r);
	r = LIST(c, ROS_LIDAR, prefixes(0, "a"));
	is_texts(&r, 2, all);
	is_texts(&r, 1, a);
	is_end(&r);
	r = LIST(c, ROS_LIDAR, prefixes(0, "bea"));
	is_texts(&r, 0, NULL);
	is_texts(&r, 0, NULL);
	is_end(&r);
}

static void gets(struct caller *c)
{
	struct cdr r = GET(c, ROS_LIDAR, names(4, "on", "a.rate", "beams", "a.label"));

	assert_int_equal(cdr_get_u32(&r), 4);
	is_value(&r, 1, 1, "");
	is_value(&r, 3, 10, "");
	is_value(&r, 2, 64, "");
	is_value(&r, 4, 0, "top");
	is_end(&r);
	is_nothing(GET(c, ROS_LIDAR, names(2, "on", "off"))); /* rclcpp throws at the first that it does not have */
	is_nothing(GET(c, ROS_LIDAR, names(0)));
	r = TYPES(c, ROS_LIDAR, names(4, "on", "a.rate", "beams", "a.label"));
	assert_int_equal(cdr_get_u32(&r), 4);
	assert_int_equal(cdr_get_u8(&r), 1);
	assert_int_equal(cdr_get_u8(&r), 3);
	assert_int_equal(cdr_get_u8(&r), 2);
	assert_int_equal(cdr_get_u8(&r), 4);
	is_end(&r);
	is_nothing(TYPES(c, ROS_LIDAR, names(1, "")));
}

static void is_descriptor(struct cdr *r, const char *name, uint8_t type, bool read_only)
{
	assert_string_equal(cdr_get_text(r), name);
	assert_int_equal(cdr_get_u8(r), type);
	assert_string_equal(cdr_get_text(r), "turns a second");
	assert_string_equal(cdr_get_text(r), "");
	assert_int_equal(cdr_get_u8(r), read_only);
	assert_int_equal(cdr_get_u8(r), 0);
}

static void describes(struct caller *c)
{
	struct cdr r = DESCRIBE(c, ROS_LIDAR, names(2, "a.rate", "beams"));

	assert_int_equal(cdr_get_u32(&r), 2);
	is_descriptor(&r, "a.rate", 3, false);
	assert_int_equal(cdr_get_u32(&r), 1);
	assert_true(cdr_get_f64(&r) == 0.5 && cdr_get_f64(&r) == 40 && cdr_get_f64(&r) == 0);
	assert_int_equal(cdr_get_u32(&r), 0);
	is_descriptor(&r, "beams", 2, true);
	assert_int_equal(cdr_get_u32(&r), 0);
	assert_int_equal(cdr_get_u32(&r), 0);
	is_end(&r);
	is_nothing(DESCRIBE(c, ROS_LIDAR, names(1, "none")));
}

static void sets(struct caller *c)
{
	one_result(SET(c, ROS_LIDAR, one_wish("a.rate", 3, 20, "")), "");
	assert_true(node.at[1].v.double_value == 20);
	one_result(SET(c, ROS_LIDAR, one_wish("a.label", 4, 0, "rear")), "");
	assert_string_equal(node.at[0].text, "rear");
	one_result(SET(c, ROS_LIDAR, one_wish("on", 1, 0, "")), "");
	assert_int_equal(node.at[3].v.bool_value, 0);
	one_result(SET(c, ROS_LIDAR, one_wish("none", 3, 20, "")),
		   "parameter 'none' cannot be set because it was not declared");
	one_result(SET(c, ROS_LIDAR, one_wish("beams", 2, 20, "")),
		   "parameter 'beams' cannot be set because it is read-only");
	one_result(
		SET(c, ROS_LIDAR, one_wish("a.rate", 2, 20, "")),
		"Wrong parameter type, parameter {a.rate} is of type {double}, setting it to {integer} is not allowed.");
	one_result(
		SET(c, ROS_LIDAR, one_wish("on", 9, 0, "")),
		"Wrong parameter type, parameter {on} is of type {bool}, setting it to {string_array} is not allowed.");
	one_result(
		SET(c, ROS_LIDAR, one_wish("on", 77, 0, "")),
		"Wrong parameter type, parameter {on} is of type {bool}, setting it to {unknown type} is not allowed.");
	one_result(SET(c, ROS_LIDAR, one_wish("on", 0, 0, "")), "cannot undeclare an statically typed parameter");
	one_result(SET(c, ROS_LIDAR, one_wish("a.rate", 3, 41, "")),
		   "Parameter {a.rate} doesn't comply with floating point range.");
	one_result(SET(c, ROS_LIDAR, one_wish("a.label", 4, 0, "bad")), "parameter a.label: bad is no label");
	assert_int_equal(node.n_set, 3);
}

static void whole(struct cdr r, const char *why)
{
	is_result(&r, why);
	is_end(&r);
}

static struct cdr two_wishes(const char *name, double rate, const char *label)
{
	struct cdr c = { .n = 0 };

	cdr_u32(&c, 2);
	put_wish(&c, name, 3, rate, "", 0);
	put_wish(&c, "a.label", 4, 0, label, 3);
	return c;
}

static void sets_atomically(struct caller *c)
{
	whole(ATOMICALLY(c, ROS_LIDAR, two_wishes("a.rate", 30, "all")), "");
	assert_true(node.at[1].v.double_value == 30 && !strcmp(node.at[0].text, "all"));
	whole(ATOMICALLY(c, ROS_LIDAR, two_wishes("none", 5, "x")),
	      "One or more parameters were not declared before setting");
	whole(ATOMICALLY(c, ROS_LIDAR, two_wishes("a.rate", 5, "bad")), "parameter a.label: bad is no label");
	assert_true(node.at[1].v.double_value == 30 && !strcmp(node.at[0].text, "all")); /* set back */
	whole(ATOMICALLY(c, ROS_LIDAR, names(0)), "");
}

/* Our own node's are the options of the bridge. */
static void has_own(struct caller *c)
{
	struct cdr r = LIST(c, "/simd", prefixes(0, "use_sim_time"));

	is_texts(&r, 1, (const char *const[]){ "use_sim_time" });
	is_texts(&r, 0, NULL);
	is_end(&r);
	r = GET(c, "/simd", names(3, "use_sim_time", "ros_distro", "lease_ms"));
	assert_int_equal(cdr_get_u32(&r), 3);
	is_value(&r, 1, 0, "");
	is_value(&r, 4, 0, "humble");
	is_value(&r, 2, 2000, "");
	is_end(&r);
	one_result(SET(c, "/simd", one_wish("use_sim_time", 1, 1, "")),
		   "parameter 'use_sim_time' cannot be set because it is read-only");
}

static void each_call(bool fast)
{
	static struct bridge k;
	struct caller c = caller_start(fast);

	begin(&k);
	lists(&c);
	gets(&c);
	describes(&c);
	sets(&c);
	sets_atomically(&c);
	has_own(&c);
	caller_end(&c);
	end(&k);
	assert_null(strstr(k.h.log, "not offered"));
	assert_null(strstr(k.h.log, "refused"));
}

static bool have_fast(void)
{
	if (access(ASKER, X_OK) == 0)
		return true;
	print_message("no Fast DDS when this was built: run tools/dev/deps.sh check\n");
	assert_null(getenv("FULL"));
	return false;
}

TEST_WITH(a_cyclone_peer_makes_each_call, setup, NULL)
{
	each_call(false);
}

TEST_WITH(a_fast_dds_peer_makes_each_call, setup, NULL)
{
	if (have_fast())
		each_call(true);
}

/* ---- the bridge, and nodes, come and go ---- */

static void across_a_restart(bool fast)
{
	static struct bridge k;
	struct caller c = caller_start(fast);

	for (int i = 0; i < 3; i++) {
		reset_node();
		begin(&k);
		lists(&c);
		sets(&c);
		end(&k);
		caller_wait_gone(&c);
	}
	caller_end(&c);
}

TEST_WITH(a_bridge_that_starts_again_serves_cyclone, setup, NULL)
{
	across_a_restart(false);
}

TEST_WITH(a_bridge_that_starts_again_serves_fast_dds, setup, NULL)
{
	if (have_fast())
		across_a_restart(true);
}

static int seen[2], go[2];

static void see_nodes(dds_entity_t graph, uint32_t want)
{
	const struct seen_node *n = NULL;
	uint32_t count = 0;

	while (count != want) {
		struct seen_graph24 *g = calloc(1, sizeof(*g));

		EXPECT(reader_take(graph, g) == 0 && g->nodes._length >= 1);
		n = (const struct seen_node *)(const void *)g->nodes._buffer;
		count = g->nodes._length;
	}
	EXPECT(!strcmp(n[0].node_namespace, "/") && !strcmp(n[0].name, "simd"));
	EXPECT(n[0].readers._length == NODE_READERS && n[0].writers._length == NODE_WRITERS);
	for (uint32_t i = 1; i < count; i++) {
		bool lidar = !strcmp(n[i].node_namespace, "/car") && !strcmp(n[i].name, "lidar_top");

		EXPECT(lidar || (!strcmp(n[i].node_namespace, "/") && !strcmp(n[i].name, "gps")));
		EXPECT(n[i].readers._length == 6 && n[i].writers._length == 6);
	}
}

/* What `ros2 node list` is made of; then what `ros2 param list` looks for. */
static pid_t start_observer(void)
{
	char type_name[128], user_data[256], c;
	pid_t pid = fork();
	dds_entity_t p, graph;

	if (pid)
		return pid;
	p = reader_participant();
	graph = reader_of_all(p, &seen_graph24_desc, "ros_discovery_info");
	see_nodes(graph, 3);
	EXPECT(reader_discover(p, "rr" ROS_LIDAR "/list_parametersReply", type_name, user_data) == 0);
	EXPECT(!strcmp(type_name, TYPE("ListParameters") "Response_"));
	EXPECT(!strncmp(user_data, "serviceid=", 10));
	EXPECT(write(seen[1], "", 1) == 1 && read(go[0], &c, 1) == 1);
	see_nodes(graph, 2);
	_exit(0);
}

TEST_WITH(nodes_are_in_the_graph, setup, NULL)
{
	static struct bridge k;
	pid_t pid;
	int status;
	char c;

	assert_int_equal(pipe(seen) + pipe(go), 0);
	pid = start_observer();
	begin(&k);
	offer(&k, "/gps", true);
	assert_int_equal(read(seen[0], &c, 1), 1);
	offer(&k, "/gps", false);
	assert_int_equal(write(go[1], "", 1), 1);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	end(&k);
}

TEST_WITH(names_that_ros_does_not_allow, setup, NULL)
{
	static const char *const strict[] = { "ros_distro", "humble", "localhost", "true", "names", "strict", NULL };
	static struct bridge k;

	begin(&k);
	assert_null(strstr(k.h.log, "not offered"));
	offer(&k, ROS_LIDAR, true);
	assert_non_null(strstr(k.h.log, "the parameters of node " ROS_LIDAR
					" are not offered: it would be node " ROS_LIDAR ", as node " LIDAR " is"));
	offer(&k, "/simd", true);
	assert_non_null(strstr(k.h.log, "it would be node /simd, as the bridge is"));
	end(&k);
	begin_with(&k, strict);
	offer(&k, LIDAR, true);
	assert_non_null(strstr(k.h.log, "the parameters of node " LIDAR " are not offered"));
	end(&k);
}

/* ---- events ---- */

/* The node that the next event names, and how many parameters it has of each kind: new, changed, deleted. */
static void take_event(struct caller *c, char of[64], unsigned n[3])
{
	struct cdr e = caller_next(c);

	assert_int_equal(cdr_get_u32(&e), HOST_STAMP / 1000000000);
	assert_int_equal(cdr_get_u32(&e), HOST_STAMP % 1000000000);
	snprintf(of, 64, "%s", cdr_get_text(&e));
	for (unsigned k = 0; k < 3; k++) {
		n[k] = cdr_get_u32(&e);
		assert_in_range(n[k], 0, PARAMS);
		for (unsigned i = 0; i < n[k]; i++) {
			assert_true(*cdr_get_text(&e));
			assert_true(cdr_get_u8(&e) >= 1);
			cdr_get_u8(&e);
			cdr_get_i64(&e);
			cdr_get_f64(&e);
			cdr_get_text(&e);
			for (unsigned a = 0; a < 5; a++)
				assert_int_equal(cdr_get_u32(&e), 0);
		}
	}
	is_end(&e);
}

static void is_event(struct caller *c, const char *of, unsigned n_new, unsigned n_changed, unsigned n_deleted)
{
	unsigned n[3];
	char name[64];

	take_event(c, name, n);
	assert_string_equal(name, of);
	assert_int_equal(n[0], n_new);
	assert_int_equal(n[1], n_changed);
	assert_int_equal(n[2], n_deleted);
}

/* A change of the program itself is seen by a look, while somebody reads; so the first event says that there is a reader. */
TEST_WITH(changes_are_events, setup, NULL)
{
	static struct bridge k;
	struct caller events = caller_listen("rt/parameter_events", "rcl_interfaces::msg::dds_::ParameterEvent_");
	struct caller c = caller_start(false);
	unsigned n[3];
	char name[64];

	begin(&k);
	lists(&c);
	pthread_mutex_lock(&node.lock);
	node.at[1].v.double_value = 33;
	node.at[3].v.bool_value = 0;
	pthread_mutex_unlock(&node.lock);
	do
		take_event(&events, name, n);
	while (n[0] == PARAMS); /* all that the node has, if the reader was found before the first look */
	assert_string_equal(name, ROS_LIDAR);
	assert_true(n[0] == 0 && n[1] == 2 && n[2] == 0);
	offer(&k, "/gps", true);
	is_event(&events, "/gps", PARAMS, 0, 0);
	offer(&k, "/gps", false);
	one_result(SET(&c, ROS_LIDAR, one_wish("a.rate", 3, 20, "")), "");
	is_event(&events, ROS_LIDAR, 0, 1, 0);
	pthread_mutex_lock(&node.lock);
	node.n--;
	pthread_mutex_unlock(&node.lock);
	is_event(&events, ROS_LIDAR, 0, 0, 1);
	caller_end(&c);
	caller_kill(&events);
	end(&k);
}

/* ---- what is wrong ---- */

TEST_WITH(a_thousand_in_one_call, setup, NULL)
{
	static struct bridge k;
	struct caller c = caller_start(false);
	struct cdr q = { .n = 0 }, r;

	begin(&k);
	cdr_u32(&q, MANY);
	for (unsigned i = 0; i < MANY; i++)
		put_wish(&q, i == 500 ? "a.rate" : "none", i == 500 ? 3 : (uint8_t)i, 12, "text", 3);
	r = SET(&c, ROS_LIDAR, q);
	assert_int_equal(cdr_get_u32(&r), MANY);
	for (unsigned i = 0; i < MANY; i++)
		is_result(&r, i == 500 ? "" : "parameter 'none' cannot be set because it was not declared");
	is_end(&r);
	q = (struct cdr){ .n = 0 };
	cdr_u32(&q, MANY);
	for (unsigned i = 0; i < MANY; i++)
		cdr_text(&q, "a.rate");
	r = GET(&c, ROS_LIDAR, q);
	assert_int_equal(cdr_get_u32(&r), MANY);
	for (unsigned i = 0; i < MANY; i++)
		is_value(&r, 3, 12, "");
	is_end(&r);
	caller_end(&c);
	end(&k);
}

static struct cdr too_many(void)
{
	struct cdr q = { .n = 0 };

	cdr_u32(&q, 5000);
	for (unsigned i = 0; i < 5000; i++)
		cdr_text(&q, "on");
	return q;
}

static struct cdr malformed(uint32_t count, uint8_t fill, unsigned n)
{
	struct cdr q = { .n = 0 };

	cdr_u32(&q, count);
	for (unsigned i = 0; i < n; i++)
		cdr_u8(&q, fill);
	return q;
}

/* An array that is longer than the message. */
static struct cdr endless(void)
{
	struct cdr q = one_wish("on", 1, 1, "");
	uint32_t n = 0xfffffff0;

	memcpy(q.bytes + q.n - 4, &n, 4);
	return q;
}

/* None of it is answered but with nothing, or not at all; others are. */
static void is_hostile(bool fast)
{
	static struct bridge k;
	struct caller bad = caller_start(fast), good = caller_start(false);
	struct cdr huge = malformed(1, 'x', HUGE);

	begin(&k);
	is_nothing(GET(&bad, ROS_LIDAR, too_many()));
	is_nothing(GET(&bad, ROS_LIDAR, malformed(9, 0, 4)));
	is_nothing(TYPES(&bad, ROS_LIDAR, malformed(0xffffffff, 0xff, 64)));
	is_nothing(DESCRIBE(&bad, ROS_LIDAR, malformed(1, 'x', 3)));
	is_nothing(SET(&bad, ROS_LIDAR, endless()));
	is_nothing(SET(&bad, ROS_LIDAR, malformed(3, 0xff, 500)));
	whole(ATOMICALLY(&bad, ROS_LIDAR, malformed(3, 0, 500)), "it is malformed");
	caller_send(&bad, ROS_LIDAR "/list_parameters", TYPE("ListParameters"), &huge, 1);
	host_wait_log(&k.h, "is too large");
	lists(&good);
	cdr_free(&huge);
	caller_kill(&bad);
	caller_end(&good);
	end(&k);
	assert_int_equal(node.n_set, 0);
}

TEST_WITH(a_hostile_cyclone_peer, setup, NULL)
{
	is_hostile(false);
}

TEST_WITH(a_hostile_fast_dds_peer, setup, NULL)
{
	if (have_fast())
		is_hostile(true);
}

TEST_WITH(a_flood_of_requests, setup, NULL)
{
	static struct bridge k;
	struct caller flood = caller_start(false), good = caller_start(false);
	struct cdr q = one_wish("a.rate", 3, 20, "");

	begin(&k);
	caller_send(&flood, ROS_LIDAR "/set_parameters", TYPE("SetParameters"), &q, FLOOD);
	has_own(&good);
	one_result(caller_reply(&flood), "");
	cdr_free(&q);
	caller_end(&flood);
	caller_end(&good);
	end(&k);
}

/* Its program takes requests, and answers none: others do not wait for it, and when it has gone those who asked are answered. */
TEST_WITH(a_node_that_hangs, setup, NULL)
{
	static struct bridge k;
	struct caller c = caller_start(false), next = caller_start(false), other = caller_start(false);
	struct cdr q = prefixes(0, NULL), r;

	begin(&k);
	lists(&c);
	pthread_mutex_lock(&node.lock);
	node.hangs = true;
	pthread_mutex_unlock(&node.lock);
	caller_send(&c, ROS_LIDAR "/list_parameters", TYPE("ListParameters"), &q, 1);
	cdr_free(&q);
	AWAIT(is_held());
	q = names(1, "on");
	caller_post(&next, ROS_LIDAR "/get_parameters", TYPE("GetParameters"), &q);
	cdr_free(&q);
	has_own(&other);
	offer(&k, LIDAR, false);
	r = caller_reply(&c);
	is_texts(&r, 0, NULL);
	is_texts(&r, 0, NULL);
	is_end(&r);
	is_nothing(caller_reply(&next));
	caller_end(&c);
	caller_end(&next);
	caller_end(&other);
	end(&k);
}

TEST_PROCESSES()
