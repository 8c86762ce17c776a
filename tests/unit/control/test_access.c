/* SPDX-License-Identifier: Apache-2.0 */
/* "access" against the credentials of a connection, and which method needs which right. */
#include "unit/control/peer.h"

#include <errno.h>
#include <grp.h>
#include <string.h>
#include <sys/socket.h>
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

TEST(an_empty_list_narrows_nothing)
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
		"user 64003 may not do that here: access.shutdown lets 64002, @64003, root and simd's own user");
	assert_int_equal(may(a, ACCESS_DRIVE, 64002, 64003), -EACCES);
	assert_int_equal(may(a, ACCESS_PAUSE, 64003, 64002), 0);
	assert_int_equal(may(a, ACCESS_DRIVE, 0, 64003), 0);
	assert_int_equal(may(a, ACCESS_DRIVE, geteuid(), 64003), 0);
	access_destroy(a);
}

/* As the kernel has them of the peer: here of this process. */
TEST(other_groups_count)
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

/* Somebody else connects: the kernel notes who it is when the socket is made. */
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

/* The bridge "log" belongs to simd, which starts it. */
static void desk_open_with_bridge(struct desk *d)
{
	desk_open(d, "");
	d->ops.bridge_may = bridge_may;
	d->ops.bridge_restart = bridge_restart;
	list_first(&d->simd->bridges, struct bridge, link)->external = false;
}

/* A bridge makes files with simd's rights. */
TEST(another_user_sends_a_bridge_nowhere)
{
	static const struct {
		const char *connection;
		bool fine;
	} rows[] = {
		{ "run/a", true },          { "host:9090", true }, { "ws://host/a..b/..c", true }, { "", true },
		{ "/etc/cron.d/x", false }, { "../x", false },     { "a/../../x", false },         { "a/..", false },
	};
	struct desk d;
	struct peer p, own;

	if (geteuid() != 0)
		skip();
	desk_open_with_bridge(&d);
	stranger_opens(&d, &p);
	peer_open(&d, &own);
	peer_hello(&p, "x", "client");
	peer_hello(&own, "y", "client");
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		char text[200];

		snprintf(text, sizeof(text), "{\"name\": \"log\", \"connection\": \"%s\"}", rows[i].connection);
		assert_ok(peer_call(&own, "SetBridgeConnection", text, NULL));
		if (peer_call(&p, "SetBridgeConnection", text, NULL) != (rows[i].fine ? 0 : -EACCES))
			fail_msg("%s: %s", rows[i].connection, err_why());
	}
	peer_close(&p);
	peer_close(&own);
	desk_close(&d);
}

TEST(only_what_simd_has_started_stands_for_its_bridge)
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
