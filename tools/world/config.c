/* SPDX-License-Identifier: Apache-2.0 */
/* See config.h. */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "conf.h"
#include "err.h"
#include "fd.h"
#include "mem.h"
#include "proto_text.h"
#include "world/frame.h"

#define PROTO_MAX     ((size_t)64 << 10)
#define PROTO_MAX_ALL ((size_t)256 << 10) /* as each Welcome contains all of them */

static const char *const roles[] = { "regulating", "constrained", "observer", NULL };

static const struct conf_key access_keys[] = {
	{ .name = "certificate", .type = CONF_STRING, .max = 63, .doc = "Name of its certificate, * for any part." },
	{ .name = "token", .type = CONF_STRING, .max = 1024, .doc = "Token that it sends in Hello." },
	{ .name = "role",
	  .type = CONF_CHOICE,
	  .def = "\"observer\"",
	  .choices = roles,
	  .doc = "Highest role that it may have." },
	{ .name = "codes", .type = CONF_ANY, .doc = "Codes of objects that it may own, by name or number." },
	{ .name = "objects", .type = CONF_INT, .min = 1, .max = 1000000, .doc = "Number of objects that it may own." },
	{ .name = "notes", .type = CONF_BOOL, .def = "false", .doc = "Whether it may send messages." },
	{ 0 },
};

static const struct conf_key type_keys[] = {
	{ .name = "code",
	  .type = CONF_INT,
	  .min = FRAME_OWN,
	  .max = 255,
	  .required = true,
	  .doc = "Code of frames with its objects." },
	{ .name = "name",
	  .type = CONF_STRING,
	  .max = 63,
	  .required = true,
	  .doc = "For messages to users, and in lists of codes." },
	{ .name = "proto",
	  .type = CONF_STRING,
	  .required = true,
	  .doc = "The .proto file, relative to the configuration file." },
	{ 0 },
};

static const struct conf_key root_keys[] = {
	{ .name = "access",
	  .type = CONF_LIST,
	  .sub = access_keys,
	  .max = ACCESS_ENTRIES_MAX,
	  .doc = "Clients that may take part; the first entry that fits counts." },
	{ .name = "types", .type = CONF_LIST, .sub = type_keys, .max = ACCESS_TYPES_MAX, .doc = "Own object types." },
	{ 0 },
};

struct config {
	struct conf *conf; /* owns the strings in the tables */
	const char *path;  /* during loading */
	struct access_entry *entries;
	struct access_type *types;
	char *protos[ACCESS_TYPES_MAX];
	size_t proto_size; /* total */
	struct access access;
};

/* ---- types ---- */

/* Reads at most PROTO_MAX bytes, and appends a 0. */
static ssize_t read_proto(const char *path, char *text)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	size_t n = 0;
	ssize_t r = fd < 0 ? -errno : 1;

	while (r > 0 && n <= PROTO_MAX) {
		r = read(fd, text + n, PROTO_MAX + 1 - n);
		r = r < 0 ? -errno : r;
		n += r > 0 ? (size_t)r : 0;
	}
	fd_close(fd);
	text[n <= PROTO_MAX ? n : 0] = 0;
	return r < 0 ? r : n > PROTO_MAX ? -EFBIG : (ssize_t)n;
}

/* Strings of protobuf must be UTF-8, or clients could not parse the Welcome. */
static bool is_text(const char *text, size_t n)
{
	json_t *j = strlen(text) == n ? json_stringn(text, n) : NULL;
	bool is = j != NULL;

	json_decref(j);
	return is;
}

static int take_proto(struct config *c, unsigned i, const char *path, char *text)
{
	ssize_t n = read_proto(path, text);
	char why[PROTO_WHY_MAX];

	if (n == -EFBIG || (n >= 0 && (c->proto_size += (size_t)n) > PROTO_MAX_ALL))
		return err_set(-EFBIG, "%s: types[%u].proto: %s: a .proto is up to 64 KiB, and all up to 256 KiB",
			       c->path, i, path);
	if (n < 0)
		return err_set((int)n, "%s: types[%u].proto: %s: %s", c->path, i, path, strerror((int)-n));
	if (!is_text(text, (size_t)n))
		return err_set(-EINVAL, "%s: types[%u].proto: %s: is not UTF-8 text", c->path, i, path);
	if (proto_text_check(text, why) < 0)
		return err_set(-EINVAL, "%s: types[%u].proto: %s: %s", c->path, i, path, why);
	c->protos[i] = mem_strdup(text);
	return c->protos[i] ? 0 : err_nomem();
}

static int load_proto(struct config *c, unsigned i, const char *name)
{
	const char *slash = *name == '/' ? NULL : strrchr(c->path, '/');
	char path[4096], *text = mem_zalloc(PROTO_MAX + 2);
	int n = snprintf(path, sizeof(path), "%.*s%s", slash ? (int)(slash + 1 - c->path) : 0, c->path, name);
	int r = text ? 0 : err_nomem();

	if (r == 0 && (n < 0 || (size_t)n >= sizeof(path)))
		r = err_set(-ENAMETOOLONG, "%s: types[%u].proto: is too long", c->path, i);
	if (r == 0)
		r = take_proto(c, i, path, text);
	mem_free(text);
	return r;
}

static int is_other(const struct config *c, unsigned i)
{
	const struct access_type *t = &c->types[i];

	for (unsigned k = 0; k < i; k++) {
		if (c->types[k].code == t->code)
			return err_set(-EINVAL, "%s: types[%u].code: %u is the code of types[%u] as well", c->path, i,
				       t->code, k);
		if (strcmp(c->types[k].name, t->name) == 0)
			return err_set(-EINVAL, "%s: types[%u].name: %s is the name of types[%u] as well", c->path, i,
				       t->name, k);
	}
	return 0;
}

static int load_type(struct config *c, unsigned i)
{
	struct conf_view v = conf_item(conf_root(c->conf), "types", i);
	int r;

	c->types[i].code = (uint32_t)conf_int(v, "code");
	c->types[i].name = conf_string(v, "name");
	r = is_other(c, i);
	if (r == 0)
		r = load_proto(c, i, conf_string(v, "proto"));
	c->types[i].proto = c->protos[i];
	return r;
}

static int load_types(struct config *c)
{
	unsigned n = (unsigned)conf_count(conf_root(c->conf), "types");
	int r = 0;

	c->types = n ? mem_zalloc(n * sizeof(*c->types)) : NULL;
	if (n && !c->types)
		return err_nomem();
	for (unsigned i = 0; i < n && r == 0; i++)
		r = load_type(c, i);
	c->access.types = c->types;
	c->access.n_types = n;
	return r;
}

/* ---- access ---- */

static bool is_code(json_int_t code)
{
	return code == FRAME_VEHICLE || (code >= FRAME_PEDESTRIAN && code <= FRAME_TRAFFIC_LIGHT) ||
	       (code >= FRAME_OWN && code <= 255);
}

/* 0: unknown. */
static unsigned code_of(const struct config *c, const json_t *j)
{
	static const struct {
		const char *name;
		unsigned code;
	} known[] = { { "vehicle", FRAME_VEHICLE },
		      { "pedestrian", FRAME_PEDESTRIAN },
		      { "bicycle", FRAME_PEDESTRIAN + 1 },
		      { "generic", FRAME_PEDESTRIAN + 2 },
		      { "traffic_light", FRAME_TRAFFIC_LIGHT } };
	const char *name = json_string_value(j);

	for (unsigned i = 0; name && i < sizeof(known) / sizeof(known[0]); i++)
		if (strcmp(name, known[i].name) == 0)
			return known[i].code;
	for (unsigned i = 0; name && i < c->access.n_types; i++)
		if (strcmp(name, c->types[i].name) == 0)
			return c->types[i].code;
	return json_is_integer(j) && is_code(json_integer_value(j)) ? (unsigned)json_integer_value(j) : 0;
}

static int load_codes(const struct config *c, unsigned i, const json_t *list)
{
	struct access_entry *e = &c->entries[i];

	if (list && !json_is_array(list))
		return err_set(-EINVAL, "%s: access[%u].codes: give an array of names and numbers", c->path, i);
	for (size_t k = 0; k < json_array_size(list); k++) {
		unsigned code = code_of(c, json_array_get(list, k));

		if (!code)
			return err_set(-EINVAL,
				       "%s: access[%u].codes[%zu]: give vehicle, pedestrian, bicycle, generic, "
				       "traffic_light, the name of a type, or a code: 2, 16 to 19, 128 to 255",
				       c->path, i, k);
		e->codes[code / 8] |= (uint8_t)(1u << code % 8);
	}
	return 0;
}

static int load_entry(struct config *c, unsigned i)
{
	struct conf_view v = conf_item(conf_root(c->conf), "access", i);
	struct access_entry *e = &c->entries[i];

	e->certificate = conf_string(v, "certificate");
	e->token = conf_string(v, "token");
	e->role = (enum barrier_role)(BARRIER_REGULATING + conf_choice(v, "role"));
	e->objects = conf_has(v, "objects") ? (uint32_t)conf_int(v, "objects") : UINT32_MAX;
	e->notes = conf_bool(v, "notes");
	if ((e->certificate && !*e->certificate) || (e->token && !*e->token) || (!e->certificate && !e->token))
		return err_set(-EINVAL, "%s: access[%u]: give a certificate, a token or both; none is empty", c->path,
			       i);
	return load_codes(c, i, conf_any(v, "codes"));
}

/* conf.h does not distinguish an absent list, which admits everyone, from an empty one, which admits nobody. */
static bool says_access(const char *path)
{
	json_t *j = json_load_file(path, 0, NULL);
	bool says = !j || json_object_get(j, "access");

	json_decref(j);
	return says;
}

static int load_access(struct config *c)
{
	unsigned n = (unsigned)conf_count(conf_root(c->conf), "access");
	int r = 0;

	if (!n && !says_access(c->path))
		return 0;
	c->entries = mem_zalloc((n + 1) * sizeof(*c->entries));
	if (!c->entries)
		return err_nomem();
	for (unsigned i = 0; i < n && r == 0; i++)
		r = load_entry(c, i);
	c->access.entries = c->entries;
	c->access.n_entries = n;
	return r;
}

/* ---- all ---- */

/* Some messages of conf.h do not name the file: adds it. */
static int finish(struct config *c)
{
	int r = conf_finish(c->conf);

	return r < 0 ? err_prefix(r, "%s", c->path) : 0;
}

int config_load(const char *path, struct config **ret)
{
	struct config *c = MEM_NEW(struct config);
	int r = c ? conf_create(root_keys, &c->conf) : err_nomem();

	if (r == 0) {
		c->path = path;
		r = conf_add_file(c->conf, path);
	}
	if (r == 0)
		r = finish(c);
	if (r == 0)
		r = load_types(c); /* first, as codes may name types */
	if (r == 0)
		r = load_access(c);
	if (r == 0)
		*ret = c;
	else
		config_destroy(c);
	return r;
}

void config_destroy(struct config *c)
{
	if (!c)
		return;
	for (unsigned i = 0; i < ACCESS_TYPES_MAX; i++)
		mem_free(c->protos[i]);
	mem_free(c->types);
	mem_free(c->entries);
	conf_destroy(c->conf);
	mem_free(c);
}

const struct access *config_access(const struct config *c)
{
	return &c->access;
}
