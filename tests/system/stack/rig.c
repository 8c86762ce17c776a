/* SPDX-License-Identifier: Apache-2.0 */
/* See rig.h. */
#include "rig.h"

#include <stdlib.h>

#include <sim/point_cloud.h>

#include "../../support/ros_tree.h"

#define STAMP    INT64_C(1640995200125000000)
#define BODY_MAX 4096

char *rig_bridge;
pid_t rig_simd;
static json_t *table;
static const char *running;

/* ---- the table ---- */

const char *rig_text(json_t *row, const char *key)
{
	const char *s = json_string_value(json_object_get(row, key));

	return s ? s : "";
}

size_t rig_count(const char *rows)
{
	return json_array_size(json_object_get(table, rows));
}

json_t *rig_row(const char *rows, size_t i)
{
	return json_array_get(json_object_get(table, rows), i);
}

json_t *rig_row_of(const char *rows, const char *topic)
{
	json_t *row;
	size_t i;

	json_array_foreach(json_object_get(table, rows), i, row)
		if (!strcmp(rig_text(row, "topic"), topic))
			return row;
	return NULL;
}

/* ---- the simulator ---- */

static size_t body_of(struct peer *p, json_t *row, uint8_t body[BODY_MAX])
{
	json_t *points = json_object_get(row, "points");
	size_t size = 0, n = json_array_size(points);
	struct sim_builder b;
	uint8_t *to;
	char *text;

	if (!points) {
		text = json_dumps(json_object_get(row, "body"), JSON_REAL_PRECISION(17));
		PEER(p, sim_msg_from_json(sim_type_builtin(rig_text(row, "type")), text, strlen(text), body, BODY_MAX,
					  &size) == 0);
		free(text);
		return size;
	}
	to = (uint8_t *)sim_point_cloud_begin(body, BODY_MAX, (uint32_t)(n / 32), &b);
	for (size_t i = 0; i < n; i++)
		to[i] = (uint8_t)json_integer_value(json_array_get(points, i));
	((struct sim_PointCloud *)(void *)body)->is_dense = 1;
	return sim_builder_size(&b);
}

/* Everything again and again, as best-effort readers come when they come. */
int rig_simulate(struct peer *p)
{
	struct sim_client *c = peer_connect(p, "simulator");
	struct sim_publisher *pub[RIG_ROWS_MAX];
	static _Alignas(64) uint8_t body[RIG_ROWS_MAX][BODY_MAX];
	size_t size[RIG_ROWS_MAX], n = rig_count("channels");

	PEER(p, n > 0 && n <= RIG_ROWS_MAX);
	for (size_t i = 0; i < n; i++) {
		struct sim_publisher_options o = { .size = sizeof(o), .frame_id = "sensor" };
		json_t *row = rig_row("channels", i);

		o.max_body = size[i] = body_of(p, row, body[i]);
		PEER(p, sim_advertise(c, rig_text(row, "channel"), sim_type_builtin(rig_text(row, "type")), &o,
				      &pub[i]) == 0);
	}
	while (!atomic_load(&p->stop)) {
		for (size_t i = 0; i < n; i++)
			PEER(p, sim_try_queue_copy(pub[i], body[i], size[i], STAMP, NULL, NULL, NULL) == 0);
		pace_us(20000);
	}
	for (size_t i = 0; i < n; i++)
		sim_publisher_destroy(pub[i]);
	sim_disconnect(c);
	return 0;
}

/* ---- commands ---- */

static void check_command(struct peer *p, json_t *row, const struct sim_message *msg)
{
	const struct sim_type *type = sim_type_builtin(rig_text(row, "ours"));
	char why[640], *text = NULL;
	json_t *got;
	int n;

	PEER(p, sim_msg_to_json_alloc(type, msg->body, msg->body_size, NULL, &text, NULL) == 0);
	got = json_loads(text, 0, NULL);
	n = snprintf(why, sizeof(why), "%s: ", rig_text(row, "channel"));
	if (ros_tree_compare(json_object_get(row, "body"), got, why + n, sizeof(why) - (size_t)n) < 0)
		peer_fail(p, __FILE__, __LINE__, why);
	json_decref(got);
	free(text);
}

/* The vehicle: each command once. */
int rig_drive(struct peer *p)
{
	struct sim_client *c = peer_connect(p, "vehicle");
	struct sim_subscriber *s[RIG_ROWS_MAX];
	size_t n = rig_count("commands");

	PEER(p, n > 0 && n <= RIG_ROWS_MAX);
	for (size_t i = 0; i < n; i++) {
		json_t *row = rig_row("commands", i);

		PEER(p, sim_subscribe(c, rig_text(row, "channel"), sim_type_builtin(rig_text(row, "ours")), NULL,
				      &s[i]) == 0);
	}
	atomic_store(&p->ready, 1);
	for (size_t i = 0; i < n; i++) {
		const struct sim_message *msg;

		PEER(p, sim_wait(s[i], -1) == 1 && sim_take(s[i], &msg) == 0);
		check_command(p, rig_row("commands", i), msg);
		sim_release(s[i], msg);
		atomic_fetch_add(&p->received, 1);
	}
	PEER_IDLE(p);
	for (size_t i = 0; i < n; i++)
		sim_subscriber_destroy(s[i]);
	sim_disconnect(c);
	return 0;
}

/* ---- simd ---- */

int rig_start(const char *name, const char *rows, const char *connection)
{
	char rig_path[128], table_path[128], *conf = NULL, *text;
	json_t *rig, *first;

	snprintf(rig_path, sizeof(rig_path), "config/rigs/%s.json", name);
	snprintf(table_path, sizeof(table_path), "tests/system/stack/topics_%s.json", rows);
	rig = json_load_file(rig_path, 0, NULL);
	first = json_array_get(json_object_get(rig, "bridges"), 0);
	if (connection)
		json_object_set_new(first, "connection", json_string(connection));
	text = json_dumps(rig, JSON_COMPACT);
	table = json_load_file(table_path, 0, NULL);
	if (!rig || !text || !table || asprintf(&conf, "\"TimeSource\":\"system\",\"rigs\":[%s]", text) < 0)
		return -1;
	ros_tree_expand(table, 1640995200, 125000000);
	rig_bridge = strdup(rig_text(first, "name"));
	rig_simd = stack_start(conf);
	running = name;
	AWAIT(!strcmp(stack_bridge_text(rig_bridge, "status"), "connected"));
	free(conf);
	free(text);
	json_decref(rig);
	return 0;
}

int rig_stop(void **state)
{
	running = NULL;
	json_decref(table);
	free(rig_bridge);
	return stack_sweep(state);
}

bool rig_is(const char *name)
{
	return running && (!name || !strcmp(running, name));
}
