/* SPDX-License-Identifier: Apache-2.0 */
/* Definitions of types, in simd's format and as ROS 2 messages. Thread: main. */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "fd.h"
#include "mem.h"
#include "printable.h"
#include "record/codec.h"
#include "ros/ros_definition.h"
#include "ros/ros_generic.h"
#include "ros/ros_text.h"
#include "ros_package.h"
#include "simctl.h"

/* ---- finding the type ---- */

/* Connects to simd. Called late, as many types can be shown without it. */
static bool reach(struct ctl *c)
{
	return ctl_connect(c) == 0 || !ctl_fail(NULL);
}

static int type_of_channel(struct ctl *c, const char *channel, const struct sim_type **ret)
{
	json_t *reply = reach(c) ? ctl_channel(c, channel) : NULL;
	char *text = reply ? json_dumps(json_object_get(reply, "type"), JSON_COMPACT) : NULL;
	int r = text && sim_type_from_json(text, strlen(text), ret) < 0 ? ctl_fail(channel) : !text;

	free(text);
	json_decref(reply);
	return r;
}

static size_t place_of(const json_t *sorted, const char *name)
{
	const json_t *item;
	size_t i;

	json_array_foreach(sorted, i, item)
		if (strcmp(json_text(item, "name"), name) > 0)
			break;
	return i;
}

/*
 * All known types, sorted by name: those of simd and those of channels. Returns a new JSON array of {"name", "ros",
 * "channels"}.
 */
static json_t *known_types(const json_t *channels)
{
	json_t *types = json_object(), *list = json_array(), *ch, *n;
	const char *name;
	size_t i;

	for (const struct sim_type *const *t = sim_type_builtins(); *t; t++)
		json_object_set_new(types, (*t)->name, json_integer(0));
	json_array_foreach(channels, i, ch) {
		name = json_text(ch, "type");
		n = json_object_get(types, name);
		json_object_set_new(types, name, json_integer(json_integer_value(n) + 1));
	}
	json_object_foreach(types, name, n)
		json_array_insert_new(list, place_of(list, name),
				      json_pack("{s:s, s:s?, s:O}", "name", name, "ros", codec_ros_of_type(name),
						"channels", n));
	json_decref(types);
	return list;
}

/*
 * The type made of a ROS message that no channel has, by its ROS name. -ENOENT: no such message; else 0, or 1 after
 * printing why.
 */
static int type_of_ros(const char *name, const struct sim_type **ret)
{
	char why[256];
	int r = codec_type_of_ros(name, ret, why, sizeof(why));

	if (r == 0 || r == -ENOENT)
		return r;
	fprintf(stderr, "simctl: %s cannot be converted to a type of simd: %s\n", name, why);
	return 1;
}

/* Reports an unknown type, with a similar name of a type or channel. channels NULL: simd was not reached. Returns 1. */
static int no_type(const char *name, const json_t *channels)
{
	json_t *types = known_types(channels);
	char text[NEAR_TEXT_MAX];
	const char *near = ctl_near(types, "type", name, NULL, text); /* by the name of a ROS or Apollo message */

	if (!near)
		near = ctl_near(types, "name", name, NULL, text);
	json_decref(types);
	if (!near && !channels)
		return ctl_fail(NULL);
	if (!near)
		near = ctl_near(channels, "name", name, "`simctl type list` shows those there are", text);
	fprintf(stderr, "simctl: \"%s\" is neither a type of simd's or of a channel, nor a channel; %s\n", name, near);
	return 1;
}

/*
 * Finds a type that only channels have: by its name, or by the name of a channel, whose first slash or rig's prefix may
 * be missing.
 */
static int type_of_others(struct ctl *c, const char *name, const struct sim_type **ret)
{
	const bool there = ctl_connect(c) == 0;
	json_t *reply = there ? ctl_call(c, "io.simd.Control.ListChannels", NULL) : NULL, *ch;
	json_t *named = reply ? ctl_channel_quiet(c, name) : NULL;
	const char *channel = named ? json_text(json_object_get(named, "channel"), "name") : NULL;
	size_t i;
	int r = 1;

	json_array_foreach(json_object_get(reply, "channels"), i, ch) {
		if (!strcmp(json_text(ch, "type"), name))
			channel = json_text(ch, "name");
	}
	if (channel)
		r = type_of_channel(c, channel, ret);
	else if (reply || !there)
		r = type_of_ros(name, ret);
	if (r == -ENOENT)
		r = no_type(name, json_object_get(reply, "channels"));
	json_decref(named);
	json_decref(reply);
	return r;
}

int ctl_find_type(struct ctl *c, const char *name, const struct sim_type **ret)
{
	*ret = sim_type_builtin(name);
	if (*ret)
		return 0;
	return name[0] == '/' ? type_of_channel(c, name, ret) : type_of_others(c, name, ret);
}

/* ---- files ---- */

static int make_dir(const char *path)
{
	if (mkdir(path, 0777) == 0 || errno == EEXIST)
		return 0;
	fprintf(stderr, "simctl: %s: %s\n", path, strerror(errno));
	return 1;
}

/* Whether the file holds exactly that text. */
static bool holds(const char *path, const char *text, size_t len)
{
	char *had = NULL;
	size_t n = 0;
	bool same = fd_read_file(path, len + 1, &had, &n) == 0 && n == len && memcmp(had, text, len) == 0;

	mem_free(had);
	return same;
}

/* Never overwrites a file, as a user may have edited it. */
static int write_new(const char *path, const char *text, size_t len)
{
	FILE *f = fopen(path, "wxe");
	int r = 0;

	if (!f && errno == EEXIST) {
		if (holds(path, text, len))
			return 0;
		fprintf(stderr, "simctl: %s exists with another definition; remove it, or give another folder\n", path);
		return 1;
	}
	if (f && fwrite(text, 1, len, f) != len)
		r = 1;
	if (!f || fclose(f) != 0 || r) {
		fprintf(stderr, "simctl: %s: %s\n", path, strerror(errno));
		return 1;
	}
	return 0;
}

/* name: package/Name or package/msg/Name. Also writes the package's other files. */
static int write_file(const char *dir, const char *name, const char *text, size_t len)
{
	char path[4096];
	int package = (int)strcspn(name, "/");

	snprintf(path, sizeof(path), "%s/%.*s", dir, package, name);
	if (make_dir(dir) || make_dir(path))
		return 1;
	snprintf(path, sizeof(path), "%s/%.*s/msg", dir, package, name);
	if (make_dir(path))
		return 1;
	snprintf(path, sizeof(path), "%s/%.*s/msg/%s.msg", dir, package, name, strrchr(name, '/') + 1);
	if (write_new(path, text, len))
		return 1;
	puts(path);
	snprintf(path, sizeof(path), "%.*s", package, name);
	return ros_package_write(dir, path);
}

/* Splits the text at the lines of "=" that ros_generic_text() has put between definitions. */
static int write_files(const char *dir, const char *name, const char *text)
{
	char next[ROS_GENERIC_NAME_MAX];
	int r = 0;

	snprintf(next, sizeof(next), "%s", name);
	while (r == 0 && *next) {
		/* a message without fields begins with the rule */
		const char *rule = strncmp(text, "====", 4) ? strstr(text, "\n====") : text;
		const char *head = rule ? strstr(rule, "\nMSG: ") : NULL;
		size_t len = !rule ? strlen(text) : (size_t)(rule - text) + (*rule == '\n');

		r = write_file(dir, next, text, len);
		snprintf(next, sizeof(next), "%.*s", head ? (int)strcspn(head + 6, "\n") : 0, head ? head + 6 : "");
		text = head ? strchr(head + 6, '\n') + 1 : text;
	}
	return r;
}

/* ---- output ---- */

/* Escapes what is not printable: comments come from other programs. */
static void print_definition(const char *name, const char *hash, const char *text)
{
	char fit[4096];

	printf("# %s\n# %s\n", name, hash);
	for (size_t n; *text; text += n + (text[n] == '\n')) {
		n = strcspn(text, "\n");
		printable(fit, sizeof(fit), text, n);
		puts(fit);
	}
}

static int put_ros(struct ctl *c, const struct sim_type *t, const char *text)
{
	char name[ROS_GENERIC_NAME_MAX], why[256];
	const char *odd = ros_generic_odd_name(t);
	const struct ros_type *type;
	struct ros_text *ros = NULL, *common = NULL;
	int r = 0;

	ros_generic_name(t->name, name);
	if (ros_text_create(name, text, ros2_types, why, sizeof(why), &ros) < 0) {
		fprintf(stderr, "simctl: %s cannot be converted to %s: %s\n", t->name, name, why);
		return 1;
	}
	type = ros_text_type(ros);
	if (ros_definition_like(type, ros2_types, &type, &common) == 0)
		text = type->definition;
	if (odd)
		fprintf(stderr, "simctl: \"%s\" is not a valid name in ROS 2: the package cannot be built\n", odd);
	if (c->a.dir)
		r = write_files(c->a.dir, name, text);
	else if (c->a.json)
		r = ctl_put(c, json_pack("{s:s, s:s, s:s}", "name", name, "hash", type->hash, "definition", text));
	else
		print_definition(name, type->hash, text);
	ros_text_destroy(common);
	ros_text_destroy(ros);
	return r;
}

static int put_own(struct ctl *c, const struct sim_type *t, const char *text)
{
	char hash[32], *bare = hash + strlen("hash ");

	snprintf(hash, sizeof(hash), "hash %016llx", (unsigned long long)t->hash);
	if (c->a.json)
		return ctl_put(c, json_pack("{s:s, s:s, s:s}", "name", t->name, "hash", bare, "definition", text));
	print_definition(t->name, hash, text);
	return 0;
}

int cmd_type_show(struct ctl *c)
{
	const struct sim_type *t;
	bool ros = c->a.ros || c->a.dir;
	char *text;
	int r = ctl_find_type(c, c->a.type, &t);

	if (r)
		return r;
	text = ros_generic_text(t, ros ? ROS_GENERIC_ROS2 : ROS_GENERIC_OURS);
	if (text)
		r = ros ? put_ros(c, t, text) : put_own(c, t, text);
	else
		r = ctl_fail("no memory");
	free(text);
	sim_type_unref(t);
	return r;
}

int cmd_type_list(struct ctl *c)
{
	/* clang-format off */
	static const struct column columns[] = {
		{ "TYPE", "name", .least = 16 },
		{ "ROS", "ros", .leave = 2, .least = 16, .none = "" },
		{ "CHANNELS", "channels", NUM, .leave = 1 },
		{ 0 },
	};
	/* clang-format on */
	json_t *reply, *types;
	int r;

	if (c->a.ros)
		return ctl_ros_list(c);
	if (c->a.type) {
		fputs("simctl: a pattern is for --ros\n", stderr);
		return 2;
	}
	reply = ctl_connect(c) == 0 ? ctl_call(c, "io.simd.Control.ListChannels", NULL) : NULL;
	types = known_types(json_object_get(reply, "channels"));
	json_decref(reply);
	r = ctl_list(c, json_pack("{s:o}", "types", types), "types", columns);
	if (r == 0 && !c->a.json && !c->a.names)
		printf("and %u messages of ROS by their names: simctl type list --ros\n", ctl_ros_count());
	return r;
}
