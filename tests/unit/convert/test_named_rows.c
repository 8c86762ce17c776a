/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rows.json in JSON and in CBOR, both ways: the same numbers as in CDR, in the words of ROS 1 and of ROS 2, with every field
 * of the definition and no more. JSON is read and written by jansson, CBOR by tests/support/cbor_tree.c.
 */
#include <strings.h>

#include "base64.h"
#include "cbor_reader.h"
#include "support/enc_cbor.h"
#include "enc_json.h"
#include "json_reader.h"
#include "map_in.h"
#include "rows.h"
#include "support/cbor_tree.h"

static uint8_t wire[65536];
static struct named_reader reader;

/* ---- what came out, as rows.json has it ---- */

static json_t *plain(const struct row *r, const struct ros_type *t, const struct ros_type *as, json_t *got);

static json_t *plain_time(const struct row *r, json_t *got, bool ros1)
{
	json_t *sec = json_object_get(got, ros1 ? "secs" : "sec"),
	       *rest = json_object_get(got, ros1 ? "nsecs" : "nanosec");

	if (!json_is_integer(sec) || !json_is_integer(rest) || json_object_size(got) != 2)
		FAIL(r, "a time is none of its words");
	return json_pack("{sO sO}", "sec", sec, "nanosec", rest);
}

static json_t *plain_header(const struct row *r, json_t *got, bool ros1)
{
	json_int_t seq = json_integer_value(json_object_get(got, "seq"));
	json_t *h = json_pack("{so sO}", "stamp", plain_time(r, json_object_get(got, "stamp"), ros1), "frame_id",
			      json_object_get(got, "frame_id"));

	if (json_object_size(got) != (ros1 ? 3 : 2) ||
	    (ros1 && seq != SEQ && seq / 2 != SEQ)) /* sentences count twice */
		FAIL(r, "a header has other fields");
	return h;
}

static json_t *plain_bytes(const struct row *r, const char *text)
{
	size_t len = strlen(text);
	uint8_t *bytes = malloc(len + 1);
	ssize_t n = base64_read(bytes, text, len);
	json_t *list = json_array();

	if (n < 0)
		FAIL(r, "\"%s\" is no base64", text);
	for (ssize_t i = 0; i < n; i++)
		json_array_append_new(list, json_integer(bytes[i]));
	free(bytes);
	return list;
}

static json_t *plain_one(const struct row *r, const struct ros_field *f, const struct ros_field *as, json_t *got,
			 bool ros1)
{
	if (f->prim == ROS_TIME || f->prim == ROS_DURATION)
		return plain_time(r, got, ros1);
	if (f->prim != ROS_NESTED)
		return json_incref(got);
	if (strcmp(f->type->name, "std_msgs/Header") == 0)
		return plain_header(r, got, ros1);
	return plain(r, f->type, as->type, got);
}

/* The field in the words of ROS 2: K is k there, and some messages have more of them. */
static const struct ros_field *same_field(const struct row *r, const struct ros_type *as, const char *name)
{
	for (uint32_t i = 0; i < as->n_fields; i++)
		if (strcasecmp(as->fields[i].name, name) == 0)
			return &as->fields[i];
	FAIL(r, "%s has no %s in ROS 2", as->name, name);
	return NULL;
}

/* t: the definition that it was encoded by; as: that of ROS 2. */
static json_t *plain(const struct row *r, const struct ros_type *t, const struct ros_type *as, json_t *got)
{
	json_t *out = json_object(), *list, *one;
	size_t k;

	if (json_object_size(got) != t->n_fields)
		FAIL(r, "%s has %zu fields", t->name, json_object_size(got));
	for (uint32_t i = 0; i < t->n_fields; i++) {
		const struct ros_field *f = &t->fields[i], *theirs = same_field(r, as, f->name);
		json_t *v = json_object_get(got, f->name);
		bool ros1 = ros_type_find(ros1_types, t->name) == t;

		if (!v)
			FAIL(r, "%s has no %s", t->name, f->name);
		if (f->array == ROS_ONE) {
			json_object_set_new(out, theirs->name, plain_one(r, f, theirs, v, ros1));
			continue;
		}
		list = json_is_string(v) ? plain_bytes(r, json_string_value(v)) : json_array();
		if (json_is_array(v))
			json_array_foreach(v, k, one)
				json_array_append_new(list, plain_one(r, f, theirs, one, ros1));
		json_object_set_new(out, theirs->name, list);
	}
	return out;
}

/* ---- out ---- */

/* What JSON has no number for, in words that jansson takes. */
static json_t *loads(const char *text)
{
	char *mended = malloc(2 * strlen(text) + 1), *to = mended;
	json_t *j;

	for (const char *c = text; *c;) {
		static const char *const from[] = { "-1e999", "1e999", "NaN" }, *const into[] = { "\"-inf\"", "\"inf\"",
												  "\"nan\"" };
		size_t i = 0;

		while (i < 3 && strncmp(c, from[i], strlen(from[i])) != 0)
			i++;
		if (i < 3) {
			to = stpcpy(to, into[i]);
			c += strlen(from[i]);
		} else {
			*to++ = *c++;
		}
	}
	*to = '\0';
	j = json_loads(mended, JSON_REJECT_DUPLICATES, NULL);
	free(mended);
	return j;
}

static size_t flatten(const struct iov_buf *o)
{
	struct iovec iov[IOV_BUF_PIECES];
	size_t at = 0;

	for (unsigned i = 0, n = iov_buf_iov(o, iov); i < n; at += iov[i++].iov_len)
		memcpy(wire + at, iov[i].iov_base, iov[i].iov_len);
	wire[at] = '\0';
	return at;
}

static json_t *emit(const struct row *r, const struct map_message *in, const struct ros_type *t,
		    enum ros_generic_words words, bool cbor)
{
	const struct map *m = map_find(r->ours, r->ros);
	struct enc_json j;
	struct enc_cbor c;
	struct iov_buf o;
	size_t len;
	int e;

	iov_buf_init(&o);
	if (cbor)
		cbor_begin(&c, words, t, &o);
	else
		json_begin(&j, words, JSON_NAN_WORD, t, &o);
	e = m->emit(in, cbor ? &c.enc : &j.enc);
	if (e < 0 || (e = cbor ? cbor_finish(&c) : json_finish(&j)) < 0)
		FAIL(r, "it is not said: %d", e);
	len = flatten(&o);
	iov_buf_finish(&o);
	return cbor ? cbor_tree_read(wire, len) : loads((const char *)wire);
}

static void check_out(const struct row *r, const struct map_message *in, const struct ros_type *t, bool ros1, bool cbor)
{
	json_t *got = emit(r, in, t, ros1 ? ROS_GENERIC_ROS1 : ROS_GENERIC_ROS2, cbor), *same;
	char why[512];

	if (!got)
		FAIL(r, "this is malformed: %s", (const char *)wire);
	same = plain(r, t, ros_type_find(ros2_types, r->ros), got);
	if (ros_tree_compare(json_object_get(r->j, "message"), same, why, sizeof(why)) < 0)
		FAIL(r, "%s: %s", cbor ? "CBOR" : (const char *)wire, why);
	json_decref(got);
	json_decref(same);
}

TEST(every_outbound_message_has_its_expected_values)
{
	unsigned n = 0;
	json_t *j;
	size_t i;

	json_array_foreach(rows, i, j) {
		struct row r = row_of(j);
		struct map_options options = options_of(&r);
		struct map_message in = { body, 0, { STAMP, SEQ, "here" }, &options, false };

		if (r.in || json_object_get(json_object_get(r.j, "options"), "before_1_8"))
			continue;
		in.size = body_of(&r);
		for (int k = 0; k < 4; k++) {
			const struct ros_type *t = ros_type_find(k & 1 ? ros1_types : ros2_types, r.ros);

			in.ros1 = k & 1;
			if (t)
				check_out(&r, &in, t, k & 1, k & 2);
			n += t != NULL;
		}
	}
	assert_true(n > 200);
}

/* ---- in ---- */

/* Removes fields that are 0 or empty: a peer may omit them. Returns whether all of j is. */
static bool prune(json_t *j)
{
	const char *key;
	json_t *v;
	void *tmp;
	size_t i;

	if (json_is_object(j))
		json_object_foreach_safe(j, tmp, key, v)
			if (prune(v))
				json_object_del(j, key);
	if (json_is_array(j))
		json_array_foreach(j, i, v)
			prune(v);
	return json_is_false(j) || (json_is_number(j) && json_number_value(j) == 0) ||
	       (json_is_string(j) && !json_string_length(j)) || (json_is_object(j) && !json_object_size(j)) ||
	       (json_is_array(j) && !json_array_size(j));
}

static void begin(bool cbor, json_t *tree)
{
	static char *text;

	free(text);
	text = json_dumps(tree, JSON_REAL_PRECISION(17));
	if (cbor)
		cbor_reader_begin(&reader, wire, cbor_tree_write(tree, wire));
	else
		json_reader_begin(&reader, text, strlen(text));
}

static void check_in(const struct row *r, const struct map_in *m, json_t *tree, bool cbor)
{
	char *text = NULL, why[512];
	struct message_in to = { .buf = body, .room = sizeof(body) };
	json_t *got;
	int e;

	begin(cbor, tree);
	e = map_in_take(m, &reader.dec, &to);
	if (e != 0 || reader.dec.err)
		FAIL(r, "it is not taken: %d %d", e, reader.dec.err);
	assert_int_equal(sim_msg_check(sim_type_builtin(r->ours), body, to.size), 0);
	assert_int_equal(sim_msg_to_json_alloc(sim_type_builtin(r->ours), body, to.size, NULL, &text, NULL), 0);
	got = json_loads(text, 0, NULL);
	if (ros_tree_compare(json_object_get(r->j, "body"), got, why, sizeof(why)) < 0)
		FAIL(r, "%s", why);
	json_decref(got);
	free(text);
}

/* Whole, and with all left out that is 0 or empty. */
TEST(every_inbound_message_has_its_expected_values)
{
	static uint8_t cdr[8192];
	unsigned n = 0;
	json_t *j;
	size_t i;

	json_array_foreach(rows, i, j) {
		struct row r = row_of(j);
		const struct ros_type *t = ros_type_find(ros2_types, r.ros);
		json_t *whole;

		if (!r.in)
			continue;
		whole = ros_tree_read(t, cdr, ros_tree_write(t, json_object_get(r.j, "message"), cdr, sizeof(cdr)));
		for (int k = 0; k < 4; k++) {
			if (k == 2)
				prune(whole);
			check_in(&r, map_in_find_to(r.ros, r.ours), whole, k & 1);
		}
		json_decref(whole);
		n++;
	}
	assert_true(n > 20);
}

static int setup(void **state)
{
	named_reader_init(&reader);
	return rows_setup(state);
}

static int teardown(void **state)
{
	named_reader_finish(&reader);
	return rows_teardown(state);
}

TEST_GROUP(setup, teardown)
