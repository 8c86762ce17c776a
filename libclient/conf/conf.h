/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Table-driven JSON configuration: one file, fragments, overrides; checked against tables of keys. The origin of every
 * effective value is stored.
 *
 *     static const struct conf_key dispatch_keys[] = {
 *             { .name = "wait_ms", .type = CONF_INT, .def = "100", .min = 0, .max = 60000, .doc = "..." },
 *             { .name = "policy", .type = CONF_CHOICE, .def = "\"wait\"", .choices = policy_names, .doc = "..." },
 *             { 0 }
 *     };
 *     static const struct conf_key root_keys[] = {
 *             { .name = "dispatch", .type = CONF_OBJECT, .sub = dispatch_keys, .doc = "..." },
 *             { .name = "bridges", .type = CONF_LIST, .sub = bridge_keys, .max = 64, .doc = "..." },
 *             { 0 }
 *     };
 *     conf_create(root_keys, &c); conf_add_file(c, path); conf_add_dir(c, dir); conf_finish(c);
 *     wait_ms = conf_int(conf_root(c), "dispatch.wait_ms");
 *     for (i = 0; i < conf_count(conf_root(c), "bridges"); i++)
 *             name = conf_string(conf_item(conf_root(c), "bridges", i), "name");
 *
 * Merging: a later source wins, key by key; items of a CONF_LIST whose table has an .id key are merged
 * by that key (a new one is appended); all other arrays are replaced whole.
 *
 * Errors: -EINVAL (and -ENOENT, -EFBIG, ... for files), with one sentence in err_why():
 *     /etc/simd/simd.json:12: '}' expected near ','
 *     /etc/simd/simd.json.d/10-lab.json: dispatch.wait_ms: 70000 is out of range, 0 to 60000
 *     /etc/simd/simd.json: dispatch.wait_sm: unknown key; did you mean wait_ms?
 * Thread: the owner's; after conf_finish() it is read-only and any thread may read.
 */
#ifndef BASE_CONF_H
#define BASE_CONF_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CONF_FILE_MAX  ((size_t)1 << 20) /* bytes of one file */
#define CONF_FILES_MAX 128               /* fragments in one directory */
#define CONF_ITEMS_MAX 4096              /* items of any list; a key's .max may be lower */
#define CONF_DEPTH_MAX 16

enum conf_type {
	CONF_BOOL = 1,
	CONF_INT,     /* min..max (both 0: any), or one of the words in .choices */
	CONF_REAL,    /* min..max as integers (both 0: any) */
	CONF_SIZE,    /* JSON string "16MiB", or a number of bytes; read as int64_t bytes */
	CONF_STRING,  /* .max: longest length (0: 4095) */
	CONF_CHOICE,  /* one of .choices */
	CONF_STRINGS, /* array of strings; .max: most items */
	CONF_OBJECT,  /* object with the keys of .sub */
	CONF_LIST,    /* array of objects with the keys of .sub; .max: most items */
	CONF_ANY,     /* any JSON, not checked */
};

struct conf_key {
	const char *name; /* NULL ends the table */
	enum conf_type type;
	const char *def; /* JSON text of the default; NULL: no default: absent (see conf_has()), or required */
	int64_t min, max;
	const char *const *choices; /* CONF_CHOICE, CONF_INT; NULL ends */
	const struct conf_key *sub; /* CONF_OBJECT, CONF_LIST */
	const char *doc;            /* one sentence, for the sample and the check of the man page */
	bool required;
	bool id; /* CONF_STRING in a list's table: items are merged by this key, and its values must be unique */
};

struct conf;

/* keys: borrowed for the conf's life (a static table). */
int conf_create(const struct conf_key *keys, struct conf **ret);
void conf_destroy(struct conf *c);

/* Add a source; later sources take precedence. origin: name of the source in messages and in conf_origin(). */
int conf_add_text(struct conf *c, const char *origin, const char *text, size_t len);
int conf_add_file(struct conf *c, const char *path);
/* Adds all *.json of a directory in lexical order; a missing directory is not an error. */
int conf_add_dir(struct conf *c, const char *dir);
/* Sets one value at a dotted path, as JSON text (a bare word is a string), for overrides of a command line. */
int conf_set(struct conf *c, const char *path, const char *value, const char *origin);

/* Fills in defaults, checks required keys. No source can be added afterwards. */
int conf_finish(struct conf *c);

/* ---- reading (after conf_finish) ---- */

/* One object of the configuration: its values and its table of keys. Borrowed from the conf. */
struct conf_view {
	const struct conf *conf;
	json_t *obj;
	const struct conf_key *keys;
	json_t *origin;
};

struct conf_view conf_root(const struct conf *c);

/*
 * path: dotted, relative to the view, through CONF_OBJECTs: "dispatch.wait_ms". A path that the table does not have, or
 * whose key has another type, is a bug in simd: assert. Strings are borrowed from the conf.
 */
bool conf_has(struct conf_view v, const char *path); /* false: no value and no default */
bool conf_bool(struct conf_view v, const char *path);
/*
 * CONF_INT, CONF_SIZE (bytes); 0 when absent. A word of a CONF_INT is returned as -1 for the first of .choices, -2 for
 * the second, ...
 */
int64_t conf_int(struct conf_view v, const char *path);
double conf_real(struct conf_view v, const char *path);
const char *conf_string(struct conf_view v, const char *path); /* NULL when absent */
int conf_choice(struct conf_view v, const char *path);         /* index; -1 when absent */
json_t *conf_any(struct conf_view v, const char *path);        /* borrowed; NULL when absent */
struct conf_view conf_object(struct conf_view v, const char *path);

/* CONF_STRINGS, CONF_LIST */
size_t conf_count(struct conf_view v, const char *path);
const char *conf_string_at(struct conf_view v, const char *path, size_t i);
struct conf_view conf_item(struct conf_view v, const char *path, size_t i); /* CONF_LIST */

/* "default", or the file (or origin) of the last source that set it; NULL when absent. Borrowed. */
const char *conf_origin(struct conf_view v, const char *path);

/* ---- printing ---- */

/*
 * Array of {"key","value","origin"}, in table order, lists as bridges[0].name. Where a value differs from its default,
 * the object also has "default" (null: no default). Returns a new reference; NULL: no memory.
 */
json_t *conf_effective(const struct conf *c);

#endif
