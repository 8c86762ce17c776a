/* SPDX-License-Identifier: Apache-2.0 */
/* Parses metadata.yaml of rosbag2 with libyaml's events; unknown keys are skipped. Thread: any. */
#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <yaml.h>

#include "log_private.h"
#include "rosbag2_yaml.h"

#define KEY_MAX 40 /* longer than any key that is used */

struct parse {
	yaml_parser_t yaml;
	yaml_event_t e; /* the current event */
	struct rosbag2_yaml *ret;
	char *why;
	size_t why_size;
};

/* Called at the value's first event; must stop at its last one. */
typedef int (*value_fn)(struct parse *p, const char *key);

static int fail(const struct parse *p, int r, const char *what)
{
	return log_fail(p->why, p->why_size, r, "line %zu: %s", p->e.start_mark.line + 1, what);
}

/* ---- events ---- */

static int next(struct parse *p)
{
	yaml_event_delete(&p->e);
	if (yaml_parser_parse(&p->yaml, &p->e))
		return 0;
	memset(&p->e, 0, sizeof(p->e));
	if (p->yaml.error == YAML_MEMORY_ERROR)
		return log_fail(p->why, p->why_size, -ENOMEM, "no memory");
	return log_fail(p->why, p->why_size, -EBADMSG, "line %zu: it is not valid YAML: %s",
			p->yaml.problem_mark.line + 1, p->yaml.problem ? p->yaml.problem : "it is not text");
}

static bool begins(const struct parse *p)
{
	return p->e.type == YAML_MAPPING_START_EVENT || p->e.type == YAML_SEQUENCE_START_EVENT;
}

static bool ends(const struct parse *p)
{
	return p->e.type == YAML_MAPPING_END_EVENT || p->e.type == YAML_SEQUENCE_END_EVENT;
}

/* Advances to the last event of a value. */
static int skip(struct parse *p)
{
	size_t depth = 0;
	int r = 0;

	for (;;) {
		depth += begins(p);
		depth -= ends(p);
		if (!depth)
			return 0;
		r = next(p);
		if (r < 0)
			return r;
	}
}

/* Calls fn for each value of a mapping with a text as key; skips others. */
static int mapping(struct parse *p, value_fn fn)
{
	int r;

	for (;;) {
		char key[KEY_MAX] = "";

		r = next(p);
		if (r < 0 || p->e.type == YAML_MAPPING_END_EVENT)
			return r;
		if (p->e.type == YAML_SCALAR_EVENT && p->e.data.scalar.length < sizeof(key))
			memcpy(key, p->e.data.scalar.value, p->e.data.scalar.length);
		r = skip(p);
		if (r >= 0)
			r = next(p);
		if (r >= 0)
			r = fn(p, key);
		if (r < 0)
			return r;
	}
}

/* ---- values ---- */

static bool is_null(const struct parse *p)
{
	const char *s = (const char *)p->e.data.scalar.value;

	return p->e.data.scalar.style == YAML_PLAIN_SCALAR_STYLE && (!*s || !strcmp(s, "~") || !strcmp(s, "null"));
}

static int text(const struct parse *p, char *to, size_t size)
{
	size_t n = p->e.data.scalar.length;

	if (p->e.type != YAML_SCALAR_EVENT)
		return fail(p, -EBADMSG, "a list, a mapping or an alias where a text should be");
	if (is_null(p))
		n = 0;
	if (n >= size || memchr(p->e.data.scalar.value, '\0', n))
		return fail(p, -EBADMSG, "a text that is too long, or holds a zero byte");
	memcpy(to, p->e.data.scalar.value, n);
	to[n] = '\0';
	return 0;
}

/* A file must be in the directory of the metadata or below it; others are not opened. */
static bool file_ok(const char *name)
{
	if (!*name || *name == '/')
		return false;
	for (const char *s = name; s; s = strchr(s, '/') ? strchr(s, '/') + 1 : NULL)
		if (!strncmp(s, "..", 2) && (!s[2] || s[2] == '/'))
			return false;
	return true;
}

static int file_add(struct parse *p)
{
	struct rosbag2_yaml *y = p->ret;
	int r;

	if (y->n_files == ROSBAG2_FILES_MAX)
		return fail(p, -E2BIG, "more than 64 files");
	r = text(p, y->files[y->n_files], sizeof(y->files[0]));
	if (r < 0)
		return r;
	if (!file_ok(y->files[y->n_files]))
		return fail(p, -EBADMSG, "the name of a file that is empty, absolute or leads out of the directory");
	y->n_files++;
	return 0;
}

static int files(struct parse *p)
{
	int r = 0;

	if (p->e.type != YAML_SEQUENCE_START_EVENT)
		return fail(p, -EBADMSG, "relative_file_paths is not a list of files");
	while (r >= 0) {
		r = next(p);
		if (r < 0 || p->e.type == YAML_SEQUENCE_END_EVENT)
			break;
		r = file_add(p);
	}
	return r;
}

static int of_recording(struct parse *p, const char *key)
{
	struct rosbag2_yaml *y = p->ret;

	if (!strcmp(key, "storage_identifier"))
		return text(p, y->storage, sizeof(y->storage));
	if (!strcmp(key, "compression_format"))
		return text(p, y->compression, sizeof(y->compression));
	if (!strcmp(key, "compression_mode"))
		return text(p, y->compression_mode, sizeof(y->compression_mode));
	return strcmp(key, "relative_file_paths") == 0 ? files(p) : skip(p);
}

static int of_document(struct parse *p, const char *key)
{
	if (strcmp(key, "rosbag2_bagfile_information") != 0)
		return skip(p);
	return p->e.type == YAML_MAPPING_START_EVENT ? mapping(p, of_recording) : skip(p);
}

/* ---- the whole document ---- */

/* Parses to the end, so that what follows the list of files must be valid, too. */
static int document(struct parse *p)
{
	int r = 0;

	while (r >= 0 && p->e.type != YAML_DOCUMENT_END_EVENT && p->e.type != YAML_STREAM_END_EVENT) {
		r = next(p);
		if (r >= 0 && p->e.type == YAML_MAPPING_START_EVENT)
			r = mapping(p, of_document);
	}
	if (r >= 0 && (!p->ret->n_files || !*p->ret->storage))
		r = fail(p, -EBADMSG,
			 "the file ends without naming a storage and files, as metadata.yaml of rosbag2 does");
	return r;
}

int rosbag2_yaml_parse(const char *bytes, size_t n, struct rosbag2_yaml *ret, char *why, size_t why_size)
{
	struct parse p = { .ret = ret, .why = why, .why_size = why_size };
	int r;

	memset(ret, 0, sizeof(*ret));
	if (!yaml_parser_initialize(&p.yaml))
		return log_fail(why, why_size, -ENOMEM, "no memory");
	yaml_parser_set_input_string(&p.yaml, (const unsigned char *)bytes, n);
	r = document(&p);
	yaml_event_delete(&p.e);
	yaml_parser_delete(&p.yaml);
	return r;
}
