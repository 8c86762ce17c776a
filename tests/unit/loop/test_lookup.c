/* SPDX-License-Identifier: Apache-2.0 */
/* Names, resolved outside the loop: found, not found, and cancelled. */
#include "lookup.h"
#include "stream.h"
#include "support/test.h"

#include <errno.h>
#include <netdb.h>
#include <sys/socket.h>

static struct exec *x;
static struct lookup *l;
static int n_found, result;

static int set_up(void **state)
{
	(void)state;
	n_found = 0;
	result = -1;
	assert_int_equal(exec_threads_create(&x), 0);
	assert_int_equal(lookup_create("test-names", &l), 0);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	lookup_destroy(l);
	exec_destroy(x);
	return 0;
}

static void found(void *arg, int r, struct addrinfo *all)
{
	assert_ptr_equal(arg, &n_found);
	assert_int_equal(r == 0, all != NULL);
	n_found++;
	result = r;
	if (all)
		freeaddrinfo(all);
	exec_quit(x);
}

static struct lookup_ask *ask(const char *host)
{
	struct lookup_ask *a = NULL;

	assert_int_equal(lookup_start(l, x, host, 80, found, &n_found, &a), 0);
	return a;
}

TEST_WITH(a_name_is_found_or_not, set_up, tear_down)
{
	(void)ask("127.0.0.1");
	assert_int_equal(exec_run(x), 0);
	assert_int_equal(result, 0);
	(void)ask("256.256.256.256");
	assert_int_equal(exec_run(x), 0);
	assert_int_not_equal(result, 0); /* EAI_NONAME, or EAI_AGAIN where there is no network */
	assert_int_equal(n_found, 2);
}

/* In any state: waiting, being resolved, or resolved. */
TEST_WITH(a_cancelled_lookup_gets_no_result, set_up, tear_down)
{
	for (int i = 0; i < 100; i++) {
		struct lookup_ask *a = ask("127.0.0.1"), *b = ask("127.0.0.1"), *c = ask("127.0.0.1");

		pace_us(i % 7 ? 0 : 200);
		lookup_cancel(b);
		lookup_cancel(i % 2 ? a : c);
		assert_int_equal(exec_run(x), 0);
		assert_int_equal(n_found, i + 1);
	}
	lookup_cancel(NULL);
}

/* ---- a stream that dials a name ---- */

static char told[STREAM_WHY_MAX];
static int n_opened, error;

static void opened(void *arg)
{
	(void)arg;
	n_opened++;
	exec_quit(x);
}

static ssize_t take(void *arg, const uint8_t *data, size_t len, char why[STREAM_WHY_MAX])
{
	(void)arg;
	(void)data;
	(void)why;
	return (ssize_t)len;
}

static void ended(void *arg, int e, const char *why)
{
	(void)arg;
	error = e;
	snprintf(told, sizeof(told), "%s", why);
	exec_quit(x);
}

static struct stream *dial(const char *host, unsigned port)
{
	static const struct stream_ops ops = { .opened = opened, .take = take, .ended = ended };
	const struct stream_options o = { .ops = &ops, .buffer = 8, .lookup = l };
	struct address a = { .port = port };
	struct stream *s = NULL;
	char why[STREAM_WHY_MAX];

	snprintf(a.host, sizeof(a.host), "%s", host);
	assert_int_equal(stream_dial(x, &a, &o, &s, why), 0);
	return s;
}

TEST_WITH(a_stream_dials_a_name, set_up, tear_down)
{
	union {
		struct sockaddr any;
		struct sockaddr_storage room;
	} at;
	socklen_t n = sizeof(at);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	char port[NI_MAXSERV];
	struct stream *s;

	assert_int_equal(listen(fd, 1), 0);
	assert_int_equal(getsockname(fd, &at.any, &n), 0);
	assert_int_equal(getnameinfo(&at.any, n, NULL, 0, port, sizeof(port), NI_NUMERICSERV), 0);
	s = dial("localhost", (unsigned)atoi(port));
	assert_int_equal(exec_run(x), 0);
	assert_int_equal(n_opened, 1);
	stream_destroy(s);
	s = dial("256.256.256.256", 80);
	assert_int_equal(exec_run(x), 0);
	assert_int_equal(error, -ENOENT);
	assert_true(*told);
	stream_destroy(s);
	stream_destroy(dial("localhost", 80)); /* before it is resolved */
	s = dial("localhost", 80);
	stream_end(s, 1);
	assert_int_equal(exec_run(x), 0);
	assert_int_equal(error, 0);
	stream_destroy(s);
	close(fd);
}
