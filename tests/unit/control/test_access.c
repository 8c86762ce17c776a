/* SPDX-License-Identifier: Apache-2.0 */
/* "access" against the credentials of a connection, and which method needs which right. */
#include "unit/control/peer.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "config/config.h"
#include "control/access.h"
#include "err.h"
#include "registry/bridge.h"

#define STRANGER 64001 /* of no name, in no group */

static struct access *access_of(const char *text)
{
	struct config_sources src = { .text = text };
	struct access *a;
	struct conf *c;

	assert_ok(config_load(&src, &c));
	assert_ok(access_create(c, &a));
	conf_destroy(c);
	return a;
}

static int may(const struct access *a, enum access_right right, uid_t uid, gid_t gid)
{
	struct ucred cred = { .pid = 1, .uid = uid, .gid = gid };
	int sv[2], r;

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sv), 0);
	r = access_check(a, right, &cred, sv[0]);
	close(sv[0]);
	close(sv[1]);
	return r;
}

TEST(an_empty_list_restricts_nothing)
{
	struct access *a = access_of("{}");

	for (int i = 0; i < ACCESS_COUNT; i++)
		assert_int_equal(may(a, (enum access_right)i, STRANGER, STRANGER), 0);
	access_destroy(a);
}

TEST(users_and_groups_are_named)
{
	struct access *a = access_of("{\"access\": {\"shutdown\": [\"64002\", \"@64003\"], \"drive\": [\"root\"]}}");

	assert_int_equal(may(a, ACCESS_SHUTDOWN, 64002, 1), 0);
	assert_int_equal(may(a, ACCESS_SHUTDOWN, 64001, 64003), 0);
	assert_int_equal(may(a, ACCESS_SHUTDOWN, 64003, 64002), -EACCES); /* a number of the other kind */
	assert_string_equal(
		err_why(),
		"user 64003 is not allowed to do that: access.shutdown allows 64002, @64003, root and simd's own user");
	assert_int_equal(may(a, ACCESS_DRIVE, 64002, 64003), -EACCES);
	assert_int_equal(may(a, ACCESS_PAUSE, 64003, 64002), 0);
	assert_int_equal(may(a, ACCESS_DRIVE, 0, 64003), 0);
	assert_int_equal(may(a, ACCESS_DRIVE, geteuid(), 64003), 0);
	access_destroy(a);
}

/* As the kernel reports them of the peer: here of this process. */
TEST(supplementary_groups_count)
{
	static gid_t many[100];
	struct access *a;

	if (geteuid() != 0)
		skip();
	for (unsigned i = 0; i < 100; i++)
		many[i] = 65000 + i;
	a = access_of("{\"access\": {\"pause\": [\"@65002\"], \"serve\": [\"@65099\"]}}");
	assert_int_equal(setgroups(3, many), 0);
	assert_int_equal(may(a, ACCESS_PAUSE, STRANGER, STRANGER), 0);
	assert_int_equal(may(a, ACCESS_SERVE, STRANGER, STRANGER), -EACCES);
	assert_int_equal(setgroups(100, many), 0); /* more than fit at first */
	assert_int_equal(may(a, ACCESS_SERVE, STRANGER, STRANGER), 0);
	assert_int_equal(setgroups(0, NULL), 0);
	assert_int_equal(may(a, ACCESS_PAUSE, STRANGER, STRANGER), -EACCES);
	access_destroy(a);
}

/* Another process connects: the kernel notes its credentials when the socket is made. */
static void stranger_opens(struct desk *d, struct peer *p)
{
	assert_int_equal(seteuid(STRANGER), 0);
	peer_open(d, p);
	assert_int_equal(seteuid(0), 0);
}

TEST(each_method_needs_its_right)
{
	static const struct {
		const char *method, *key;
	} rows[] = {
		{ "Advertise", "publish" },      { "OpenToken", "publish" },
		{ "Subscribe", "subscribe" },    { "AcquireDriver", "drive" },
		{ "JoinStep", "drive" },         { "PauseClock", "pause" },
		{ "ResumeClock", "pause" },      { "StepClock", "pause" },
		{ "SetScale", "pause" },         { "SetSource", "pause" },
		{ "OfferService", "serve" },     { "CallService", "call" },
		{ "AttachBridge", "bridge" },    { "RestartBridge", "restart" },
		{ "RestartProcess", "restart" }, { "SetBridgeConnection", "restart" },
		{ "Shutdown", "shutdown" },      { "DriverWaits", "drive" },
	};
	char text[200];

	if (geteuid() != 0)
		skip();
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct desk d;
		struct peer p, own;

		snprintf(text, sizeof(text), ", \"access\": {\"%s\": [\"root\"]}", rows[i].key);
		desk_open(&d, text);
		stranger_opens(&d, &p);
		peer_open(&d, &own);
		peer_hello(&p, "x", "client");
		peer_hello(&own, "y", "client");
		for (size_t k = 0; k < sizeof(rows) / sizeof(*rows); k++) {
			int r = peer_call(&p, rows[k].method, "{\"odd\": 1}", NULL);
			bool denied = strcmp(rows[k].key, rows[i].key) == 0;

			if ((r == -EACCES) != denied || (denied && !strstr(err_why(), rows[k].method)))
				fail_msg("%s with access.%s: %d, %s", rows[k].method, rows[i].key, r, err_why());
			if (peer_call(&own, rows[k].method, "{\"odd\": 1}", NULL) == -EACCES)
				fail_msg("%s", err_why());
		}
		assert_ok(peer_call(&p, "GetInfo", "{}", NULL));
		peer_close(&p);
		peer_close(&own);
		desk_close(&d);
	}
}

/* ---- a bridge that simd starts ---- */

static pid_t started;

static int bridge_may(void *user, const char *name, pid_t pid)
{
	(void)user;
	assert_string_equal(name, "log");
	return pid == started ? 0 : err_set(-EPERM, "bridge log is started by simd");
}

static int bridge_restart(void *user, const char *name)
{
	(void)user;
	(void)name;
	return 0;
}

static const char *bridge_dir; /* of the next desk; NULL: none is configured */

/* The bridge "log" belongs to simd, which starts it. */
static void desk_open_with_bridge(struct desk *d)
{
	char more[TEST_PATH_MAX + 40] = "";

	if (bridge_dir)
		snprintf(more, sizeof(more), ", \"bridge\": {\"dir\": \"%s\"}", bridge_dir);
	desk_open(d, more);
	d->ops.bridge_may = bridge_may;
	d->ops.bridge_restart = bridge_restart;
	list_first(&d->simd->bridges, struct bridge, link)->external = false;
}

struct way {
	const char *connection;
	bool fine;
};

/* What another user may say, by the sentence; root may all of it. */
static void sends(const struct way *way, size_t n, const char *why)
{
	struct desk d;
	struct peer p, own;

	desk_open_with_bridge(&d);
	stranger_opens(&d, &p);
	peer_open(&d, &own);
	peer_hello(&p, "x", "client");
	peer_hello(&own, "y", "client");
	for (size_t i = 0; i < n; i++) {
		char text[200];
		int r;

		snprintf(text, sizeof(text), "{\"name\": \"log\", \"connection\": \"%s\"}", way[i].connection);
		assert_ok(peer_call(&own, "SetBridgeConnection", text, NULL));
		r = peer_call(&p, "SetBridgeConnection", text, NULL);
		if (r != (way[i].fine ? 0 : -EACCES) || (r < 0 && !strstr(err_why(), why)))
			fail_msg("%s: %s", way[i].connection, err_why());
	}
	peer_close(&p);
	peer_close(&own);
	desk_close(&d);
}

#define ROWS(rows) rows, sizeof(rows) / sizeof((rows)[0])

/* A bridge makes files with simd's rights. Links lead out of its directory, and one of them to a file that is not there yet. */
TEST(another_user_cannot_redirect_a_bridge)
{
	static const struct way ways[] = {
		{ "run/a", true }, { "host:9090", true },  { "ws://host/a..b/..c", true },
		{ "", true },      { "inside/a", true },   { "/etc/x", false },
		{ "../x", false }, { "a/../../x", false }, { "outside/x", false },
		{ "a/..", false }, { "new", false },       { "outside", false },
	};
	char dir[TEST_PATH_MAX];
	int back = open(".", O_PATH | O_CLOEXEC);

	if (geteuid() != 0)
		skip();
	assert_int_equal(mkdir(test_path(dir, "work"), 0755), 0);
	assert_int_equal(chdir(dir), 0);
	assert_int_equal(symlink("/etc", "outside"), 0);
	assert_int_equal(symlink("/etc/no-such-file", "new"), 0);
	assert_int_equal(mkdir("real", 0755), 0);
	assert_int_equal(symlink("real", "inside"), 0);
	sends(ROWS(ways), "path outside");
	assert_int_equal(chdir("/"), 0);
	bridge_dir = dir;
	sends(ROWS(ways), "path outside");
	bridge_dir = NULL;
	assert_int_equal(fchdir(back), 0);
	close(back);
}

TEST(in_the_root_directory_another_user_cannot_redirect_a_bridge_at_all)
{
	static const struct way ways[] = { { "etc/cron.d/x", false }, { "host:9090", false } };

	int back = open(".", O_PATH | O_CLOEXEC);

	if (geteuid() != 0)
		skip();
	assert_int_equal(chdir("/"), 0);
	sends(ROWS(ways), "bridge.dir");
	assert_int_equal(fchdir(back), 0);
	close(back);
}

TEST(only_the_process_started_by_simd_may_attach_as_its_bridge)
{
	struct desk d;
	struct peer p, q;
	json_t *r;

	desk_open_with_bridge(&d);
	peer_open(&d, &p);
	peer_open(&d, &q);
	peer_hello(&p, "x", "bridge");
	peer_hello(&q, "y", "bridge");
	started = getpid() + 1;
	assert_int_equal(peer_call(&p, "AttachBridge", "{\"bridge\": \"log\"}", NULL), -EPERM);
	assert_string_equal(err_why(), "bridge log is started by simd");
	started = getpid();
	assert_ok(peer_call(&p, "AttachBridge", "{\"bridge\": \"log\"}", NULL));
	assert_ok(peer_call(&q, "RestartBridge", "{\"name\": \"log\"}", NULL));
	assert_ok(peer_call(&q, "ListBridges", "{}", &r));
	assert_int_equal(json_integer_value(json_object_get(json_array_get(json_object_get(r, "bridges"), 0), "pid")),
			 getpid()); /* its own: simd ends that */
	started = getpid() + 1;
	assert_ok(peer_call(&q, "RestartBridge", "{\"name\": \"log\"}", NULL)); /* no other client keeps it */
	assert_ok(peer_call(&q, "ListBridges", "{}", &r));
	assert_int_equal(json_integer_value(json_object_get(json_array_get(json_object_get(r, "bridges"), 0), "pid")),
			 0);
	assert_ok(peer_call(&q, "SetBridgeConnection", "{\"name\": \"log\", \"connection\": \"elsewhere\"}", NULL));
	assert_ok(peer_call(&q, "ListBridges", "{}", &r));
	assert_string_equal(json_string_value(
				    json_object_get(json_array_get(json_object_get(r, "bridges"), 0), "connection")),
			    "elsewhere");
	assert_ok(peer_call(&p, "GetInfo", "{}", NULL));
	peer_close(&p);
	peer_close(&q);
	desk_close(&d);
}
