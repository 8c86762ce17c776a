/* SPDX-License-Identifier: Apache-2.0 */
/* Several DAG files for one host, and what flows between components. Thread: one. */
#include "tests/support/test.h"

#include "err.h"
#include "tools/simhost/dag_check.h"

#include <errno.h>

/* ---- a set of files ---- */

static struct dag *parse(const char *path, const char *text)
{
	struct dag *d = NULL;

	assert_ok(dag_parse(path, text, strlen(text), &d));
	return d;
}

static int check2(const char *a, const char *b, struct dag_host *ret)
{
	struct dag *all[2] = { parse("a.json", a), parse("b.json", b) };
	int r = dag_check_set(all, 2, ret);

	dag_destroy(all[0]);
	dag_destroy(all[1]);
	return r;
}

#define ONE(name) \
	"{ \"modules\": [ { \"library\": \"l\",\n \"components\": [ { \"class\": \"C\", \"name\": \"" name \
	"\" } ] } ] }"

TEST(two_components_of_one_name_are_refused_with_both_places)
{
	struct dag_host h;

	assert_ok(check2(ONE("x"), ONE("y"), &h));
	assert_int_equal(check2(ONE("x"), "\n" ONE("x"), &h), -EEXIST);
	assert_string_equal(err_why(),
			    "b.json:3: a second component of the name \"x\", which a.json:2 has; give each its own");
}

TEST(a_host_has_one_mode_one_rank_and_one_scheduler)
{
	struct dag_host h;

	assert_ok(check2("{ \"modules\": [], \"mode\": \"simulation\" }",
			 "{ \"modules\": [],\n \"rank\": 7, \"mode\": \"simulation\" }", &h));
	assert_int_equal(h.mode, SIM_RUN_SIMULATION);
	assert_int_equal(h.mode_line, 1);
	assert_int_equal(h.rank, 7);
	assert_int_equal(h.rank_line, 2);
	assert_int_equal(h.scheduler_line, 0);
	assert_int_equal(check2("{ \"modules\": [], \"mode\": \"simulation\" }",
				"{ \"modules\": [],\n \"mode\": \"reality\" }", &h),
			 -EINVAL);
	assert_string_equal(err_why(), "b.json:2: another mode than in a.json:1; a host has one");
	assert_int_equal(check2("{ \"modules\": [], \"rank\": 1 }", "{ \"modules\": [], \"rank\": 2 }", &h), -EINVAL);
	assert_int_equal(check2("{ \"modules\": [], \"scheduler\": {} }", "{ \"modules\": [], \"scheduler\": \"f\" }",
				&h),
			 -EINVAL);
}

TEST(a_file_given_twice_is_named)
{
	struct dag *d[2] = { NULL };
	struct dag_host h;

	for (unsigned i = 0; i < 2; i++)
		assert_ok(dag_parse("a.json", ONE("x"), strlen(ONE("x")), &d[i]));
	assert_int_equal(dag_check_set(d, 2, &h), -EEXIST);
	assert_string_equal(err_why(), "a.json: this file is given twice; give it once");
	dag_destroy(d[0]);
	dag_destroy(d[1]);
}

TEST(the_number_of_components_of_a_host_is_bounded)
{
	char text[32768] = "{ \"modules\": [ { \"library\": \"l\", \"components\": [", *at = text + strlen(text);
	struct dag_host h;
	struct dag *d = NULL;

	for (unsigned i = 0; i < DAG_COMPONENTS_MAX; i++)
		at += sprintf(at, "%s{ \"class\": \"C\", \"name\": \"n%u\" }", i ? ", " : "", i);
	strcpy(at, "] } ] }");
	assert_int_equal(check2(text, "{ \"modules\": [] }", &h), 0);
	assert_int_equal(check2(text, ONE("x"), &h), -E2BIG);
	assert_string_equal(err_why(),
			    "b.json: with this file the host has more than 256 components; start another one for it");
	strcpy(at, ", { \"class\": \"C\", \"name\": \"x\" } ] } ] }");
	assert_int_equal(dag_parse("a.json", text, strlen(text), &d), -EINVAL);
	assert_non_null(strstr(err_why(), "a.json:1: modules[0].components[256]: more than 256 components"));
}

/* ---- flow ---- */

#define MANY 4 /* channels of a row; NULL ends */

struct row {
	const char *name, *reads[MANY], *writes[MANY];
};

struct heard {
	unsigned n, cycles;
	char text[8][1100];
};

static void hear(void *user, enum flow_finding kind, const char *sentence)
{
	struct heard *h = user;

	assert_true(h->n < 8);
	h->cycles += kind == FLOW_CYCLE;
	snprintf(h->text[h->n++], sizeof(h->text[0]), "%s", sentence);
}

static unsigned count(const char *const *list)
{
	unsigned n = 0;

	while (n < MANY && list[n])
		n++;
	return n;
}

static void check(const struct row *rows, unsigned n, const char *outside, struct heard *h)
{
	struct flow_component all[8];
	int found;

	assert_true(n <= 8);
	for (unsigned i = 0; i < n; i++)
		all[i] = (struct flow_component){ rows[i].name,
						  rows[i].reads,
						  count(rows[i].reads),
						  rows[i].writes,
						  count(rows[i].writes),
						  NULL,
						  0 };
	found = flow_check(all, n, &outside, outside ? 1 : 0, hear, h);
	assert_int_equal(found, h->n);
}

#define CHECK(rows, h, outside) check(rows, sizeof(rows) / sizeof(rows[0]), outside, h)

TEST(a_chain_from_a_timer_or_from_outside_is_fine)
{
	static const struct row chain[] = {
		{ "timer", { NULL }, { "/t" } },
		{ "obstacles", { "/cloud" }, { "/obstacles" } },
		{ "tracks", { "/obstacles", "/t" }, { "/tracks" } },
		{ "stop", { "/tracks" }, { NULL } },
	};
	struct heard h = { 0 };

	CHECK(chain, &h, "/cloud");
	assert_int_equal(h.n, 0);
}

TEST(a_reader_without_a_writer_is_named_with_its_input)
{
	static const struct row all[] = {
		{ "timer", { NULL }, { "/t" } },
		{ "tracks", { "/t", "/odom" }, { "/tracks" } },
		{ "stop", { "/tracks" }, { NULL } },
	};
	struct heard h = { 0 };

	CHECK(all, &h, NULL);
	assert_int_equal(h.n, 1);
	assert_int_equal(h.cycles, 0);
	assert_string_equal(h.text[0],
			    "component tracks: no process publishes /odom; the component does not run until one does");
}

TEST(a_cycle_that_can_never_start_is_named_channel_by_channel)
{
	static const struct row all[] = {
		{ "a", { "/y" }, { "/x" } },
		{ "b", { "/x" }, { "/y" } },
		{ "behind", { "/y" }, { "/z" } },
	};
	struct heard h = { 0 };

	CHECK(all, &h, NULL);
	assert_int_equal(h.n, 1);
	assert_int_equal(h.cycles, 1);
	assert_string_equal(h.text[0],
			    "components wait for each other for ever: a -> /x -> b -> /y -> a; a timer, or another "
			    "program, must write one of these channels");
}

TEST(findings_begin_with_file_and_line)
{
	const char *x = "/x", *y = "/y", *z = "/z";
	const struct flow_component all[] = {
		{ "late", &z, 1, NULL, 0, "b.json", 3 },
		{ "a", &y, 1, &x, 1, "a.json", 7 },
		{ "b", &x, 1, &y, 1, "a.json", 9 },
	};
	struct heard h = { 0 };

	assert_int_equal(flow_check(all, 3, NULL, 0, hear, &h), 2);
	assert_non_null(strstr(h.text[0], "b.json:3: component late: no process publishes /z"));
	assert_non_null(
		strstr(h.text[1], "a.json:7: components wait for each other for ever: a -> /x -> b -> /y -> a;"));
}

/* Each of n reads what the one before it writes. */
static void check_ring(unsigned n, struct heard *h)
{
	static char names[64][100], channels[64][100];
	static const char *list[64];
	struct flow_component all[64] = { 0 };

	for (unsigned i = 0; i < n; i++) {
		snprintf(names[i], sizeof(names[i]), "component_%u_%060u", i, i);
		snprintf(channels[i], sizeof(channels[i]), "/channel/%u/%080u", i, i);
		list[i] = channels[i];
	}
	for (unsigned i = 0; i < n; i++)
		all[i] = (struct flow_component){ names[i], &list[(i + n - 1) % n], 1, &list[i], 1, "a.json", 1 };
	assert_int_equal(flow_check(all, n, NULL, 0, hear, h), 1);
}

TEST(a_long_cycle_is_abbreviated_with_a_count)
{
	struct heard h = { 0 };
	const char *left;

	check_ring(64, &h);
	left = strstr(h.text[0], " -> ... (");
	assert_non_null(left);
	assert_non_null(strstr(left, " more) -> component_0_"));
	assert_non_null(strstr(left, "; a timer, or another program, must write one of these channels"));
}

TEST(a_component_that_reads_its_own_output_is_a_cycle)
{
	static const struct row all[] = {
		{ "timer", { NULL }, { "/t" } },
		{ "self", { "/t", "/state" }, { "/state" } },
	};
	struct heard h = { 0 };

	CHECK(all, &h, NULL);
	assert_int_equal(h.n, 1);
	assert_non_null(strstr(h.text[0], ": self -> /state -> self;"));
}

TEST(a_timer_or_another_program_that_writes_into_a_cycle_starts_it)
{
	static const struct row all[] = {
		{ "a", { "/y" }, { "/x" } },
		{ "b", { "/x" }, { "/y" } },
		{ "timer", { NULL }, { "/y" } },
	};
	struct heard h = { 0 };

	CHECK(all, &h, NULL);
	check(all, 2, "/x", &h);
	assert_int_equal(h.n, 0);
}

TEST(every_input_is_needed_so_a_second_source_does_not_start_a_cycle)
{
	static const struct row all[] = {
		{ "timer", { NULL }, { "/t" } },
		{ "a", { "/t", "/y" }, { "/x" } },
		{ "b", { "/x" }, { "/y" } },
	};
	struct heard h = { 0 };

	CHECK(all, &h, NULL);
	assert_int_equal(h.cycles, 1);
}

TEST(a_cycle_that_a_missing_writer_would_start_is_not_reported)
{
	static const struct row all[] = {
		{ "a", { "/y" }, { "/x" } },
		{ "b", { "/x" }, { "/y" } },
		{ "starter", { "/missing" }, { "/y" } },
	};
	struct heard h = { 0 };

	CHECK(all, &h, NULL);
	assert_int_equal(h.n, 1);
	assert_int_equal(h.cycles, 0);
}

TEST(two_cycles_are_reported_separately_in_their_shortest_form)
{
	static const struct row all[] = {
		{ "a", { "/c", "/b" }, { "/a" } }, /* a waits for b, and for c, which waits for b */
		{ "b", { "/a" }, { "/b" } },       { "c", { "/b" }, { "/c" } },
		{ "p", { "/q" }, { "/p" } },       { "q", { "/p" }, { "/q" } },
	};
	struct heard h = { 0 };

	CHECK(all, &h, NULL);
	assert_int_equal(h.n, 3);
	assert_non_null(strstr(h.text[0], ": a -> /a -> b -> /b -> a;"));
	assert_non_null(strstr(h.text[1], ": c -> /c -> a -> /a -> b -> /b -> c;"));
	assert_non_null(strstr(h.text[2], ": p -> /p -> q -> /q -> p;"));
}
