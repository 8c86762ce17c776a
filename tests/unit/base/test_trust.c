/* SPDX-License-Identifier: Apache-2.0 */
/*
 * trust.h: files that other users can change are refused to root, at any place of their path. Needs root, to make files
 * of other users.
 */
#include "tests/support/test.h"

#include "err.h"
#include "trust.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#define OTHER 64001

static char dir[TEST_PATH_MAX];
static bool root;

static const char *in(const char *name)
{
	static char path[4][TEST_PATH_MAX + 64];
	static unsigned n;

	n = (n + 1) % 4;
	snprintf(path[n], sizeof(path[n]), "%s/%s", dir, name);
	return path[n];
}

static void make_file(const char *name, mode_t mode, uid_t uid, gid_t gid)
{
	int fd = open(in(name), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	close(fd);
	assert_int_equal(chown(in(name), uid, gid), 0);
	assert_int_equal(chmod(in(name), mode), 0);
}

static void make_dir(const char *name, mode_t mode, uid_t uid)
{
	assert_int_equal(mkdir(in(name), 0700), 0);
	assert_int_equal(chown(in(name), uid, 0), 0);
	assert_int_equal(chmod(in(name), mode), 0);
}

static void link_to(const char *to, const char *name, uid_t uid)
{
	assert_int_equal(symlink(to, in(name)), 0);
	assert_int_equal(lchown(in(name), uid, 0), 0);
}

static int begin(void **state)
{
	(void)state;
	test_path(dir, "trust.XXXXXX");
	unsetenv(TRUST_VARIABLE);
	root = trust_is_asked() && mkdtemp(dir);
	return 0;
}

static int end(void **state)
{
	char command[TEST_PATH_MAX + 16];

	(void)state;
	snprintf(command, sizeof(command), "rm -rf '%s'", dir);
	return root ? system(command) : 0;
}

static void trusted(const char *name)
{
	if (trust_check(in(name)) != 0)
		fail_msg("%s: %s", name, err_why());
}

/* what: the file or directory that is named */
static void refused(const char *name, const char *what, const char *why)
{
	assert_int_equal(trust_check(in(name)), -EPERM);
	if (!strstr(err_why(), in(name)) || !strstr(err_why(), what) || !strstr(err_why(), why) ||
	    !strstr(err_why(), "--trust-files"))
		fail_msg("%s: %s", name, err_why());
}

TEST_WITH(files_of_root_are_trusted, begin, end)
{
	if (!root)
		skip();
	make_file("a", 0644, 0, 0);
	make_file("b", 0664, 0, 0); /* the group of root */
	make_dir("d", 0755, 0);
	make_file("d/c", 0600, 0, 0);
	trusted("a");
	trusted("b");
	trusted("d/c");
	trusted("d/../a");
	trusted("d//c");
	trusted("none");
	trusted("none/at/all");
	assert_int_equal(chdir(dir), 0);
	assert_int_equal(trust_check("d/c"), 0);
	make_file("w", 0666, 0, 0);
	assert_int_equal(trust_check("w"), -EPERM);
	assert_int_equal(trust_check("./d/../w"), -EPERM);
	assert_int_equal(chdir("/"), 0);
}

TEST_WITH(files_that_others_can_change_are_refused, begin, end)
{
	if (!root)
		skip();
	make_file("world", 0646, 0, 0);
	make_file("group", 0664, 0, OTHER);
	make_file("owner", 0644, OTHER, 0);
	refused("world", "it can be written by others", "mode 0646");
	refused("group", "it can be written by others", "0:64001");
	refused("owner", "it belongs to another user", "64001:0");
	setenv(TRUST_VARIABLE, "1", 1);
	trusted("world");
	trusted("owner");
	unsetenv(TRUST_VARIABLE);
}

TEST_WITH(directories_on_the_path_are_checked, begin, end)
{
	if (!root)
		skip();
	make_dir("open", 0777, 0);
	make_dir("open/inner", 0755, 0);
	make_file("open/inner/f", 0644, 0, 0);
	refused("open/inner/f", in("open"), "can be written by others");
	make_dir("theirs", 0755, OTHER);
	make_file("theirs/f", 0644, 0, 0);
	refused("theirs/f", in("theirs"), "belongs to another user");
	/* as /tmp: other users can write there, but not to our files */
	make_dir("sticky", 01777, 0);
	make_file("sticky/ours", 0644, 0, 0);
	make_file("sticky/theirs", 0644, OTHER, 0);
	trusted("sticky/ours");
	refused("sticky/theirs", "it belongs to another user", "");
}

TEST_WITH(symbolic_links_are_followed, begin, end)
{
	if (!root)
		skip();
	make_dir("open", 0777, 0);
	make_file("open/f", 0644, 0, 0);
	make_dir("sticky", 01777, 0);
	make_file("good", 0644, 0, 0);
	link_to("good", "relative", 0);
	link_to(in("good"), "absolute", 0);
	link_to("open/f", "bad", 0);
	link_to("bad", "bad2", 0);
	link_to("open", "dir", 0);
	link_to("../good", "sticky/theirs", OTHER);
	link_to("loop", "loop", 0);
	trusted("relative");
	trusted("absolute");
	refused("bad", in("open"), "can be written by others");
	refused("bad2", in("open"), "can be written by others");
	refused("dir/f", in("open"), "can be written by others");
	refused("sticky/theirs", "it belongs to another user", ""); /* it could lead elsewhere by now */
	assert_int_equal(trust_check(in("loop")), -ELOOP);
}

/* The check applies to root only. */
TEST_WITH(other_users_are_not_restricted, begin, end)
{
	if (!root)
		skip();
	make_file("world", 0646, 0, 0);
	assert_int_equal(seteuid(OTHER), 0);
	assert_int_equal(trust_check(in("world")), 0);
	assert_int_equal(seteuid(0), 0);
}
