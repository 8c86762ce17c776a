/* SPDX-License-Identifier: Apache-2.0 */
/* Authorities, servers' and clients' certificates in files: which are made, which are left. openssl verify looks at them. Thread: the test's. */
#include "support/test.h"

#include <errno.h>
#include <sys/stat.h>

#include "err.h"
#include "fd.h"
#include "mem.h"
#include "tools/world/keys.h"

static char dir[TEST_PATH_MAX];

static void fresh(const char *name)
{
	test_path(dir, name);
}

static mode_t mode_of(const char *file)
{
	char path[TEST_PATH_MAX + 64];
	struct stat st;

	snprintf(path, sizeof(path), "%s/%s", dir, file);
	return stat(path, &st) < 0 ? 0 : st.st_mode & 07777;
}

static char *text_of(const char *file)
{
	char path[TEST_PATH_MAX + 64], *text;

	snprintf(path, sizeof(path), "%s/%s", dir, file);
	assert_ok(fd_read_file(path, 1 << 16, &text, NULL));
	return text;
}

/* The whole of what a command prints, run in dir; its status is 0. */
static const char *says(const char *command)
{
	static char said[8192];
	char line[600];
	size_t n;
	FILE *f;

	snprintf(line, sizeof(line), "cd %s && (%s) 2>&1", dir, command);
	f = popen(line, "r");
	assert_non_null(f);
	n = fread(said, 1, sizeof(said) - 1, f);
	said[n] = 0;
	if (pclose(f) != 0)
		fail_msg("%s: %s", command, said);
	return said;
}

static int make(const char *name, const char *client, unsigned *ret_made)
{
	const struct keys_options o = {
		.dir = dir, .names = &name, .n_names = name != NULL, .clients = &client, .n_clients = client != NULL
	};

	return keys_make(&o, ret_made);
}

TEST(keys_of_an_authority_a_server_and_a_client_are_created)
{
	unsigned made = 0;

	fresh("a/new/one");
	assert_ok(make("world.example", "alice", &made));
	assert_int_equal(made, 3);
	assert_int_equal(mode_of(""), 0700);
	assert_int_equal(mode_of("ca.key"), 0600);
	assert_int_equal(mode_of("server.key"), 0600);
	assert_int_equal(mode_of("alice.key"), 0600);
	assert_int_equal(mode_of("ca.pem"), 0644);
	assert_int_equal(mode_of("alice.pem"), 0644);
	assert_non_null(strstr(says("openssl verify -x509_strict -CAfile ca.pem -purpose sslserver server.pem"), "OK"));
	assert_non_null(strstr(says("openssl verify -x509_strict -CAfile ca.pem -purpose sslclient alice.pem"), "OK"));
	assert_non_null(strstr(says("openssl verify -CAfile ca.pem -purpose sslclient server.pem || true"), "purpose"));
	assert_non_null(strstr(says("openssl verify -CAfile ca.pem -verify_hostname world.example server.pem"), "OK"));
	assert_non_null(strstr(says("openssl verify -CAfile ca.pem -verify_hostname localhost server.pem"), "OK"));
	assert_non_null(strstr(says("openssl verify -CAfile ca.pem -verify_ip 127.0.0.1 server.pem"), "OK"));
	assert_non_null(strstr(says("openssl x509 -in alice.pem -noout -subject"), "CN = alice"));
	says("openssl pkey -in alice.key -pubout -out a && openssl x509 -in alice.pem -noout -pubkey | cmp - a");
}

TEST(a_client_is_added_later)
{
	char *ca, *server, *key, *now;
	unsigned made = 0;

	fresh("later");
	assert_ok(make(NULL, NULL, NULL));
	ca = text_of("ca.pem");
	server = text_of("server.pem");
	key = text_of("server.key");
	assert_ok(make(NULL, "bob", &made));
	assert_int_equal(made, 1);
	assert_string_equal(ca, now = text_of("ca.pem"));
	mem_free(now);
	assert_string_equal(server, now = text_of("server.pem"));
	mem_free(now);
	assert_string_equal(key, now = text_of("server.key"));
	mem_free(now);
	assert_non_null(strstr(says("openssl verify -CAfile ca.pem -purpose sslclient bob.pem"), "OK"));
	assert_ok(make(NULL, NULL, &made));
	assert_int_equal(made, 0);
	mem_free(ca);
	mem_free(server);
	mem_free(key);
}

static void refused(const char *name, const char *client, int r, const char *why)
{
	unsigned made = 7;

	assert_int_equal(make(name, client, &made), r);
	assert_int_equal(made, 7);
	if (!strstr(err_why(), why))
		fail_msg("%s, not %s", err_why(), why);
}

TEST(existing_files_are_not_overwritten)
{
	char *before, *now;

	fresh("kept");
	assert_ok(make(NULL, "alice", NULL));
	before = text_of("alice.key");
	refused(NULL, "alice", -EEXIST, "--client alice: its files exist already");
	says("rm alice.pem");
	refused(NULL, "alice", -EEXIST, "exist already");
	assert_string_equal(before, now = text_of("alice.key"));
	mem_free(before);
	mem_free(now);
	refused("world.example", NULL, -EEXIST, "server.pem exists");
	says("ln -s /nowhere bob.key");
	refused(NULL, "bob", -EEXIST, "exist already");
	assert_int_equal(mode_of("bob.pem"), 0);
}

TEST(a_key_without_its_certificate_is_not_completed)
{
	fresh("half");
	assert_ok(make(NULL, NULL, NULL));
	says("mv ca.key away");
	refused(NULL, "alice", -ENOENT, "ca.pem exists without ca.key");
	says("mv away ca.key && mv server.pem away");
	refused(NULL, "alice", -ENOENT, "server.key exists without server.pem");
	assert_int_equal(mode_of("alice.key"), 0);
}

TEST(file_permissions_are_checked)
{
	fresh("open");
	assert_ok(make(NULL, NULL, NULL));
	says("chmod 644 ca.key");
	refused(NULL, "alice", -EPERM, "ca.key: others can read this key (mode 0644)");
	says("chmod 600 ca.key && chmod 770 .");
	refused(NULL, "alice", -EPERM, "others may write there (mode 0770)");
	says("chmod 700 . && cp -p server.key ca.key");
	refused(NULL, "alice", -EINVAL, "are not a certificate and its key");
	assert_int_equal(mode_of("alice.key"), 0);
}

TEST(names_are_checked_before_anything_is_made)
{
	static const char *const hosts[] = { "", "a b", "a,IP:1.2.3.4", ".x", "-x", "x\n", "a/b", "*" };
	static const char *const clients[] = {
		"",   "a/b",    "..",  ".x",  "-x",
		"ca", "server", "a b", "a\n", "0123456789012345678901234567890123456789012345678901234567890123"
	};
	static const char *const twice[] = { "a", "b", "a" };

	fresh("names");
	for (unsigned i = 0; i < sizeof(hosts) / sizeof(hosts[0]); i++)
		refused(hosts[i], NULL, -EINVAL, "--name");
	for (unsigned i = 0; i < sizeof(clients) / sizeof(clients[0]); i++)
		refused(NULL, clients[i], -EINVAL, "--client");
	assert_int_equal(keys_make(&(struct keys_options){ .dir = dir, .clients = twice, .n_clients = 3 }, NULL),
			 -EINVAL);
	assert_int_equal(access(dir, F_OK), -1);
}

TEST(server_addresses_are_checked)
{
	static const char *const names[] = { "192.0.2.7", "2001:db8::7", "world.example" };

	fresh("addresses");
	assert_ok(keys_make(&(struct keys_options){ .dir = dir, .names = names, .n_names = 3 }, NULL));
	assert_non_null(strstr(says("openssl verify -CAfile ca.pem -verify_ip 192.0.2.7 server.pem"), "OK"));
	assert_non_null(strstr(says("openssl verify -CAfile ca.pem -verify_ip 2001:db8::7 server.pem"), "OK"));
	assert_non_null(strstr(says("openssl verify -CAfile ca.pem -verify_hostname world.example server.pem"), "OK"));
}
