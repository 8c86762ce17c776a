/* SPDX-License-Identifier: Apache-2.0 */
/* See apollo_ros.h. */
#include "apollo_ros.h"

#include <errno.h>
#include <md5.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "apollo_private.h"

#define PACKAGE "pb_msgs/"

bool apollo_ros_is(const char *type, const char *definition, size_t size)
{
	return strncmp(type, PACKAGE, sizeof(PACKAGE) - 1) == 0 && size == sizeof(APOLLO_ROS_DEFINITION) - 1 &&
	       memcmp(definition, APOLLO_ROS_DEFINITION, size) == 0;
}

static bool ends_with(const char *s, const char *end)
{
	size_t n = strlen(s), k = strlen(end);

	return n >= k && strcmp(s + n - k, end) == 0;
}

/* Whether the message has that name in ROS: until Apollo 1.5 CorrectedImu was called Imu. */
static bool is_called(const struct apollo_type *t, const char *name, bool corrected)
{
	const char *own = strrchr(apollo_type_name(t), '.') + 1;

	if (corrected && strcmp(name, "Imu") == 0)
		return strcmp(own, "CorrectedImu") == 0;
	return strcmp(own, name) == 0;
}

const struct apollo_type *apollo_ros_find(const char *type, const char *topic, const char *sim_type)
{
	bool corrected = ends_with(topic, "/corrected_imu");
	const struct apollo_type *t;

	if (strncmp(type, PACKAGE, sizeof(PACKAGE) - 1) != 0)
		return NULL;
	for (unsigned i = 0; (t = apollo_type_at(APOLLO_5, true, i)); i++)
		if (is_called(t, type + sizeof(PACKAGE) - 1, corrected) &&
		    (!sim_type || strcmp(apollo_type_sim(t)->name, sim_type) == 0))
			return t;
	return NULL;
}

/* Whether a DescriptorProto has that name. */
static bool describes(const struct pb_reader *message, const char *name)
{
	const void *have = "";
	size_t len = 0;
	struct pb_reader r;

	for (pb_enter(message, &r); pb_next(&r);)
		if (r.field == 1)
			pb_get_bytes(&r, &have, &len);
	return len == strlen(name) && memcmp(have, name, len) == 0;
}

/* Counts the messages of that name in a file; ret: "package.name" of one, "" if that is too long. */
static unsigned count_in_file(const struct apollo_file *f, const char *name, char *ret, size_t size)
{
	const void *package = "";
	size_t package_len = 0;
	struct pb_reader r;
	unsigned found = 0;
	int error = 0;

	pb_read_begin(&r, f->blob, f->size, &error);
	while (pb_next(&r)) {
		if (r.field == 2)
			pb_get_bytes(&r, &package, &package_len);
		found += r.field == 4 && describes(&r, name);
	}
	if (found && (size_t)snprintf(ret, size, "%.*s.%s", (int)package_len, (const char *)package, name) >= size)
		*ret = '\0';
	return found;
}

/* -ENOENT: no message has that name, or the full name is too long; -EEXIST: several have it. */
static int full_name(const char *type, const char *topic, char *ret, size_t size)
{
	const struct apollo_type *mapped = apollo_ros_find(type, topic, NULL);
	struct apollo_file files[APOLLO_DEFINITIONS_MAX];
	size_t n = apollo_own_files(APOLLO_5, files);
	unsigned found = 0;

	*ret = '\0';
	if (mapped) {
		snprintf(ret, size, "%s", apollo_type_name(mapped));
		return 0;
	}
	if (strncmp(type, PACKAGE, sizeof(PACKAGE) - 1) != 0)
		return -ENOENT;
	for (size_t i = 0; i < n; i++)
		found += count_in_file(&files[i], type + sizeof(PACKAGE) - 1, ret, size);
	return found > 1 ? -EEXIST : *ret ? 0 : -ENOENT;
}

/* Makes the type from a set of the needed files only: from all files it would take long. */
static int make(const char *name, struct pb_type **ret, char *why, size_t why_size)
{
	struct iovec files[APOLLO_FILES_MAX], iov[IOV_BUF_PIECES];
	size_t n = apollo_files(APOLLO_5, name, files);
	struct iov_buf set;
	struct pb_writer w;
	int r;

	iov_buf_init(&set);
	pb_begin(&w, &set);
	for (size_t i = 0; i < n; i++) {
		void *to = pb_bytes_room(&w, 1, files[i].iov_len);

		if (to)
			memcpy(to, files[i].iov_base, files[i].iov_len);
	}
	snprintf(why, why_size, "no memory");
	r = pb_end(&w) < 0 || iov_buf_iov(&set, iov) != 1
		    ? -ENOMEM
		    : pb_type_create(iov[0].iov_base, iov[0].iov_len, name, ret, why, why_size);
	iov_buf_finish(&set);
	return r < 0 && r != -ENOMEM ? -ENOTSUP : r;
}

int apollo_ros_defined(const char *type, const char *topic, struct pb_type **ret, char *why, size_t why_size)
{
	char name[128];
	int r = full_name(type, topic, name, sizeof(name));

	if (r == 0)
		return make(name, ret, why, why_size);
	snprintf(why, why_size, "%s",
		 r == -EEXIST ? "Apollo 5 has several messages of that name"
			      : "this message has no mapping, and Apollo 5 has no message of that name");
	return -ENOTSUP;
}

/* ---- out ---- */

/* Apollo sent these as ordinary ROS messages. The last one is SVL Simulator's, and newer. */
static bool is_ordinary(const struct apollo_type *t)
{
	static const char *const names[] = { "apollo.drivers.PointCloud",          "apollo.drivers.Image",
					     "apollo.drivers.CompressedImage",     "apollo.cyber.proto.Clock",
					     "apollo.transform.TransformStampeds", "apollo.common.Detection2DArray" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strcmp(apollo_type_name(t), names[i]) == 0)
			return true;
	return false;
}

const struct apollo_type *apollo_ros_type_for(const char *sim_type, const char *type)
{
	const char *name = type && strncmp(type, PACKAGE, sizeof(PACKAGE) - 1) == 0 ? type + sizeof(PACKAGE) - 1 : NULL;
	const struct apollo_type *t;

	if (type && !name)
		return NULL;
	for (unsigned i = 0; (t = apollo_type_at(APOLLO_5, false, i)); i++)
		if (strcmp(apollo_type_sim(t)->name, sim_type) == 0 &&
		    (name ? is_called(t, name, strcmp(sim_type, "sim/CorrectedImu") == 0) : !is_ordinary(t)))
			return t;
	return NULL;
}

struct ros_type *apollo_ros_type_create(const char *type)
{
	size_t n = strlen(type) + 1;
	struct ros_type *t = calloc(1, sizeof(*t) + n + MD5_DIGEST_STRING_LENGTH);
	char *texts = (char *)(t + 1);

	if (!t)
		return NULL;
	memcpy(texts, type, n);
	MD5Data((const uint8_t *)type, n - 1, texts + n);
	*t = (struct ros_type){ .name = texts, .kind = "msg", .hash = texts + n, .definition = APOLLO_ROS_DEFINITION };
	return t;
}

struct ros_type *apollo_ros_type_of(const char *message)
{
	const char *dot = strrchr(message, '.');
	char type[600];

	snprintf(type, sizeof(type), PACKAGE "%s", dot ? dot + 1 : message);
	return apollo_ros_type_create(type);
}

/* Writes the length of the message into the first four bytes. */
static void put_length(struct iov_buf *out)
{
	uint32_t n = (uint32_t)(out->total - 4); /* less than 2 GiB */

	memcpy(out->buf, &n, 4);
}

int apollo_ros_encode(const struct apollo_type *t, const struct apollo_message *in, struct iov_buf *out, char *why,
		      size_t why_size)
{
	int r;

	if (!iov_buf_room(out, 4))
		return -ENOMEM;
	r = apollo_encode(t, in, out, why, why_size);
	put_length(out);
	return r;
}

int apollo_ros_encode_defined(const struct pb_type *t, const void *body, size_t size, struct iov_buf *out)
{
	int r;

	if (!iov_buf_room(out, 4))
		return -ENOMEM;
	r = pb_type_encode(t, body, size, out);
	put_length(out);
	return r;
}

/* ---- in ---- */

int apollo_ros_message(const void *body, size_t size, const void **ret, size_t *ret_size)
{
	const uint8_t *p = body;
	uint32_t n;

	if (size < 4)
		return -EBADMSG;
	n = p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
	if (n != size - 4)
		return -EBADMSG;
	*ret = p + 4;
	*ret_size = n;
	return 0;
}
