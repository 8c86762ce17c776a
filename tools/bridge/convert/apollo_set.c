/* SPDX-License-Identifier: Apache-2.0 */
/* See apollo_set.h. Files are sorted so that each comes after those that it imports. */
#include "apollo_set.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "apollo_private.h"
#include "apollo_sent.h"
#include "apollo_tree.h"
#include "gen/plain_file.h"

#define SIZE_MAX_READ (32u << 20)

struct apollo_set {
	char *name;
	uint8_t *bytes;
	struct apollo_file file[APOLLO_SET_MAX];
	size_t n;
};

struct symbol {
	const struct apollo_file *file;
	char *name;
};

struct loading {
	struct apollo_set *set;
	const struct apollo_set_log *log;
	struct apollo_file found[APOLLO_SET_MAX]; /* in the set's order */
	bool out[APOLLO_SET_MAX];                 /* skipped */
	bool placed[APOLLO_SET_MAX];
	size_t n;
	struct symbol *symbol;
	size_t n_symbols, room;
};

__attribute__((format(printf, 4, 0))) static void say_list(const struct apollo_set_log *log, bool fatal,
							   const char *name, const char *fmt, va_list ap)
{
	char text[600];
	int n = snprintf(text, sizeof(text), "%.200s: ", name);

	vsnprintf(text + n, sizeof(text) - (size_t)n, fmt, ap);
	log->say(log->arg, fatal, text);
}

__attribute__((format(printf, 3, 4))) static void say(const struct apollo_set_log *log, const char *name,
						      const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	say_list(log, false, name, fmt, ap);
	va_end(ap);
}

/* Returns error. */
__attribute__((format(printf, 4, 5))) static int refuse(const struct apollo_set_log *log, const char *name, int error,
							const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	say_list(log, true, name, fmt, ap);
	va_end(ap);
	return error;
}

#define NAME(f) (int)((f)->name_len < 160 ? (f)->name_len : 160), (const char *)(f)->name

/* ---- files ---- */

static const struct apollo_file *find(const struct loading *l, const void *name, size_t len)
{
	for (size_t i = 0; i < l->n; i++)
		if (!l->out[i] && l->found[i].name_len == len && memcmp(l->found[i].name, name, len) == 0)
			return &l->found[i];
	return NULL;
}

/* Adds one file of the set, reduced in place by plain_file(). */
static void add_file(struct loading *l, const struct pb_reader *r)
{
	const char *set = l->set->name;
	uint8_t *blob = l->set->bytes + (r->data - l->set->bytes);
	long size = plain_file(blob, r->len, blob);
	const struct apollo_file *other;
	struct apollo_file f;

	if (size <= 0 || !apollo_file_read(blob, (size_t)size, &f)) {
		say(l->log, set, "file %zu of the set is damaged, and is left out", l->n + 1);
		l->out[l->n++] = true;
		return;
	}
	other = find(l, f.name, f.name_len);
	if (other && (other->size != f.size || memcmp(other->blob, f.blob, f.size) != 0))
		say(l->log, set, "%.*s is in the set twice, and differs: the second is left out", NAME(&f));
	l->out[l->n] = other != NULL;
	l->found[l->n++] = f;
}

static int add_files(struct loading *l, size_t size)
{
	struct pb_reader r;
	int error = 0;

	pb_read_begin(&r, l->set->bytes, size, &error);
	while (pb_next(&r)) {
		if (r.field != 1 || r.wire != PB_LENGTH)
			continue;
		if (l->n == APOLLO_SET_MAX)
			return refuse(l->log, l->set->name, -E2BIG, "it has more than %u files", APOLLO_SET_MAX);
		add_file(l, &r);
	}
	if (error && l->n)
		say(l->log, l->set->name, "it is truncated or malformed after file %zu", l->n);
	return 0;
}

/* ---- names ---- */

static int add_symbol(struct loading *l, const struct apollo_file *f, const struct apollo_file *package,
		      const struct pb_reader *name)
{
	struct symbol *more = l->symbol, *s;

	if (l->n_symbols == l->room) {
		more = realloc(l->symbol, (2 * l->room + 64) * sizeof(*more));
		if (!more)
			return -ENOMEM;
		l->symbol = more;
		l->room = 2 * l->room + 64;
	}
	s = &more[l->n_symbols];
	if (asprintf(&s->name, "%.*s.%.*s", (int)package->name_len,
		     package->name_len ? (const char *)package->name : "", (int)name->len,
		     (const char *)name->data) < 0)
		return -ENOMEM;
	s->file = f;
	l->n_symbols++;
	return 0;
}

/* Adds what a file defines at the top level: messages and enums. */
static int add_symbols(struct loading *l, const struct apollo_file *f)
{
	struct apollo_file package = { .name_len = 0 };
	struct pb_reader r, in;
	int error = 0, e = 0;

	pb_read_begin(&r, f->blob, f->size, &error);
	while (pb_next(&r))
		if (r.field == 2)
			pb_get_bytes(&r, &package.name, &package.name_len);
	pb_read_begin(&r, f->blob, f->size, &error);
	while (pb_next(&r))
		for (pb_enter(&r, &in); (r.field == 4 || r.field == 5) && pb_next(&in);)
			if (in.field == 1 && in.wire == PB_LENGTH && e == 0)
				e = add_symbol(l, f, &package, &in);
	return e;
}

static int by_name(const void *a, const void *b)
{
	const struct symbol *x = a, *y = b;
	int r = strcmp(x->name, y->name);

	return r ? r : (x->file > y->file) - (x->file < y->file);
}

/* If two files define the same name, skips the second. */
static int find_clashes(struct loading *l)
{
	const struct symbol *kept = NULL;
	int r = 0;

	for (size_t i = 0; i < l->n && r == 0; i++)
		if (!l->out[i])
			r = add_symbols(l, &l->found[i]);
	if (l->n_symbols)
		qsort(l->symbol, l->n_symbols, sizeof(*l->symbol), by_name);
	for (size_t i = 0; i < l->n_symbols && r == 0; i++) {
		const struct symbol *s = &l->symbol[i];

		if (l->out[s->file - l->found])
			continue;
		if (!kept || strcmp(kept->name, s->name) != 0) {
			kept = s;
			continue;
		}
		say(l->log, l->set->name, "%.160s is defined in %.*s and in %.*s: the second is left out", s->name,
		    NAME(kept->file), NAME(s->file));
		l->out[s->file - l->found] = true;
	}
	for (size_t i = 0; i < l->n_symbols; i++)
		free(l->symbol[i].name);
	free(l->symbol);
	return r;
}

/* ---- order ---- */

/* Whether all imports of the file are placed; if not, returns the first that is not. */
static bool is_ready(const struct loading *l, const struct apollo_file *f, struct apollo_file *ret_missing)
{
	struct pb_reader r;
	bool ready = true;
	int error = 0;

	pb_read_begin(&r, f->blob, f->size, &error);
	while (ready && pb_next(&r)) {
		const struct apollo_file *needed;

		if (r.field != 3 || r.wire != PB_LENGTH)
			continue;
		needed = find(l, r.data, r.len);
		ready = needed && l->placed[needed - l->found];
		if (!ready)
			*ret_missing = (struct apollo_file){ .name = r.data, .name_len = r.len };
	}
	return ready;
}

static void put_in_order(struct loading *l)
{
	struct apollo_file missing = { .name = "" };
	bool more = true;

	while (more) {
		more = false;
		for (size_t i = 0; i < l->n; i++) {
			if (l->out[i] || l->placed[i] || !is_ready(l, &l->found[i], &missing))
				continue;
			l->placed[i] = more = true;
			l->set->file[l->set->n++] = l->found[i];
		}
	}
	for (size_t i = 0; i < l->n; i++)
		if (!l->out[i] && !l->placed[i] && !is_ready(l, &l->found[i], &missing))
			say(l->log, l->set->name, "%.*s imports %.*s, which is %s: it is left out", NAME(&l->found[i]),
			    NAME(&missing),
			    find(l, missing.name, missing.name_len) ? "left out too" : "not in the set");
}

/* ---- the set ---- */

void apollo_set_destroy(struct apollo_set *s)
{
	if (!s)
		return;
	free(s->name);
	free(s->bytes);
	free(s);
}

int apollo_set_read(const char *name, const void *set, size_t size, const struct apollo_set_log *log,
		    struct apollo_set **ret)
{
	struct loading *l = calloc(1, sizeof(*l));
	struct apollo_set *s = calloc(1, sizeof(*s));
	int r = -ENOMEM;

	if (!l || !s)
		goto out;
	*l = (struct loading){ .set = s, .log = log };
	s->name = strdup(name);
	s->bytes = malloc(size + 1);
	if (!s->name || !s->bytes)
		goto out;
	memcpy(s->bytes, set, size);
	r = add_files(l, size);
	if (r == 0)
		r = find_clashes(l);
	if (r == 0)
		put_in_order(l);
	if (r == 0 && !s->n)
		r = refuse(log, name, -EBADMSG,
			   "that is no FileDescriptorSet, as of protoc --include_imports --descriptor_set_out");
out:
	if (r == -ENOMEM)
		(void)refuse(log, name, r, "no memory");
	if (r == 0)
		*ret = s;
	else
		apollo_set_destroy(s);
	free(l);
	return r;
}

size_t apollo_set_files(const struct apollo_set *s, const char *name, struct iovec files[APOLLO_FILES_MAX])
{
	return apollo_choose(s->file, s->n, name, files);
}

/* ---- missing definitions ---- */

struct list { /* names for a log message */
	char text[400];
	size_t n;
	unsigned more; /* names that did not fit */
};

__attribute__((format(printf, 2, 3))) static void add_name(struct list *l, const char *fmt, ...)
{
	size_t room = sizeof(l->text) - l->n;
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(l->text + l->n, room, fmt, ap);
	va_end(ap);
	if (l->more || n < 0 || (size_t)n >= room) {
		l->text[l->n] = '\0';
		l->more++;
		return;
	}
	l->n += (size_t)n;
}

static void say_names(const struct apollo_set *s, const struct apollo_set_log *log, const char *what,
		      const struct list *l)
{
	char more[40] = "";

	if (l->more)
		snprintf(more, sizeof(more), " and %u more", l->more);
	if (l->n)
		say(log, s->name, "%s%s%s", what, l->text, more);
}

/* Whether the message was listed before: one message can be made from several of our types. */
static bool is_named_before(enum apollo_release r, unsigned i)
{
	const char *name = apollo_type_name(apollo_type_at(r, false, i));

	for (unsigned k = 0; k < i; k++)
		if (strcmp(apollo_type_name(apollo_type_at(r, false, k)), name) == 0)
			return true;
	return false;
}

static void say_missing_messages(const struct apollo_set *s, enum apollo_release r, const struct apollo_set_log *log)
{
	struct iovec files[APOLLO_FILES_MAX];
	const struct apollo_type *t;
	struct list missing = { .n = 0 };

	for (unsigned i = 0; (t = apollo_type_at(r, false, i)); i++) {
		const char *name = apollo_type_name(t);

		if (!is_named_before(r, i) && apollo_type_files(t, files) > 0 && apollo_set_files(s, name, files) == 0)
			add_name(&missing, "%s%s", missing.n ? ", " : "", name);
	}
	say_names(s, log, "it lacks messages that are sent: ", &missing);
}

/*
 * Compares only messages that exist under this name. A missing message is logged by say_missing_messages(), or as the
 * field that contains it.
 */
static void say_missing_fields(const struct apollo_set *s, enum apollo_release r, const struct apollo_set_log *log)
{
	struct apollo_file own[APOLLO_DEFINITIONS_MAX];
	size_t n = apollo_own_files(r, own);
	struct apollo_descriptor ours, theirs;
	struct apollo_field sent, there;
	struct list missing = { .n = 0 };
	const struct apollo_sent *m;

	for (unsigned i = 0; (m = apollo_sent_at(i)); i++) {
		if (!apollo_message_find(own, n, m->message, &ours) ||
		    !apollo_message_find(s->file, s->n, m->message, &theirs))
			continue;
		for (unsigned k = 0; k < APOLLO_SENT_MAX && m->field[k]; k++)
			if (apollo_field_find(&ours, m->field[k], &sent) &&
			    !(apollo_field_find(&theirs, m->field[k], &there) && apollo_field_reads(&sent, &there)))
				add_name(&missing, "%s%s.%.*s", missing.n ? ", " : "", m->message, NAME(&sent));
	}
	say_names(s, log, "it lacks, or defines differently, fields that are sent: ", &missing);
}

void apollo_set_say_missing(const struct apollo_set *s, enum apollo_release r, const struct apollo_set_log *log)
{
	say_missing_messages(s, r, log);
	say_missing_fields(s, r, log);
}

/* ---- reading files ---- */

static int read_all(const char *path, uint8_t **ret, size_t *ret_size)
{
	FILE *f = fopen(path, "re");
	int r = f ? 0 : -errno;
	uint8_t *data = r == 0 ? malloc(SIZE_MAX_READ) : NULL;
	size_t n = 0;

	if (r == 0)
		r = data ? 0 : -ENOMEM;
	if (r == 0) {
		n = fread(data, 1, SIZE_MAX_READ, f);
		r = ferror(f) ? -errno : n == SIZE_MAX_READ ? -EFBIG : 0;
	}
	if (f)
		fclose(f);
	if (r < 0) {
		free(data);
		return r;
	}
	*ret = data;
	*ret_size = n;
	return 0;
}

static int load_folder(const char *path, enum apollo_release release, const struct apollo_set_log *log,
		       struct apollo_set **ret)
{
	struct iovec iov[IOV_BUF_PIECES];
	struct iov_buf all;
	int r;

	iov_buf_init(&all);
	r = apollo_tree_read(path, release, log, &all);
	if (r == 0 && iov_buf_iov(&all, iov) == 1)
		r = apollo_set_read(path, iov[0].iov_base, iov[0].iov_len, log, ret);
	else
		r = refuse(log, path, r < 0 ? r : -EBADMSG,
			   r < 0 ? "no memory" : "it has none of the .proto files of Apollo's sources (modules/...)");
	iov_buf_finish(&all);
	return r;
}

static int load_file(const char *path, const struct apollo_set_log *log, struct apollo_set **ret)
{
	uint8_t *data = NULL;
	size_t size = 0;
	int r = read_all(path, &data, &size);

	if (r < 0)
		return refuse(log, path, r, "it cannot be read: %s", strerror(-r));
	r = apollo_set_read(path, data, size, log, ret);
	free(data);
	return r;
}

int apollo_set_load(const char *path, enum apollo_release release, const struct apollo_set_log *log,
		    struct apollo_set **ret)
{
	struct stat st;
	bool folder = stat(path, &st) == 0 && S_ISDIR(st.st_mode);
	int r = folder ? load_folder(path, release, log, ret) : load_file(path, log, ret);

	if (r == 0)
		apollo_set_say_missing(*ret, release, log);
	return r;
}
