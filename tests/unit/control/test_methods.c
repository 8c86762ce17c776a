/* SPDX-License-Identifier: Apache-2.0 */
/* The answer of each method of the control interface, and its effect on the registry. */
#include "unit/control/peer.h"

#include <errno.h>
#include <sim/types.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "err.h"
#include "fd.h"
#include "registry/admission.h"
#include "registry/channel.h"
#include "registry/simd.h"
#include "wire/driver.h"
#include "wire/pages.h"

static struct desk desk;
static struct peer one, two;

static int begin(void **state)
{
	(void)state;
	desk_open(&desk, "");
	peer_open(&desk, &one);
	peer_open(&desk, &two);
	return 0;
}

static int end(void **state)
{
	(void)state;
	peer_close(&one);
	peer_close(&two);
	desk_close(&desk);
	return 0;
}

static int64_t number(json_t *o, const char *key)
{
	assert_true(json_is_integer(json_object_get(o, key)));
	return json_integer_value(json_object_get(o, key));
}

static const char *text(json_t *o, const char *key)
{
	assert_true(json_is_string(json_object_get(o, key)));
	return json_string_value(json_object_get(o, key));
}

/* The channel of that name in ListChannels. */
static json_t *channel(struct peer *p, const char *name)
{
	json_t *reply, *c;
	size_t i;

	assert_int_equal(peer_call(p, "ListChannels", "{}", &reply), 0);
	json_array_foreach(json_object_get(reply, "channels"), i, c) {
		if (strcmp(text(c, "name"), name) == 0)
			return c;
	}
	return NULL;
}

TEST_WITH(hello_passes_the_pages, begin, end)
{
	static const char *const names[] = { "clock", "layout", "dispatch", "counters", "completions" };
	json_t *r;
	void *map;

	assert_int_equal(peer_call(&one, "Hello",
				   "{\"name\": \"cam\", \"role\": \"client\", \"abi\": 5, \"version\": \"t\"}", &r),
			 0);
	assert_int_equal(json_array_size(json_object_get(r, "fds")), 5);
	for (size_t i = 0; i < 5; i++)
		assert_string_equal(json_string_value(json_array_get(json_object_get(r, "fds"), i)), names[i]);
	assert_int_equal(one.msg.n_fds, 5);
	/* the clock page can be read, never written */
	assert_int_equal(fd_shared_map(one.msg.fds[0], 4096, false, &map), 0);
	fd_shared_unmap(map, 4096);
	assert_true(fd_shared_map(one.msg.fds[0], 4096, true, &map) < 0);
	/* nor can the words that simd alone says */
	assert_int_equal(fd_shared_map(one.msg.fds[1], sizeof(struct wire_layout_page), false, &map), 0);
	fd_shared_unmap(map, sizeof(struct wire_layout_page));
	assert_true(fd_shared_map(one.msg.fds[1], sizeof(struct wire_layout_page), true, &map) < 0);
	assert_int_equal(fd_shared_map(one.msg.fds[2], sizeof(struct wire_dispatch_page), true, &map), 0);
	fd_shared_unmap(map, sizeof(struct wire_dispatch_page));
	assert_int_equal(number(r, "iox_generation"), 1);
	assert_null(strchr(text(r, "app"), '.')); /* "<app>.<n>" is what the data plane makes of it */
}

TEST_WITH(a_tool_gets_the_clock_only, begin, end)
{
	assert_int_equal(peer_call(&one, "Hello",
				   "{\"name\": \"ctl\", \"role\": \"tool\", \"abi\": 5, \"version\": \"t\"}", NULL),
			 0);
	assert_int_equal(one.msg.n_fds, 1);
	assert_int_equal(peer_call(&one, "Advertise",
				   "{\"channel\": \"x\", \"type\": " TYPE_A ", \"max_body\": 8, \"flags\": 0}", NULL),
			 -EPERM);
}

TEST_WITH(names_of_ros_and_simd_are_reserved, begin, end)
{
	static const char *const names[] = { "/rosout", "/parameter_events", "/ros_discovery_info",
					     "/simd/clock_events" };
	char text[160];

	peer_hello(&one, "a", "client");
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		snprintf(text, sizeof(text),
			 "{\"channel\": \"%s\", \"type\": " TYPE_A ", \"max_body\": 8, \"flags\": 0}", names[i]);
		assert_int_equal(peer_call(&one, "Advertise", text, NULL), -EPERM);
		assert_non_null(strstr(err_why(), "may publish under that name"));
	}
}

TEST_WITH(hello_is_checked, begin, end)
{
	static const struct {
		const char *params;
		int r;
	} bad[] = {
		{ "{}", -EINVAL },
		{ "{\"name\": \"a\", \"role\": \"client\", \"abi\": 999}", -EPROTO },
		{ "{\"name\": \"a b\", \"role\": \"client\", \"abi\": 5}", -EINVAL },
		{ "{\"name\": \"\", \"role\": \"client\", \"abi\": 5}", -EINVAL },
		{ "{\"name\": \"a\", \"role\": \"king\", \"abi\": 5}", -EINVAL },
		{ "{\"name\": 5, \"role\": \"client\", \"abi\": 5}", -EINVAL },
		{ "{\"name\": \"a\", \"role\": \"client\", \"abi\": 5, \"colour\": 1}", -EINVAL },
		{ "{\"name\": \"a\", \"role\": \"bridge\", \"abi\": 5, \"bridge\": \"nobody\"}", -ENOENT },
		{ "{\"name\": \"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\", \"role\": \"client\", \"abi\": 5}",
		  -EINVAL },
	};

	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		assert_int_equal(peer_call(&one, "Hello", bad[i].params, NULL), bad[i].r);
		assert_true(*err_why());
	}
	peer_hello(&one, "a", "client");
	assert_int_equal(peer_call(&one, "Hello", "{\"name\": \"a\", \"role\": \"client\", \"abi\": 5}", NULL),
			 -EINVAL);
}

TEST_WITH(publishers_are_created_and_deleted, begin, end)
{
	json_t *r, *c;
	int64_t id;

	peer_hello(&one, "cam", "client");
	assert_int_equal(peer_call(&one, "Advertise",
				   "{\"channel\": \"cam\", \"type\": " TYPE_A ", \"max_body\": 100, \"flags\": 0}", &r),
			 0);
	assert_string_equal(text(r, "channel"), "/cam");
	assert_int_equal(number(r, "window"), 64);
	assert_int_equal(number(r, "slot_size"), 256); /* 128 + 100, to the next 64 */
	id = number(r, "publisher_id");
	assert_true(id > 0);
	desk_run(&desk, MS);

	c = channel(&two, "/cam");
	assert_non_null(c);
	assert_string_equal(text(c, "type"), "t/A");
	assert_string_equal(text(c, "rig"), "car");
	assert_int_equal(json_array_size(json_object_get(c, "publishers")), 1);
	assert_string_equal(json_string_value(json_array_get(json_object_get(c, "bridges"), 0)), "log");

	/* the hang-up takes everything along, the channel stays with its totals */
	peer_close(&one);
	c = channel(&two, "/cam");
	assert_int_equal(json_array_size(json_object_get(c, "publishers")), 0);
	peer_open(&desk, &one);
}

TEST_WITH(counters_become_totals_and_rates, begin, end)
{
	struct wire_counter_page *page;
	json_t *r, *c;
	void *map;
	uint32_t row;
	int fd;

	peer_hello(&one, "cam", "client");
	fd = varlink_msg_take_fd(&one.msg, 3);
	assert_int_equal(fd_shared_map(fd, sizeof(*page), true, &map), 0);
	page = map;
	assert_int_equal(peer_call(&one, "Advertise",
				   "{\"channel\": \"cam\", \"type\": " TYPE_A ", \"max_body\": 100, \"flags\": 0}", &r),
			 0);
	row = (uint32_t)number(r, "row");
	assert_int_equal(atomic_load(&page->row[row].publisher_id), number(r, "publisher_id"));
	for (int i = 0; i < 50; i++) {
		atomic_fetch_add(&page->row[row].messages, 10);
		atomic_fetch_add(&page->row[row].bytes, 1000);
		desk_run(&desk, 100 * MS);
	}
	atomic_store(&page->row[row].dropped[SIM_REASON_TOKEN], 3);
	c = channel(&two, "/cam");
	assert_int_equal(number(c, "messages"), 500);
	assert_true(json_real_value(json_object_get(c, "hz")) > 95 && json_real_value(json_object_get(c, "hz")) < 105);
	assert_true(json_real_value(json_object_get(c, "bytes_per_s")) > 9500);
	assert_int_equal(number(json_object_get(c, "drops"), "token"), 3);

	/* a peer that writes random data harms no other one */
	memset(&page->row[row], 0xff, sizeof(page->row[row]));
	c = channel(&two, "/cam");
	assert_int_equal(number(c, "messages"), INT64_MAX);
	desk_run(&desk, 3 * S);
	fd_shared_unmap(map, sizeof(*page));
	fd_close(fd);
}

TEST_WITH(types_must_agree, begin, end)
{
	peer_hello(&one, "a", "client");
	peer_hello(&two, "b", "client");
	assert_int_equal(peer_call(&one, "Advertise",
				   "{\"channel\": \"c\", \"type\": " TYPE_A ", \"max_body\": 8, \"flags\": 0}", NULL),
			 0);
	assert_int_equal(peer_call(&two, "Advertise",
				   "{\"channel\": \"c\", \"type\": " TYPE_B ", \"max_body\": 8, \"flags\": 0}", NULL),
			 -EMEDIUMTYPE);
	assert_int_equal(peer_call(&two, "Subscribe", "{\"channel\": \"c\", \"type\": \"t/B\"}", NULL), -EMEDIUMTYPE);
	assert_int_equal(peer_call(&two, "Subscribe", "{\"channel\": \"c\", \"hash\": \"00000000000000bb\"}", NULL),
			 -EMEDIUMTYPE);
	assert_int_equal(peer_call(&two, "Subscribe", "{\"channel\": \"c\", \"type\": \"t/A\"}", NULL), 0);
	/* without a publisher: the channel may return with another type */
	peer_close(&one);
	assert_int_equal(peer_call(&two, "Advertise",
				   "{\"channel\": \"c\", \"type\": " TYPE_B ", \"max_body\": 8, \"flags\": 0}", NULL),
			 0);
	assert_string_equal(text(channel(&two, "/c"), "type"), "t/B");
	assert_int_equal(json_array_size(json_object_get(channel(&two, "/c"), "subscribers")), 1);
	peer_open(&desk, &one);
}

TEST_WITH(sizes_are_bounded, begin, end)
{
	json_t *r;

	peer_hello(&one, "a", "client");
	assert_int_equal(peer_call(&one, "Advertise",
				   "{\"channel\": \"big\", \"type\": " TYPE_A ", \"max_body\": 70000, \"flags\": 0}",
				   NULL),
			 -EMSGSIZE);
	assert_non_null(strstr(err_why(), "largest slot"));
	assert_int_equal(peer_call(&one, "Advertise",
				   "{\"channel\": \"narrow\", \"type\": " TYPE_A ", \"max_body\": 60000, \"flags\": 0}",
				   &r),
			 0);
	assert_int_equal(number(r, "window"), 2);
	/* 64 slots: 2 in flight, 9 a publisher, the rest to subscribers with 2 each to hold */
	assert_int_equal(peer_call(&one, "Subscribe", "{\"channel\": \"narrow\", \"depth\": 100}", &r), 0);
	assert_int_equal(number(r, "depth"), 2);
	for (int i = 0; i < 6; i++)
		assert_int_equal(peer_call(&one, "Advertise",
					   "{\"channel\": \"narrow\", \"type\": " TYPE_A
					   ", \"max_body\": 60000, \"flags\": 0}",
					   NULL),
				 i < 5 ? 0 : -ENOSPC);
	assert_non_null(strstr(err_why(), "pool"));
}

TEST_WITH(a_channel_is_either_local_or_dispatched, begin, end)
{
	peer_hello(&one, "a", "client");
	assert_int_equal(peer_call(&one, "Advertise",
				   "{\"channel\": \"l\", \"type\": " TYPE_A ", \"max_body\": 8, \"flags\": 4}", NULL),
			 0);
	assert_int_equal(peer_call(&one, "Advertise",
				   "{\"channel\": \"l\", \"type\": " TYPE_A ", \"max_body\": 8, \"flags\": 0}", NULL),
			 -EINVAL);
	assert_int_equal(peer_call(&one, "Advertise",
				   "{\"channel\": \"d\", \"type\": " TYPE_A ", \"max_body\": 8, \"flags\": 0}", NULL),
			 0);
	assert_int_equal(peer_call(&one, "Advertise",
				   "{\"channel\": \"d\", \"type\": " TYPE_A ", \"max_body\": 8, \"flags\": 4}", NULL),
			 -EINVAL);
}

TEST_WITH(bridges_write_only_listed_channels, begin, end)
{
	peer_hello(&one, "log", "bridge");
	assert_int_equal(peer_call(&one, "Advertise",
				   "{\"channel\": \"steer\", \"type\": " TYPE_A ", \"max_body\": 8, \"flags\": 0}",
				   NULL),
			 -EACCES);
	assert_int_equal(peer_call(&one, "Advertise",
				   "{\"channel\": \"cmd\", \"type\": " TYPE_A ", \"max_body\": 8, \"flags\": 0}", NULL),
			 0);
}

static void advertise(const char *channel, int64_t *ret_id)
{
	char params[300];
	json_t *r;

	snprintf(params, sizeof(params), "{\"channel\": \"%s\", \"type\": " TYPE_A ", \"max_body\": 8, \"flags\": 0}",
		 channel);
	assert_ok(peer_call(&one, "Advertise", params, &r));
	*ret_id = json_integer_value(json_object_get(r, "publisher_id"));
}

static void unadvertise(int64_t id)
{
	char params[64];

	snprintf(params, sizeof(params), "{\"publisher_id\": %lld}", (long long)id);
	assert_ok(peer_call(&one, "Unadvertise", params, NULL));
}

static bool is_open(const char *name)
{
	const struct channel *ch;

	list_for_each(ch, &desk.simd->channels, link)
		if (strcmp(strrchr(ch->name, '/') ? strrchr(ch->name, '/') + 1 : ch->name, name) == 0)
			return ch->open;
	return false;
}

/* Unused channels are closed to make room, but not the channel that needs the room. */
TEST_WITH(an_idle_channel_is_used_again_when_pools_are_full, begin, end)
{
	const struct pools *pools = &desk.simd->pools;
	int64_t a, c, id;

	peer_hello(&one, "x", "client");
	advertise("a", &a);
	advertise("c", &c);
	advertise("b", &id);
	unadvertise(a);
	unadvertise(c);
	while (pools_left(pools, 0) >= POOL_PER_PUBLISHER)
		advertise("b", &id);
	advertise("a", &a);
	assert_true(is_open("a"));
	assert_false(is_open("c"));
}

TEST_WITH(tokens_are_shared_by_name, begin, end)
{
	json_t *r;
	int64_t cell;

	peer_hello(&one, "a", "client");
	peer_hello(&two, "b", "client");
	assert_int_equal(peer_call(&one, "OpenToken", "{\"name\": \"gpu\"}", &r), 0);
	cell = number(r, "cell");
	assert_int_equal(peer_call(&two, "OpenToken", "{\"name\": \"gpu\"}", &r), 0);
	assert_int_equal(number(r, "cell"), cell);
	assert_int_equal(peer_call(&two, "OpenToken", "{\"name\": \"other\"}", &r), 0);
	assert_int_not_equal(number(r, "cell"), cell);
	assert_int_equal(peer_call(&two, "CloseToken", "{\"cell\": 4000}", NULL), -ENOENT);
	assert_int_equal(peer_call(&two, "OpenToken", "{\"name\": \"\"}", NULL), -EINVAL);
}

TEST_WITH(limits_are_enforced, begin, end)
{
	char text_[128];

	peer_close(&one);
	peer_close(&two);
	desk_close(&desk);
	desk_open(
		&desk,
		", \"limits\": {\"clients\": 1, \"connections\": 3, \"per_client\": 2, \"channels\": 4, \"tokens\": 1}");
	peer_open(&desk, &one);
	peer_open(&desk, &two);
	peer_hello(&one, "a", "client");
	assert_int_equal(peer_call(&two, "Hello", "{\"name\": \"b\", \"role\": \"client\", \"abi\": 5}", NULL),
			 -EMFILE);
	for (int i = 0; i < 3; i++)
		assert_int_equal(peer_call(&one, "Advertise",
					   "{\"channel\": \"c\", \"type\": " TYPE_A ", \"max_body\": 8, \"flags\": 0}",
					   NULL),
				 i < 2 ? 0 : -EMFILE);
	assert_int_equal(peer_call(&one, "OpenToken", "{\"name\": \"a\"}", NULL), 0);
	assert_int_equal(peer_call(&one, "OpenToken", "{\"name\": \"b\"}", NULL), -EMFILE);
	/* idle channels make room, used ones do not: /clock and /c are in use */
	for (int i = 0; i < 8; i++) {
		json_t *r;

		snprintf(text_, sizeof(text_), "{\"channel\": \"s%d\"}", i);
		assert_int_equal(peer_call(&one, "Subscribe", text_, &r), 0);
		snprintf(text_, sizeof(text_), "{\"subscriber_id\": %lld}", (long long)number(r, "subscriber_id"));
		assert_int_equal(peer_call(&one, "Unsubscribe", text_, NULL), 0);
	}
}

/* Each: as often as it takes, up to once more than the limit lets through. %d: how often so far. */
static const struct limit {
	const char *limits, *method, *params, *says;
} all_limits[] = {
	{ "\"publishers\": 2", "Advertise", "{\"channel\": \"c\", \"type\": " TYPE_A ", \"max_body\": 8, \"flags\": 0}",
	  "channel /c: 2 publishers exist, limits.publishers allows no more" },
	{ "\"per_client\": 2", "Advertise", "{\"channel\": \"c\", \"type\": " TYPE_A ", \"max_body\": 8, \"flags\": 0}",
	  "channel /c: client a has 2 publishers, limits.per_client allows no more" },
	{ "\"subscribers\": 4", "Subscribe", "{\"channel\": \"c\"}",
	  "channel /c: 4 subscribers exist, limits.subscribers allows no more" },
	{ "\"subscribers_per_channel\": 2", "Subscribe", "{\"channel\": \"c\"}",
	  "channel /c has 2 subscribers, limits.subscribers_per_channel allows no more" },
	{ "\"per_client\": 2", "Subscribe", "{\"channel\": \"c\"}",
	  "channel /c: client a has 2 subscribers, limits.per_client allows no more" },
	{ "\"channels\": 3", "Subscribe", "{\"channel\": \"c%d\"}",
	  "3 channels are in use, limits.channels allows no more" },
	{ "\"tokens\": 3", "OpenToken", "{\"name\": \"t%d\"}",
	  "3 exclusive tokens exist, limits.tokens allows no more" },
	{ "\"per_client\": 2", "OpenToken", "{\"name\": \"t%d\"}",
	  "client a has 2 tokens, limits.per_client allows no more" },
	{ "\"clients\": 1", "Hello", "{\"name\": \"b\", \"role\": \"client\", \"abi\": 5}",
	  "1 clients are attached, limits.clients allows no more" },
};

TEST_WITH(each_limit_has_its_error_text, begin, end)
{
	for (size_t i = 0; i < sizeof(all_limits) / sizeof(*all_limits); i++) {
		const struct limit *l = &all_limits[i];
		char limits[64], params[160];
		int r = 0;

		end(NULL);
		snprintf(limits, sizeof(limits), ", \"limits\": {%s}", l->limits);
		desk_open(&desk, limits);
		peer_open(&desk, &one);
		peer_open(&desk, &two);
		peer_hello(&one, "a", "client");
		for (int n = 0; r == 0 && n < 5; n++) {
			snprintf(params, sizeof(params), "%.*s%d%s", (int)strcspn(l->params, "%"), l->params, n,
				 strchr(l->params, '%') ? strchr(l->params, '%') + 2 : "");
			r = peer_call(strcmp(l->method, "Hello") ? &one : &two, l->method,
				      strchr(l->params, '%') ? params : l->params, NULL);
		}
		assert_int_equal(r, -EMFILE);
		if (!strstr(err_why(), l->says))
			fail_msg("%s: \"%s\" does not say \"%s\"", l->limits, err_why(), l->says);
	}
}

TEST_WITH(events_report_the_data_plane_and_the_clock, begin, end)
{
	static const char call[] = "{\"method\": \"io.simd.Control.Events\", \"more\": true}";
	json_t *j;

	assert_int_equal(peer_call(&one, "Events", "{}", NULL), -EINVAL); /* without "more" */
	peer_send(&one, call, sizeof(call));
	j = peer_next(&one, NULL);
	assert_true(json_is_true(json_object_get(j, "continues")));
	assert_string_equal(text(json_object_get(j, "parameters"), "event"), "dataplane");
	assert_int_equal(peer_call(&two, "SetSource", "{\"source\": \"simulation\"}", NULL), 0);
	j = json_object_get(peer_next(&one, NULL), "parameters");
	assert_string_equal(text(j, "event"), "clock");
	/* calls go on beside the stream */
	assert_int_equal(peer_call(&one, "GetClock", "{}", NULL), 0);
}

TEST_WITH(the_clock_can_be_paused_stepped_and_scaled, begin, end)
{
	json_t *r;

	assert_int_equal(peer_call(&one, "SetSource", "{\"source\": \"simulation\"}", NULL), 0);
	assert_int_equal(peer_call(&one, "PauseClock", "{}", &r), 0);
	assert_true(json_is_true(json_object_get(json_object_get(r, "clock"), "paused")));
	assert_int_equal(peer_call(&one, "StepClock", "{\"dur_ns\": 0}", NULL), -EINVAL);
	assert_int_equal(peer_call(&one, "SetScale", "{\"scale\": 1000}", NULL), -ERANGE);
	assert_int_equal(peer_call(&one, "SetScale", "{\"scale\": -1}", NULL), -ERANGE);
	/* out of range before they are rounded: 0 would pause */
	assert_int_equal(peer_call(&one, "SetScale", "{\"scale\": 1e-7}", NULL), -ERANGE);
	assert_string_equal(err_why(), "scale 1e-07 is out of range, 0.01 to 100, or 0 to pause");
	assert_int_equal(peer_call(&one, "SetScale", "{\"scale\": 100.0000001}", NULL), -ERANGE);
	assert_string_equal(err_why(), "scale 100.0000001 is out of range, 0.01 to 100, or 0 to pause");
	assert_int_equal(peer_call(&one, "SetScale", "{\"scale\": \"fast\"}", NULL), -EINVAL);
	assert_int_equal(peer_call(&one, "SetSource", "{\"source\": \"sundial\"}", NULL), -ENOENT);
	assert_int_equal(peer_call(&one, "ResumeClock", "{}", NULL), 0);
}

/* A step is answered when it has ended; a client that disconnects meanwhile gets no answer, and nothing leaks. */
TEST_WITH(a_step_answers_at_its_end, begin, end)
{
	static const char step[] = "{\"method\": \"io.simd.Control.StepClock\", \"parameters\": {\"dur_ns\": 1000000}}";
	json_t *j, *before;
	int64_t sim;

	assert_int_equal(peer_call(&one, "SetSource", "{\"source\": \"simulation\"}", NULL), 0);
	assert_int_equal(peer_call(&one, "PauseClock", "{}", &before), 0);
	sim = number(json_object_get(before, "clock"), "sim_ns");
	peer_send(&one, step, sizeof(step));
	for (int i = 0; i < 20 && !(j = peer_next(&one, NULL)); i++)
		desk_run(&desk, 10 * MS);
	assert_non_null(j);
	assert_int_equal(number(json_object_get(json_object_get(j, "parameters"), "clock"), "sim_ns"), sim + 1000000);
	peer_send(&one, step, sizeof(step));
	exec_sim_settle(desk.x);
	peer_close(&one);
	desk_run(&desk, S);
	peer_open(&desk, &one);
}

static bool shows(json_t *reply, const char *key)
{
	return json_is_true(json_object_get(json_object_get(reply, "clock"), key));
}

static void ask_driver(int fd)
{
	struct driver_packet p = { .op = DRIVER_ADVANCE, .dur_ns = 10 * MS };

	assert_int_equal(send(fd, &p, sizeof(p), MSG_NOSIGNAL), sizeof(p));
	exec_sim_settle(desk.x);
	while (recv(fd, &p, sizeof(p), MSG_DONTWAIT) > 0)
		continue;
}

/* A driver that was granted something has not asked again. */
TEST_WITH(a_pause_call_waits_on_request, begin, end)
{
	static const char wait[] = "{\"method\": \"io.simd.Control.PauseClock\", \"parameters\": {\"wait\": true}}";
	json_t *j;
	int fd;

	peer_hello(&two, "engine", "source");
	assert_int_equal(peer_call(&two, "AcquireDriver", "{}", NULL), 0);
	fd = varlink_msg_take_fd(&two.msg, 0);
	assert_true(fd >= 0);
	ask_driver(fd);
	assert_int_equal(peer_call(&one, "PauseClock", "{}", &j), 0);
	assert_true(shows(j, "pausing"));
	assert_false(shows(j, "paused"));
	peer_send(&one, wait, sizeof(wait));
	desk_run(&desk, S);
	assert_null(peer_next(&one, NULL));
	ask_driver(fd);
	j = json_object_get(peer_next(&one, NULL), "parameters");
	assert_true(shows(j, "paused"));
	assert_false(shows(j, "pausing"));
	peer_send(&one, wait, sizeof(wait)); /* it is */
	exec_sim_settle(desk.x);
	assert_true(shows(json_object_get(peer_next(&one, NULL), "parameters"), "paused"));
	assert_int_equal(peer_call(&one, "ResumeClock", "{}", NULL), 0);

	peer_send(&one, wait, sizeof(wait)); /* given up */
	exec_sim_settle(desk.x);
	peer_close(&one);
	exec_sim_settle(desk.x);
	peer_open(&desk, &one);
	assert_int_equal(peer_call(&two, "ResumeClock", "{}", NULL), 0);
	peer_send(&one, wait, sizeof(wait)); /* resumed before */
	exec_sim_settle(desk.x);
	assert_int_equal(peer_call(&two, "ResumeClock", "{}", NULL), 0);
	assert_string_equal(text(peer_next(&one, NULL), "error"), "io.simd.Control.Failed");
	assert_int_equal(peer_call(&two, "PauseClock", "{}", &j), 0); /* the driver's own client */
	assert_true(shows(j, "paused"));
	close(fd);
}

/* By default time is driven; this driver does not ask for the step. */
TEST_WITH(a_step_call_waits_as_long_as_its_caller_says, begin, end)
{
	static const char step[] = "{\"method\": \"io.simd.Control.StepClock\", "
				   "\"parameters\": {\"dur_ns\": 1000000, \"timeout_ns\": 500000000}}";
	json_t *j;
	int fd;

	peer_hello(&two, "engine", "source");
	assert_int_equal(peer_call(&two, "AcquireDriver", "{}", NULL), 0);
	fd = varlink_msg_take_fd(&two.msg, 0);
	assert_int_equal(peer_call(&one, "PauseClock", "{\"wait\": true}", NULL), 0);
	peer_send(&one, step, sizeof(step));
	desk_run(&desk, 400 * MS);
	assert_null(peer_next(&one, NULL));
	desk_run(&desk, 100 * MS);
	j = json_object_get(peer_next(&one, NULL), "parameters");
	assert_int_equal(number(j, "errno"), -ETIMEDOUT);
	assert_int_equal(peer_call(&one, "GetClock", "{}", &j), 0);
	assert_true(shows(j, "stepping"));
	assert_int_equal(peer_call(&one, "ResumeClock", "{}", NULL), 0);
	assert_int_equal(peer_call(&one, "PauseClock", "{\"wait\": true}", NULL), 0);
	assert_int_equal(peer_call(&one, "StepClock", "{\"dur_ns\": 1, \"timeout_ns\": -1}", NULL), -EINVAL);
	peer_send(&one, step, sizeof(step));
	exec_sim_settle(desk.x);
	peer_close(&one); /* before that time */
	desk_run(&desk, S);
	peer_open(&desk, &one);
	close(fd);
}

static const char *waits_for(void)
{
	json_t *j;

	assert_int_equal(peer_call(&one, "GetClock", "{}", &j), 0);
	return text(json_object_get(j, "clock"), "driver_waits_for");
}

/* The text is set by the driver, and is removed with its lease. */
TEST_WITH(the_status_shows_what_the_driver_waits_for, begin, end)
{
	int fd;

	peer_hello(&two, "engine", "source");
	assert_int_equal(peer_call(&two, "DriverWaits", "{\"what\": \"a scene\"}", NULL), -EPERM);
	assert_int_equal(peer_call(&two, "AcquireDriver", "{}", NULL), 0);
	fd = varlink_msg_take_fd(&two.msg, 0);
	assert_string_equal(waits_for(), "");
	assert_int_equal(peer_call(&two, "DriverWaits", "{\"what\": \"a scene\\nof 3\"}", NULL), 0);
	assert_int_equal(strncmp(waits_for(), "a scene", 7), 0);
	assert_null(strchr(waits_for(), '\n')); /* it is shown in a line */
	assert_int_equal(peer_call(&two, "DriverWaits", "{\"what\": \"\"}", NULL), 0);
	assert_string_equal(waits_for(), "");
	assert_int_equal(peer_call(&two, "DriverWaits", "{\"what\": \"more\"}", NULL), 0);
	close(fd);
	exec_sim_settle(desk.x);
	assert_string_equal(waits_for(), "");
}

TEST_WITH(a_bridge_attaches_once, begin, end)
{
	json_t *r;

	peer_hello(&one, "log", "bridge");
	peer_hello(&two, "log2", "bridge");
	assert_int_equal(peer_call(&one, "AttachBridge", "{\"bridge\": \"nobody\"}", NULL), -ENOENT);
	assert_int_equal(peer_call(&one, "AttachBridge", "{\"bridge\": \"log\"}", &r), 0);
	assert_string_equal(text(r, "plugin"), "null");
	assert_int_equal(one.msg.n_fds, 1);
	assert_int_equal(peer_call(&two, "AttachBridge", "{\"bridge\": \"log\"}", NULL), -EBUSY);
	/* its end frees the name */
	peer_close(&one);
	assert_int_equal(peer_call(&two, "AttachBridge", "{\"bridge\": \"log\"}", NULL), 0);
	peer_open(&desk, &one);
}

TEST_WITH(tools_see_everything, begin, end)
{
	json_t *r;

	peer_hello(&one, "cam", "client");
	assert_int_equal(peer_call(&two, "GetInfo", "{}", &r), 0);
	assert_int_equal(number(r, "clients"), 1);
	assert_string_equal(text(r, "backend"), "mem");
	assert_int_equal(peer_call(&two, "ListClients", "{}", &r), 0);
	assert_string_equal(text(json_array_get(json_object_get(r, "clients"), 0), "name"), "cam");
	assert_int_equal(peer_call(&two, "ListBridges", "{}", &r), 0);
	assert_string_equal(text(json_array_get(json_object_get(r, "bridges"), 0), "status"), "disconnected");
	assert_int_equal(peer_call(&two, "GetDispatch", "{}", &r), 0);
	assert_int_equal(peer_call(&two, "GetConfig", "{}", &r), 0);
	assert_string_equal(text(json_object_get(r, "origins"), "dispatch.wait_ms"), "default");
	assert_string_equal(text(json_object_get(json_object_get(r, "config"), "backend") ? json_object_get(r, "config")
											  : NULL,
				 "backend"),
			    "mem");
	assert_int_equal(peer_call(&two, "GetChannel", "{\"name\": \"/clock\"}", &r), 0);
	assert_string_equal(text(json_object_get(r, "type"), "name"), "sim/Clock");
	assert_int_equal(peer_call(&two, "GetChannel", "{\"name\": \"nothing\"}", NULL), -ENOENT);
	assert_int_equal(peer_call(&two, "RestartBridge", "{\"name\": \"log\"}", NULL), -EOPNOTSUPP);
	assert_int_equal(peer_call(&two, "Shutdown", "{}", NULL), 0);
	assert_true(desk.shut);
}

TEST_WITH(the_interface_describes_itself, begin, end)
{
	static const char call[] = "{\"method\": \"org.varlink.service.GetInterfaceDescription\", "
				   "\"parameters\": {\"interface\": \"io.simd.Control\"}}";
	json_t *j;

	peer_send(&one, call, sizeof(call));
	j = json_object_get(peer_next(&one, NULL), "parameters");
	assert_non_null(strstr(text(j, "description"), "method Hello("));
	assert_true(peer_call(&one, "Fly", "{}", NULL) < 0);
}

static int prepare(void **state)
{
	(void)state;
	mem_adopt_jansson();
	return 0;
}

TEST_GROUP(prepare, NULL)
