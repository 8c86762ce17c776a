/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Types that the rig leaves open: they are what their publishers say, by name and hash, and by the definition that stands in schemas/ros, or that
 * the type description service of their node has. The node is a double of Jazzy's in a process of its own, with the service's wire form
 * made here by hand; it also says what is wrong, refuses, or says nothing.
 */
#include "test.h"

#include <signal.h>
#include <sys/wait.h>

#include <dds/ddsi/ddsi_serdata.h>

#include "enc_wire.h"
#include "host.h"
#include "reader.h"
#include "ros/ros_definition.h"
#include "ros/ros_text.h"
#include "sertype.h"

#define SERVICE    "type_description_interfaces::srv::dds_::GetTypeDescription_"
#define NAME       "example_msgs/msg/Readings"
#define DEFINITION "builtin_interfaces/Time stamp\nstring frame_id\nfloat64 mean\nfloat32[] values\n"
#define SOURCE     "# what was read\nuint8 MOST=9\n" DEFINITION
#define ANOTHER    "builtin_interfaces/Time stamp\nstring frame_id\nfloat64 mean\nfloat64[] values\n"

enum says {
	ALL,
	FIELDS,
	SOURCES,
	AS_FASTRTPS,
	ANOTHER_ONE,
	REFUSAL,
	ENDLESS,
	GARBAGE,
	NOTHING,
	NO_SERVICE,
	MORE,
	TWO,
	LATER,
	KNOWN,
	HUMBLE,
	UNLIKE
};

static char hash[80], other_hash[80], array_hash[80];

static void hash_of_array(void)
{
	const struct ros_type *t;
	struct ros_text *made;

	assert_int_equal(ros_definition_type(ros2_types, "std_msgs/Float32MultiArray", &t, &made), 0);
	snprintf(array_hash, sizeof(array_hash), "%s", t->hash);
	ros_text_destroy(made);
}

static void hash_of(const char *definition, char ret[80])
{
	struct ros_text *t;
	char why[200];

	assert_int_equal(ros_text_create(NAME, definition, ros2_types, why, sizeof(why), &t), 0);
	snprintf(ret, 80, "%s", ros_text_type(t)->hash);
	ros_text_destroy(t);
}

/* ---- what a node answers ---- */

static void put_field(struct sim_enc *e, const char *name, uint8_t id, const char *nested)
{
	sim_enc_text(e, "name", name);
	sim_enc_u8(e, "type_id", id);
	sim_enc_u64(e, "capacity", 0);
	sim_enc_u64(e, "string_capacity", 0);
	sim_enc_text(e, "nested_type_name", nested);
	sim_enc_text(e, "default_value", "");
}

static void put_description(struct sim_enc *e, unsigned says)
{
	bool endless = says == ENDLESS;

	sim_enc_text(e, "type_name", says == REFUSAL ? "" : NAME);
	sim_enc_list(e, "fields", says == REFUSAL || says == SOURCES ? 0 : 4);
	if (says != REFUSAL && says != SOURCES) {
		put_field(e, "stamp", 1, "builtin_interfaces/msg/Time");
		put_field(e, "frame_id", 17, "");
		put_field(e, "mean", 11, "");
		put_field(e, "values", endless ? 1 : says == ANOTHER_ONE ? 155 : 154, endless ? NAME : "");
	}
	sim_enc_list(e, "referenced_type_descriptions", 1);
	sim_enc_text(e, "type_name", "builtin_interfaces/msg/Time");
	sim_enc_list(e, "fields", 2);
	put_field(e, "sec", 6, "");
	put_field(e, "nanosec", 7, "");
}

static void put_sources(struct sim_enc *e, unsigned says)
{
	const char *text = says == ANOTHER_ONE ? ANOTHER : says == ENDLESS ? "example_msgs/Readings again\n" : SOURCE;
	bool has = says != FIELDS && says != REFUSAL;

	sim_enc_list(e, "type_sources", has ? 2 : 0);
	if (has) {
		sim_enc_text(e, "type_name", "builtin_interfaces/msg/Time");
		sim_enc_text(e, "encoding", "msg");
		sim_enc_text(e, "raw_file_contents", "int32 sec\nuint32 nanosec\n");
		sim_enc_text(e, "type_name", NAME);
		sim_enc_text(e, "encoding", "msg");
		sim_enc_text(e, "raw_file_contents", text);
	}
	sim_enc_list(e, "extra_information", 0);
}

/* id: of the request, with which rmw_cyclonedds begins its reply. */
static void answer(dds_entity_t writer, unsigned says, const uint64_t id[2])
{
	struct enc_wire w;
	struct iov_buf o;

	iov_buf_init(&o);
	wire_begin(&w, WIRE_CDR, &o);
	if (says != AS_FASTRTPS) {
		sim_enc_u64(&w.enc, "client", id[0]);
		sim_enc_u64(&w.enc, "sequence", id[1]);
	}
	sim_enc_u8(&w.enc, "successful", says != REFUSAL);
	sim_enc_text(&w.enc, "failure_reason", says == REFUSAL ? "not one of mine" : "");
	if (says != GARBAGE) {
		put_description(&w.enc, says);
		put_sources(&w.enc, says);
	}
	EXPECT(wire_finish(&w) == 0 && dds_write(writer, &o) == 0);
	iov_buf_finish(&o);
}

/* ---- the node ---- */

static dds_qos_t *qos_with(const char *user_data, bool keeps)
{
	dds_qos_t *qos = dds_create_qos();

	dds_qset_reliability(qos, DDS_RELIABILITY_RELIABLE, DDS_INFINITY);
	dds_qset_durability(qos, keeps ? DDS_DURABILITY_TRANSIENT_LOCAL : DDS_DURABILITY_VOLATILE);
	dds_qset_history(qos, DDS_HISTORY_KEEP_LAST, 10);
	if (*user_data)
		dds_qset_userdata(qos, user_data, strlen(user_data));
	return qos;
}

static dds_entity_t half(dds_entity_t p, bool reply, unsigned says)
{
	dds_qos_t *qos = qos_with(says == AS_FASTRTPS ? "" : "serviceid=1.2.3.4.5.6.7.8.9.a.b.c.d.e.f.10;", false);
	dds_entity_t t = sertype_topic_create(p,
					      reply ? "rr/talker/get_type_descriptionReply"
						    : "rq/talker/get_type_descriptionRequest",
					      reply ? SERVICE "Response_" : SERVICE "Request_", NULL);
	dds_entity_t e = reply ? dds_create_writer(p, t, qos, NULL) : dds_create_reader(p, t, qos, NULL);

	EXPECT(t > 0 && e > 0);
	dds_delete_qos(qos);
	return e;
}

/* The bridge asks for the type and the hash that this publisher announced. */
static bool is_request(const uint8_t *cdr, size_t len, bool with_id)
{
	size_t at = with_id ? 4 + 16 : 4, n = sizeof(NAME);

	return len > at + 4 + n + strlen(hash) && memcmp(cdr + at + 4, NAME, n) == 0 &&
	       memmem(cdr + at, len - at, hash, strlen(hash));
}

/* The first answer is the only one of LATER. */
static void serve(dds_entity_t p, unsigned says)
{
	dds_entity_t writer = half(p, true, says), reader = half(p, false, says);

	for (;;) {
		struct ddsi_serdata *d;
		dds_sample_info_t info;
		uint8_t cdr[512];
		uint64_t id[2];
		size_t len;

		EXPECT(reader_wait(p, reader) == 0);
		if (dds_takecdr(reader, &d, 1, &info, DDS_ANY_STATE) != 1)
			continue;
		len = ddsi_serdata_size(d);
		EXPECT(!info.valid_data || len <= sizeof(cdr));
		if (info.valid_data) {
			ddsi_serdata_to_ser(d, 0, len, cdr);
			EXPECT(is_request(cdr, len, says != AS_FASTRTPS));
			memcpy(id, cdr + 4, sizeof(id));
			if (says != NOTHING)
				answer(writer, says, id);
		}
		ddsi_serdata_unref(d);
		if (info.valid_data && says == LATER)
			return;
	}
}

static dds_entity_t publisher(dds_entity_t p, const dds_topic_descriptor_t *desc, const char *topic, const char *its)
{
	char data[128] = "";
	dds_qos_t *qos;
	dds_entity_t w;

	if (*its)
		snprintf(data, sizeof(data), "typehash=%s;", its);
	qos = qos_with(data, true);
	w = dds_create_writer(p, dds_create_topic(p, desc, topic, NULL, NULL), qos, NULL);
	EXPECT(w > 0);
	dds_delete_qos(qos);
	return w;
}

static void publish_readings(dds_entity_t w, double mean)
{
	static float values[] = { 1, -2.5f };
	struct seen_readings m = {
		.stamp = { 5, 7 }, .frame_id = (char *)"car", .mean = mean, .values = { 2, 2, (uint8_t *)values, false }
	};

	EXPECT(dds_write(w, &m) == 0);
}

/* A common message of ROS, of which schemas/ros has the definition. */
static void publish_array(dds_entity_t p, const char *its)
{
	static float values[] = { 3, 4 };
	struct seen_multi_array m = { .data_offset = 9, .data = { 2, 2, (uint8_t *)values, false } };

	EXPECT(dds_write(publisher(p, &seen_multi_array_desc, "rt/array", its), &m) == 0);
}

static void be_node(dds_entity_t p, unsigned says, int go)
{
	dds_entity_t w, other;
	char c;

	if (says >= KNOWN) {
		publish_array(p, says == HUMBLE ? "" : says == KNOWN ? array_hash : hash);
		return;
	}
	w = publisher(p, &seen_readings_desc, "rt/readings", hash);
	publish_readings(w, 2.5);
	if (says == MORE)
		publish_readings(publisher(p, &seen_readings_desc, "rt/more", hash), 4.5);
	if (says == TWO)
		(void)publisher(p, &seen_readings_desc, "rt/readings", other_hash);
	if (says != TWO && says != NO_SERVICE)
		serve(p, says);
	if (says != LATER)
		return;
	EXPECT(read(go, &c, 1) == 1);
	other = publisher(p, &seen_readings_desc, "rt/readings", other_hash);
	publish_readings(other, 66);
	EXPECT(read(go, &c, 1) == 1);
	publish_readings(w, 3.5);
}

/* ---- processes ---- */

struct peer {
	pid_t pid;
	int go; /* a byte lets it begin */
};

/* Before the bridge, whose Cyclone no other process may have. */
static struct peer start(unsigned says)
{
	struct peer r;
	dds_entity_t p;
	int go[2];
	char c;

	hash_of(DEFINITION, hash);
	hash_of(ANOTHER, other_hash);
	hash_of_array();
	assert_int_equal(pipe(go), 0);
	r = (struct peer){ .pid = fork(), .go = go[1] };
	assert_true(r.pid >= 0);
	if (r.pid)
		return r;
	EXPECT(read(go[0], &c, 1) == 1);
	p = reader_participant();
	EXPECT(p > 0);
	be_node(p, says, go[0]);
	for (;;)
		pause();
}

static void go(const struct peer *p)
{
	assert_int_equal(write(p->go, "", 1), 1);
}

static void stop(const struct peer *p)
{
	assert_int_equal(kill(p->pid, SIGKILL), 0);
	assert_int_equal(waitpid(p->pid, NULL, 0), p->pid);
	close(p->go);
}

static struct sim_bridge *begin(struct host *h, const char *subscribe)
{
	const char *options[] = { "subscribe", subscribe, "graph_wait_ms", "0", NULL };
	static const char *kept[8];

	memcpy(kept, options, sizeof(options));
	host_init(h, PLUGIN, kept);
	return host_create(h);
}

static void is_readings(const struct host_in *in, double mean)
{
	const struct {
		int64_t stamp;
		struct sim_span frame;
		double mean;
		struct sim_span values;
	} *m = (const void *)in->body;
	const float *values = (const void *)(in->body + m->values.offset);

	assert_string_equal(in->channel, "readings");
	assert_string_equal(in->type, "example_msgs/Readings");
	assert_true(m->stamp == 5000000007 && m->mean == mean && m->values.count == 2 && m->frame.count == 3);
	assert_true(values[0] == 1 && values[1] == -2.5f);
	assert_memory_equal(in->body + m->frame.offset, "car", 4);
}

#define OPEN "{\"/readings\":{\"channel\":\"readings\"}}"

/* ---- tests ---- */

static void is_learnt(unsigned says, const char *subscribe)
{
	static struct host h;
	struct peer p = start(says);
	struct sim_bridge *b = begin(&h, subscribe);
	struct host_in in;

	host_wait_log(&h, "/readings waits for its type: it has no publisher yet");
	assert_int_equal(h.n_offered, 0);
	go(&p);
	host_listen(&h, b, "readings");
	in = host_next(&h);
	is_readings(&in, 2.5);
	assert_int_equal(h.offered_type->n_constants, says == FIELDS ? 0 : 1);
	h.ops->destroy(b);
	stop(&p);
}

TEST(a_type_is_what_its_node_describes)
{
	is_learnt(ALL, OPEN);
}

TEST(types_and_names_alone_will_do)
{
	is_learnt(FIELDS, OPEN);
}

TEST(files_alone_will_do)
{
	is_learnt(SOURCES, OPEN);
}

TEST(a_node_of_rmw_fastrtps_describes_it_too)
{
	is_learnt(AS_FASTRTPS, OPEN);
}

TEST(a_type_that_is_not_known_may_be_named)
{
	is_learnt(ALL, "{\"/readings\":{\"channel\":\"readings\",\"type\":\"example_msgs/msg/Readings\"}}");
}

static void is_said(unsigned says, const char *subscribe, const char *text, const char *more)
{
	static struct host h;
	struct peer p = start(says);
	struct sim_bridge *b = begin(&h, subscribe);

	go(&p);
	host_wait_log(&h, text);
	host_wait_log(&h, more);
	assert_int_equal(h.n_offered, 0);
	h.ops->destroy(b);
	stop(&p);
}

TEST(a_description_of_another_hash_is_refused_with_both_named)
{
	hash_of(ANOTHER, other_hash);
	is_said(ANOTHER_ONE, OPEN, "/readings is not read yet: node /talker: it states hash RIHS01_", other_hash);
}

TEST(a_refusal_is_said)
{
	is_said(REFUSAL, OPEN, "node /talker: it refuses: not one of mine", "");
}

TEST(a_type_that_nests_itself_is_refused)
{
	is_said(ENDLESS, OPEN, "but /readings waits for its type: node /talker: ", "");
}

TEST(a_malformed_answer_is_said)
{
	is_said(GARBAGE, OPEN, "node /talker: its answer is malformed", "");
}

TEST(no_answer_is_said)
{
	is_said(NOTHING, OPEN, "node /talker does not answer which definition it has", "");
}

TEST(no_service_is_said)
{
	is_said(NO_SERVICE, OPEN,
		"no node of its publisher's has /get_type_description, and no definition of example_msgs/Readings with its hash is here",
		"");
}

TEST(another_type_than_the_rigs_is_refused_with_both_named)
{
	is_said(ALL, "{\"/readings\":{\"channel\":\"readings\",\"type\":\"example_msgs/msg/Others\"}}",
		"its publisher sends example_msgs/Readings, and the rig says example_msgs/Others", "");
}

TEST(publishers_that_differ_are_refused_with_both_named)
{
	is_said(TWO, OPEN, "/readings is not read yet: its publishers differ: example_msgs/Readings (RIHS01_",
		"but /readings waits for its type: its publishers differ: ");
}

/* DDS would bring its messages: of one name, they are not what the topic is read as. */
TEST(a_later_publisher_of_another_definition_is_not_heard)
{
	static struct host h;
	struct peer p = start(LATER);
	struct sim_bridge *b = begin(&h, OPEN);
	struct host_in in;

	go(&p);
	host_listen(&h, b, "readings");
	in = host_next(&h);
	is_readings(&in, 2.5);
	go(&p);
	host_wait_log(
		&h,
		"/readings: a publisher sends another definition of example_msgs/Readings, which is not heard: it says RIHS01_");
	host_wait_log(&h, other_hash);
	go(&p);
	in = host_next(&h);
	is_readings(&in, 3.5);
	h.ops->destroy(b);
	stop(&p);
}

#define ARRAY "{\"/array\":{\"channel\":\"array\"}}"

/* The definition is known here: no node is asked. */
TEST(a_message_that_stands_here_is_known_by_name_and_hash)
{
	static const unsigned says[] = { KNOWN, HUMBLE };

	for (unsigned i = 0; i < 2; i++) {
		static struct host h;
		struct peer p = start(says[i]);
		struct sim_bridge *b = begin(&h, ARRAY);
		struct host_in in;

		go(&p);
		host_listen(&h, b, "array");
		in = host_next(&h);
		assert_string_equal(in.type, "std_msgs/Float32MultiArray");
		h.ops->destroy(b);
		stop(&p);
	}
}

TEST(a_message_that_stands_here_of_another_hash_is_asked_for)
{
	is_said(UNLIKE, ARRAY,
		"no node of its publisher's has /get_type_description, and no definition of std_msgs/Float32MultiArray with its hash is here",
		"");
}

/* The channel is listened to when the second topic is known. */
TEST(two_topics_of_one_channel_are_both_read)
{
	static struct host h;
	struct peer p = start(MORE);
	struct sim_bridge *b =
		begin(&h, "{\"/readings\":{\"channel\":\"readings\"},\"/more\":{\"channel\":\"readings\"}}");
	double sum = 0;

	go(&p);
	host_listen(&h, b, "readings");
	for (int i = 0; i < 2; i++) {
		struct host_in in = host_next(&h);

		sum += *(const double *)(const void *)(in.body + 16);
	}
	assert_true(sum == 2.5 + 4.5);
	h.ops->destroy(b);
	stop(&p);
}
