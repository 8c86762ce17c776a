/* SPDX-License-Identifier: Apache-2.0 */
/*
 * TLS between a server and a client in memory: the handshake, the data, and every way in which the handshake fails.
 * Thread: the test's.
 */
#include "support/test.h"

#include <errno.h>
#include <openssl/ssl.h>
#include <sys/stat.h>

#include "err.h"
#include "rnd.h"
#include "timeutil.h"
#include "tools/world/keys.h"
#include "loop/tls.h"

#define DAY_NS  (24 * 3600 * NS_PER_S)
#define YEAR_NS (365 * DAY_NS)

static char here[TEST_PATH_MAX], other[TEST_PATH_MAX];
static struct tls_keys *server_keys, *client_keys, *no_keys, *foreign_keys;
static struct tls *server, *client;

static int make(void **state)
{
	static const char *const names[] = { "world.example", "192.0.2.7", "2001:db8::7" };
	static const char *const clients[] = { "alice", "bob" };
	struct keys_options o = { .names = names, .n_names = 3, .clients = clients, .n_clients = 2 };

	(void)state;
	o.dir = test_path(here, "here");
	assert_ok(keys_make(&o, NULL));
	o.dir = test_path(other, "other");
	assert_ok(keys_make(&o, NULL));
	assert_ok(tls_keys_load(here, "server", &server_keys));
	assert_ok(tls_keys_load(here, "alice", &client_keys));
	assert_ok(tls_keys_load(here, NULL, &no_keys));
	assert_ok(tls_keys_load(other, "alice", &foreign_keys));
	return 0;
}

static int unmake(void **state)
{
	(void)state;
	tls_keys_destroy(server_keys);
	tls_keys_destroy(client_keys);
	tls_keys_destroy(no_keys);
	tls_keys_destroy(foreign_keys);
	return 0;
}
TEST_GROUP(make, unmake)

static void end(void)
{
	tls_destroy(server);
	tls_destroy(client);
	server = client = NULL;
}

static void begin(const struct tls_options *s, const struct tls_options *c)
{
	assert_ok(tls_create(TLS_SERVER, s, &server));
	assert_ok(tls_create(TLS_CLIENT, c, &client));
}

static void begin_as_usual(void)
{
	begin(&(struct tls_options){ .keys = server_keys },
	      &(struct tls_options){ .keys = client_keys, .host = "localhost" });
}

/*
 * Moves the data that `from` has to send, at most max bytes, to `to`; decrypted text is appended to text. Returns the
 * number of bytes moved.
 */
struct text {
	uint8_t *at;
	size_t n, size;
};

static size_t carry(struct tls *from, struct tls *to, size_t max, struct text *said)
{
	static uint8_t sink[20000];
	const void *data;
	size_t n = tls_output(from, &data);
	uint8_t *piece;
	ssize_t r;

	n = n < max ? n : max;
	if (!n)
		return 0;
	piece = malloc(n); /* of its size: a sanitizer sees an access beyond */
	memcpy(piece, data, n);
	tls_input(to, piece, n);
	while ((r = tls_read(to, sink, sizeof(sink))) > 0)
		if (said) {
			assert_true(said->n + (size_t)r <= said->size);
			memcpy(said->at + said->n, sink, (size_t)r);
			said->n += (size_t)r;
		}
	free(piece);
	tls_sent(from, n);
	return n;
}

static void settle(size_t max)
{
	while (carry(client, server, max, NULL) + carry(server, client, max, NULL))
		;
}

TEST(both_sides_complete_the_handshake_and_know_each_other)
{
	struct tls_peer p, q;

	begin_as_usual();
	assert_false(tls_peer(server, &p));
	settle(SIZE_MAX);
	assert_int_equal(tls_state(server), TLS_OPEN);
	assert_int_equal(tls_state(client), TLS_OPEN);
	assert_true(tls_peer(server, &p));
	assert_string_equal(p.name, "alice");
	assert_true(tls_peer(client, &q));
	assert_string_equal(q.name, "server");
	assert_memory_not_equal(p.fingerprint, q.fingerprint, 32);
	end();
}

/* openssl x509 says the same of the file. */
TEST(the_fingerprint_is_that_of_the_certificate)
{
	char command[300], said[128] = "", want[128];
	struct tls_peer p;
	size_t n = 0;
	FILE *f;

	begin_as_usual();
	settle(SIZE_MAX);
	assert_true(tls_peer(server, &p));
	end();
	for (unsigned i = 0; i < 32; i++)
		n += (size_t)snprintf(want + n, sizeof(want) - n, "%s%02X", i ? ":" : "", p.fingerprint[i]);
	snprintf(command, sizeof(command), "openssl x509 -in %s/alice.pem -noout -fingerprint -sha256", here);
	f = popen(command, "r");
	assert_non_null(f);
	assert_non_null(fgets(said, sizeof(said), f));
	assert_int_equal(pclose(f), 0);
	assert_non_null(strstr(said, want));
}

static const char plain[] = "the world is all that is the case";

TEST(written_data_arrives)
{
	uint8_t room[100];
	struct text said = { room, 0, sizeof(room) };
	const void *data;

	begin_as_usual();
	assert_int_equal(tls_write(client, plain, sizeof(plain)), 0); /* it is not open */
	settle(SIZE_MAX);
	assert_int_equal(tls_write(client, plain, sizeof(plain)), sizeof(plain));
	assert_in_range(tls_output(client, &data), sizeof(plain) + 16, sizeof(plain) + 64);
	assert_null(memmem(data, sizeof(plain), plain, 12));
	carry(client, server, SIZE_MAX, &said);
	assert_int_equal(said.n, sizeof(plain));
	assert_memory_equal(room, plain, sizeof(plain));
	said.n = 0;
	assert_int_equal(tls_write(server, plain, sizeof(plain)), sizeof(plain));
	carry(server, client, SIZE_MAX, &said);
	assert_int_equal(said.n, sizeof(plain));
	end();
}

/* No tickets: after its handshake a server has nothing to say. */
TEST(neither_side_sends_unrequested_records)
{
	const void *data;

	begin_as_usual();
	while (carry(client, server, SIZE_MAX, NULL) && tls_state(server) != TLS_OPEN)
		carry(server, client, SIZE_MAX, NULL);
	assert_int_equal(tls_output(server, &data), 0);
	end();
}

TEST(records_may_arrive_in_pieces_of_any_size)
{
	static const size_t sizes[] = { 1, 2, 3, 5, 7, 64, 1000, 4095 };

	for (unsigned i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		uint8_t room[100];
		struct text said = { room, 0, sizeof(room) };

		begin_as_usual();
		settle(sizes[i]);
		assert_int_equal(tls_state(server), TLS_OPEN);
		assert_int_equal(tls_write(client, plain, sizeof(plain)), sizeof(plain));
		while (carry(client, server, sizes[i], &said))
			;
		assert_int_equal(said.n, sizeof(plain));
		assert_memory_equal(room, plain, sizeof(plain));
		end();
	}
}

/* 3 MB each way, in pieces of any size, while neither has more than its bound waiting. */
TEST(large_data_passes_both_ways_within_bounds)
{
	enum { N = 3000000 };
	uint8_t *data = malloc(N), *room[2] = { malloc(N), malloc(N) };
	struct text said[2] = { { room[0], 0, N }, { room[1], 0, N } };
	size_t sent[2] = { 0, 0 }, most = 0;
	struct rnd rnd;

	rnd_seed(&rnd, test_seed(5));
	for (size_t i = 0; i < N; i++)
		data[i] = (uint8_t)rnd_u64(&rnd);
	begin_as_usual();
	settle(SIZE_MAX);
	while (said[0].n < N || said[1].n < N)
		for (unsigned i = 0; i < 2; i++) {
			struct tls *from = i ? server : client, *to = i ? client : server;
			const void *waits;
			ssize_t r = tls_write(from, data + sent[i], N - sent[i]);

			assert_true(r >= 0);
			sent[i] += (size_t)r;
			r = (ssize_t)tls_output(from, &waits);
			most = (size_t)r > most ? (size_t)r : most;
			carry(from, to, 1 + rnd_below(&rnd, 100000), &said[i]);
		}
	assert_in_range(most, TLS_OUT_MAX - 20000, TLS_OUT_MAX);
	assert_memory_equal(room[0], data, N);
	assert_memory_equal(room[1], data, N);
	free(data);
	free(room[0]);
	free(room[1]);
	end();
}

TEST(a_full_buffer_accepts_no_more)
{
	uint8_t *data = calloc(1, 2 * TLS_OUT_MAX);
	const void *waits;
	ssize_t r;

	begin_as_usual();
	settle(SIZE_MAX);
	r = tls_write(server, data, 2 * TLS_OUT_MAX);
	assert_in_range(r, TLS_OUT_MAX - 20000, TLS_OUT_MAX);
	assert_int_equal(tls_write(server, data, 1), 0);
	carry(server, client, SIZE_MAX, NULL);
	assert_int_equal(tls_output(server, &waits), 0);
	assert_int_equal(tls_write(server, data, 1), 1);
	free(data);
	end();
}

/* ---- how it fails ---- */

static void fails(struct tls *t, const char *why)
{
	char buf[16];

	if (tls_state(t) != TLS_FAILED || !strstr(tls_why(t), why))
		fail_msg("state %d: \"%s\", not \"%s\"", tls_state(t), tls_why(t), why);
	assert_int_equal(tls_read(t, buf, sizeof(buf)), -EPROTO);
	assert_non_null(strstr(err_why(), why));
	assert_int_equal(tls_write(t, buf, sizeof(buf)), -EPROTO);
}

/* by: the side that finds the error. The other side gets the reason, if why_other is not NULL. */
static void differ(const struct tls_options *s, const struct tls_options *c, bool by_server, const char *why,
		   const char *why_other)
{
	begin(s, c);
	settle(SIZE_MAX);
	fails(by_server ? server : client, why);
	if (why_other)
		fails(by_server ? client : server, why_other);
	end();
}

static int64_t in(int64_t dur_ns)
{
	return (int64_t)time(NULL) * NS_PER_S + dur_ns;
}

TEST(an_expired_certificate_is_refused)
{
	const struct tls_options s = { .keys = server_keys }, c = { .keys = client_keys, .host = "localhost" };
	struct tls_options later = s;

	later.wall_ns = in(6 * YEAR_NS);
	differ(&later, &c, true, "its certificate has expired",
	       "the other side refuses this certificate: it has expired");
	later.wall_ns = in(-DAY_NS);
	differ(&later, &c, true, "not valid yet", NULL);
	later = c;
	later.wall_ns = in(6 * YEAR_NS);
	differ(&s, &later, false, "its certificate has expired", "it has expired");
}

TEST(an_unknown_authority_is_refused)
{
	const struct tls_options s = { .keys = server_keys }, c = { .keys = foreign_keys, .host = "localhost" };

	differ(&s, &c, false, "of an authority that is not in ca.pem", "its ca.pem has another authority");
}

/* alice of another authority, with the right ca.pem: only the server can tell. */
TEST(a_client_of_another_authority_is_refused)
{
	char dir[TEST_PATH_MAX], command[800];
	struct tls_keys *mixed;

	test_path(dir, "mixed");
	snprintf(command, sizeof(command), "mkdir %s && cp %s/ca.pem %s && cp -p %s/alice.* %s", dir, here, dir, other,
		 dir);
	assert_int_equal(system(command), 0);
	assert_ok(tls_keys_load(dir, "alice", &mixed));
	differ(&(struct tls_options){ .keys = server_keys },
	       &(struct tls_options){ .keys = mixed, .host = "localhost" }, true,
	       "of an authority that is not in ca.pem", "its ca.pem has another authority");
	tls_keys_destroy(mixed);
}

TEST(the_server_certificate_must_match_the_dialled_host)
{
	static const char *const right[] = { "localhost", "127.0.0.1", "world.example", "192.0.2.7", "2001:db8::7" };
	static const char *const wrong[] = { "example", "world.example.org", "127.0.0.2", "server", "alice", "::1" };
	const struct tls_options s = { .keys = server_keys };
	struct tls_options c = { .keys = client_keys };

	for (unsigned i = 0; i < sizeof(right) / sizeof(right[0]); i++) {
		c.host = right[i];
		begin(&s, &c);
		settle(SIZE_MAX);
		assert_int_equal(tls_state(client), TLS_OPEN);
		end();
	}
	for (unsigned i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		c.host = wrong[i];
		differ(&s, &c, false, "host name: its certificate is not for", "refuses this certificate");
	}
}

/* bob's is signed by the same authority: it may not be the server for alice. */
TEST(a_client_certificate_is_not_accepted_for_a_server)
{
	struct tls_keys *bob;

	assert_ok(tls_keys_load(here, "bob", &bob));
	differ(&(struct tls_options){ .keys = bob }, &(struct tls_options){ .keys = client_keys, .host = "localhost" },
	       false, "for the other side", "not for this side");
	tls_keys_destroy(bob);
	differ(&(struct tls_options){ .keys = server_keys },
	       &(struct tls_options){ .keys = server_keys, .host = "localhost" }, true, "for the other side", NULL);
}

TEST(a_client_without_a_certificate_is_refused_unless_allowed)
{
	struct tls_options s = { .keys = server_keys }, c = { .keys = no_keys, .host = "localhost" };
	struct tls_peer p;

	differ(&s, &c, true, "it has shown no certificate", "wants a certificate, and was shown none");
	s.any_client = true;
	begin(&s, &c);
	settle(SIZE_MAX);
	assert_true(tls_peer(server, &p));
	assert_string_equal(p.name, "");
	end();
	c.keys = client_keys;
	begin(&s, &c);
	settle(SIZE_MAX);
	assert_true(tls_peer(server, &p));
	assert_string_equal(p.name, "alice");
	end();
	c.keys = client_keys;
	s.wall_ns = in(6 * YEAR_NS); /* the shown certificate has to be valid */
	differ(&s, &c, true, "expired", NULL);
}

/* A client's certificate of the right authority, with a subject of its own. */
static void is_named(const char *dir_name, const char *subject, const char *why)
{
	char dir[TEST_PATH_MAX], command[900];
	struct tls_keys *k;

	test_path(dir, dir_name);
	snprintf(command, sizeof(command),
		 "mkdir %s && cd %s && cp %s/ca.pem . && cp -p %s/alice.key odd.key && "
		 "openssl req -new -utf8 -key odd.key -subj \"$(printf '%s')\" -out odd.csr && openssl x509 -req -in odd.csr "
		 "-CA ca.pem -CAkey %s/ca.key -set_serial 7 -days 2 -out odd.pem 2>/dev/null",
		 dir, dir, here, here, subject, here);
	assert_int_equal(system(command), 0);
	assert_ok(tls_keys_load(dir, "odd", &k));
	begin(&(struct tls_options){ .keys = server_keys }, &(struct tls_options){ .keys = k, .host = "localhost" });
	settle(SIZE_MAX);
	if (why)
		fails(server, why);
	else
		assert_int_equal(tls_state(server), TLS_OPEN);
	end();
	tls_keys_destroy(k);
}

TEST(a_certificate_must_have_one_printable_name)
{
	static const char why[] = "its certificate has no common name of 1 to 63 printable characters";

	is_named("n1", "/O=nobody", why);
	is_named("n2", "/CN=one/CN=two", why);
	is_named("n3", "/CN=red\\033[31m", why);
	is_named("n4", "/CN=0123456789012345678901234567890123456789012345678901234567890123", why);
	is_named("n5", "/CN=012345678901234567890123456789012345678901234567890123456789012", NULL);
}

/* A foreign client of OpenSSL's own, with TLS 1.2 at most. */
static size_t old_hello(uint8_t *to, size_t size)
{
	SSL_CTX *ctx = SSL_CTX_new(TLS_method());
	SSL *ssl = SSL_new(ctx);
	int n;

	SSL_set_max_proto_version(ssl, TLS1_2_VERSION);
	SSL_set_bio(ssl, BIO_new(BIO_s_mem()), BIO_new(BIO_s_mem()));
	(void)SSL_connect(ssl);
	n = BIO_read(SSL_get_wbio(ssl), to, (int)size);
	assert_true(n > 0);
	SSL_free(ssl);
	SSL_CTX_free(ctx);
	return (size_t)n;
}

TEST(tls_1_2_is_refused_with_an_alert)
{
	uint8_t hello[4096], buf[16];
	const void *data;

	assert_ok(tls_create(TLS_SERVER, &(struct tls_options){ .keys = server_keys }, &server));
	tls_input(server, hello, old_hello(hello, sizeof(hello)));
	assert_int_equal(tls_read(server, buf, sizeof(buf)), -EPROTO);
	fails(server, "protocol version");
	assert_int_equal(tls_output(server, &data), 7);
	assert_memory_equal(data, "\x15\x03\x03\x00\x02\x02\x46", 7); /* alert, fatal, protocol_version */
	end();
}

TEST(noise_gets_no_answer)
{
	uint8_t noise[1024], buf[16];
	unsigned failed = 0;
	const void *data;
	struct rnd rnd;
	ssize_t r;

	rnd_seed(&rnd, test_seed(6));
	for (unsigned round = 0; round < 2000; round++) {
		for (unsigned i = 0; i < sizeof(noise); i++)
			noise[i] = (uint8_t)rnd_u64(&rnd);
		if (round % 3 == 1)
			memcpy(noise, "GET / HTTP/1.1\r\n\r\n", 18);
		if (round % 3 == 2) /* a record of a handshake, it says */
			memcpy(noise, "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", 11);
		assert_ok(tls_create(TLS_SERVER, &(struct tls_options){ .keys = server_keys }, &server));
		tls_input(server, noise, sizeof(noise));
		r = tls_read(server, buf, sizeof(buf));
		assert_true(r == -EPROTO || (r == 0 && round % 3 == 0)); /* it may begin as a long hello of SSL 2 */
		assert_int_equal(tls_output(server, &data), 0);
		failed += r < 0;
		end();
	}
	assert_true(failed > 1980);
}

/* A ClientHello of 100 kB in records: OpenSSL would keep it until it is whole. */
TEST(a_handshake_is_bounded)
{
	uint8_t record[5 + 16384] = "\x16\x03\x01\x40\x00\x01\x01\x80\x00\x03\x03", buf[16];

	assert_ok(tls_create(TLS_SERVER, &(struct tls_options){ .keys = server_keys }, &server));
	for (unsigned i = 0; i < 2; i++) {
		tls_input(server, record, sizeof(record));
		if (tls_read(server, buf, sizeof(buf)) < 0)
			break;
		memset(record + 5, 0, 6);
	}
	fails(server, "longer than 32 KiB");
	end();
}

/* In each direction, before it is open and after: it fails, or (a byte that does not count) all is as if it had not been. */
static void flip(bool to_server, size_t at, bool open)
{
	static uint8_t bytes[20000];
	struct tls *from, *to;
	size_t n, before = 0;
	const void *data;
	uint8_t buf[100];
	ssize_t r;

	begin_as_usual();
	from = to_server ? client : server;
	to = to_server ? server : client;
	if (open)
		settle(SIZE_MAX);
	else if (!to_server)
		carry(client, server, SIZE_MAX, NULL);
	if (open)
		assert_int_equal(tls_write(from, plain, sizeof(plain)), sizeof(plain));
	n = tls_output(from, &data);
	if (at < n) {
		memcpy(bytes, data, n);
		bytes[at] ^= 1;
		tls_sent(from, n);
		tls_input(to, bytes, n);
		while ((r = tls_read(to, buf, sizeof(buf))) > 0)
			before += (size_t)r;
		assert_int_equal(before, 0);
		settle(SIZE_MAX);
		if (open && (at < 1 || at >= 5)) /* of the head the length may make it wait */
			assert_int_equal(tls_state(to), TLS_FAILED);
		assert_true(open || tls_state(server) != TLS_OPEN);
	}
	end();
}

TEST(a_changed_byte_is_detected)
{
	for (int to_server = 0; to_server < 2; to_server++) {
		for (size_t at = 0; at < 60; at++)
			flip(to_server, at, true);
		for (size_t at = 0; at < 1500; at += 3)
			flip(to_server, at, false);
	}
}

TEST(a_changed_record_is_reported)
{
	uint8_t bytes[200], buf[100];
	const void *data;
	size_t n;

	begin_as_usual();
	settle(SIZE_MAX);
	assert_int_equal(tls_write(client, plain, sizeof(plain)), sizeof(plain));
	n = tls_output(client, &data);
	memcpy(bytes, data, n);
	bytes[n - 1] ^= 0x80;
	tls_input(server, bytes, n);
	assert_int_equal(tls_read(server, buf, sizeof(buf)), -EPROTO);
	fails(server, "changed on the way");
	end();
}

/* A repeated record is not the expected next one. */
TEST(a_replayed_record_is_refused)
{
	uint8_t bytes[200], buf[100];
	const void *data;
	size_t n;

	begin_as_usual();
	settle(SIZE_MAX);
	assert_int_equal(tls_write(client, plain, sizeof(plain)), sizeof(plain));
	n = tls_output(client, &data);
	memcpy(bytes, data, n);
	tls_input(server, bytes, n);
	assert_int_equal(tls_read(server, buf, sizeof(buf)), sizeof(plain));
	assert_int_equal(tls_read(server, buf, sizeof(buf)), 0);
	tls_input(server, bytes, n);
	assert_int_equal(tls_read(server, buf, sizeof(buf)), -EPROTO);
	end();
}

TEST(an_orderly_end_is_recognised)
{
	char buf[16];

	begin_as_usual();
	settle(SIZE_MAX);
	tls_close(server);
	tls_close(server);
	assert_int_equal(tls_state(server), TLS_CLOSED);
	carry(server, client, SIZE_MAX, NULL);
	assert_int_equal(tls_state(client), TLS_CLOSED);
	assert_int_equal(tls_read(client, buf, sizeof(buf)), -EPIPE);
	assert_int_equal(tls_write(client, buf, 1), -EPIPE);
	assert_string_equal(tls_why(client), "");
	end();
}

/* ---- files ---- */

static void copy_of(char dir[TEST_PATH_MAX], const char *name, const char *change)
{
	char command[800];

	test_path(dir, name);
	snprintf(command, sizeof(command), "cp -rp %s %s && cd %s && %s", here, dir, dir, change);
	assert_int_equal(system(command), 0);
}

static void does_not_load(const char *name, const char *change, const char *who, int r, const char *why)
{
	struct tls_keys *k = NULL;
	char dir[TEST_PATH_MAX];

	copy_of(dir, name, change);
	assert_int_equal(tls_keys_load(dir, who, &k), r);
	assert_null(k);
	if (!strstr(err_why(), why))
		fail_msg("%s, not %s", err_why(), why);
}

TEST(files_that_do_not_belong_together_are_named)
{
	does_not_load("k1", "chmod 640 server.key", "server", -EPERM,
		      "server.key: others can read this key (mode 0640)");
	does_not_load("k2", "chmod 604 server.key", "server", -EPERM, "others can read");
	does_not_load("k3", "rm ca.pem", "server", -ENOENT, "ca.pem");
	does_not_load("k4", "rm server.pem", "server", -ENOENT, "server.pem");
	does_not_load("k5", "rm server.key", "server", -ENOENT, "server.key");
	does_not_load("k6", "cp -p alice.key server.key", "server", -EINVAL, "the key is not its certificate's");
	does_not_load("k7", "echo >ca.pem", "server", -EINVAL, "holds no certificate");
	does_not_load("k8", "echo >server.pem", "server", -EINVAL, "holds no certificate");
	does_not_load("k9", "echo >server.key", "server", -EINVAL, "holds no key");
	does_not_load(
		"k10",
		"openssl ec -in alice.key -aes128 -passout pass:xxxx -out server.key 2>/dev/null && chmod 600 server.key",
		"server", -EINVAL, "one with a password");
	does_not_load("k11", "rm server.key && mkdir -m 700 server.key", "server", -EINVAL, "it is no file");
}

TEST(missing_options_are_reported)
{
	struct tls *t = NULL;

	assert_int_equal(tls_create(TLS_SERVER, &(struct tls_options){ .keys = no_keys }, &t), -EINVAL);
	assert_int_equal(tls_create(TLS_CLIENT, &(struct tls_options){ .keys = client_keys }, &t), -EINVAL);
	assert_null(t);
	tls_destroy(NULL);
	tls_keys_destroy(NULL);
}
