/* SPDX-License-Identifier: Apache-2.0 */
/* See line.h. */
#include "line.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "printable.h"
#include "simctl.h"
#include "timeutil.h"

#define PATH_MAX_LEN 255
#define FIXED_MAX    64u /* elements of an array that get columns */

enum part_what { PART_TEXT, PART_TIME, PART_SEQUENCE, PART_FRAME, PART_FIELD };

struct part { /* a column, or a piece of a text */
	enum part_what what;
	char *text; /* PART_TEXT: literal text; else the field's path */
	struct sim_field_path path;
	int places; /* decimal places; -1: as many as needed */
};

struct line {
	const struct sim_type *type;
	enum line_time time;
	bool columns;
	struct part part[LINE_COLUMNS_MAX];
	unsigned n;
	char left_out[256];
};

int line_time_of(const char *name, enum line_time *ret)
{
	static const char *const names[] = { [LINE_SECONDS] = "seconds", [LINE_NS] = "raw", [LINE_DATE] = "date" };

	*ret = LINE_SECONDS;
	for (unsigned i = 0; name && i < 3; i++)
		if (!strcmp(name, names[i])) {
			*ret = (enum line_time)i;
			return 0;
		}
	return name ? -EINVAL : 0;
}

static void date_of(int64_t ns, char buf[LINE_TIME_MAX])
{
	const int64_t part = (ns % NS_PER_S + NS_PER_S) % NS_PER_S;
	const time_t s = (time_t)((ns - part) / NS_PER_S);
	struct tm tm;
	size_t n;

	gmtime_r(&s, &tm);
	n = strftime(buf, LINE_TIME_MAX, "%Y-%m-%dT%H:%M:%S", &tm);
	snprintf(buf + n, LINE_TIME_MAX - n, ".%09" PRId64 "Z", part);
}

const char *line_time_text(enum line_time time, int64_t stamp_sim_ns, char buf[LINE_TIME_MAX])
{
	_Static_assert(LINE_TIME_MAX >= STAMP_FORMAT_MAX, "a stamp fits");

	if (time == LINE_DATE)
		date_of(stamp_sim_ns, buf);
	else if (time == LINE_NS)
		snprintf(buf, LINE_TIME_MAX, "%" PRId64, stamp_sim_ns);
	else
		(void)stamp_format(stamp_sim_ns, buf);
	return buf;
}

/* ---- columns ---- */

static int add(struct line *l, enum part_what what, const char *text, size_t len, const struct sim_field_path *path)
{
	struct part *p = &l->part[l->n];

	if (l->n == LINE_COLUMNS_MAX)
		return -E2BIG;
	*p = (struct part){ .what = what, .text = strndup(text, len), .places = -1 };
	if (!p->text)
		return -ENOMEM;
	if (path)
		p->path = *path;
	l->n++;
	return 0;
}

static void leave_out(struct line *l, const char *path)
{
	const size_t len = strlen(l->left_out);

	if (len + strlen(path) + 8 < sizeof(l->left_out))
		sprintf(l->left_out + len, "%s%s", len ? ", " : "", path);
	else if (len && !strstr(l->left_out, ", ..."))
		strcpy(l->left_out + len, ", ...");
}

static int add_fields(struct line *l, const struct sim_type *type, const char *prefix);

/* Adds the columns of one value: itself, or the fields of a message. */
static int add_value(struct line *l, const struct sim_field *f, const char *path)
{
	struct sim_field_path found;

	if (f->kind == SIM_KIND_MESSAGE)
		return add_fields(l, f->type, path);
	if (sim_field_find(l->type, path, &found) < 0)
		return 0; /* nested deeper than paths can express */
	return add(l, PART_FIELD, path, strlen(path), &found);
}

static int add_field(struct line *l, const struct sim_field *f, const char *path)
{
	char element[PATH_MAX_LEN + 16];
	int r = 0;

	if (f->array == SIM_ARRAY_NONE)
		return add_value(l, f, path);
	if (f->array != SIM_ARRAY_FIXED || f->count > FIXED_MAX) {
		leave_out(l, path);
		return 0;
	}
	for (uint32_t i = 0; i < f->count && r == 0; i++) {
		snprintf(element, sizeof(element), "%s[%u]", path, i);
		r = add_value(l, f, element);
	}
	return r;
}

static int add_fields(struct line *l, const struct sim_type *type, const char *prefix)
{
	char path[PATH_MAX_LEN + 1];
	int r = 0;

	for (uint32_t i = 0; i < type->n_fields && r == 0; i++) {
		const int len =
			snprintf(path, sizeof(path), "%s%s%s", prefix, *prefix ? "." : "", type->fields[i].name);

		if (len < (int)sizeof(path))
			r = add_field(l, &type->fields[i], path);
	}
	return r;
}

static int begin(const struct sim_type *type, enum line_time time, char why[512], struct line **ret)
{
	*ret = calloc(1, sizeof(**ret));
	if (!*ret) {
		snprintf(why, 512, "out of memory");
		return -ENOMEM;
	}
	(*ret)->type = type;
	(*ret)->time = time;
	return 0;
}

static int end(int r, char why[512], struct line **l)
{
	if (r == 0)
		return 0;
	if (r == -E2BIG)
		snprintf(why, 512, "more than %u columns; choose with --field", LINE_COLUMNS_MAX);
	else if (r == -ENOMEM)
		snprintf(why, 512, "out of memory");
	line_destroy(*l);
	*l = NULL;
	return r == -ENOMEM ? r : -EINVAL;
}

static int add_part_of(struct line *l, const char *field, char why[512])
{
	struct sim_field_path path;
	const struct sim_field *f;

	if (sim_field_find(l->type, field, &path) < 0) {
		snprintf(why, 512, "%s", sim_why());
		return -EINVAL;
	}
	f = path.step[path.n - 1].field;
	return path.step[path.n - 1].index < 0 ? add_field(l, f, field) : add_value(l, f, field);
}

int line_columns(const struct sim_type *type, const char *field, enum line_time time, char why[512], struct line **ret)
{
	int r = begin(type, time, why, ret);

	if (r < 0)
		return r;
	(*ret)->columns = true;
	r = add(*ret, PART_TIME, "time", 4, NULL);
	if (r == 0)
		r = field ? add_part_of(*ret, field, why) : add_fields(*ret, type, "");
	return end(r, why, ret);
}

/* ---- texts ---- */

static int add_named(struct line *l, const char *name, size_t len, char why[512])
{
	static const struct {
		const char *name;
		enum part_what what;
	} own[] = { { "@time", PART_TIME }, { "@sequence", PART_SEQUENCE }, { "@frame", PART_FRAME } };
	struct sim_field_path path;
	char text[PATH_MAX_LEN + 1], *places;
	int r;

	if (len > PATH_MAX_LEN) {
		snprintf(why, 512, "a name in { } is too long");
		return -EINVAL;
	}
	memcpy(text, name, len);
	text[len] = 0;
	for (unsigned i = 0; i < 3; i++)
		if (!strcmp(text, own[i].name))
			return add(l, own[i].what, text, len, NULL);
	places = strstr(text, ":.");
	if (places)
		*places = 0;
	if (places && !(isdigit((unsigned char)places[2]) && !places[3])) {
		snprintf(why, 512, "{%s}: the number of decimal places is expected after the :, such as .3", text);
		return -EINVAL;
	}
	if (sim_field_find(l->type, text, &path) < 0) {
		snprintf(why, 512, "{%s}: %s", text, sim_why());
		return -EINVAL;
	}
	r = add(l, PART_FIELD, text, strlen(text), &path);
	if (r == 0 && places)
		l->part[l->n - 1].places = places[2] - '0';
	return r;
}

/* Parses {NAME}, {{ or }} at *at, and moves *at behind it. */
static int add_bracket(struct line *l, const char **at, char why[512])
{
	const char *close = strchr(*at, '}'), *name = *at + 1;

	if ((*at)[0] == (*at)[1]) {
		*at += 2;
		return add(l, PART_TEXT, *at - 1, 1, NULL);
	}
	if (**at == '}' || !close) {
		snprintf(why, 512, "%s",
			 **at == '}' ? "a } without its {; write }} for a }" : "a { without its }; write {{ for a {");
		return -EINVAL;
	}
	*at = close + 1;
	return add_named(l, name, (size_t)(close - name), why);
}

int line_template(const struct sim_type *type, const char *text, enum line_time time, char why[512], struct line **ret)
{
	int r = begin(type, time, why, ret);

	while (r == 0 && *text) {
		const size_t len = strcspn(text, "{}");

		if (len)
			r = add(*ret, PART_TEXT, text, len, NULL);
		text += len;
		if (r == 0 && *text)
			r = add_bracket(*ret, &text, why);
	}
	return *ret ? end(r, why, ret) : r;
}

void line_destroy(struct line *l)
{
	for (unsigned i = 0; l && i < l->n; i++)
		free(l->part[i].text);
	free(l);
}

const char *line_left_out(const struct line *l)
{
	return l->left_out;
}

/* ---- printing ---- */

/* Escapes what is not printable, as text comes from other programs. In a column the text is quoted if necessary. */
static void put_text(const struct line *l, const char *text, size_t len, FILE *to)
{
	char *fit = malloc(len * PRINTABLE_ESCAPE_MAX + 1);

	if (!fit)
		return;
	(void)printable(fit, len * PRINTABLE_ESCAPE_MAX + 1, text, len);
	if (!l->columns || !strpbrk(fit, ",\"")) {
		fputs(fit, to);
	} else {
		putc('"', to);
		for (const char *at = fit; *at; at++)
			fprintf(to, *at == '"' ? "\"\"" : "%c", *at);
		putc('"', to);
	}
	free(fit);
}

static void put_string(const struct line *l, const struct sim_field_view *v, const struct sim_message *m, FILE *to)
{
	struct sim_span s;
	const char *text;
	uint32_t len;

	memcpy(&s, v->data, sizeof(s));
	text = sim_span_string(m->body, m->body_size, &s, 0, &len);
	put_text(l, text, len, to);
}

static void put_field(const struct line *l, const struct part *p, const struct sim_message *m, FILE *to)
{
	const struct sim_json_options o = { .field = p->text };
	struct sim_field_view v;
	double number;

	if (sim_field_get(&p->path, m->body, m->body_size, &v) < 0 || (!v.count && !v.is_array))
		return;
	if (!v.is_array && v.field->kind == SIM_KIND_STRING)
		put_string(l, &v, m, to);
	else if (p->places >= 0 && !v.is_array && sim_field_number(&v, 0, &number) == 0)
		fprintf(to, "%.*f", p->places, number);
	else
		(void)sim_msg_to_json(l->type, m->body, m->body_size, &o, json_to_file, to);
}

static void put_part(const struct line *l, const struct part *p, const struct sim_message *m, FILE *to)
{
	char time[LINE_TIME_MAX];

	switch (p->what) {
	case PART_TEXT:
		fputs(p->text, to);
		break;
	case PART_TIME:
		fputs(line_time_text(l->time, m->header.stamp_sim_ns, time), to);
		break;
	case PART_SEQUENCE:
		fprintf(to, "%" PRIu64, (uint64_t)m->header.sequence);
		break;
	case PART_FRAME:
		put_text(l, m->header.frame_id, strnlen(m->header.frame_id, SIM_FRAME_ID_MAX), to);
		break;
	case PART_FIELD:
		put_field(l, p, m, to);
		break;
	}
}

void line_print_head(const struct line *l, FILE *to)
{
	for (unsigned i = 0; l->columns && i < l->n; i++)
		fprintf(to, "%s%s%s", i ? "," : "", l->part[i].text, i + 1 == l->n ? "\n" : "");
}

void line_print(const struct line *l, const struct sim_message *m, FILE *to)
{
	for (unsigned i = 0; i < l->n; i++) {
		if (i && l->columns)
			putc(',', to);
		put_part(l, &l->part[i], m, to);
	}
	putc('\n', to);
}
