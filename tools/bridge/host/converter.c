/* SPDX-License-Identifier: Apache-2.0 */
/* Loading converter plug-ins and their handshake: see converter.h. */
#include "converter.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "err.h"
#include "log.h"
#include "mem.h"
#include "plugin.h"

LOG_TOPIC("converter");

#define FOREIGN_MAX 127u
/* up to the last member of the first ABI */
#define PLUGIN_MIN_SIZE  (offsetof(struct sim_converter_plugin, converters) + sizeof(void *))
#define ONE_MIN_SIZE     (offsetof(struct sim_converter, read) + sizeof(void *))
#define PLUGINS_MAX      64
#define DEFINITION_BYTES (256u * 1024)

struct converters {
	void *handle[PLUGINS_MAX];
	unsigned n_plugins;
	struct {
		const struct sim_converter *converter;
		const char *plugin; /* name of the plug-in that it comes from */
	} one[CONVERTERS_MAX];
	unsigned n;
};

/* ---- names ---- */

/* Compares foreign names; "std_msgs/msg/Header" equals "std_msgs/Header". */
static bool same_foreign(const char *a, const char *b)
{
	size_t package = strcspn(a, "/") + 1;

	if (strncmp(a, b, package) != 0)
		return false;
	a += package;
	b += package;
	a += strncmp(a, "msg/", 4) ? 0 : 4;
	b += strncmp(b, "msg/", 4) ? 0 : 4;
	return strcmp(a, b) == 0;
}

static size_t word(const char *s)
{
	size_t n = strspn(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789");

	return n && (*s < '0' || *s > '9') ? n : 0;
}

/* Whether it is package/Name or package/msg/Name. */
static bool foreign_ok(const char *s)
{
	size_t n = strnlen(s, FOREIGN_MAX + 1), at = word(s);

	if (n > FOREIGN_MAX || !at || s[at] != '/')
		return false;
	s += at + 1;
	s += strncmp(s, "msg/", 4) ? 0 : 4;
	return word(s) && !s[word(s)];
}

const struct sim_converter *converters_find(const struct converters *c, const char *sim_type, const char *foreign,
					    unsigned i)
{
	for (unsigned k = 0; c && k < c->n; k++) {
		const struct sim_converter *one = c->one[k].converter;

		if ((!sim_type || !strcmp(one->type->name, sim_type)) &&
		    (!foreign || same_foreign(one->foreign, foreign)) && i-- == 0)
			return one;
	}
	return NULL;
}

/* ---- the handshake ---- */

static int check_one(const struct sim_converter *c, unsigned i, const char *path)
{
	const struct sim_type *t = c->size >= ONE_MIN_SIZE ? c->type : NULL;

	if (c->size < ONE_MIN_SIZE)
		return err_set(-ELIBBAD,
			       "%s: converter %u has %u bytes, converter ABI %u needs at least %zu: rebuild it", path,
			       i, c->size, SIM_CONVERTER_ABI, ONE_MIN_SIZE);
	if (!t || t->abi != SIM_TYPE_ABI || !t->name || !strchr(t->name, '/'))
		return err_set(-ELIBBAD,
			       "%s: converter %u has no type, or another version of simgen made it: rebuild it", path,
			       i);
	if (!c->foreign)
		return err_set(-ELIBBAD, "%s: the converter of %s does not name the foreign type", path, t->name);
	if (!foreign_ok(c->foreign))
		return err_set(-ELIBBAD,
			       "%s: the converter of %s names \"%.60s\", which is not of the form package/msg/Name",
			       path, t->name, c->foreign);
	if (c->definition && strnlen(c->definition, DEFINITION_BYTES + 1) > DEFINITION_BYTES)
		return err_set(-ELIBBAD, "%s: the definition of %s is longer than %u bytes", path, c->foreign,
			       DEFINITION_BYTES);
	if (!c->emit && !c->read)
		return err_set(-ELIBBAD, "%s: the converter of %s to %s has neither emit nor read", path, t->name,
			       c->foreign);
	return 0;
}

static int check_table(const struct sim_converter_plugin *p, const char *path)
{
	if (!p)
		return err_set(-ELIBBAD, "%s: " SIM_CONVERTER_SYMBOL "() returned nothing", path);
	if (p->abi != SIM_CONVERTER_ABI)
		return err_set(-ELIBBAD,
			       "%s was built for converter ABI %u, this simbridge speaks %u: rebuild the converter",
			       path, p->abi, SIM_CONVERTER_ABI);
	if (p->size < PLUGIN_MIN_SIZE)
		return err_set(-ELIBBAD,
			       "%s: its table has %u bytes, converter ABI %u needs at least %zu: rebuild the converter",
			       path, p->size, SIM_CONVERTER_ABI, PLUGIN_MIN_SIZE);
	if (!p->name || !p->converters || !p->converters[0])
		return err_set(-ELIBBAD, "%s: its table has no %s", path, p->name ? "converters" : "name");
	for (unsigned i = 0; p->converters[i]; i++) {
		int r = i < CONVERTERS_MAX ? check_one(p->converters[i], i, path) : -E2BIG;

		if (r == -E2BIG)
			err_set(r, "%s: it has more than %d converters", path, CONVERTERS_MAX);
		if (r < 0)
			return r;
	}
	return 0;
}

/* ---- loading ---- */

static int add(struct converters *c, const struct sim_converter *one, const char *plugin)
{
	const struct sim_converter *first = converters_find(c, one->type->name, one->foreign, 0);

	if (c->n == CONVERTERS_MAX)
		return err_set(-E2BIG, "the converter plug-ins of this bridge have more than %d converters",
			       CONVERTERS_MAX);
	for (unsigned i = 0; first && i < c->n; i++)
		if (c->one[i].converter == first)
			log_warn("%s to %s is converted by \"%s\": that of \"%s\", listed later, is not used",
				 one->type->name, one->foreign, c->one[i].plugin, plugin);
	if (first)
		return 0;
	c->one[c->n].converter = one;
	c->one[c->n++].plugin = plugin;
	log_info("%s: %s to %s%s%s", plugin, one->type->name, one->foreign, one->emit ? ", out" : "",
		 one->read ? ", in" : "");
	return 0;
}

static int load_one(struct converters *c, const char *path)
{
	const struct sim_converter_plugin *p;
	const void *table;
	void *handle;
	int r;

	if (c->n_plugins == PLUGINS_MAX)
		return err_set(-E2BIG, "more than %d converter plug-ins", PLUGINS_MAX);
	r = plugin_table(path, "converter", SIM_CONVERTER_SYMBOL, &handle, &table);
	if (handle)
		c->handle[c->n_plugins++] = handle;
	if (r == 0)
		r = check_table(table, path);
	if (r < 0)
		return r;
	p = table;
	for (unsigned i = 0; r == 0 && p->converters[i]; i++)
		r = add(c, p->converters[i], p->name);
	return r;
}

int converters_load(const char *dir, const json_t *names, struct converters **ret)
{
	struct converters *c = MEM_NEW(struct converters);
	char path[PLUGIN_PATH_MAX];
	json_t *item;
	size_t i;
	int r = c ? 0 : err_nomem();

	json_array_foreach(names, i, item) {
		const char *name = json_string_value(item);

		if (r < 0)
			break;
		if (name)
			plugin_path(path, dir, "converter", name);
		r = name ? load_one(c, path) : err_set(-EPROTO, "simd listed a converter that is not a string");
	}
	if (r < 0)
		converters_unload(c);
	else
		*ret = c;
	return r;
}

void converters_unload(struct converters *c)
{
	if (!c)
		return;
	for (unsigned i = 0; i < c->n_plugins; i++)
		dlclose(c->handle[i]);
	mem_free(c);
}
