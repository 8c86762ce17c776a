/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every mapping by value, both ways, as ROS 2, ROS 1 and lgsvl_bridge have it: rows.json has the ROS message for a
 * message of ours, in numbers that were computed by hand. A row has "out": "ours to ROS" or "in": "ROS to ours", our
 * message as simctl prints it, the ROS message as a tree (ros_tree.h), the options of the rig; "H" stands for the
 * header and "S" for the stamp of 1.25 s, "points" for the bytes of the default point. Fields that a row omits must be
 * 0 or empty. No mapping is without a row, and the README lists neither more nor fewer.
 */

#include "rows.h"

#include "conversion.h"
#include "enc_wire.h"
#include "map_in.h"

#define MAPPINGS "tools/bridge/convert/MAPPINGS.md"

static _Alignas(64) uint8_t wire[8192];

/* ---- out ---- */

static size_t bytes_of(const struct iov_buf *o)
{
	struct iovec iov[IOV_BUF_PIECES];
	size_t at = 0;

	for (unsigned i = 0, n = iov_buf_iov(o, iov); i < n; i++) {
		memcpy(wire + at, iov[i].iov_base, iov[i].iov_len);
		at += iov[i].iov_len;
	}
	return at;
}

static void compare(const struct row *r, json_t *want, json_t *got)
{
	char why[512];

	if (!got)
		FAIL(r, "%zu bytes are no message of its definition", sizeof(wire));
	if (ros_tree_compare(want, got, why, sizeof(why)) < 0)
		FAIL(r, "%s", why);
}

/* The older form of a type, where the row asks for it. */
static void take_form(const struct row *r, struct conversion_out *c, struct map_options *options)
{
	char why[256];

	if (!json_object_get(json_object_get(r->j, "options"), "before_1_8"))
		return;
	if (conversion_out_before_1_8(c, ros2_types, &options->no_predictions, why, sizeof(why)) < 0)
		FAIL(r, "%s", why);
	assert_true(options->no_predictions);
	assert_string_equal(c->type->hash, "RIHS01_53846913117691b918344f9fc9ba73405bbaea537773324d3144af0f0974b1cf");
}

static const struct ros_type *theirs(enum wire_format format, const char *name)
{
	return ros_type_find(format == WIRE_ROS1 ? ros1_types : ros2_types, name);
}

/* ROS 1's words as ROS 2 has them: K is k, and a header has no seq. */
static json_t *in_words_of_ros2(json_t *j)
{
	json_t *o = json_is_object(j) ? json_object() : json_is_array(j) ? json_array() : json_incref(j), *v;
	const char *key;
	size_t i;

	json_array_foreach(j, i, v)
		json_array_append_new(o, in_words_of_ros2(v));
	json_object_foreach(j, key, v) {
		char small[2] = { (char)(*key | 0x20) };

		if (strcmp(key, "seq") != 0)
			json_object_set_new(o, key[1] ? key : small, in_words_of_ros2(v));
	}
	return o;
}

static json_t *read_as(enum wire_format format, const struct ros_type *t, size_t len)
{
	json_t *words, *tree = format == WIRE_CDR    ? ros_tree_read(t, wire, len)
			       : format == WIRE_ROS1 ? ros_tree_read_ros1(t, wire, len)
						     : ros_tree_read_lgsvl(t, wire, len);

	if (!tree || format != WIRE_ROS1)
		return tree;
	words = in_words_of_ros2(tree);
	json_decref(tree);
	return words;
}

static void check_out(const struct row *r, enum wire_format format)
{
	const struct map *m = map_find(r->ours, r->ros);
	struct map_options options = options_of(r);
	struct map_message in = { body, body_of(r), { STAMP, 7, "here" }, &options, format == WIRE_ROS1 };
	struct conversion_out c = { .map = m, .type = theirs(format, r->ros) };
	struct enc_wire w;
	struct iov_buf o;
	json_t *got;
	int e;

	if (!m)
		FAIL(r, "there is no such mapping of %s", r->ours);
	take_form(r, &c, &options);
	iov_buf_init(&o);
	wire_begin(&w, format, &o);
	e = m->emit(&in, &w.enc);
	if (e < 0 || wire_finish(&w) < 0)
		FAIL(r, "it is not said: %d", e);
	got = read_as(format, c.type, bytes_of(&o));
	compare(r, json_object_get(r->j, "message"), got);
	if (c.made && read_as(format, ros_type_find(ros2_types, r->ros), bytes_of(&o)))
		FAIL(r, "the older form is also the newer one");
	json_decref(got);
	conversion_out_close(&c);
	iov_buf_finish(&o);
}

TEST(every_outbound_message_has_its_expected_values)
{
	json_t *j;
	size_t i;

	json_array_foreach(rows, i, j) {
		struct row r = row_of(j);

		if (r.in)
			continue;
		for (enum wire_format f = WIRE_CDR; f <= WIRE_POSITIONAL; f++)
			check_out(&r, f);
	}
}

/* ---- in ---- */

static void check_in(const struct row *r, enum wire_format format)
{
	const struct map_in *m = map_in_find_to(r->ros, r->ours);
	const struct ros_type *t = theirs(format, r->ros);
	json_t *message = json_object_get(r->j, "message");
	size_t len = format == WIRE_CDR    ? ros_tree_write(t, message, wire, sizeof(wire))
		     : format == WIRE_ROS1 ? ros_tree_write_ros1(t, message, wire, sizeof(wire))
					   : ros_tree_write_lgsvl(t, message, wire, sizeof(wire));
	const struct sim_type *type = sim_type_builtin(r->ours);
	char *text = NULL;
	struct message_in to = { .buf = body, .room = sizeof(body) };
	json_t *got;
	int e;

	if (!m || strcmp(m->sim, r->ours) != 0)
		FAIL(r, "it does not become %s", r->ours);
	if (!len)
		FAIL(r, "the row's message is not of its definition");
	e = map_in_read(m, format, wire, len, &to);
	if (e != 0)
		FAIL(r, "it is not taken: %d", e);
	assert_int_equal(sim_msg_check(type, body, to.size), 0);
	assert_int_equal(sim_msg_to_json_alloc(type, body, to.size, NULL, &text, NULL), 0);
	got = json_loads(text, 0, NULL);
	compare(r, json_object_get(r->j, "body"), got);
	json_decref(got);
	free(text);
}

TEST(every_inbound_message_has_its_expected_values)
{
	json_t *j;
	size_t i;

	json_array_foreach(rows, i, j) {
		struct row r = row_of(j);

		if (!r.in)
			continue;
		for (enum wire_format f = WIRE_CDR; f <= WIRE_POSITIONAL; f++)
			check_in(&r, f);
	}
}

/* ---- none is missing ---- */

static unsigned count_rows(const char *ours, const char *ros, bool in)
{
	unsigned n = 0;
	json_t *j;
	size_t i;

	json_array_foreach(rows, i, j) {
		struct row r = row_of(j);

		n += r.in == in && !strcmp(r.ours, ours) && !strcmp(r.ros, ros);
	}
	return n;
}

TEST(every_mapping_has_a_test_row)
{
	for (const struct map *m = map_table; m->sim; m++)
		if (!count_rows(m->sim, m->ros, false))
			fail_msg("%s to %s has no row in " ROWS, m->sim, m->ros);
	for (const struct map_in *m = map_in_table; m->ros; m++) /* the way back: test_round_trip.c */
		if (!map_find(m->sim, m->ros) && !count_rows(m->sim, m->ros, true))
			fail_msg("%s to %s has no row in " ROWS, m->ros, m->sim);
}

/* ---- MAPPINGS.md ---- */

static char *readme;

static char *slurp(const char *path)
{
	FILE *f = fopen(path, "re");
	char *text = calloc(1, 65536);

	assert_non_null(f);
	assert_non_null(text);
	assert_true(fread(text, 1, 65535, f) > 0);
	fclose(f);
	return text;
}

/* A line such as "| `sim/A` | `pkg/B`, `pkg/C` | rows |": the pair of cells holds both names. */
static const char *readme_line(const char *first, const char *second)
{
	char want[128], quoted[128];
	const char *line, *end, *at;

	snprintf(want, sizeof(want), "\n| `%s` |", first);
	snprintf(quoted, sizeof(quoted), "`%s`", second);
	for (line = strstr(readme, want); line; line = strstr(line + 1, want)) {
		end = strchr(line + 1, '\n');
		at = strstr(line, quoted);
		if (at && end && at < end)
			return line + 1;
	}
	return NULL;
}

/* The numbers and the string of std_msgs have one line: "T is Bool, Int8 ..." */
static bool is_std(const char *ros)
{
	return strncmp(ros, "std_msgs/", 9) == 0;
}

static bool std_line(const char *ros)
{
	const char *line = strstr(readme, "\n| `sim/T` | `std_msgs/T` |"), *end = line ? strchr(line + 1, '\n') : NULL;
	char word[64];
	const char *at;

	snprintf(word, sizeof(word), " %s,", ros + 9);
	at = line ? strstr(line, word) : NULL;
	return at && end && at < end;
}

static unsigned count_in_tables(void)
{
	unsigned n = 0;

	for (const char *line = strstr(readme, "\n| `"); line; line = strstr(line + 1, "\n| `")) {
		const char *cell = strstr(line + 1, "` |"), *end = strchr(line + 1, '\n');

		if (!cell || !memchr(line, '/', (size_t)(cell - line)) || !strncmp(line, "\n| `sim/T`", 10))
			continue; /* files and options; the line of std_msgs */
		end = strchr(cell + 4, '|') < end ? strchr(cell + 4, '|') : end;
		for (const char *c = cell + 1; c < end; c++)
			n += *c == '`';
	}
	return n / 2;
}

TEST(the_readme_lists_all_mappings)
{
	unsigned n = 0;

	readme = slurp(MAPPINGS);
	for (const struct map *m = map_table; m->sim; m++) {
		n += !is_std(m->ros);
		if (is_std(m->ros) ? !std_line(m->ros) : !readme_line(m->sim, m->ros))
			fail_msg(MAPPINGS " does not list %s to %s", m->sim, m->ros);
	}
	for (const struct map_in *m = map_in_table; m->ros; m++) {
		if (map_find(m->sim, m->ros))
			continue; /* both ways in one line */
		n += !is_std(m->ros);
		if (is_std(m->ros) ? !std_line(m->ros) : !readme_line(m->ros, m->sim))
			fail_msg(MAPPINGS " does not list %s to %s", m->ros, m->sim);
	}
	assert_int_equal(count_in_tables(), n);
	free(readme);
}

TEST_GROUP(rows_setup, rows_teardown)
