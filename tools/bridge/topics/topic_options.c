/* SPDX-License-Identifier: Apache-2.0 */
/* See topic_options.h. The table is the complete list of keys; README.md explains them. */
#include "topic_options.h"

#include <errno.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#define DEPTH_MAX 10000
#define COUNT_MAX 1000000
#define BYTES_MAX (512 << 20)

static const char *const points[] = { "native", "awsim24", "awsim48", "svl32", "xyzircaedt", "xyzir", NULL };
static const char *const encodings[] = { "rgb8", "bgr8", "mono16", "32SC1", NULL };
static const char *const positions[] = { "message", "map", "utm", "mgrs", NULL };
static const char *const sentences[] = { "gga", "insatt", NULL };
static const char *const compats[] = { "none", "svl2021.3", NULL };
static const char *const reliabilities[] = { "best_effort", "reliable", NULL };
static const char *const durabilities[] = { "volatile", "transient_local", NULL };

static const char *const orientations[] = { "available", "sign_unknown", NULL };
static const char *const compressions[] = { "none", "cbor", "cbor-raw", NULL };

enum kind { TEXT, CHOICE, DEPTH, COUNT, VARIANCE, HEIGHT, ORIGIN, SWITCH, BYTES };

static const struct key {
	const char *name;
	enum kind kind;
	unsigned use; /* enum topic_direction; with topic_keys if not all plug-ins have it */
	size_t at;
	const char *const *choices;
} keys[] = {
	{ "topic", TEXT, TOPIC_OUT, offsetof(struct topic_options, topic), NULL },
	{ "type", TEXT, TOPIC_OUT | TOPIC_IN, offsetof(struct topic_options, type), NULL },
	{ "channel", TEXT, TOPIC_IN, offsetof(struct topic_options, channel), NULL },
	{ "definition", TEXT, TOPIC_IN, offsetof(struct topic_options, definition), NULL },
	{ "as", TEXT, TOPIC_IN, offsetof(struct topic_options, as), NULL },
	{ "raw", SWITCH, TOPIC_IN, offsetof(struct topic_options, raw), NULL },
	{ "max_body", BYTES, TOPIC_IN, offsetof(struct topic_options, max_body), NULL },
	{ "frame", TEXT, TOPIC_OUT, offsetof(struct topic_options, frame), NULL },
	{ "child_frame", TEXT, TOPIC_OUT, offsetof(struct topic_options, child_frame), NULL },
	{ "encoding", CHOICE, TOPIC_OUT, offsetof(struct topic_options, encoding), encodings },
	{ "points", CHOICE, TOPIC_OUT, offsetof(struct topic_options, points), points },
	{ "position", CHOICE, TOPIC_OUT, offsetof(struct topic_options, position), positions },
	{ "origin", ORIGIN, TOPIC_OUT | TOPIC_IN, offsetof(struct topic_options, origin), NULL },
	{ "sentence", CHOICE, TOPIC_OUT, offsetof(struct topic_options, sentence), sentences },
	{ "compat", CHOICE, TOPIC_OUT, offsetof(struct topic_options, compat), compats },
	{ "covariance", VARIANCE, TOPIC_OUT, offsetof(struct topic_options, covariance), NULL },
	{ "orientation", CHOICE, TOPIC_OUT, offsetof(struct topic_options, orientation), orientations },
	{ "reliability", CHOICE, TOPIC_OUT | TOPIC_IN | TOPIC_QOS, offsetof(struct topic_options, reliability),
	  reliabilities },
	{ "durability", CHOICE, TOPIC_OUT | TOPIC_IN | TOPIC_QOS, offsetof(struct topic_options, durability),
	  durabilities },
	{ "depth", DEPTH, TOPIC_OUT | TOPIC_IN | TOPIC_QOS, offsetof(struct topic_options, depth), NULL },
	{ "queue", DEPTH, TOPIC_OUT | TOPIC_ROS1, offsetof(struct topic_options, depth), NULL },
	{ "latch", SWITCH, TOPIC_OUT | TOPIC_ROS1, offsetof(struct topic_options, latch), NULL },
	{ "throttle_rate", COUNT, TOPIC_OUT | TOPIC_IN | TOPIC_ROSBRIDGE, offsetof(struct topic_options, throttle_ms),
	  NULL },
	{ "queue_length", COUNT, TOPIC_IN | TOPIC_ROSBRIDGE, offsetof(struct topic_options, queue_length), NULL },
	{ "compression", CHOICE, TOPIC_IN | TOPIC_ROSBRIDGE, offsetof(struct topic_options, compression),
	  compressions },
	{ "undulation", HEIGHT, TOPIC_OUT | TOPIC_IN, offsetof(struct topic_options, undulation), NULL },
};

#define N_KEYS (sizeof(keys) / sizeof(keys[0]))

static bool name_ok(const char *s, bool is_namespace, bool digit_first)
{
	bool start = true;

	if (is_namespace && strcmp(s, "/") == 0)
		return true;
	if (is_namespace && *s++ != '/')
		return false;
	for (; *s; s++) {
		bool alpha = (*s >= 'a' && *s <= 'z') || (*s >= 'A' && *s <= 'Z');
		bool later = (*s >= '0' && *s <= '9') || (*s == '/' && is_namespace);

		if (!alpha && *s != '_' && (start ? !(digit_first && later && *s != '/') : !later))
			return false;
		start = *s == '/';
	}
	return !start;
}

bool ros_name_ok(const char *s, bool is_namespace)
{
	return name_ok(s, is_namespace, false);
}

bool topic_name_ok(const char *name)
{
	return topic_name_fits(name, 0);
}

bool topic_name_fits(const char *name, unsigned have)
{
	return strcmp(name, "/") != 0 && strlen(name) <= TOPIC_NAME_MAX && name_ok(name, true, have & TOPIC_ROS1);
}

static bool is_letter(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

bool topic_name_auto(const char *channel, char ret[TOPIC_NAME_MAX + 1])
{
	size_t n = 0;
	bool first = true;

	for (const char *s = channel; *s && n + 3 <= TOPIC_NAME_MAX; s++) {
		if (*s == '/') {
			first = true;
			continue;
		}
		if (first)
			ret[n++] = '/';
		if (first && !is_letter(*s))
			ret[n++] = 'n';
		first = false;
		ret[n++] = is_letter(*s) || (*s >= '0' && *s <= '9') ? *s : '_';
	}
	ret[n] = '\0';
	return n + 3 <= TOPIC_NAME_MAX && topic_name_ok(ret);
}

void topic_name_bad(const char *name, char *why, size_t why_size)
{
	snprintf(why, why_size,
		 "\"%.80s\" is not the name of a topic: words of letters, digits and '_', none with a digit first in ROS 2, "
		 "each after a '/', at most %u bytes in all",
		 name, TOPIC_NAME_MAX);
}

/* ---- one key ---- */

static int bad_choice(const struct key *k, char *why, size_t size)
{
	size_t n = (size_t)snprintf(why, size, "\"%s\" must be one of ", k->name);

	for (const char *const *c = k->choices; *c && n < size; c++)
		n += (size_t)snprintf(why + n, size - n, "%s%s", *c, c[1] ? ", " : "");
	return -EINVAL;
}

static int read_choice(const struct key *k, json_t *v, int *ret, char *why, size_t size)
{
	const char *text = json_string_value(v);

	for (int i = 0; text && k->choices[i]; i++)
		if (strcmp(text, k->choices[i]) == 0) {
			*ret = i;
			return 0;
		}
	return bad_choice(k, why, size);
}

static int read_text(const struct key *k, json_t *v, const char **ret, char *why, size_t size)
{
	*ret = json_string_value(v);
	if (*ret && **ret)
		return 0;
	snprintf(why, size, "\"%s\" must be a text that is not empty", k->name);
	return -EINVAL;
}

static int read_depth(const struct key *k, json_t *v, int *ret, char *why, size_t size)
{
	json_int_t n = json_integer_value(v);

	*ret = (int)n;
	if (n >= 1 && n <= DEPTH_MAX)
		return 0;
	snprintf(why, size, "\"%s\" must be a whole number from 1 to %d", k->name, DEPTH_MAX);
	return -EINVAL;
}

static int read_count(const struct key *k, json_t *v, int *ret, char *why, size_t size)
{
	json_int_t n = json_integer_value(v);

	*ret = (int)n;
	if (json_is_integer(v) && n >= 0 && n <= COUNT_MAX)
		return 0;
	snprintf(why, size, "\"%s\" must be a whole number from 0 to %d", k->name, COUNT_MAX);
	return -EINVAL;
}

static int read_bytes(const struct key *k, json_t *v, int *ret, char *why, size_t size)
{
	json_int_t n = json_integer_value(v);

	*ret = (int)n;
	if (n >= 1024 && n <= BYTES_MAX)
		return 0;
	snprintf(why, size, "\"%s\" must be a whole number of bytes from 1024 to %d", k->name, BYTES_MAX);
	return -EINVAL;
}

static int read_variance(const struct key *k, json_t *v, double *ret, char *why, size_t size)
{
	*ret = json_number_value(v);
	if (*ret > 0)
		return 0;
	snprintf(why, size, "\"%s\" must be a number above 0", k->name);
	return -EINVAL;
}

static int read_height(const struct key *k, json_t *v, double *ret, char *why, size_t size)
{
	*ret = json_number_value(v);
	if (json_is_number(v) && fabs(*ret) <= 200)
		return 0;
	snprintf(why, size, "\"%s\" must be a number of m from -200 to 200", k->name);
	return -EINVAL;
}

static int read_origin(const struct key *k, json_t *v, struct topic_origin *ret, char *why, size_t size)
{
	size_t n = json_array_size(v);

	*ret = (struct topic_origin){ .given = n == 2 || n == 3 };
	for (size_t i = 0; i < n && ret->given; i++) {
		ret->given = json_is_number(json_array_get(v, i));
		ret->at[i] = json_number_value(json_array_get(v, i));
	}
	if (ret->given)
		return 0;
	snprintf(why, size, "\"%s\" must be [easting, northing] or [easting, northing, altitude], in metres", k->name);
	return -EINVAL;
}

static int read_switch(const struct key *k, json_t *v, int *ret, char *why, size_t size)
{
	*ret = json_is_true(v);
	if (json_is_boolean(v))
		return 0;
	snprintf(why, size, "\"%s\" must be true or false", k->name);
	return -EINVAL;
}

static int read_key(const struct key *k, json_t *v, struct topic_options *w, char *why, size_t size)
{
	void *at = (char *)w + k->at;

	switch (k->kind) {
	case TEXT:
		return read_text(k, v, at, why, size);
	case CHOICE:
		return read_choice(k, v, at, why, size);
	case DEPTH:
		return read_depth(k, v, at, why, size);
	case COUNT:
		return read_count(k, v, at, why, size);
	case BYTES:
		return read_bytes(k, v, at, why, size);
	case VARIANCE:
		return read_variance(k, v, at, why, size);
	case HEIGHT:
		return read_height(k, v, at, why, size);
	case ORIGIN:
		return read_origin(k, v, at, why, size);
	case SWITCH:
		return read_switch(k, v, at, why, size);
	}
	return -EINVAL;
}

/* ---- all of them ---- */

static bool is_there(const struct key *k, enum topic_direction way, unsigned have)
{
	unsigned of = k->use & ~(unsigned)(TOPIC_OUT | TOPIC_IN);

	return k->use & way && (!of || of & have);
}

static int unknown(const char *name, enum topic_direction way, unsigned have, char *why, size_t size)
{
	size_t n = (size_t)snprintf(why, size, "\"%.40s\" is not a key here; keys are", name);
	const char *comma = "";

	for (size_t i = 0; i < N_KEYS && n < size; i++) {
		if (!is_there(&keys[i], way, have))
			continue;
		n += (size_t)snprintf(why + n, size - n, "%s %s", comma, keys[i].name);
		comma = ",";
	}
	return -EINVAL;
}

static const struct key *find(const char *name, enum topic_direction way, unsigned have)
{
	for (size_t i = 0; i < N_KEYS; i++)
		if (is_there(&keys[i], way, have) && strcmp(keys[i].name, name) == 0)
			return &keys[i];
	return NULL;
}

const char *topic_options_encoding(const struct topic_options *w)
{
	return w->encoding < 0 ? NULL : encodings[w->encoding];
}

int topic_options_read(json_t *j, enum topic_direction way, unsigned have, struct topic_options *ret, char *why,
		       size_t why_size)
{
	struct topic_options w = { .points = -1,
				   .position = -1,
				   .encoding = -1,
				   .sentence = -1,
				   .orientation = -1,
				   .compat = -1,
				   .reliability = -1,
				   .durability = -1,
				   .latch = -1,
				   .throttle_ms = -1,
				   .queue_length = -1,
				   .compression = -1 };
	const char *name;
	json_t *v;

	if (!json_is_object(j)) {
		snprintf(why, why_size, "an object is needed");
		return -EINVAL;
	}
	json_object_foreach(j, name, v) {
		const struct key *k = find(name, way, have);
		int r = k ? read_key(k, v, &w, why, why_size) : unknown(name, way, have, why, why_size);

		if (r < 0)
			return r;
	}
	if (w.topic && !(have & TOPIC_ROS1) && !topic_name_ok(w.topic)) { /* ROS 1 has more forms of names */
		topic_name_bad(w.topic, why, why_size);
		return -EINVAL;
	}
	*ret = w;
	return 0;
}
