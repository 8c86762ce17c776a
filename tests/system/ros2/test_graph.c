/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A graph of ROS 2 with others in it, which our side must not break: the form of ros_discovery_info is that of those who are there, and
 * what is wrong with them is told by name. The others are Cyclone programs in processes of their own, without any setting.
 */
#include "test.h"

#include <errno.h>
#include <malloc.h>
#include <signal.h>
#include <sys/wait.h>

#include <sim/msg/Clock.h>

#include "host.h"
#include "reader.h"

#define GRAPH "ros_discovery_info"

/* Nothing is decided by time: nobody waits so long. */
#define WAITS "graph_wait_ms", "60000"

/* ---- the others ---- */

struct peer {
	pid_t pid;
	int told, go; /* it says a byte when it is done with a part; a byte lets it go on */
};

static dds_entity_t participant(const char *user_data)
{
	dds_qos_t *qos = dds_create_qos();
	dds_entity_t p;

	dds_qset_userdata(qos, user_data, strlen(user_data));
	p = reader_participant_with(qos);
	dds_delete_qos(qos);
	EXPECT(p > 0);
	return p;
}

/* Its one node, /talker, as a node of the distribution says it; without endpoints. */
static void be_node(dds_entity_t p, unsigned gid_size)
{
	struct seen_node node = { .node_namespace = (char *)"/", .name = (char *)"talker" };
	dds_sequence_t nodes = { ._maximum = 1, ._length = 1, ._buffer = (uint8_t *)&node };
	struct seen_graph24 a = { .nodes = nodes };
	struct seen_graph16 b = { .nodes = nodes };
	dds_entity_t w = reader_write_to(p, gid_size == 24 ? &seen_graph24_desc : &seen_graph16_desc, GRAPH);
	dds_guid_t guid;

	EXPECT(w > 0 && dds_get_guid(p, &guid) == 0);
	memcpy(a.gid, guid.v, 16);
	memcpy(b.gid, guid.v, 16);
	EXPECT(dds_write(w, gid_size == 24 ? (void *)&a : (void *)&b) == 0);
}

/* Reads the graph until /simd is in it; `first`: it must be in the first sample that can be read. */
static void see_node(dds_entity_t p, unsigned gid_size, bool first)
{
	dds_entity_t r = reader_of_all(p, gid_size == 24 ? &seen_graph24_desc : &seen_graph16_desc, GRAPH);
	const char *name = "";

	while (strcmp(name, "simd") != 0) {
		struct seen_graph24 *a = calloc(1, sizeof(*a));
		struct seen_graph16 *b = calloc(1, sizeof(*b));
		const dds_sequence_t *nodes = gid_size == 24 ? &a->nodes : &b->nodes;

		EXPECT(reader_take(r, gid_size == 24 ? (void *)a : (void *)b) == 0);
		name = nodes->_length == 1 ? ((const struct seen_node *)(const void *)nodes->_buffer)->name : "";
		EXPECT(*name || !first); /* /talker is one of its own kind; what is of the other has no node */
	}
}

static void tell_and_wait(int told, int go)
{
	char c;

	EXPECT(write(told, "", 1) == 1 && read(go, &c, 1) == 1);
}

typedef void (*peer_fn)(int told, int go, unsigned arg);

static struct peer start(peer_fn fn, unsigned arg)
{
	int told[2], go[2];
	struct peer p;

	assert_int_equal(pipe(told), 0);
	assert_int_equal(pipe(go), 0);
	p = (struct peer){ .pid = fork(), .told = told[0], .go = go[1] };
	if (p.pid == 0) {
		close(told[0]);
		close(go[1]);
		fn(told[1], go[0], arg);
		_exit(0);
	}
	close(told[1]);
	close(go[0]);
	return p;
}

static void wait_told(struct peer p)
{
	char c;

	assert_int_equal(read(p.told, &c, 1), 1);
}

static void go(struct peer p)
{
	assert_int_equal(write(p.go, "", 1), 1);
}

static void end(struct peer p)
{
	int status = -1;

	go(p);
	close(p.go);
	assert_int_equal(waitpid(p.pid, &status, 0), p.pid);
	assert_int_equal(status, 0);
	close(p.told);
}

/* A node of a distribution that waits for its word, shows itself, and sees ours. */
static void node_of(int told, int go, unsigned gid_size)
{
	dds_entity_t p;

	tell_and_wait(told, go);
	p = participant("enclave=/;");
	be_node(p, gid_size);
	tell_and_wait(told, go);
	see_node(p, gid_size, true);
	tell_and_wait(told, go);
	dds_delete(DDS_CYCLONEDDS_HANDLE);
}

/* The same, but what it reads first may be the other form. */
static void late_node_of(int told, int go, unsigned gid_size)
{
	dds_entity_t p;

	tell_and_wait(told, go);
	p = participant("enclave=/;");
	be_node(p, gid_size);
	see_node(p, gid_size, false);
	tell_and_wait(told, go);
}

/* Only shows itself. */
static void silent_node_of(int told, int go, unsigned gid_size)
{
	dds_entity_t p;

	tell_and_wait(told, go);
	p = participant("enclave=/;");
	be_node(p, gid_size);
	tell_and_wait(told, go);
	dds_delete(DDS_CYCLONEDDS_HANDLE);
}

/* Says nothing of itself, as no node of ROS does, but reads. */
static void observer_of(int told, int go, unsigned gid_size)
{
	see_node(participant(""), gid_size, false);
	tell_and_wait(told, go);
}

/* ---- ours ---- */

static struct host h;

static struct sim_bridge *ours(const char *const *options)
{
	host_init(&h, PLUGIN, options);
	return host_create(&h);
}

/* never: what the log must not say while the node is there. */
static void expect_form(const char *const *options, unsigned gid_size, const char *said, const char *never)
{
	struct peer node = start(node_of, gid_size);
	struct sim_bridge *b;

	wait_told(node);
	go(node);
	wait_told(node); /* it has shown itself */
	b = ours(options);
	go(node);
	wait_told(node);
	host_wait_log(&h, said);
	assert_null(strstr(h.log, never));
	end(node);
	h.ops->destroy(b);
}

TEST(what_the_others_write_is_written)
{
	static const char *const automatic[] = { WAITS, NULL };

	expect_form(automatic, 24, "the graph is written in Humble's form (identities of 24 bytes), as /talker (",
		    "Iron");
	expect_form(automatic, 16, "the graph is written in the form of Iron and later (identities of 16 bytes)",
		    "Humble");
}

TEST(a_wrong_distro_breaks_nobody)
{
	static const char *const jazzy[] = { WAITS, "ros_distro", "jazzy", NULL };
	static const char *const humble[] = { WAITS, "ros_distro", "humble", NULL };

	expect_form(jazzy, 24, "\"ros_distro\": \"jazzy\" is not what /talker (", "nobody else");
	expect_form(humble, 16, "\"ros_distro\": \"humble\" is not what /talker (", "nobody else");
}

TEST(alone_it_is_the_harmless_one)
{
	static const char *const at_once[] = { "graph_wait_ms", "0", NULL };
	struct peer observer = start(observer_of, 24), late = start(late_node_of, 16);
	struct sim_bridge *b = ours(at_once);

	wait_told(observer);
	end(observer);
	host_wait_log(&h, "no other participant found: it is written in Humble's form");
	wait_told(late);
	go(late);
	wait_told(late); /* of Iron, and it has seen us */
	end(late);
	host_wait_log(&h, "as /talker (");
	h.ops->destroy(b);
}

TEST(it_waits_no_longer_than_it_is_told)
{
	static const char *const deflt[] = { NULL };
	struct peer observer = start(observer_of, 24);
	struct sim_bridge *b = ours(deflt);

	wait_told(observer);
	end(observer);
	h.ops->destroy(b);
}

/* Another bridge, of Iron's form, until it is told to end. */
static void bridge_of_iron(int told, int go, unsigned arg)
{
	(void)arg;
	be_node(participant("enclave=/;simd=0123456789abcdef;"), 16);
	tell_and_wait(told, go);
	dds_delete(DDS_CYCLONEDDS_HANDLE);
}

TEST(bridges_do_not_follow_one_another)
{
	static const char *const automatic[] = { WAITS, NULL };
	struct peer bridge = start(bridge_of_iron, 0), node = start(silent_node_of, 24);
	struct sim_bridge *b;

	wait_told(bridge);
	wait_told(node);
	b = ours(automatic);
	go(node);
	host_wait_log(&h, "the graph is written in Humble's form");
	assert_null(strstr(h.log, "they do not see each other's nodes"));
	end(node);
	end(bridge);
	h.ops->destroy(b);
	assert_null(strstr(h.log, "Iron"));
}

static unsigned count(const char *text)
{
	unsigned n = 0;

	for (const char *at = h.log; (at = strstr(at, text)); at++)
		n++;
	return n;
}

static void forget_log(void)
{
	pthread_mutex_lock(&h.log_lock);
	h.log[0] = '\0';
	pthread_mutex_unlock(&h.log_lock);
}

TEST(a_second_form_is_told_and_not_taken)
{
	static const char *const automatic[] = { WAITS, NULL };
	struct peer first = start(node_of, 24), second = start(silent_node_of, 16), third = start(silent_node_of, 16);
	struct sim_bridge *b;

	wait_told(first);
	go(first);
	wait_told(first);
	b = ours(automatic);
	go(first);
	wait_told(first);
	wait_told(second);
	go(second);
	host_wait_log(&h, "they do not see each other's nodes");
	host_wait_log(&h, "with all of this machine; but two distributions are in it, see the log");
	wait_told(third);
	go(third);
	wait_told(third);
	assert_int_equal(count("the graph is written in"), 1);
	assert_int_equal(count("they do not see each other's nodes"), 1);
	forget_log();
	end(first); /* those of Iron remain: theirs */
	host_wait_log(&h, "the graph is written in the form of Iron");
	host_wait_log(&h, "connected: in domain 0 with all of this machine");
	assert_null(strstr(h.log, "; but "));
	assert_int_equal(count("they do not see each other's nodes"), 0);
	end(second);
	end(third); /* and after them the harmless one again */
	host_wait_log(&h, "no other participant found");
	h.ops->destroy(b);
}

/* ---- what is no graph ---- */

struct raw {
	uint32_t word[24];
};

static const uint32_t raw_ops[] = { DDS_OP_ADR | DDS_OP_TYPE_ARR | DDS_OP_SUBTYPE_4BY, 0, 24, DDS_OP_RTS };
static const dds_topic_descriptor_t raw_desc = { .m_size = sizeof(struct raw),
						 .m_align = 4,
						 .m_typename = "rmw_dds_common::msg::dds_::ParticipantEntitiesInfo_",
						 .m_nops = sizeof(raw_ops) / sizeof(raw_ops[0]),
						 .m_ops = raw_ops,
						 .m_meta = "" };

static void hostile(int told, int go, unsigned word)
{
	struct raw m;
	dds_entity_t w = reader_write_to(participant("enclave=/;"), &raw_desc, GRAPH);

	for (unsigned i = 0; i < 24; i++)
		m.word[i] = word;
	EXPECT(w > 0 && dds_write(w, &m) == 0);
	tell_and_wait(told, go);
}

TEST(what_is_no_graph_is_ignored)
{
	static const char *const at_once[] = { "graph_wait_ms", "0", NULL };
	struct peer zeros = start(hostile, 0), ones = start(hostile, UINT32_MAX), observer = start(observer_of, 24);
	struct sim_bridge *b;

	wait_told(zeros);
	wait_told(ones);
	b = ours(at_once);
	host_wait_log(&h, "that no ROS sends");
	wait_told(observer);
	end(zeros);
	end(ones);
	end(observer);
	h.ops->destroy(b);
	assert_null(strstr(h.log, "the graph is written in"));
}

/* ---- other clocks ---- */

/* arg: 1 it is a node that says who it is; 0 no node */
static void clock_of(int told, int go, unsigned named)
{
	dds_entity_t p;

	tell_and_wait(told, go);
	p = participant(named ? "enclave=/;" : "");
	if (named)
		be_node(p, 24);
	EXPECT(reader_write_volatile(p, &seen_clock_desc, "rt/clock") > 0);
	tell_and_wait(told, go);
	dds_delete(DDS_CYCLONEDDS_HANDLE);
}

static void own_clock(int told, int go, unsigned arg)
{
	(void)arg;
	EXPECT(reader_write_volatile(participant("enclave=/;simd=abcdef0123456789;"), &seen_clock_desc, "rt/clock") >
	       0);
	tell_and_wait(told, go);
}

TEST(a_second_clock_is_named)
{
	static const char *const options[] = { WAITS, NULL };
	struct peer own = start(own_clock, 0), node = start(clock_of, 1), plain = start(clock_of, 0);
	struct sim_bridge_topic *t;
	struct sim_bridge *b;

	wait_told(own);
	wait_told(node);
	go(node);
	wait_told(node);
	b = ours(options);
	host_wait_log(&h, "as /talker"); /* it is known, and no matter: we send no /clock */
	assert_null(strstr(h.log, "publishes /clock"));
	t = host_open(&h, b, "/clock", &sim_Clock_type, "{}");
	host_wait_log(&h, ") publishes /clock too");
	host_wait_clocks(&h, "/talker (");
	wait_told(plain);
	go(plain);
	host_wait_clocks(&h, "a publisher (");
	assert_int_equal(count("publishes /clock too"), 2);
	end(node);
	end(plain);
	host_wait_clocks(&h, "");
	h.ops->close(b, t);
	end(own);
	h.ops->destroy(b);
}

/* ---- what does not take part ---- */

/* Writes an image where a gear is read. */
static void be_of_another_type(int told, int go, unsigned arg)
{
	(void)arg;
	EXPECT(reader_write_volatile(reader_participant(), &seen_image_desc, "rt/gear") > 0);
	tell_and_wait(told, go);
	dds_delete(DDS_CYCLONEDDS_HANDLE);
}

TEST(a_publisher_of_another_type_is_named)
{
	static const char *const options[] = {
		"graph_wait_ms", "0", "subscribe",
		"{\"/gear\":{\"type\":\"autoware_vehicle_msgs/msg/GearCommand\",\"channel\":\"gear\"}}", NULL
	};
	struct peer other = start(be_of_another_type, 0);
	struct sim_bridge *b;

	wait_told(other);
	b = ours(options);
	host_wait_log(&h,
		      "/gear: a publisher sends sensor_msgs/msg/Image there, which is not heard: the topic is read as "
		      "autoware_vehicle_msgs/msg/GearCommand");
	host_wait_log(
		&h,
		"connected: in domain 0 with all of this machine; but a publisher of sensor_msgs/msg/Image on /gear "
		"is not heard");
	forget_log();
	end(other);
	host_wait_log(&h, "connected: in domain 0 with all of this machine");
	assert_null(strstr(h.log, "; but "));
	h.ops->destroy(b);
}

#define MANY 32 /* as many as are kept */

/* So many, and one of another type after them; then that one alone. */
static void be_many_and_one(int told, int go, unsigned arg)
{
	dds_entity_t p = participant("enclave=/;"), many[MANY];

	(void)arg;
	for (unsigned i = 0; i < MANY; i++) {
		many[i] = reader_write_volatile(p, &seen_image_desc, "rt/gear");
		EXPECT(many[i] > 0);
	}
	tell_and_wait(told, go);
	EXPECT(reader_write_volatile(p, &seen_clock_desc, "rt/gear") > 0);
	be_node(p, 24); /* who has heard of the node has heard of what was there before it */
	tell_and_wait(told, go);
	for (unsigned i = 0; i < MANY; i++)
		dds_delete(many[i]);
	tell_and_wait(told, go);
	dds_delete(DDS_CYCLONEDDS_HANDLE);
}

TEST(a_publisher_that_did_not_fit_is_named_when_others_leave)
{
	static const char *const options[] = {
		WAITS, "subscribe",
		"{\"/gear\":{\"type\":\"autoware_vehicle_msgs/msg/GearCommand\",\"channel\":\"gear\"}}", NULL
	};
	struct peer others = start(be_many_and_one, 0);
	struct sim_bridge *b;

	wait_told(others);
	b = ours(options);
	host_wait_log(&h, "a publisher of sensor_msgs/msg/Image on /gear is not heard, and 31 more");
	forget_log();
	go(others);
	wait_told(others);
	host_wait_log(&h, "the graph is written in Humble's form");
	go(others);
	wait_told(others);
	host_wait_log(&h, "; but a publisher of rosgraph_msgs/msg/Clock on /gear is not heard");
	end(others);
	h.ops->destroy(b);
}

static void be_in_domain_7(int told, int go, unsigned arg)
{
	(void)arg;
	EXPECT(dds_create_domain(
		       7, "<CycloneDDS><Domain><General><Interfaces><NetworkInterface name=\"lo\" multicast=\"true\"/>"
			  "</Interfaces></General></Domain></CycloneDDS>") > 0);
	EXPECT(dds_create_participant(7, NULL, NULL) > 0);
	tell_and_wait(told, go);
}

/* Also at the start, when nobody has been found yet. */
TEST(another_domain_is_not_named_while_somebody_is_in_ours)
{
	static const char *const automatic[] = { WAITS, NULL };
	struct peer far = start(be_in_domain_7, 0), near = start(silent_node_of, 24);
	struct sim_bridge *b;

	wait_told(far);
	wait_told(near);
	go(near);
	wait_told(near); /* it has shown itself */
	b = ours(automatic);
	host_wait_log(&h, "the graph is written in Humble's form");
	assert_null(strstr(h.log, "nobody is"));
	end(near);
	end(far);
	h.ops->destroy(b);
}

TEST(another_domain_is_named_while_ours_is_empty)
{
	static const char *const soon[] = { "graph_wait_ms", "0", NULL };
	struct peer far = start(be_in_domain_7, 0), near = start(silent_node_of, 24);
	struct sim_bridge *b;

	wait_told(far);
	wait_told(near);
	b = ours(soon);
	host_wait_log(
		&h,
		"nobody is in domain 0, but domain 7 is in use on this machine: `echo $ROS_DOMAIN_ID` where nodes start");
	host_wait_log(&h, "with all of this machine; but nobody is there, and domain 7 is in use here");
	forget_log();
	go(near);
	wait_told(near);
	host_wait_log(&h, "connected: in domain 0 with all of this machine");
	assert_null(strstr(h.log, "; but "));
	end(near);
	end(far);
	h.ops->destroy(b);
}

#define KEYS "/tmp/keys-of-graph"

/* A file of the keys as a property. */
static void set_file(dds_qos_t *q, const char *property, const char *file)
{
	char path[256], value[20000] = "data:,";
	size_t n;
	FILE *f;

	snprintf(path, sizeof(path), KEYS "/node/%s", file);
	f = fopen(path, "re");
	EXPECT(f);
	n = fread(value + 6, 1, sizeof(value) - 7, f);
	value[6 + n] = '\0';
	fclose(f);
	dds_qset_prop(q, property, value);
}

static void set_plugin(dds_qos_t *q, const char *kind, const char *library, const char *object)
{
	static const char *const parts[] = { "path", "init", "finalize" };
	char name[64], value[256];

	for (unsigned i = 0; i < 3; i++) {
		snprintf(name, sizeof(name), "dds.sec.%s.library.%s", kind, parts[i]);
		if (i)
			snprintf(value, sizeof(value), "%s_%s", parts[i], object);
		else
			snprintf(value, sizeof(value), "%s/libdds_security_%s.so", DDS_SECURITY, library);
		dds_qset_prop(q, name, value);
	}
}

static void be_secured(int told, int go, unsigned arg)
{
	dds_qos_t *q = dds_create_qos();

	(void)arg;
	set_plugin(q, "auth", "auth", "authentication");
	set_plugin(q, "access", "ac", "access_control");
	set_plugin(q, "crypto", "crypto", "crypto");
	set_file(q, "dds.sec.auth.identity_ca", "identity_ca.pem");
	set_file(q, "dds.sec.auth.identity_certificate", "identity.pem");
	set_file(q, "dds.sec.auth.private_key", "identity.key");
	set_file(q, "dds.sec.access.permissions_ca", "permissions_ca.pem");
	set_file(q, "dds.sec.access.governance", "governance.p7s");
	set_file(q, "dds.sec.access.permissions", "permissions.p7s");
	EXPECT(reader_participant_with(q) > 0);
	tell_and_wait(told, go);
}

TEST(a_participant_with_security_is_named)
{
	static const char *const soon[] = { "graph_wait_ms", "0", NULL };
	struct sim_bridge *b;
	struct peer secured;

	assert_int_equal(system(SIMCTL " link make-keys --host node " KEYS " > /tmp/said"), 0);
	secured = start(be_secured, 0);
	wait_told(secured);
	b = ours(soon);
	host_wait_log(&h, "has DDS Security (ROS_SECURITY_ENABLE): unless its governance allows others");
	host_wait_log(&h, "with all of this machine; but a participant has DDS Security");
	end(secured);
	h.ops->destroy(b);
}

/* ---- those who left ---- */

#define CROWD 1000
#define CROWD_MAX \
	800000 /* bytes, some 500000 of them Cyclone's own; a reader that keeps who left has 800 of each, and another one more */

/* Each tool of ROS 2 that runs once is a participant. Then a node, which is heard of after them. */
static void be_crowd(int told, int go, unsigned arg)
{
	dds_entity_t p = reader_participant();

	(void)arg;
	tell_and_wait(told, go);
	for (unsigned i = 0; i < CROWD; i++) {
		dds_entity_t one = dds_create_participant(0, NULL, NULL);

		EXPECT(one > 0 && dds_delete(one) == 0);
	}
	be_node(p, 16);
	tell_and_wait(told, go);
}

TEST_FULL(those_who_left_are_forgotten)
{
	static const char *const automatic[] = { WAITS, NULL };
	struct peer crowd = start(be_crowd, 0);
	struct sim_bridge *b;
	size_t before;

	mallopt(M_ARENA_MAX, 1); /* so that mallinfo2() has all threads' memory */
	wait_told(crowd);
	b = ours(automatic);
	before = mallinfo2().uordblks;
	go(crowd);
	wait_told(crowd);
	/* A slow machine makes the crowd for longer than the bridge waits, which is then in Humble's form already. */
	host_wait_log(&h, "the graph is written in the form of Iron and later");
	AWAIT(mallinfo2().uordblks < before + CROWD_MAX);
	end(crowd);
	h.ops->destroy(b);
}

/* ---- after a crash ---- */

static void be_simd(int told, int go, unsigned arg)
{
	static const char *const deflt[] = { "graph_wait_ms", "0", NULL };

	(void)arg;
	ours(deflt);
	tell_and_wait(told, go);
}

/* Cyclone's own lease, which is that of ROS nodes: 10 s. */
static void be_other(int told, int go, unsigned arg)
{
	(void)arg;
	participant("other=1;");
	tell_and_wait(told, go);
}

/* Which of those that have been killed is gone first. */
static void watcher(int told, int go, unsigned arg)
{
	dds_entity_t p = reader_participant(), r = dds_create_reader(p, DDS_BUILTIN_TOPIC_DCPSPARTICIPANT, NULL, NULL);
	dds_instance_handle_t ours = 0, other = 0, gone = 0;

	(void)arg;
	while (!gone) {
		void *sample = NULL, *data = NULL;
		dds_sample_info_t info;
		size_t size = 0;

		EXPECT(reader_wait(p, r) == 0);
		if (dds_take(r, &sample, &info, 1, 1) <= 0)
			continue;
		if (info.valid_data &&
		    dds_qget_userdata(((dds_builtintopic_participant_t *)sample)->qos, &data, &size) && data) {
			if (!strncmp(data, "enclave", 7))
				ours = info.instance_handle;
			if (!strncmp(data, "other", 5))
				other = info.instance_handle;
		}
		dds_free(data);
		if (info.instance_state != DDS_IST_ALIVE)
			gone = info.instance_handle;
		dds_return_loan(r, &sample, 1);
		if (ours && other && !gone && arg++ == 0)
			tell_and_wait(told, go);
	}
	EXPECT(gone == ours);
}

TEST(after_a_crash_it_is_soon_gone)
{
	struct peer simd = start(be_simd, 0), other = start(be_other, 0), w = start(watcher, 0);

	wait_told(simd);
	wait_told(other);
	wait_told(w);
	assert_int_equal(kill(other.pid, SIGKILL), 0);
	assert_int_equal(kill(simd.pid, SIGKILL), 0);
	assert_int_equal(waitpid(other.pid, NULL, 0), other.pid);
	assert_int_equal(waitpid(simd.pid, NULL, 0), simd.pid);
	end(w);
}

TEST(wrong_times_are_refused)
{
	static const char *const wrong[][2] = { { "graph_wait_ms", "-1" },    { "graph_wait_ms", "soon" },
						{ "graph_wait_ms", "60001" }, { "lease_ms", "99" },
						{ "pacing_ms", "9" },         { "pacing_ms", "60001" },
						{ "lease_ms", "" },           { "lease_ms", "3600001" },
						{ "ros_distro", "galactic" } };

	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		const char *const options[] = { wrong[i][0], wrong[i][1], NULL };
		struct sim_bridge *b = NULL;

		host_init(&h, PLUGIN, options);
		assert_int_equal(h.ops->create(&h.host, &b), -EINVAL);
		assert_non_null(strstr(h.log, wrong[i][0]));
	}
}

TEST_PROCESSES()
