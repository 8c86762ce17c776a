/* SPDX-License-Identifier: Apache-2.0 */
/* metadata.yaml of rosbag2, line by line. What is not asked for is passed over. Thread: any. */
#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "log_private.h"
#include "rosbag2_yaml.h"

struct line {
	const char *s; /* behind the spaces */
	size_t len, indent;
};

struct parse {
	const char *at, *end;
	unsigned number;
	struct rosbag2_yaml *ret;
	char *why;
	size_t why_size;
};

static int fail(const struct parse *p, int r, const char *what)
{
	return log_fail(p->why, p->why_size, r, "line %u: %s", p->number, what);
}

/* The next line that holds something. */
static bool line_next(struct parse *p, struct line *ret)
{
	while (p->at < p->end) {
		const char *nl = memchr(p->at, '\n', (size_t)(p->end - p->at)), *end = nl ? nl : p->end;
		const char *begin = p->at, *s = begin;

		p->number++;
		p->at = nl ? nl + 1 : p->end;
		while (s < end && *s == ' ')
			s++;
		while (end > s && (end[-1] == ' ' || end[-1] == '\r'))
			end--;
		if (s == end || *s == '#')
			continue;
		*ret = (struct line){ .s = s, .len = (size_t)(end - s), .indent = (size_t)(s - begin) };
		return true;
	}
	return false;
}

/* A scalar without its quotes. */
static int scalar(const struct parse *p, const char *s, size_t n, char *to, size_t size)
{
	size_t k = 0;
	char quote = n && (*s == '"' || *s == '\'') ? *s : '\0';

	if (quote && (n < 2 || s[n - 1] != quote))
		return fail(p, -EBADMSG, "a text whose quotes do not end in its line");
	if (quote) {
		s++;
		n -= 2;
	}
	for (size_t i = 0; i < n; i++) {
		if ((quote == '"' && s[i] == '\\' && i + 1 < n) || (quote == '\'' && s[i] == '\'' && i + 1 < n))
			i++;
		if (k + 1 >= size || !s[i])
			return fail(p, -EBADMSG, "a text that is too long, or holds a zero byte");
		to[k++] = s[i];
	}
	to[k] = '\0';
	return 0;
}

/* A file lies beside the metadata, or in a folder there: nothing else is opened. */
static bool file_ok(const char *name)
{
	if (!*name || *name == '/')
		return false;
	for (const char *s = name; s; s = strchr(s, '/') ? strchr(s, '/') + 1 : NULL)
		if (!strncmp(s, "..", 2) && (!s[2] || s[2] == '/'))
			return false;
	return true;
}

static int file_add(struct parse *p, const char *s, size_t n)
{
	struct rosbag2_yaml *y = p->ret;
	int r;

	if (y->n_files == ROSBAG2_FILES_MAX)
		return fail(p, -E2BIG, "more than 64 files");
	r = scalar(p, s, n, y->files[y->n_files], sizeof(y->files[0]));
	if (r < 0)
		return r;
	if (!file_ok(y->files[y->n_files]))
		return fail(p, -EBADMSG, "the name of a file that is empty, absolute or leads out of the directory");
	y->n_files++;
	return 0;
}

/* Whether the line is of that key, and its value. */
static bool key_is(const struct line *l, const char *key, const char **ret, size_t *ret_n)
{
	size_t n = strlen(key);

	if (l->len <= n || memcmp(l->s, key, n) != 0 || l->s[n] != ':')
		return false;
	for (n++; n < l->len && l->s[n] == ' '; n++)
		;
	*ret = l->s + n;
	*ret_n = l->len - n;
	return true;
}

static int key(struct parse *p, const struct line *l, bool *in_files)
{
	struct rosbag2_yaml *y = p->ret;
	const struct {
		const char *name;
		char *to;
	} keys[] = { { "storage_identifier", y->storage },
		     { "compression_format", y->compression },
		     { "compression_mode", y->compression_mode } };
	const char *s;
	size_t n;

	*in_files = key_is(l, "relative_file_paths", &s, &n);
	if (*in_files && n && memcmp(s, "[]", n < 2 ? n : 2) != 0)
		return fail(p, -EBADMSG, "relative_file_paths is no list with a line for each file");
	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
		if (key_is(l, keys[i].name, &s, &n))
			return scalar(p, s, n, keys[i].to, sizeof(y->storage));
	return 0;
}

int rosbag2_yaml_parse(const char *text, size_t n, struct rosbag2_yaml *ret, char *why, size_t why_size)
{
	struct parse p = { .at = text, .end = text + n, .ret = ret, .why = why, .why_size = why_size };
	bool top = false, in_files = false;
	size_t indent = 0; /* of the keys of the recording; 0: not known yet */
	struct line l;
	const char *s;
	int r = 0;

	memset(ret, 0, sizeof(*ret));
	while (r >= 0 && line_next(&p, &l)) {
		if (!l.indent) {
			size_t k;

			top = key_is(&l, "rosbag2_bagfile_information", &s, &k);
			in_files = false;
			continue;
		}
		indent = top && !indent ? l.indent : indent;
		if (!top)
			continue;
		if (in_files && l.indent >= indent && l.len > 2 && l.s[0] == '-' && l.s[1] == ' ')
			r = file_add(&p, l.s + 2, l.len - 2);
		else if (l.indent == indent && l.s[0] != '-')
			r = key(&p, &l, &in_files);
	}
	if (r < 0)
		return r;
	if (!ret->n_files || !*ret->storage)
		return fail(&p, -EBADMSG,
			    "the file ends without naming a storage and files, as metadata.yaml of rosbag2 does");
	return 0;
}
