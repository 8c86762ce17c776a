/* SPDX-License-Identifier: Apache-2.0 */
/* protect.h */
#include "tests/support/test.h"

#include "protect.h"

#include "tools/world/keys.h"

static char here[TEST_PATH_MAX], other[TEST_PATH_MAX];
struct protect protect;

static int make(void **state)
{
	static const char *const clients[] = { "alice" };
	struct keys_options o = { .clients = clients, .n_clients = 1 };

	(void)state;
	o.dir = test_path(here, "here");
	assert_int_equal(keys_make(&o, NULL), 0);
	o.dir = test_path(other, "other");
	assert_int_equal(keys_make(&o, NULL), 0);
	return 0;
}
TEST_GROUP(make, NULL)

void protect_begin(struct exec *x)
{
	(void)x;
	assert_int_equal(tls_keys_load(here, "server", &protect.server), 0);
	assert_int_equal(tls_keys_load(here, "alice", &protect.client), 0);
	assert_int_equal(tls_keys_load(other, "alice", &protect.foreign), 0);
	protect.dials = protect.client;
}

void protect_end(void)
{
	tls_keys_destroy(protect.server);
	tls_keys_destroy(protect.client);
	tls_keys_destroy(protect.foreign);
}

void protect_stream(struct stream *s, bool server)
{
	const struct tls_options o = { .keys = server ? protect.server : protect.dials,
				       .host = server ? NULL : "localhost" };

	assert_int_equal(stream_tls(s, server ? TLS_SERVER : TLS_CLIENT, &o), 0);
}
