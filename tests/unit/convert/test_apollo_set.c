/* SPDX-License-Identifier: Apache-2.0 */
/* A user's set of definitions: what it has of Apollo's messages, and what is said of one that is damaged, lacks something or clashes. */
#include "support/test.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "apollo_set.h"
#include "pb_reader.h"
#include "pb_writer.h"

static char said[4096];

static void say(void *arg, const char *sentence)
{
	size_t n = strlen(said);

	(void)arg;
	snprintf(said + n, sizeof(said) - n, "%s\n", sentence);
}

static const struct apollo_set_log says = { say, NULL };

/* ---- sets that are made here ---- */

static struct iov_buf buf;
static uint8_t bytes[1 << 18];

struct made { /* a file */
	const char *name, *import, *message;
};

static void put_text(struct pb_writer *w, uint32_t field, const char *text)
{
	memcpy(pb_bytes_room(w, field, strlen(text)), text, strlen(text));
}

static size_t make(const struct made *files, size_t n)
{
	struct iovec iov[IOV_BUF_PIECES];
	struct pb_writer w;

	iov_buf_init(&buf);
	pb_begin(&w, &buf);
	for (size_t i = 0; i < n; i++) {
		pb_open(&w, 1);
		put_text(&w, 1, files[i].name);
		put_text(&w, 2, "p.q");
		if (files[i].import)
			put_text(&w, 3, files[i].import);
		pb_open(&w, 4);
		put_text(&w, 1, files[i].message);
		pb_close(&w);
		pb_close(&w);
	}
	assert_int_equal(pb_end(&w), 0);
	assert_int_equal(iov_buf_iov(&buf, iov), 1);
	n = iov[0].iov_len;
	memcpy(bytes, iov[0].iov_base, n);
	iov_buf_finish(&buf);
	return n;
}

#define MAKE(...) \
	make((const struct made[]){ __VA_ARGS__ }, sizeof((const struct made[]){ __VA_ARGS__ }) / sizeof(struct made))

static struct apollo_set *read_set(size_t n)
{
	struct apollo_set *s = NULL;

	said[0] = '\0';
	assert_int_equal(apollo_set_read("user.bin", bytes, n, &says, &s), 0);
	return s;
}

static size_t count(const struct apollo_set *s, const char *name)
{
	struct iovec files[APOLLO_FILES_MAX];

	return apollo_set_files(s, name, files);
}

TEST(files_come_behind_what_they_import_whatever_their_order)
{
	struct apollo_set *s =
		read_set(MAKE({ "c", "b", "C" }, { "b", "a", "B" }, { "a", NULL, "A" }, { "d", NULL, "D" }));
	struct iovec files[APOLLO_FILES_MAX];

	assert_string_equal(said, "");
	assert_int_equal(apollo_set_files(s, "p.q.C", files), 3);
	for (unsigned i = 0; i < 3; i++)
		assert_int_equal(((const uint8_t *)files[i].iov_base)[2], "abc"[i]);
	assert_int_equal(count(s, "p.q.D"), 1);
	assert_int_equal(count(s, "p.q.E"), 0);
	assert_int_equal(count(s, "p.C"), 0);
	apollo_set_destroy(s);
}

TEST(what_is_missing_or_in_a_circle_is_left_out_and_the_rest_holds)
{
	struct apollo_set *s = read_set(MAKE({ "a", "none", "A" }, { "b", "a", "B" }, { "c", NULL, "C" },
					     { "x", "y", "X" }, { "y", "x", "Y" }));

	assert_string_equal(said, "user.bin: a imports none, which is not in the set: it is left out\n"
				  "user.bin: b imports a, which is left out too: it is left out\n"
				  "user.bin: x imports y, which is left out too: it is left out\n"
				  "user.bin: y imports x, which is left out too: it is left out\n");
	assert_int_equal(count(s, "p.q.C"), 1);
	assert_int_equal(count(s, "p.q.B"), 0);
	apollo_set_destroy(s);
}

TEST(a_clash_is_named_with_both_files)
{
	struct apollo_set *s =
		read_set(MAKE({ "a", NULL, "A" }, { "b", NULL, "A" }, { "c", NULL, "C" }, { "d", NULL, "A" }));

	assert_string_equal(said, "user.bin: p.q.A is defined in a and in b: the second is left out\n"
				  "user.bin: p.q.A is defined in a and in d: the second is left out\n");
	assert_int_equal(count(s, "p.q.A"), 1);
	apollo_set_destroy(s);
	s = read_set(MAKE({ "a", NULL, "A" }, { "a", NULL, "B" }, { "a", NULL, "A" }));
	assert_string_equal(said, "user.bin: a is in the set twice, and differs: the second is left out\n");
	assert_int_equal(count(s, "p.q.A"), 1);
	assert_int_equal(count(s, "p.q.B"), 0);
	apollo_set_destroy(s);
}

TEST(a_set_that_is_damaged_keeps_what_is_whole)
{
	size_t n = MAKE({ "a", NULL, "A" }, { "b", NULL, "B" }), one = MAKE({ "a", NULL, "A" });
	struct apollo_set *s;

	n = MAKE({ "a", NULL, "A" }, { "b", NULL, "B" });
	for (size_t cut = one + 1; cut < n; cut++) {
		s = read_set(cut);
		assert_string_equal(said, "user.bin: it is cut short or damaged behind its file 1\n");
		assert_int_equal(count(s, "p.q.A"), 1);
		apollo_set_destroy(s);
	}
	bytes[n - 2] = 0x7f; /* the length of the last name */
	s = read_set(n);
	assert_string_equal(said, "user.bin: file 2 of the set is damaged, and is left out\n");
	assert_int_equal(count(s, "p.q.A"), 1);
	apollo_set_destroy(s);
}

TEST(a_file_that_nests_too_deep_is_left_out)
{
	size_t n = MAKE({ "a", NULL, "A" }), len = 0;
	struct apollo_set *s;
	uint8_t deep[8000], *at = deep + sizeof(deep);

	for (int i = 0; i < 1000; i++) {
		at -= 3;
		at[0] = i == 999 ? 0x22 : 0x1a;
		at[1] = (uint8_t)(len | 0x80);
		at[2] = (uint8_t)(len >> 7);
		len += 3;
	}
	bytes[n++] = 0x0a;
	bytes[n++] = (uint8_t)((len + 3) | 0x80);
	bytes[n++] = (uint8_t)((len + 3) >> 7);
	memcpy(bytes + n, "\x0a\x01z", 3);
	memcpy(bytes + n + 3, at, len);
	s = read_set(n + 3 + len);
	assert_string_equal(said, "user.bin: file 2 of the set is damaged, and is left out\n");
	assert_int_equal(count(s, "p.q.A"), 1);
	apollo_set_destroy(s);
}

TEST(what_is_no_set_is_refused)
{
	struct apollo_set *s = NULL;

	said[0] = '\0';
	assert_int_equal(apollo_set_read("user.bin", "hello", 5, &says, &s), -EBADMSG);
	assert_int_equal(apollo_set_read("user.bin", "", 0, &says, &s), -EBADMSG);
	assert_non_null(strstr(said, "user.bin: that is no FileDescriptorSet, as of protoc"));
	said[0] = '\0';
	assert_int_equal(apollo_set_load("/nowhere/user.bin", &says, &s), -ENOENT);
	assert_string_equal(said, "/nowhere/user.bin: it cannot be read: No such file or directory\n");
	assert_null(s);
}

/* ---- Apollo's ---- */

static void same_as_ours(enum apollo_release release, const char *path)
{
	struct iovec ours[APOLLO_FILES_MAX], theirs[APOLLO_FILES_MAX];
	const struct apollo_type *t;
	struct apollo_set *s = NULL;

	said[0] = '\0';
	assert_int_equal(apollo_set_load(path, &says, &s), 0);
	apollo_set_say_missing(s, release, &says);
	assert_string_equal(said, "");
	for (unsigned i = 0; (t = apollo_type_at(release, false, i)); i++) {
		size_t n = apollo_type_all_files(t, ours);

		assert_int_equal(apollo_set_files(s, apollo_type_name(t), theirs), n);
		for (size_t k = 0; k < n; k++) {
			assert_int_equal(ours[k].iov_len, theirs[k].iov_len);
			assert_memory_equal(ours[k].iov_base, theirs[k].iov_base, ours[k].iov_len);
		}
	}
	apollo_set_destroy(s);
}

/* With names in JSON, as protoc writes it, and what they have not. */
TEST(protocs_set_of_a_release_is_what_is_carried_here)
{
	struct apollo_set *s = NULL;

	same_as_ours(APOLLO_5, APOLLO_SETS "apollo5/protoc.bin");
	same_as_ours(APOLLO_10, APOLLO_SETS "apollo10/protoc.bin");
	s = read_set(MAKE({ "a", NULL, "A" }));
	apollo_set_say_missing(s, APOLLO_10, &says);
	assert_non_null(strstr(said, "user.bin: it has no apollo.transform.TransformStampeds, apollo.drivers.Image, "));
	assert_null(strstr(said, "apollo.cyber.proto.Clock"));
	apollo_set_destroy(s);
}
