/* SPDX-License-Identifier: Apache-2.0 */
/*
 * net.h on real sockets in virtual time: strangers by TLS, with an unfinished handshake, and silent ones. Thread: the
 * test's, server and clients.
 */
#include "support/test.h"

#include <arpa/inet.h>
#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>

#include "err.h"
#include "log.h"
#include "tools/world/keys.h"
#include "tools/world/net.h"
#include "loop/tls.h"

#define MS            INT64_C(1000000)
#define STRANGERS     256u /* at once; of one address: */
#define STRANGERS_OF1 16u

static struct exec *x;
static struct world *w;
static struct net *n;
static struct tls_keys *keys;
static char dir[TEST_PATH_MAX], said[8192];

static void on_log(void *user, enum log_level level, const char *topic, const char *text)
{
	size_t len = strlen(said);

	(void)user;
	(void)level;
	(void)topic;
	snprintf(said + len, sizeof(said) - len, "%s\n", text);
}

static void on_event(void *user, enum world_event what, uint32_t connection, const char *name, const char *sentence)
{
	(void)what;
	(void)connection;
	on_log(user, LOG_LEVEL_INFO, name, sentence);
}

static void begin(const struct tls_keys *of_server)
{
	const struct world_options o = {
		.store = { .objects_max = 10, .objects_each_max = 5, .section_mm = 100000, .step_dur_ns = 10 * MS },
		.number = 1,
		.sessions_max = 4,
		.members_max = 8,
		.radius_mm = INT64_MAX,
		.event = on_event,
	};

	*said = '\0';
	log_set_handler(on_log, NULL);
	assert_ok(exec_sim_create(1, 1000 * MS, &x));
	assert_ok(world_create(&o, exec_now(x), &w));
	assert_ok(net_create(x, &(struct net_options){ .keys = of_server }, w, &n));
}

static int plain(void **state)
{
	(void)state;
	begin(NULL);
	return 0;
}

static int by_tls(void **state)
{
	(void)state;
	assert_ok(tls_keys_load(dir, "server", &keys));
	begin(keys);
	return 0;
}

static int make(void **state)
{
	const char *const clients[] = { "alice" };

	(void)state;
	return keys_make(&(struct keys_options){ .dir = test_path(dir, "keys"), .clients = clients, .n_clients = 1 },
			 &(unsigned){ 0 });
}
TEST_GROUP(make, NULL)

static int end(void **state)
{
	(void)state;
	net_destroy(n);
	world_destroy(w);
	exec_destroy(x);
	tls_keys_destroy(keys);
	keys = NULL;
	log_set_handler(NULL, NULL);
	return 0;
}

static void run(int64_t dur_ns)
{
	assert_true(exec_sim_run(x, exec_now(x) + dur_ns) >= 0);
}

/* ---- connections ---- */

static int dial_from(const char *from)
{
	struct sockaddr_in a = { .sin_family = AF_INET };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	assert_int_equal(inet_pton(AF_INET, from, &a.sin_addr), 1);
	assert_int_equal(bind(fd, (const struct sockaddr *)&a, sizeof(a)), 0);
	a.sin_port = htons(net_port(n));
	a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	if (connect(fd, (const struct sockaddr *)&a, sizeof(a)) < 0)
		assert_int_equal(errno, EINPROGRESS);
	run(0);
	return fd;
}

/* Without a byte before. */
static bool is_closed(int fd)
{
	uint8_t byte;
	ssize_t r = recv(fd, &byte, 1, 0);

	return r == 0 || (r < 0 && errno == ECONNRESET);
}

/* The k-th address of many, or always one. */
static int stranger(unsigned k, bool one)
{
	char from[32] = "127.0.0.1";

	if (!one)
		snprintf(from, sizeof(from), "127.0.%u.%u", 1 + k / 250, k % 250 + 1);
	return dial_from(from);
}

static bool flush(int fd, struct tls *t)
{
	const void *data;
	size_t len;

	while ((len = tls_output(t, &data))) {
		ssize_t r = send(fd, data, len, MSG_NOSIGNAL);

		if (r <= 0)
			return false;
		tls_sent(t, (size_t)r);
	}
	return true;
}

/* Whether the server takes it as one that it knows. */
static bool is_known(const char *from)
{
	static uint8_t in[65536];
	struct tls_keys *own;
	struct tls *t;
	int fd = dial_from(from);
	bool there = true;
	uint8_t byte;
	ssize_t r;

	assert_ok(tls_keys_load(dir, "alice", &own));
	assert_ok(tls_create(TLS_CLIENT, &(struct tls_options){ .keys = own, .host = "localhost" }, &t));
	while (there && tls_state(t) == TLS_HANDSHAKE) {
		there = flush(fd, t);
		run(0);
		r = recv(fd, in, sizeof(in), 0);
		there &= r > 0;
		if (!there)
			break;
		tls_input(t, in, (size_t)r);
		(void)!tls_read(t, &byte, 1);
	}
	there &= flush(fd, t);
	run(0);
	*said = '\0';
	run(6000 * MS); /* a handshake's time, and that for a Hello */
	there &= strstr(said, "no Hello came") != NULL;
	tls_destroy(t);
	tls_keys_destroy(own);
	close(fd);
	return there;
}

/* ---- limits of a connection ---- */

TEST_WITH(a_connection_without_hello_is_closed, plain, end)
{
	int fd = dial_from("127.0.0.1");

	run(4900 * MS);
	assert_false(is_closed(fd));
	run(200 * MS);
	assert_true(is_closed(fd));
	assert_non_null(strstr(said, "no Hello came in 5.0 s"));
	close(fd);
}

TEST_WITH(a_silent_connection_is_closed, by_tls, end)
{
	int fd = dial_from("127.0.0.1");

	run(4900 * MS);
	assert_false(is_closed(fd));
	assert_string_equal(said, "");
	run(200 * MS);
	assert_true(is_closed(fd));
	assert_non_null(strstr(said, "its handshake was not done in 5 s"));
	close(fd);
}

/* A byte now and then gives no more time. */
TEST_WITH(a_slow_handshake_is_closed, by_tls, end)
{
	static const uint8_t head[] = { 22, 3, 1, 64, 0, 1, 0, 63, 0 };
	int fd = dial_from("127.0.0.1");

	assert_int_equal(send(fd, head, sizeof(head), MSG_NOSIGNAL), sizeof(head));
	for (int i = 0; i < 49; i++) {
		run(100 * MS);
		assert_int_equal(send(fd, "", 1, MSG_NOSIGNAL), 1);
	}
	assert_false(is_closed(fd));
	run(200 * MS);
	assert_true(is_closed(fd));
	close(fd);
}

/*
 * The oldest stranger is dropped when one more connects than allowed. A client whose handshake succeeds gets a place.
 */
static void first_makes_room(unsigned most, bool one)
{
	static int fd[STRANGERS + 1];

	for (unsigned i = 0; i < most; i++)
		fd[i] = stranger(i, one);
	assert_string_equal(said, "");
	fd[most] = stranger(most, one);
	assert_non_null(strstr(said, "another one needs its place"));
	for (unsigned i = 0; i <= most; i++)
		assert_int_equal(is_closed(fd[i]), i == 0);
	assert_true(is_known("127.0.0.1"));
	for (unsigned i = 0; i <= most; i++)
		close(fd[i]);
}

TEST_WITH(unidentified_connections_of_one_address_do_not_keep_others_out, by_tls, end)
{
	first_makes_room(STRANGERS_OF1, true);
}

TEST_WITH(unidentified_connections_are_bounded_in_total, by_tls, end)
{
	first_makes_room(STRANGERS, false);
}
