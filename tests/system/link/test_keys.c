/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Keys of a link: only machines with the keys take part, in all functions of a link, and the traffic cannot be read.
 * Thread: the test's.
 */
#include "traffic.h"

#include <arpa/inet.h>
#include <jansson.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <sim/srv/SetBool.h>

#include "blob_type.h"
#include "err.h"
#include "link_keys.h"
#include "outsider.h"
#include "time_msg.h"
#include "timeutil.h"

#define DAY_NS (INT64_C(86400) * NS_PER_S)

static struct machine m[2];
static struct net_switch *net;
static struct traffic *t;

static void run(const char *command)
{
	if (system(command) != 0)
		fail_msg("%s", command);
}

static int start(void **state)
{
	(void)state;
	net = machines_start(m, 2, test_seed(31));
	run("rm -rf /tmp/ca /tmp/other /tmp/old");
	return 0;
}

static int end(void **state)
{
	(void)state;
	machines_end(m, 2, net);
	traffic_free(t);
	t = NULL;
	return 0;
}

TEST_PROCESSES()

static void make(const char *dir, const char *host, long days, int64_t wall_ns)
{
	const struct link_keys_options o = {
		.dir = dir, .hosts = &host, .n_hosts = 1, .days = days, .wall_ns = wall_ns
	};

	assert_ok(link_keys_make(&o));
}

/* Keys that were made here as DIR/HOST become /tmp/keys there. */
static void give(const struct machine *to, const char *dir, const char *host)
{
	char command[256];

	snprintf(command, sizeof(command), "cp -rp %s/%s /proc/%d/root/tmp/keys", dir, host, (int)to->holder);
	run(command);
}

/* keys: instead of "insecure". */
static const char *conf(unsigned i, bool keys, const char *source, const char *extra)
{
	static char text[4400];
	const char *usual = machine_conf(&m[i], 2, extra, ""), *at = strstr(usual, "\"insecure\":true");

	assert_non_null(at);
	snprintf(text, sizeof(text), "%s%.*s%s%s", source, (int)(at - usual), usual,
		 keys ? "\"keys\":\"/tmp/keys\"" : "\"insecure\":true", at + strlen("\"insecure\":true"));
	return text;
}

static void begin(unsigned i, bool keys)
{
	machine_simd_start(&m[i], conf(i, keys, "", ",\"lease_ms\":1000,\"reliable\":[\"*\"]"));
}

static void make_two(void)
{
	make("/tmp/ca", "a", 0, 0);
	make("/tmp/ca", "b", 0, 0); /* later, by the same authority */
	give(&m[0], "/tmp/ca", "a");
	give(&m[1], "/tmp/ca", "b");
}

static void finish(pid_t a, pid_t b)
{
	atomic_store(&t->stop, true);
	assert_int_equal(machine_wait(a), 0);
	if (b)
		assert_int_equal(machine_wait(b), 0);
}

static void exchange(const char *channel, uint32_t width, uint32_t height, unsigned messages)
{
	pid_t sender, reader;

	t = traffic_new(channel, width, height);
	t->pause_us = width > 1000 ? 50000 : 0;
	sender = machine_fork(&m[0], traffic_send, t);
	reader = machine_fork(&m[1], traffic_read, t);
	AWAIT(atomic_load(&t->reader[0].received) >= messages);
	if (atomic_load(&t->reader[0].wrong))
		fail_msg("%s", t->reader[0].what);
	finish(sender, reader);
	traffic_free(t);
	t = NULL;
}

TEST_WITH(two_machines_with_keys_exchange_channels, start, end)
{
	make_two();
	begin(0, true);
	begin(1, true);
	exchange("/camera", 64, 48, 20);
	exchange("/large", 2048, 1024, 5); /* 6 MiB each */
	assert_true(machine_logged(&m[1], "machine a is linked"));
}

static int on_request(void *user, struct sim_request *req)
{
	struct sim_SetBoolResponse *a = req->response;

	(void)user;
	a->success = ((const struct sim_SetBoolRequest *)req->body)->data;
	return 0;
}

static int serve(void *arg)
{
	const struct sim_client_options o = { .size = sizeof(o), .name = "server" };
	struct traffic *shared = arg;
	struct sim_client *c;
	struct sim_service *lamp;

	if (sim_connect(&o, &c) < 0 ||
	    sim_service_offer(c, "/lamp", &sim_SetBool_service, NULL, on_request, NULL, &lamp) < 0)
		return 99;
	AWAIT(atomic_load(&shared->stop));
	sim_service_destroy(lamp);
	sim_disconnect(c);
	return 0;
}

TEST_WITH(two_machines_with_keys_call_services, start, end)
{
	pid_t server;

	make_two();
	begin(0, true);
	begin(1, true);
	t = traffic_new("/none", 8, 8);
	server = machine_fork(&m[0], serve, t);
	AWAIT(machine_says(&m[1], "service list", "/lamp"));
	AWAIT(machine_says(&m[1], "service call /lamp '{\"data\":true}'", "true"));
	finish(server, 0);
}

static int64_t sim_ns(unsigned i)
{
	json_t *k = json_loads(machine_ctl(&m[i], "clock status --json"), 0, NULL);
	int64_t v = json_integer_value(json_object_get(k, "sim_ns"));

	json_decref(k);
	return v;
}

TEST_WITH(two_machines_with_keys_share_steps, start, end)
{
	make_two();
	machine_simd_start(&m[0],
			   conf(0, true, "\"TimeSource\":\"simulation\",", ",\"time\":\"give\",\"lockstep\":true"));
	machine_simd_start(&m[1], conf(1, true, "\"TimeSource\":\"link\",", ",\"time\":\"follow\""));
	AWAIT(machine_logged(&m[1], "time: follows machine a, in lock-step"));
	machine_ctl(&m[0], "clock pause");
	machine_ctl(&m[0], "clock step 10s");
	AWAIT(sim_ns(1) == sim_ns(0) && sim_ns(1) >= 10 * NS_PER_S);
}

/* Whether that host, which has not the keys that it should have, neither sees nor is seen. */
static void is_kept_out(const char *why)
{
	pid_t sender;

	t = traffic_new("/camera", 64, 48);
	sender = machine_fork(&m[0], traffic_send, t);
	AWAIT(atomic_load(&t->ok) >= 1);
	AWAIT(machine_logged(&m[0], why)); /* logged 5 s after the first packet of a machine that does not link */
	assert_false(machine_says(&m[1], "list", "/camera"));
	assert_false(machine_logged(&m[0], "machine b is linked"));
	assert_false(machine_logged(&m[1], "machine a is linked"));
	finish(sender, 0);
}

TEST_WITH(a_machine_without_keys_is_kept_out, start, end)
{
	make_two();
	begin(0, true);
	begin(1, false);
	is_kept_out("machine b was seen, and cannot link: it has no keys of the authority in /tmp/keys");
}

TEST_WITH(keys_of_another_authority_are_kept_out, start, end)
{
	make_two();
	make("/tmp/other", "b", 0, 0);
	{
		char command[100];

		snprintf(command, sizeof(command), "rm -r /proc/%d/root/tmp/keys", (int)m[1].holder);
		run(command);
	}
	give(&m[1], "/tmp/other", "b");
	begin(0, true);
	begin(1, true);
	is_kept_out("machine b was seen, and cannot link: it has no keys of the authority in /tmp/keys");
}

/* ---- a machine that claims another name ---- */

/* With the keys of machine b. */
static dds_entity_t join(void)
{
	static const char *const properties[][2] = {
		{ "auth.library.path", DDS_SECURITY "auth.so" },
		{ "auth.library.init", "init_authentication" },
		{ "auth.library.finalize", "finalize_authentication" },
		{ "access.library.path", DDS_SECURITY "ac.so" },
		{ "access.library.init", "init_access_control" },
		{ "access.library.finalize", "finalize_access_control" },
		{ "crypto.library.path", DDS_SECURITY "crypto.so" },
		{ "crypto.library.init", "init_crypto" },
		{ "crypto.library.finalize", "finalize_crypto" },
		{ "auth.identity_ca", "file:/tmp/keys/identity_ca.pem" },
		{ "auth.identity_certificate", "file:/tmp/keys/identity.pem" },
		{ "auth.private_key", "file:/tmp/keys/identity.key" },
		{ "access.permissions_ca", "file:/tmp/keys/permissions_ca.pem" },
		{ "access.governance", "file:/tmp/keys/governance.p7s" },
		{ "access.permissions", "file:/tmp/keys/permissions.p7s" },
	};
	dds_qos_t *q = dds_create_qos();
	dds_entity_t participant;

	for (size_t i = 0; i < sizeof(properties) / sizeof(properties[0]); i++) {
		char name[64];

		snprintf(name, sizeof(name), "dds.sec.%s", properties[i][0]);
		dds_qset_prop(q, name, properties[i][1]);
	}
	participant = outsider_join(q);
	dds_delete_qos(q);
	return participant;
}

static void send_to_a(dds_entity_t w, const void *body, size_t size)
{
	const struct blob_out o = { .head = { .host = 99, .sequence = 1, .body_size = size }, .body = body };

	MUST(w > 0);
	outsider_await_reader(w);
	MUST(dds_write(w, &o) == 0);
}

/* With the keys of b it says that it is c, and that c gives time. */
static int speak_as_c(void *arg)
{
	static const char manifest[] =
		"{\"version\":1,\"host\":\"c\",\"id\":\"0000000000000063\",\"channels\":[],\"services\":[]}";
	struct time_msg claim = { .kind = TIME_CLAIM, .from = 12345, .life = 7, .epoch = 7 };
	uint8_t bytes[TIME_MSG_SMALL_MAX];
	dds_entity_t participant;
	size_t size;

	(void)arg;
	snprintf(claim.claim.name, sizeof(claim.claim.name), "c");
	size = time_msg_write(&claim, bytes, sizeof(bytes));
	MUST(size > 0 && size <= sizeof(bytes));
	participant = join();
	MUST(outsider_writer(participant, "simd/host", "simd/host", "c", true) <
	     0); /* its permissions have the partition of b alone */
	MUST(outsider_writer(participant, "simd/host", "simd/host", "*", true) < 0);
	MUST(outsider_writer(participant, "other/topic", "other/topic", "b", true) < 0);
	send_to_a(outsider_writer(participant, "simd/host", "simd/host", "b", true), manifest, strlen(manifest));
	send_to_a(outsider_writer(participant, "simd/time", "simd/time", "b", false), bytes, size);
	AWAIT(atomic_load(&t->stop));
	MUST(dds_delete(participant) == 0);
	return 0;
}

TEST_WITH(a_machine_cannot_use_the_name_of_another, start, end)
{
	pid_t liar;

	make_two();
	machine_simd_start(&m[0], conf(0, true, "\"TimeSource\":\"link\",", ",\"time\":\"follow\""));
	t = traffic_new("/none", 8, 8);
	liar = machine_fork(&m[1], speak_as_c, NULL);
	AWAIT(machine_logged(&m[0], "machine c is not linked: its keys are not those of a machine of that name"));
	AWAIT(machine_logged(&m[0], "ignored: its sender does not have the keys of the machine it names"));
	assert_false(machine_logged(&m[0], "machine c is linked"));
	finish(liar, 0);
}

/* Sees all that comes to machine b. */
static int listen_there(void)
{
	const struct sockaddr_ll all = { .sll_family = AF_PACKET, .sll_protocol = htons(ETH_P_ALL) };
	const int room = 64 << 20;
	int fd = switch_socket(net, m[1].port, AF_PACKET, SOCK_RAW | SOCK_NONBLOCK);

	assert_true(fd >= 0);
	setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &room, sizeof(room));
	assert_int_equal(bind(fd, (const struct sockaddr *)&all, sizeof(all)), 0);
	return fd;
}

static bool was_sent(int fd, uint64_t *ret_bytes)
{
	static char frame[1 << 17];
	bool found = false;
	ssize_t n;

	*ret_bytes = 0;
	while ((n = recv(fd, frame, sizeof(frame), 0)) > 0) {
		*ret_bytes += (uint64_t)n;
		found = found || memmem(frame, (size_t)n, "simd/ch/camera", 14) ||
			memmem(frame, (size_t)n, "lens\0\0\0\0", 8);
	}
	return found;
}

static bool is_readable(bool keys)
{
	uint64_t bytes;
	bool found;
	int fd;

	make_two();
	fd = listen_there();
	begin(0, keys);
	begin(1, keys);
	exchange("/camera", 64, 48, 20);
	found = was_sent(fd, &bytes);
	close(fd);
	assert_true(bytes > 20u * 64 * 48 * 3);
	return found;
}

TEST_WITH(with_keys_traffic_is_unreadable, start, end)
{
	assert_false(is_readable(true));
}

/* Shows that the check of the test above can detect plain text. */
TEST_WITH(without_keys_traffic_is_readable, start, end)
{
	assert_true(is_readable(false));
}

/* ---- refused keys ---- */

static void change(const char *command)
{
	char all[400];

	snprintf(all, sizeof(all), "cd /proc/%d/root/tmp/keys && %s", (int)m[0].holder, command);
	run(all);
}

static void is_refused(const char *sentence)
{
	begin(0, true);
	AWAIT(machine_logged(&m[0], sentence));
	machine_simd_stop(&m[0]);
}

static int64_t days_ago(int days)
{
	return real_now_ns() - days * DAY_NS;
}

TEST_WITH(invalid_keys_are_refused_with_the_file_name, start, end)
{
	make("/tmp/old", "a", 1, days_ago(3));
	give(&m[0], "/tmp/old", "a");
	is_refused("/tmp/keys/identity.pem has expired on ");
	change("rm -r ../keys");
	is_refused("/tmp/keys/identity_ca.pem: No such file or directory; `simctl link make-keys DIR --host a` makes");
	make("/tmp/ca", "b", 0, 0);
	make("/tmp/ca", "a", 0, 0);
	give(&m[0], "/tmp/ca", "b");
	is_refused("/tmp/keys are for host b, but this machine is a: set options.host to b");
	change("rm -r ../keys");
	give(&m[0], "/tmp/ca", "a");
	change("chmod 644 identity.key");
	is_refused("others can read /tmp/keys/identity.key (mode 0644): chmod 600 it");
	change("chmod 600 identity.key && cp /tmp/ca/b/identity.key .");
	is_refused("/tmp/keys/identity.key is not the key of identity.pem there");
	change("cp /tmp/ca/a/identity.key . && cp /tmp/old/permissions_ca.pem .");
	is_refused("/tmp/keys/governance.p7s is not signed by permissions_ca.pem there");
	change("cp /tmp/ca/permissions_ca.pem . && cp /tmp/old/identity_ca.pem .");
	is_refused("/tmp/keys/identity.pem is not signed by identity_ca.pem there");
	change("cp /tmp/ca/identity_ca.pem . && sed -i s/b.partition/x/ permissions.p7s && sed -i 's,<partition>a<,<partition>b<,' permissions.p7s");
	is_refused("/tmp/keys/permissions.p7s is not signed by permissions_ca.pem there");
	change("head -c 70000 /dev/zero >identity.pem");
	is_refused("/tmp/keys/identity.pem is not a regular file of at most 64 KiB");
}
