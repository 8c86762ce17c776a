/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parameters and nodes, as a user at a terminal sees them: a lidar that turns faster while it runs, refused values and
 * their errors, the readers and writers of a channel. The lidar is a process of the rig; the nodes are this test's own.
 */
#include "stack.h"

#include <errno.h>
#include <signal.h>
#include <string.h>

#include <sim/msg/Detected3DObjects.h>
#include <sim/msg/PointCloud.h>
#include <sim/msg/UInt8.h>
#include <sim/node.h>
#include <sim/param.h>
#include <sim/sim.h>
#include <sim/srv/NodeInfo.h>

#include "wait.h"

#define RIG(more)   "\"TimeSource\":\"system\",\"rigs\":[{\"name\":\"car\",\"prefix\":\"/car\"" more "}]"
#define LIDAR_POOLS "\"pools\":[{\"size\":\"1KiB\",\"count\":1500},{\"size\":\"16KiB\",\"count\":200}]"
#define LIDAR \
	",\"processes\":[{\"name\":\"lidar\",\"command\":[\"sim-lidar\",\"--name\",\"lidar\",\"--beams\",\"4\",\"--columns\"," \
	"\"64\"]}]"
#define MS      INT64_C(1000000)
#define WAIT_NS INT64_C(10000000000)

static pid_t simd;
static struct sim_client *client;

static void start(const char *conf)
{
	struct sim_client_options o = {
		.size = sizeof(o), .name = "test", .socket = STACK_SOCKET, .timeout_ms = PATIENT_MS
	};

	simd = stack_start(conf);
	setenv("SIMD_SOCKET", STACK_SOCKET, 1);
	if (sim_connect(&o, &client) < 0)
		fail_msg("%s", sim_why());
}

static int setup(void **state)
{
	(void)state;
	start(RIG("") "," STACK_POOLS);
	return 0;
}

static int setup_lidar(void **state)
{
	(void)state;
	start(RIG(LIDAR) "," LIDAR_POOLS);
	return 0;
}

/* Not stack_stop(): files of this process's attachment stay until it ends itself. */
static void end(void)
{
	sim_disconnect(client);
	assert_int_equal(kill(simd, SIGTERM), 0);
	assert_int_equal(stack_wait(simd), 0);
}

/* Exit code, and a part of what is on stdout and stderr; nothing is on the other one. */
static void said(const struct ctl_result *r, int code, const char *out, const char *err)
{
	if (r->code != code || !strstr(r->out, out) || !strstr(r->err, err) || (code && *r->out) || (!code && *r->err))
		fail_msg("exit code %d, \"%s\", \"%s\"", r->code, r->out, r->err);
}

/* ---- a sensor ---- */

static void show_objects(struct sim_publisher *p, int64_t stamp_sim_ns)
{
	struct sim_builder b;
	struct sim_slot *slot;

	if (sim_loan(p, sizeof(struct sim_Detected3DObjects), &slot) < 0)
		fail_msg("%s", sim_why());
	sim_Detected3DObjects_init(sim_slot_body_mut(slot), sizeof(struct sim_Detected3DObjects), &b);
	slot->stamp_sim_ns = stamp_sim_ns;
	assert_int_equal(sim_publish_local(p, slot), 0);
}

static void expect_cloud(struct sim_subscriber *s, int64_t stamp_sim_ns)
{
	const struct sim_message *m;

	if (sim_wait(s, WAIT_NS) != 1)
		fail_msg("no cloud of %lld ms comes", (long long)(stamp_sim_ns / MS));
	assert_int_equal(sim_take(s, &m), 0);
	assert_int_equal(m->header.stamp_sim_ns, stamp_sim_ns);
	assert_int_equal(sim_release(s, m), 0);
}

TEST_WITH(a_lidar_turns_faster_while_it_runs, setup_lidar, stack_sweep)
{
	struct sim_publisher_options po = { .size = sizeof(po), .max_body = 800, .flags = SIM_PUB_LOCAL };
	struct sim_publisher *objects;
	struct sim_subscriber *clouds;
	int64_t t = INT64_C(1000000000000);

	assert_int_equal(sim_advertise(client, "objects", &sim_Detected3DObjects_type, &po, &objects), 0);
	assert_int_equal(sim_subscribe(client, "lidar/top", &sim_PointCloud_type, NULL, &clouds), 0);
	AWAIT(stack_ctl("param", "get", "lidar", "frequency", NULL)->code == 0);
	show_objects(objects, t);
	expect_cloud(clouds, t);
	show_objects(objects, t + 50 * MS); /* not due: 10 Hz */
	show_objects(objects, t + 100 * MS);
	expect_cloud(clouds, t + 100 * MS);

	said(stack_ctl("param", "set", "lidar", "frequency", "20", NULL), 0, "20\n", "");
	for (int i = 3; i < 8; i++) {
		show_objects(objects, t + i * 50 * MS);
		expect_cloud(clouds, t + i * 50 * MS);
	}
	said(stack_ctl("param", "get", "/car/lidar", "frequency", NULL), 0, "20\n", "");
	said(stack_ctl("param", "set", "lidar", "frequency", "200", NULL), 1, "",
	     "parameter frequency: 200 is more than 100, the most that it may be");
	said(stack_ctl("param", "set", "lidar", "beams", "8", NULL), 1, "", "beams is read-only");
	said(stack_ctl("param", "list", "lidar", NULL), 0, "[Hz] turns per second", "");
	said(stack_ctl("param", "get", "lidar", "columns", NULL), 0, "64\n", "");
	said(stack_ctl("param", "list", NULL), 0, "/car/lidar", "");
	sim_subscriber_destroy(clouds);
	sim_publisher_destroy(objects);
	end();
}

/* ---- typed values ---- */

static int not_seven(void *user, const char *name, const struct sim_param_value *v, char *why, size_t why_size)
{
	(void)user;
	(void)name;
	snprintf(why, why_size, "seven is taken\033[31m");
	return v->as.i == 7 ? -EBUSY : 0;
}

static struct sim_params *motor(void)
{
	struct sim_param_options o = { .size = sizeof(o), .changed = not_seven };
	struct sim_param_value b = sim_param_bool(false), i = sim_param_int(1), d = sim_param_double(0.1);
	struct sim_param_value s = sim_param_string("a\033[31mb");
	struct sim_params *p;

	if (sim_params_create(client, "motor", &p) < 0 || sim_params_declare(p, "on", &b, NULL) < 0 ||
	    sim_params_declare(p, "gear", &i, &o) < 0 || sim_params_declare(p, "power", &d, NULL) < 0 ||
	    sim_params_declare(p, "label", &s, NULL) < 0)
		fail_msg("%s", sim_why());
	return p;
}

/* What bash offers behind these words. */
static void completes(const char *words, const char *want)
{
	const char *b = getenv("B");
	char cmd[1024], got[256];
	size_t n;
	FILE *f;

	snprintf(cmd, sizeof(cmd),
		 "bash --norc -c 'source <(%s/bin/simctl --completion-bash); COMP_WORDS=(%s/bin/simctl %s \"\"); "
		 "COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); _simctl; echo \"${COMPREPLY[@]}\"'",
		 b ? b : "build", b ? b : "build", words);
	f = popen(cmd, "r");
	assert_non_null(f);
	n = fread(got, 1, sizeof(got) - 1, f);
	got[n] = '\0';
	pclose(f);
	assert_string_equal(got, want);
}

TEST_WITH(names_of_parameters_are_completed, setup, stack_sweep)
{
	struct sim_params *p = motor();

	completes("param get", "/car/motor\n");
	completes("param get /car/motor", "gear label on power\n");
	completes("param set motor", "gear label on power\n");
	completes("param set motor gear", "\n");
	completes("param get nobody", "\n");
	sim_params_destroy(p);
	end();
}

TEST_WITH(values_are_parsed_by_the_type_of_their_parameter, setup, stack_sweep)
{
	struct sim_params *p = motor();
	int64_t i = 0;
	double d = 0;

	said(stack_ctl("param", "set", "motor", "on", "true", NULL), 0, "true\n", "");
	said(stack_ctl("param", "set", "motor", "on", "7", NULL), 1, "",
	     "parameter on is a bool, which \"7\" is not; write true or false");
	said(stack_ctl("param", "set", "motor", "gear", "--", "-9223372036854775808", NULL), 0,
	     "-9223372036854775808\n", "");
	assert_int_equal(sim_params_get_int(p, "gear", &i), 0);
	assert_true(i == INT64_MIN);
	said(stack_ctl("param", "set", "motor", "gear", "7", NULL), 1, "",
	     "simctl: parameter gear: seven is taken\\x1b[31m\n");
	said(stack_ctl("param", "set", "motor", "gear", "1.5", NULL), 1, "", "gear is an int, which \"1.5\" is not");
	said(stack_ctl("param", "set", "motor", "gear", "9223372036854775808", NULL), 1, "", "is not");
	said(stack_ctl("param", "set", "motor", "power", "0.30000000000000004", NULL), 0, "0.3\n", "");
	assert_int_equal(sim_params_get_double(p, "power", &d), 0);
	assert_true(d > 0.3 && d < 0.3000000000000001); /* no digit was lost */
	said(stack_ctl("param", "set", "motor", "power", "nan", NULL), 1, "", "is not");
	said(stack_ctl("param", "get", "motor", "label", NULL), 0, "a\\x1b[31mb\n", "");
	said(stack_ctl("param", "set", "motor", "label", "two words", NULL), 0, "two words\n", "");
	said(stack_ctl("--json", "param", "get", "motor", "label", NULL), 0,
	     "{\"name\":\"label\",\"type\":\"string\",\"value\":\"two words\"}\n", "");
	said(stack_ctl("--json", "param", "list", "motor", NULL), 0,
	     "{\"node\":\"motor\",\"params\":[{\"name\":\"gear\",\"type\":\"int\",\"value\":-9223372036854775808,"
	     "\"description\":\"\",\"initial\":1,\"min\":null,\"max\":null,\"read_only\":false}",
	     "");
	said(stack_ctl("param", "list", "--names", "motor", NULL), 0, "gear\nlabel\non\npower\n", "");
	said(stack_ctl("param", "list", "--names", NULL), 0, "/car/motor\n", "");
	sim_params_destroy(p);
	end();
}

TEST_WITH(similar_names_are_suggested, setup, stack_sweep)
{
	struct sim_params *p;

	said(stack_ctl("param", "list", "motor", NULL), 1, "",
	     "simctl: no node \"motor\" answers; no node offers list_parameters at present\n");
	p = motor();
	said(stack_ctl("param", "get", "moter", "gear", NULL), 1, "", "did you mean /car/motor?");
	said(stack_ctl("param", "list", "/car/moto", NULL), 1, "", "did you mean /car/motor?");
	said(stack_ctl("param", "set", "engine", "gear", "1", NULL), 1, "",
	     "`simctl param list` shows those there are");
	said(stack_ctl("param", "get", "motor", "geer", NULL), 1, "",
	     "simctl: node motor has no parameter \"geer\"; did you mean gear?\n");
	said(stack_ctl("param", "set", "motor", "voltage", "1", NULL), 1, "",
	     "`simctl param list motor` shows those there are");
	said(stack_ctl("param", "get", "motor", NULL), 2, "", "NAME");
	sim_params_destroy(p);
	end();
}

/* ---- nodes ---- */

static void put_reader(struct sim_builder *b, struct sim_NodeReader *r)
{
	r->received = 41;
	r->overrun = 3;
	sim_NodeReader_channel_set_in(b, r, "/car/in");
	sim_NodeReader_channel_type_set_in(b, r, "sim/UInt8");
	sim_NodeReader_delivery_set_in(b, r, "mixed");
}

static void put_writer(struct sim_builder *b, struct sim_NodeWriter *w)
{
	w->written = 17;
	w->intra = 5;
	sim_NodeWriter_channel_set_in(b, w, "/car/out");
	sim_NodeWriter_channel_type_set_in(b, w, "sim/UInt8");
	sim_NodeWriter_transport_set_in(b, w, "hybrid");
}

static int on_info(void *user, struct sim_request *req)
{
	struct sim_NodeInfoResponse *m;
	struct sim_NodeTimer *t;
	struct sim_builder b;

	m = sim_NodeInfoResponse_init(req->response, req->response_capacity, &b);
	sim_NodeInfoResponse_name_set(&b, user);
	sim_NodeInfoResponse_process_set(&b, "perception");
	sim_NodeInfoResponse_host_set(&b, "test");
	sim_NodeInfoResponse_mode_set(&b, "simulation");
	sim_NodeInfoResponse_component_set(&b, "Tracks");
	m->pid = 4711;
	m->proc = 1000;
	m->unmatched[1] = 6;
	m->more_readers = 2;
	put_reader(&b, sim_NodeInfoResponse_readers_alloc(&b, 1));
	put_writer(&b, sim_NodeInfoResponse_writers_alloc(&b, 1));
	t = sim_NodeInfoResponse_timers_alloc(&b, 1);
	t->period = 20 * MS;
	sim_NodeTimer_name_set_in(&b, t, "tick");
	req->response_size = sim_builder_size(&b);
	return 0;
}

static struct sim_service *node(const char *service, const char *name, sim_service_fn fn)
{
	struct sim_service *sv;

	if (sim_service_offer(client, service, &sim_NodeInfo_service, NULL, fn, (void *)(uintptr_t)name, &sv) < 0)
		fail_msg("%s", sim_why());
	return sv;
}

TEST_WITH(nodes_are_listed_and_described, setup, stack_sweep)
{
	struct sim_service *tracks;
	const struct ctl_result *r;

	said(stack_ctl("node", "list", "--names", NULL), 0, "", "");
	said(stack_ctl("node", "info", "tracks", NULL), 1, "", "no node offers node_info at present");
	tracks = node("tracks/node_info", "tracks", on_info);
	said(stack_ctl("node", "list", "--names", NULL), 0, "/car/tracks\n", "");
	r = stack_ctl("node", "list", NULL);
	said(r, 0, "/car/tracks", "");
	said(r, 0, "perception  4711", "");
	said(stack_ctl("--json", "node", "list", NULL), 0, "\"name\":\"/car/tracks\"", "");
	r = stack_ctl("node", "info", "tracks", NULL);
	said(r, 0, "tracks: simulation, process perception (pid 4711), client test\n", "");
	said(r, 0, "component: Tracks; 1000 proc", "");
	said(r, 0, "without input 1: 6 messages of input 0 were dropped", "");
	said(r, 0, "and 2 more", "");
	said(r, 0, "tick", "");
	said(r, 0, "0.020", "");
	said(stack_ctl("--json", "node", "info", "/car/tracks", NULL), 0, "\"unmatched\":[0,6,0,0]", "");
	said(stack_ctl("node", "info", "trackz", NULL), 1, "", "did you mean /car/tracks?");
	sim_service_destroy(tracks);
	end();
}

/* What a real node answers of the parameters under its name. */
TEST_WITH(a_node_shows_how_many_parameters_it_has, setup, stack_sweep)
{
	struct sim_host_options o = { .size = sizeof(o), .client = client };
	struct sim_params *p;
	struct sim_host *h;
	struct sim_node *n;

	assert_int_equal(sim_host_create(&o, &h), 0);
	assert_int_equal(sim_node_create(h, "motor", &n), 0);
	said(stack_ctl("node", "info", "motor", NULL), 0, "parameters: 0\n", "");
	p = motor();
	said(stack_ctl("node", "info", "motor", NULL), 0, "parameters: 4\n", "");
	said(stack_ctl("--json", "node", "info", "motor", NULL), 0, "\"parameters\":4,", "");
	sim_params_destroy(p);
	sim_node_destroy(n);
	sim_host_stop(h);
	sim_host_destroy(h);
	end();
}

TEST_WITH(a_channel_names_its_nodes, setup, stack_sweep)
{
	struct sim_service *tracks = node("tracks/node_info", "tracks", on_info);
	struct sim_publisher *in, *out, *other;

	assert_int_equal(sim_advertise(client, "in", &sim_UInt8_type, NULL, &in), 0);
	assert_int_equal(sim_advertise(client, "out", &sim_UInt8_type, NULL, &out), 0);
	assert_int_equal(sim_advertise(client, "other", &sim_UInt8_type, NULL, &other), 0);
	said(stack_ctl("info", "in", NULL), 0, "read by node /car/tracks: 41 messages, by mixed\n", "");
	said(stack_ctl("info", "/car/out", NULL), 0,
	     "written by node /car/tracks: 17 messages, 5 of them inside its process (transport hybrid)\n", "");
	said(stack_ctl("--json", "info", "out", NULL), 0, "\"nodes\":{\"readers\":[],\"writers\":[{", "");
	assert_null(strstr(stack_ctl("info", "other", NULL)->out, "by node"));
	sim_publisher_destroy(in);
	sim_publisher_destroy(out);
	sim_publisher_destroy(other);
	sim_service_destroy(tracks);
	end();
}

static struct sim_pending *pending;

static int on_silent(void *user, struct sim_request *req)
{
	(void)user;
	(void)req;
	return sim_service_defer(client, &pending);
}

/* Other nodes are shown all the same, and a service of another type is no node. */
TEST_WITH(a_node_that_does_not_answer_is_shown, setup, stack_sweep)
{
	struct sim_service *tracks = node("tracks/node_info", "tracks", on_info);
	struct sim_service *silent = node("silent/node_info", "silent", on_silent);
	const struct ctl_result *r = stack_ctl("node", "list", NULL);

	said(r, 0, "/car/silent", "");
	said(r, 0, "no answer", "");
	said(r, 0, "perception", "");
	sim_service_answer(pending, -EIO, NULL, NULL, 0);
	sim_service_destroy(silent);
	sim_service_destroy(tracks);
	end();
}
