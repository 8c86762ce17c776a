/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The command `ros2`, as far as README.md types it: a node as Humble's rmw_cyclonedds makes it where nothing is set, which waits until it has seen
 * what is asked for. Names of topics without "rt", types as ROS calls them.
 *
 *     ros2 topic list -t | ros2 node info NODE | ros2 topic hz /clock | ros2 topic echo TOPIC --once
 */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "../../support/ros_tree.h"
#include "reader.h"
#include "typed.h"

#define SEEN_MAX 256

static dds_entity_t participant, publications;

static struct {
	char topic[128], type[128];
	dds_guid_t key;
} seen[SEEN_MAX];
static size_t n_seen;

/* "pkg::msg::dds_::Name_" to "pkg/msg/Name". */
static void demangle(const char *dds, char ret[128])
{
	char pkg[64] = "", name[64] = "";

	EXPECT(sscanf(dds, "%63[^:]::msg::dds_::%63s", pkg, name) == 2 && name[strlen(name) - 1] == '_');
	name[strlen(name) - 1] = '\0';
	snprintf(ret, 128, "%s/msg/%s", pkg, name);
}

/* One more writer that discovery tells of. */
static void see(void)
{
	const dds_builtintopic_endpoint_t *e;
	void *sample = NULL;
	dds_sample_info_t info;

	EXPECT(reader_wait(participant, publications) == 0);
	if (dds_take(publications, &sample, &info, 1, 1) <= 0)
		return;
	e = sample;
	if (info.valid_data && strncmp(e->topic_name, "rt/", 3) == 0 && n_seen < SEEN_MAX) {
		snprintf(seen[n_seen].topic, sizeof(seen[0].topic), "%s", e->topic_name + 2);
		demangle(e->type_name, seen[n_seen].type);
		seen[n_seen].key = e->key;
		n_seen++;
	}
	dds_return_loan(publications, &sample, 1);
}

static const char *await_type(const char *topic)
{
	for (size_t i = 0;; i++) {
		while (i == n_seen)
			see();
		if (strcmp(seen[i].topic, topic) == 0)
			return seen[i].type;
	}
}

static int list(void)
{
	(void)await_type("/clock");
	(void)await_type("/imu");
	for (size_t i = 0; i < n_seen; i++)
		printf("%s [%s]\n", seen[i].topic, seen[i].type);
	return 0;
}

static bool is_node(const struct seen_node *n, const char *name)
{
	char full[256];

	snprintf(full, sizeof(full), "%s%s%s", n->node_namespace, strcmp(n->node_namespace, "/") != 0 ? "/" : "",
		 n->name);
	return strcmp(full, name) == 0;
}

/* Until it has a writer of its own. */
static int info(const char *name)
{
	dds_entity_t r = reader_of_all(participant, &seen_graph24_desc, "ros_discovery_info");

	for (;;) {
		struct seen_graph24 *g = calloc(1, sizeof(*g));
		const struct seen_node *n;

		EXPECT(g && reader_take(r, g) == 0);
		n = (const struct seen_node *)(void *)g->nodes._buffer;
		for (uint32_t i = 0; i < g->nodes._length; i++)
			if (is_node(&n[i], name) && n[i].writers._length) {
				printf("%s\n  Publishers: %u\n", name, n[i].writers._length);
				return 0;
			}
	}
}

static int hz(const char *topic)
{
	struct seen_time first = { 0, 0 }, t = { 0, 0 };
	dds_entity_t r;

	EXPECT(strcmp(await_type(topic), "rosgraph_msgs/msg/Clock") == 0);
	r = reader_open(participant, &seen_clock_desc, "rt/clock", false);
	for (int i = 0; i < 10; i++) {
		EXPECT(reader_take(r, &t) == 0);
		if (i == 0)
			first = t;
	}
	EXPECT(t.sec > first.sec || t.nanosec > first.nanosec);
	printf("average rate: of 10 messages\n");
	return 0;
}

static int echo(const char *topic)
{
	const struct typed *t = typed_new(ros_type_find(ros2_types, await_type(topic)));
	char name[256];
	void *sample;
	dds_entity_t r;

	EXPECT(t);
	snprintf(name, sizeof(name), "rt%s", topic);
	r = reader_open(participant, typed_descriptor(t), name, false);
	sample = typed_sample(t);
	EXPECT(reader_take(r, sample) == 0);
	EXPECT(json_dumpf(typed_tree(t, sample), stdout, 0) == 0);
	putchar('\n');
	return 0;
}

static bool is(int argc, char **argv, const char *a, const char *b, int n)
{
	return argc == n && strcmp(argv[1], a) == 0 && strcmp(argv[2], b) == 0;
}

int main(int argc, char **argv)
{
	setenv("CYCLONEDDS_URI", "<CycloneDDS><Domain Id=\"any\"></Domain></CycloneDDS>", 1);
	participant = dds_create_participant(0, NULL, NULL);
	EXPECT(participant > 0);
	publications = dds_create_reader(participant, DDS_BUILTIN_TOPIC_DCPSPUBLICATION, NULL, NULL);
	EXPECT(publications > 0);
	if (is(argc, argv, "topic", "list", 4) && strcmp(argv[3], "-t") == 0)
		return list();
	if (is(argc, argv, "node", "info", 4))
		return info(argv[3]);
	if (is(argc, argv, "topic", "hz", 4))
		return hz(argv[3]);
	if (is(argc, argv, "topic", "echo", 5) && strcmp(argv[4], "--once") == 0)
		return echo(argv[3]);
	fprintf(stderr, "ros2: this one does not know how to do that\n");
	return 2;
}
