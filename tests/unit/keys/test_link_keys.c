/* SPDX-License-Identifier: Apache-2.0 */
/* Keys of machines that a link connects: created, kept and refused files, checked with openssl. Thread: the test's. */
#include "support/test.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "err.h"
#include "fd.h"
#include "link_keys.h"
#include "mem.h"

static char dir[TEST_PATH_MAX];

static int make(const char *first, const char *second)
{
	const char *const hosts[] = { first, second };
	const struct link_keys_options o = { .dir = dir, .hosts = hosts, .n_hosts = second ? 2 : 1 };

	return link_keys_make(&o);
}

static void path_of(char path[TEST_PATH_MAX + 64], const char *file)
{
	snprintf(path, TEST_PATH_MAX + 64, "%s/%s", dir, file);
}

static mode_t mode_of(const char *file)
{
	char path[TEST_PATH_MAX + 64];
	struct stat st;

	path_of(path, file);
	return stat(path, &st) < 0 ? 0 : st.st_mode & 07777;
}

static char *text_of(const char *file)
{
	char path[TEST_PATH_MAX + 64], *text;

	path_of(path, file);
	assert_ok(fd_read_file(path, 1 << 16, &text, NULL));
	return text;
}

static void runs(const char *command)
{
	char line[TEST_PATH_MAX + 400];

	snprintf(line, sizeof(line), "cd %s && %s >/dev/null 2>&1", dir, command);
	if (system(line) != 0)
		fail_msg("%s", command);
}

static void refused(int r, int expected, const char *sentence)
{
	assert_int_equal(r, expected);
	if (!strstr(err_why(), sentence))
		fail_msg("\"%s\" is not in \"%s\"", sentence, err_why());
}

TEST(a_host_gets_only_the_keys_it_needs)
{
	char until[32];

	test_path(dir, "new/keys");
	assert_ok(make("a", "b.example"));
	assert_int_equal(mode_of(""), 0700);
	assert_int_equal(mode_of("a"), 0700);
	assert_int_equal(mode_of("a/identity.key"), 0600);
	assert_int_equal(mode_of("identity_ca.key"), 0600);
	assert_int_equal(mode_of("permissions_ca.key"), 0600);
	assert_int_equal(mode_of("a/identity_ca.key"), 0);
	assert_int_equal(mode_of("a/permissions_ca.key"), 0);
	assert_int_equal(mode_of(".a.new"), 0);
	runs("openssl verify -x509_strict -CAfile a/identity_ca.pem a/identity.pem");
	runs("openssl smime -verify -text -in a/permissions.p7s -CAfile a/permissions_ca.pem | grep 'CN=a<'");
	runs("openssl smime -verify -text -in b.example/permissions.p7s -CAfile a/permissions_ca.pem | grep '<partition>b.example<'");
	runs("openssl smime -verify -text -in a/governance.p7s -CAfile a/permissions_ca.pem | grep 'unauthenticated_participants>false'");
	runs("! openssl smime -verify -text -in a/governance.p7s -CAfile a/identity_ca.pem");
	assert_ok(link_keys_until(dir, "a", until));
	assert_int_equal(strlen(until), strlen("2031-11-26 19:00"));
}

TEST(a_host_is_added_without_changing_others)
{
	static const char *const files[] = { "identity_ca.key", "permissions_ca.key", "a/identity.key",
					     "a/identity.pem", "a/permissions.p7s" };
	char *before[5];

	test_path(dir, "added");
	assert_ok(make("a", NULL));
	for (unsigned i = 0; i < 5; i++)
		before[i] = text_of(files[i]);
	refused(make("c", "a"), -EEXIST, "--host a: it exists already");
	assert_int_equal(mode_of("c"), 0);
	assert_ok(make("c", NULL));
	runs("openssl verify -CAfile a/identity_ca.pem c/identity.pem");
	for (unsigned i = 0; i < 5; i++) {
		char *now = text_of(files[i]);

		assert_string_equal(now, before[i]);
		mem_free(now);
		mem_free(before[i]);
	}
}

TEST(invalid_names_and_folders_are_refused)
{
	test_path(dir, "refused");
	refused(make("a/b", NULL), -EINVAL, "--host a/b: give a name of 1 to 39 letters");
	refused(make("..", NULL), -EINVAL, "--host ..:");
	refused(make("", NULL), -EINVAL, "--host :");
	refused(make("a<b", NULL), -EINVAL, "--host a<b:");
	refused(make("1234567890123456789012345678901234567890", NULL), -EINVAL, "--host 123");
	refused(make("a", "a"), -EINVAL, "--host a: it is given twice");
	assert_int_equal(mode_of(""), 0);
	assert_ok(make("a", NULL));
	refused(make("identity_ca.pem", NULL), -EEXIST, "--host identity_ca.pem: it exists already");
	runs("chmod 644 identity_ca.key");
	refused(make("b", NULL), -EPERM, "identity_ca.key: others can read this key (mode 0644)");
	runs("chmod 600 identity_ca.key && rm permissions_ca.key");
	refused(make("b", NULL), -ENOENT, "permissions_ca.pem exists without permissions_ca.key");
	runs("rm permissions_ca.pem");
	refused(make("b", NULL), -ENOENT, "only some of identity_ca, permissions_ca and governance.p7s exist");
	runs("chmod 777 .");
	refused(make("b", NULL), -EPERM, "others may write there");
	assert_int_equal(mode_of("b"), 0);
}

TEST(an_interrupted_key_generation_is_restarted)
{
	test_path(dir, "afresh");
	assert_ok(make("a", NULL));
	runs("mkdir .b.new && echo half >.b.new/identity.key");
	assert_ok(make("b", NULL));
	assert_int_equal(mode_of(".b.new"), 0);
	runs("openssl verify -CAfile b/identity_ca.pem b/identity.pem");
}
