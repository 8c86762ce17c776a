/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What ROS 2 expects of a participant that is a node, rule by rule, held against everything that discovery tells of ours: names and
 * types, QoS, USER_DATA with enclave and type hashes, and the graph, whose identities must be the endpoints that there are. For
 * each distribution. The observer is a Cyclone program in a process of its own; it knows nothing of the bridge but how many endpoints to wait for.
 */
#include "test.h"

#include <ctype.h>
#include <sys/wait.h>

#include <sim/introspect.h>
#include <sim/msg/CanBus.h>
#include <sim/msg/Image.h>
#include <sim/msg/Transforms.h>
#include <sim/point_cloud.h>

#include "host.h"
#include "reader.h"
#include "ros/ros_definition.h"
#include "ros/ros_type.h"

#define ENDPOINTS_MAX 48
#define WRITERS       5u /* of channels: see open_all() */
#define READERS       2u
#define GRAPH         "ros_discovery_info"

#define MUST_HOLD(cond, what) \
	do { \
		if (!(cond)) { \
			fprintf(stderr, "observer: %s: not so: %s\n", what, #cond); \
			_exit(1); \
		} \
	} while (0)

struct endpoint {
	dds_guid_t guid, participant;
	char topic[128], type[128], data[256];
	bool writer;
	unsigned in_graph;
	dds_qos_t *qos;
};

struct seen {
	struct endpoint e[ENDPOINTS_MAX];
	unsigned n;
	dds_guid_t participant;
	unsigned gid_size;
};

/* ---- what discovery says ---- */

static void user_data(const dds_qos_t *qos, char *out, size_t size)
{
	void *data = NULL;
	size_t n = 0;

	out[0] = '\0';
	if (dds_qget_userdata(qos, &data, &n) && data)
		snprintf(out, size, "%.*s", (int)n, (const char *)data);
	dds_free(data);
}

/* The one participant that says it has an enclave. */
static void see_participant(dds_entity_t p, struct seen *s)
{
	dds_entity_t r = dds_create_reader(p, DDS_BUILTIN_TOPIC_DCPSPARTICIPANT, NULL, NULL);
	char data[256] = "";

	while (!strstr(data, "enclave")) {
		void *sample = NULL;
		dds_sample_info_t info;

		MUST_HOLD(reader_wait(p, r) == 0, "a participant with an enclave");
		if (dds_take(r, &sample, &info, 1, 1) <= 0)
			continue;
		if (info.valid_data) {
			s->participant = ((const dds_builtintopic_participant_t *)sample)->key;
			user_data(((const dds_builtintopic_participant_t *)sample)->qos, data, sizeof(data));
		}
		dds_return_loan(r, &sample, 1);
	}
	MUST_HOLD(!strncmp(data, "enclave=/;", 10), data);
	for (const char *at = data; *at; at = strchr(at, ';') + 1) /* key=value; key=value; ... */
		MUST_HOLD(strchr(at, '=') && strchr(at, ';') && strchr(at, '=') < strchr(at, ';'), data);
}

static void see_one(struct seen *s, const dds_builtintopic_endpoint_t *b, bool writer)
{
	struct endpoint *e = &s->e[s->n];

	if (memcmp(&b->participant_key, &s->participant, sizeof(s->participant)) != 0)
		return;
	MUST_HOLD(s->n < ENDPOINTS_MAX, "few endpoints");
	e->guid = b->key;
	e->writer = writer;
	snprintf(e->topic, sizeof(e->topic), "%s", b->topic_name);
	snprintf(e->type, sizeof(e->type), "%s", b->type_name);
	user_data(b->qos, e->data, sizeof(e->data));
	e->qos = dds_create_qos();
	dds_copy_qos(e->qos, b->qos);
	s->n++;
}

static void see_endpoints(dds_entity_t p, struct seen *s, bool writers, unsigned want)
{
	dds_entity_t r =
		dds_create_reader(p, writers ? DDS_BUILTIN_TOPIC_DCPSPUBLICATION : DDS_BUILTIN_TOPIC_DCPSSUBSCRIPTION,
				  NULL, NULL);
	unsigned before = s->n;

	while (s->n - before < want) {
		void *sample = NULL;
		dds_sample_info_t info;

		MUST_HOLD(reader_wait(p, r) == 0, writers ? "as many writers" : "as many readers");
		if (dds_take(r, &sample, &info, 1, 1) <= 0)
			continue;
		if (info.valid_data)
			see_one(s, sample, writers);
		dds_return_loan(r, &sample, 1);
	}
}

/* ---- names, types and hashes ---- */

static bool is_name(const char *s, const char *end)
{
	bool ok = s < end && !isdigit((unsigned char)*s);

	for (; ok && s < end; s++)
		ok = isalnum((unsigned char)*s) || *s == '_';
	return ok;
}

static bool is_service(const char *s)
{
	return !strncmp(s, "rq/", 3) || !strncmp(s, "rr/", 3);
}

/* rt/ and parts that are names, none of them hidden; rq/ and rr/ for services. */
static bool is_topic(const char *s)
{
	if (strncmp(s, "rt/", 3) != 0 && !is_service(s))
		return false;
	for (s += 3;; s += strcspn(s, "/") + 1) {
		const char *end = s + strcspn(s, "/");

		if (!is_name(s, end) || *s == '_')
			return false;
		if (!*end)
			return true;
	}
}

/* pkg::msg::dds_::Name_ to pkg/msg/Name, and so for srv. NULL: it is not that. */
static const struct ros_type *type_of(const char *s, bool service)
{
	const char *msg = strstr(s, service ? "::srv::dds_::" : "::msg::dds_::"), *name = msg ? msg + 13 : s;
	const struct ros_type *t = NULL;
	struct ros_text *made; /* it is the process' */
	size_t n = strlen(name);
	char ros[160];

	if (!msg || !is_name(s, msg) || n < 2 || name[n - 1] != '_' || !is_name(name, name + n - 1))
		return NULL;
	snprintf(ros, sizeof(ros), "%.*s/%s/%.*s", (int)(msg - s), s, service ? "srv" : "msg", (int)n - 1, name);
	return ros_definition_type(ros2_types, ros, &t, &made) == 0 ? t : NULL;
}

static void check_names(const struct endpoint *e)
{
	const struct ros_type *t = type_of(e->type, is_service(e->topic));
	const char *data = e->data;
	char want[128];

	MUST_HOLD(!strcmp(e->topic, GRAPH) || is_topic(e->topic), e->topic);
	MUST_HOLD(t, e->type);
	snprintf(want, sizeof(want), "typehash=%s;", t->hash);
	MUST_HOLD(strlen(t->hash) == 7 + 64 && !strncmp(t->hash, "RIHS01_", 7), t->hash);
	if (is_service(e->topic)) {
		MUST_HOLD(!strncmp(data, "serviceid=", 10) && strchr(data, ';'), data);
		data = strchr(data, ';') + 1;
	}
	MUST_HOLD(!strcmp(data, want), e->topic);
	MUST_HOLD(!strcmp(e->topic, GRAPH) == !strcmp(t->name, "rmw_dds_common/ParticipantEntitiesInfo"), e->topic);
	MUST_HOLD(strcmp(e->topic, "rt/clock") || !strcmp(t->name, "rosgraph_msgs/Clock"), e->topic);
}

/* ---- QoS ---- */

static void check_common_qos(const struct endpoint *e)
{
	dds_liveliness_kind_t liveliness = DDS_LIVELINESS_MANUAL_BY_TOPIC;
	dds_ownership_kind_t ownership = DDS_OWNERSHIP_SHARED;
	dds_duration_t lease = 0, deadline = DDS_INFINITY;
	dds_data_representation_id_t *ids = NULL;
	char **partitions = NULL;
	uint32_t n = 0;

	MUST_HOLD(dds_qget_liveliness(e->qos, &liveliness, &lease), e->topic);
	MUST_HOLD(liveliness == DDS_LIVELINESS_AUTOMATIC && lease == DDS_INFINITY, e->topic);
	dds_qget_deadline(e->qos, &deadline);
	MUST_HOLD(deadline == DDS_INFINITY, e->topic);
	dds_qget_ownership(e->qos, &ownership);
	MUST_HOLD(ownership == DDS_OWNERSHIP_SHARED, e->topic);
	MUST_HOLD(!dds_qget_partition(e->qos, &n, &partitions) || n == 0, e->topic);
	MUST_HOLD(!dds_qget_data_representation(e->qos, &n, &ids) ||
			  (n == 1 && ids[0] == DDS_DATA_REPRESENTATION_XCDR1),
		  e->topic);
	dds_free(ids);
}

static void expect_qos(const struct endpoint *e, dds_reliability_kind_t reliability, dds_durability_kind_t durability)
{
	dds_reliability_kind_t r = DDS_RELIABILITY_BEST_EFFORT;
	dds_durability_kind_t d = DDS_DURABILITY_VOLATILE;
	dds_duration_t blocking;

	MUST_HOLD(dds_qget_reliability(e->qos, &r, &blocking) && r == reliability, e->topic);
	MUST_HOLD(dds_qget_durability(e->qos, &d) && d == durability, e->topic);
}

/* By what it is: the graph, the clock, sensor data, kept data, commands, all the rest. */
static void check_qos(const struct endpoint *e)
{
	check_common_qos(e);
	if (is_service(e->topic))
		expect_qos(e, DDS_RELIABILITY_RELIABLE, DDS_DURABILITY_VOLATILE);
	else if (!strcmp(e->topic, GRAPH) || !strcmp(e->topic, "rt/tf_static") || !e->writer)
		expect_qos(e, DDS_RELIABILITY_RELIABLE, DDS_DURABILITY_TRANSIENT_LOCAL);
	else if (strstr(e->type, "::Image_") || strstr(e->type, "::PointCloud2_"))
		expect_qos(e, DDS_RELIABILITY_BEST_EFFORT, DDS_DURABILITY_VOLATILE);
	else
		expect_qos(e, DDS_RELIABILITY_RELIABLE, DDS_DURABILITY_VOLATILE);
}

/* ---- the graph ---- */

static struct endpoint *by_gid(struct seen *s, const uint8_t *gid)
{
	for (unsigned i = 16; i < s->gid_size; i++)
		MUST_HOLD(gid[i] == 0, "an identity of Humble ends in zeros");
	for (unsigned i = 0; i < s->n; i++)
		if (memcmp(&s->e[i].guid, gid, 16) == 0)
			return &s->e[i];
	return NULL;
}

/* All of them are there, of this kind, and none twice. */
static void check_gids(struct seen *s, const dds_sequence_t *gids, bool writers)
{
	for (uint32_t i = 0; i < gids->_length; i++) {
		struct endpoint *e = by_gid(s, gids->_buffer + (size_t)i * s->gid_size);

		MUST_HOLD(e && e->writer == writers, "an identity in the graph is an endpoint of that kind");
		MUST_HOLD(e->in_graph++ == 0, e->topic);
	}
}

/* Each sample is the whole state: the one that has all endpoints is looked at. */
static void check_graph(dds_entity_t p, struct seen *s)
{
	bool humble = s->gid_size == 24;
	dds_entity_t r = reader_open(p, humble ? &seen_graph24_desc : &seen_graph16_desc, GRAPH, true);
	const struct seen_node *n;

	do {
		struct seen_graph24 *a = calloc(1, sizeof(*a));
		struct seen_graph16 *b = calloc(1, sizeof(*b));
		const dds_sequence_t *nodes = humble ? &a->nodes : &b->nodes;

		MUST_HOLD(a && b && reader_take(r, humble ? (void *)a : (void *)b) == 0, GRAPH);
		MUST_HOLD(memcmp(humble ? a->gid : b->gid, &s->participant, 16) == 0, "the graph's participant");
		MUST_HOLD(nodes->_length == 1, "one node");
		n = (const struct seen_node *)(const void *)nodes->_buffer;
		MUST_HOLD(n->node_namespace[0] == '/' && is_name(n->name, n->name + strlen(n->name)), n->name);
		MUST_HOLD(n->name[0] != '_', "a node that ROS shows");
	} while (n->writers._length + n->readers._length < WRITERS + 1 + NODE_WRITERS + READERS + NODE_READERS);
	check_gids(s, &n->writers, true);
	check_gids(s, &n->readers, false);
	for (unsigned i = 0; i < s->n; i++)
		MUST_HOLD(s->e[i].in_graph == (strcmp(s->e[i].topic, GRAPH) != 0), s->e[i].topic);
}

static pid_t start_observer(unsigned gid_size)
{
	static struct seen s;
	pid_t pid = fork();
	dds_entity_t p;

	if (pid)
		return pid;
	p = reader_participant();
	s.gid_size = gid_size;
	see_participant(p, &s);
	see_endpoints(p, &s, true, WRITERS + NODE_WRITERS + 2);  /* the clock and the graph */
	see_endpoints(p, &s, false, READERS + NODE_READERS + 1); /* the graph */
	for (unsigned i = 0; i < s.n; i++) {
		check_names(&s.e[i]);
		check_qos(&s.e[i]);
	}
	check_graph(p, &s);
	_exit(0);
}

/* ---- ours ---- */

static void open_all(struct host *h, struct sim_bridge *b)
{
	static const struct {
		const char *name, *type, *options;
	} channels[WRITERS] = {
		{ "/camera/image", "sim/Image", "{}" },
		{ "/lidar/top", "sim/PointCloud", "{\"ros2\":{\"points\":\"awsim24\"}}" },
		{ "/vehicle/status", "sim/CanBus",
		  "{\"ros2\":{\"type\":\"autoware_vehicle_msgs/msg/VelocityReport\"}}" },
		{ "/gnss", "sim/Gps", "{}" },
		{ "/tf_static", "sim/Transforms", "{\"ros2\":{\"durability\":\"transient_local\"}}" },
	};

	for (unsigned i = 0; i < WRITERS; i++)
		host_open(h, b, channels[i].name, sim_type_builtin(channels[i].type), channels[i].options);
}

static void is_a_node(const char *distro, unsigned gid_size)
{
	static struct host h;
	const char *const options[] = {
		"ros_distro", distro, "subscribe",
		"{\"/control/command/gear_cmd\":{\"type\":\"autoware_vehicle_msgs/msg/GearCommand\",\"channel\":\"gear\"},"
		"\"/control/command/control_cmd\":{\"type\":\"autoware_control_msgs/msg/Control\",\"channel\":\"control\"}}",
		NULL
	};
	pid_t observer = start_observer(gid_size);
	struct sim_bridge *b;
	int status = -1;

	host_init(&h, PLUGIN, options);
	b = host_create(&h);
	open_all(&h, b);
	host_clock_start(&h, b);
	assert_int_equal(waitpid(observer, &status, 0), observer);
	assert_int_equal(status, 0);
	host_clock_stop(&h);
	h.ops->destroy(b);
}

TEST(what_humble_expects_holds)
{
	is_a_node("humble", 24);
}
TEST(what_iron_expects_holds)
{
	is_a_node("iron", 16);
}
TEST(what_jazzy_expects_holds)
{
	is_a_node("jazzy", 16);
}

TEST_PROCESSES()
