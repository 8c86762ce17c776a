/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ros2-unmapped EXPECTED: readers of Cyclone DDS, as a node of ROS 2 has them, for the topics that ../ros1/unmapped.py expects; their types are made of the definitions
 * that it gives. "ready" when each has its writer, whose type and type hash are checked; then, when each has taken as many messages as that, "the same", or how
 * they differ.
 */
#include <jansson.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "reader.h"
#include "ros/ros_text.h"
#include "typed.h"

#define EARS_MAX 64

static struct ear {
	const char *topic;
	json_t *want; /* messages */
	const struct ros_type *type;
	struct typed *typed;
	dds_entity_t reader;
	size_t n; /* taken */
	bool wrong;
} ears[EARS_MAX];
static size_t n_ears;

/* ---- what is expected and what came ---- */

/* A text; or 64 bits, which unmapped.py has as text, and a number that JSON does not have by its name. */
static bool same_text(const char *want, json_t *got)
{
	static const char *const names[][2] = { { "NaN", "nan" }, { "Infinity", "inf" }, { "-Infinity", "-inf" } };
	const char *text = json_string_value(got);
	double v = json_real_value(got);

	if (json_is_integer(got))
		return strtoull(want, NULL, 10) == (unsigned long long)json_integer_value(got);
	if (json_is_real(got))
		return strcmp(want, "-0") == 0 && fpclassify(v) == FP_ZERO && signbit(v);
	for (size_t i = 0; text && i < sizeof(names) / sizeof(names[0]); i++)
		if (strcmp(want, names[i][0]) == 0 && strcmp(text, names[i][1]) == 0)
			return true;
	return text && strcmp(want, text) == 0;
}

static bool same(json_t *want, json_t *got)
{
	const char *key;
	json_t *v;
	size_t i;

	if (json_is_object(want)) {
		json_object_foreach(want, key, v)
			if (!same(v, json_object_get(got, key)))
				return false;
		return json_object_size(want) == json_object_size(got);
	}
	if (json_is_array(want)) {
		json_array_foreach(want, i, v)
			if (!same(v, json_array_get(got, i)))
				return false;
		return json_array_size(want) == json_array_size(got);
	}
	if (json_is_string(want))
		return same_text(json_string_value(want), got);
	return json_equal(want, got);
}

static void complain(struct ear *e, json_t *want, json_t *got)
{
	char *a = json_dumps(want, JSON_ENCODE_ANY), *b = json_dumps(got, JSON_ENCODE_ANY);

	e->wrong = true;
	printf("%s, message %zu: %.300s, not %.300s\n", e->topic, e->n, b ? b : "none", a ? a : "none");
	free(a);
	free(b);
}

/* ---- readers ---- */

/* All that was written, also before the writer has found the reader. */
static void open_ear(dds_entity_t dp, struct ear *e, const char *topic, json_t *expected)
{
	struct ros_text *text;
	char why[300], name[160];
	int r = ros_text_create(json_string_value(json_object_get(expected, "type")),
				json_string_value(json_object_get(expected, "definition")), ros2_types, why,
				sizeof(why), &text);

	if (r < 0)
		fprintf(stderr, "%s: %s\n", topic, why);
	EXPECT(r == 0);
	e->topic = topic;
	e->want = json_object_get(expected, "messages");
	e->type = ros_text_type(text);
	e->typed = typed_new(e->type);
	EXPECT(e->typed);
	snprintf(name, sizeof(name), "rt%s", topic);
	e->reader = reader_of_all(dp, typed_descriptor(e->typed), name);
	EXPECT(e->reader > 0);
}

/* By the definition, which the writer's USER_DATA has the hash of. */
static void check_writer(struct ear *e, dds_instance_handle_t writer)
{
	dds_builtintopic_endpoint_t *w = dds_get_matched_publication_data(e->reader, writer);
	char want[128];
	void *data = NULL;
	size_t n = 0;

	EXPECT(w);
	snprintf(want, sizeof(want), "typehash=%s;", e->type->hash);
	if (!dds_qget_userdata(w->qos, &data, &n) || !data || !memmem(data, n, want, strlen(want))) {
		printf("%s: the writer does not say %s\n", e->topic, want);
		e->wrong = true;
	}
	dds_free(data);
	dds_builtintopic_free_endpoint(w);
}

static void await_writers(dds_entity_t dp)
{
	dds_entity_t set = dds_create_waitset(dp);
	dds_subscription_matched_status_t s;

	for (size_t i = 0; i < n_ears; i++) {
		dds_set_status_mask(ears[i].reader, DDS_SUBSCRIPTION_MATCHED_STATUS);
		dds_waitset_attach(set, ears[i].reader, 0);
		do {
			dds_waitset_wait(set, NULL, 0, DDS_INFINITY);
			EXPECT(dds_get_subscription_matched_status(ears[i].reader, &s) == 0);
		} while (!s.current_count);
		dds_waitset_detach(set, ears[i].reader);
		check_writer(&ears[i], s.last_publication_handle);
	}
	dds_delete(set);
}

static void hear(struct ear *e)
{
	void *sample = typed_sample(e->typed);
	json_t *got, *want;

	for (; e->n < json_array_size(e->want); e->n++) {
		EXPECT(sample && reader_take(e->reader, sample) == 0);
		got = typed_tree(e->typed, sample);
		want = json_array_get(e->want, e->n);
		if (!e->wrong && !same(want, got))
			complain(e, want, got);
		json_decref(got);
	}
}

int main(int argc, char **argv)
{
	json_t *expected = argc == 2 ? json_load_file(argv[1], 0, NULL) : NULL, *one;
	dds_entity_t dp = reader_participant();
	bool wrong = false;
	const char *topic;

	EXPECT(expected && dp > 0 && json_object_size(expected) <= EARS_MAX);
	json_object_foreach(expected, topic, one)
		open_ear(dp, &ears[n_ears++], topic, one);
	setvbuf(stdout, NULL, _IOLBF, 0);
	await_writers(dp);
	puts("ready");
	for (size_t i = 0; i < n_ears; i++) {
		hear(&ears[i]);
		wrong |= ears[i].wrong;
	}
	if (!wrong)
		puts("the same");
	return wrong;
}
