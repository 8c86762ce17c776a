/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A malicious machine: a DDS program without a simd, which sends data that no link would send. It is named in the log,
 * none of its invalid data gets through, and its valid data still does.
 */
#include "traffic.h"

#include <string.h>

#include <sim/msg/Image.h>

#include "blob_type.h"
#include "outsider.h"

static struct machine m[2];
static struct net_switch *net;
static struct traffic *t;

static int start(void **state)
{
	(void)state;
	net = machines_start(m, 2, test_seed(11));
	machine_simd_start(&m[0], machine_conf(&m[0], 2, "", ""));
	return 0;
}

static int end(void **state)
{
	(void)state;
	machines_end(m, 2, net);
	traffic_free(t);
	t = NULL;
	return 0;
}

TEST_PROCESSES()

static dds_entity_t participant;

static dds_entity_t writer_of(const char *topic, const char *type, bool keep)
{
	dds_entity_t w = outsider_writer(participant, topic, type, NULL, keep);

	MUST(w > 0);
	return w;
}

static void write_text(dds_entity_t w, const char *text)
{
	const struct blob_out o = { .head = { .host = 99, .sequence = 1, .body_size = strlen(text) }, .body = text };

	MUST(dds_write(w, &o) == 0);
}

static void write_image(dds_entity_t w, uint64_t hash, uint64_t host, uint64_t sequence, const void *body, size_t size)
{
	struct blob_out o = { .head = { .type_hash = hash,
					.host = host,
					.sequence = sequence,
					.stamp_sim_ns = TRAFFIC_STAMP(1),
					.body_size = size,
					.frame = "lens" },
			      .body = body };

	MUST(dds_write(w, &o) == 0);
}

/* Of manifests only the newest counts: the test says when it has been seen. */
static void say(dds_entity_t host, const char *text, int step)
{
	write_text(host, text);
	AWAIT(atomic_load(&t->reason) > step);
}

static void say_what_is_no_manifest(dds_entity_t host)
{
	say(host, "{\"version\":1", 0);
	say(host, "{\"version\":9,\"host\":\"liar\"}", 1);
	say(host,
	    "{\"version\":1,\"host\":\"liar\",\"id\":\"0000000000000063\",\"channels\":[{\"name\":\"x\"}],"
	    "\"services\":[]}",
	    2);
}

/* Announces /camera, and sends images of all wrong kinds, and one that is right. */
static int lie(void *arg)
{
	static uint8_t body[16384], large[40000];
	char topic[64] = "simd/ch/camera", type[64], manifest[512], *json;
	dds_entity_t host, types, camera;
	uint64_t sequence = 5;
	struct sim_builder b;

	(void)arg;
	participant = outsider_join(NULL);
	host = writer_of("simd/host", "simd/host", true);
	types = writer_of("simd/type", "simd/type", true);
	outsider_await_reader(host);
	outsider_await_reader(types);
	say_what_is_no_manifest(host);
	MUST(sim_type_to_json(&sim_Image_type, &json) == 0);
	write_text(types, "{\"name\":\"sim/Image\"}");
	write_text(types, json);
	free(json);
	snprintf(manifest, sizeof(manifest),
		 "{\"version\":1,\"host\":\"liar\",\"id\":\"0000000000000063\",\"services\":[],\"channels\":[{\"name\":\"/camera\","
		 "\"type\":\"sim/Image\",\"hash\":\"%016llx\",\"max_body\":16384,\"reliable\":true,\"keep\":false}]}",
		 (unsigned long long)sim_Image_type.hash);
	write_text(host, manifest);
	snprintf(type, sizeof(type), "simd::%016llx", (unsigned long long)sim_Image_type.hash);
	camera = writer_of(topic, type, false);
	outsider_await_reader(camera);
	memset(body, 0xff, sizeof(body));
	write_image(camera, sim_Image_type.hash, 99, 1, body, sizeof(body)); /* its spans lead outside */
	write_image(camera, sim_Image_type.hash, 99, 2, body, 3);            /* shorter than its fixed part */
	write_image(camera, 1, 99, 4, body, sizeof(body));
	write_image(camera, sim_Image_type.hash, 0, 5, body, sizeof(body));
	write_image(camera, sim_Image_type.hash, 99, 0, body, sizeof(body));
	/*
	 * Longer than announced, which is allowed. The reader there may still be attaching, so it is sent until it
	 * arrives.
	 */
	MUST(sim_Image_init(large, sizeof(large), &b) != NULL);
	AWAIT((write_image(camera, sim_Image_type.hash, 99, ++sequence, large, sizeof(large)), atomic_load(&t->stop)));
	MUST(dds_delete(participant) == 0);
	return 0;
}

TEST_WITH(malformed_messages_of_a_machine_are_named_and_bounded, start, end)
{
	pid_t liar, reader;

	t = traffic_new("/camera", 16, 16);
	reader = machine_fork(&m[0], traffic_read, t);
	liar = machine_fork(&m[1], lie, NULL);
	AWAIT(machine_logged(&m[0], "is not linked: it is not a JSON object"));
	atomic_store(&t->reason, 1);
	AWAIT(machine_logged(&m[0], "machine liar is not linked: it has version 9 of the link"));
	atomic_store(&t->reason, 2);
	AWAIT(machine_logged(&m[0], "is not linked: x: \"type\" is missing or invalid"));
	atomic_store(&t->reason, 3);
	AWAIT(machine_logged(&m[0], "the definition of a type from another machine is ignored"));
	AWAIT(machine_logged(&m[0], "machine liar is linked"));
	AWAIT(machine_logged(&m[0], "it is not a message of its type"));
	AWAIT(machine_logged(&m[0], "it does not say where it is from"));
	AWAIT(atomic_load(&t->reader[0].received) > 0);
	atomic_store(&t->stop, true);
	assert_int_equal(machine_wait(liar), 0);
	assert_int_equal(machine_wait(reader), 0);
	machine_simd_stop(&m[0]);
}
