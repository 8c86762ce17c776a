/* SPDX-License-Identifier: Apache-2.0 */
/* The processes behind sessions: resources left when they exit, and the names that they may use in the data plane. */
#include "unit/control/peer.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "err.h"
#include "fd.h"
#include "registry/client.h"
#include "registry/reaper.h"

static struct desk desk;

static int begin(void **state)
{
	(void)state;
	desk_open(&desk, "");
	return 0;
}

static int end(void **state)
{
	(void)state;
	desk_close(&desk);
	return 0;
}

/* ---- processes with ended sessions ---- */

static int exits[2];
static unsigned watched, freed, n_asked;
static char freed_app[128], asked[32][128];

static int exit_fd(void *user, int sock, int64_t connected_mono_ns)
{
	(void)user;
	(void)sock;
	(void)connected_mono_ns;
	watched++;
	return fd_dup(exits[0]);
}

static void free_app(void *user, const char *app, bool old)
{
	(void)user;
	(void)old;
	assert_true(n_asked < 32);
	snprintf(asked[n_asked++], sizeof(asked[0]), "%s", app);
}

/* What simd's helper would do. */
static void free_asked(void)
{
	desk_run(&desk, MS);
	while (n_asked) {
		freed += strcmp(asked[--n_asked], freed_app) == 0;
		reaper_freed(desk.simd, asked[n_asked], true);
	}
	assert_true(list_empty(&desk.simd->reapers));
}

static void session(bool attach)
{
	struct peer p;
	json_t *r;
	char text[256];

	peer_open(&desk, &p);
	assert_ok(peer_call(&p, "Hello", "{\"name\": \"again\", \"role\": \"client\", \"abi\": 5}", &r));
	if (attach) {
		snprintf(freed_app, sizeof(freed_app), "%s", json_string_value(json_object_get(r, "app")));
		snprintf(text, sizeof(text), "{\"iox_generation\": 1, \"app\": \"%s.1\"}", freed_app);
		assert_ok(peer_call(&p, "Attached", text, NULL));
	}
	peer_close(&p);
}

/*
 * However often it connects: one descriptor; its attachments, among all that it was offered, are freed when it exits.
 */
TEST_WITH(a_process_is_watched_once, begin, end)
{
	assert_int_equal(pipe(exits), 0);
	desk.ops.peer_exit_fd = exit_fd;
	desk.ops.free_app = free_app;
	watched = freed = n_asked = 0;
	for (int i = 0; i < 1000; i++)
		session(i == 0);
	assert_int_equal(watched, 1);
	assert_int_equal(freed, 0);
	close(exits[1]);
	free_asked();
	assert_int_equal(freed, 1);
	close(exits[0]);
}

/* ---- names in the data plane ---- */

static bool has_name(void *user, pid_t pid, const char *runtime_name)
{
	(void)user;
	return pid == getpid() && strcmp(runtime_name, "earlier-0123abcd-7.2") == 0;
}

static int attach_as(struct peer *p, const char *name)
{
	char text[256];

	snprintf(text, sizeof(text), "{\"iox_generation\": 1, \"app\": \"%s\"}", name);
	return peer_call(p, "Attached", text, NULL);
}

/* The name that a client gives here is freed when it exits, no other one's. */
TEST_WITH(a_client_name_is_unique, begin, end)
{
	const struct client *first, *second;
	struct peer bad, good;
	char name[160];

	peer_open(&desk, &bad);
	peer_open(&desk, &good);
	desk.ops.has_name = has_name;
	peer_hello(&bad, "bad", "client");
	peer_hello(&good, "good", "client");
	first = list_first(&desk.simd->clients, struct client, link);
	second = list_last(&desk.simd->clients, struct client, link);
	snprintf(name, sizeof(name), "%s.1", second->app);
	assert_int_equal(attach_as(&bad, name), -EACCES); /* before it has attached, and after */
	assert_ok(attach_as(&good, name));
	assert_int_equal(attach_as(&bad, name), -EACCES);
	assert_non_null(strstr(err_why(), "is not a name of process"));
	snprintf(name, sizeof(name), "%s.12", second->app);
	assert_int_equal(attach_as(&bad, name), -EACCES);
	assert_int_equal(attach_as(&bad, "simd-0123abcd.1"), -EACCES);
	assert_int_equal(attach_as(&bad, "earlier-0123abcd-7.1"), -EACCES);
	assert_ok(attach_as(&bad, "earlier-0123abcd-7.2")); /* of an earlier simd */
	assert_string_equal(first->runtime_name, "earlier-0123abcd-7.2");
	snprintf(name, sizeof(name), "%s.3", first->app);
	assert_ok(attach_as(&bad, name));
	peer_close(&bad);
	peer_close(&good);
}

static int prepare(void **state)
{
	(void)state;
	mem_adopt_jansson();
	return 0;
}

TEST_GROUP(prepare, NULL)
