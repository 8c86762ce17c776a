/* SPDX-License-Identifier: Apache-2.0 */
/* Loading a bridge plug-in and its handshake. Thread: main. */
#include "plugin.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "err.h"
#include "mem.h"
#include "trust.h"

#define OPS_MIN_SIZE (offsetof(struct sim_bridge_ops, destroy) + sizeof(((struct sim_bridge_ops *)0)->destroy))

static int check_ops(const struct sim_bridge_ops *ops, const char *path)
{
	if (!ops)
		return err_set(-ELIBBAD, "%s: " SIM_BRIDGE_SYMBOL "() returned nothing", path);
	if (ops->abi != SIM_BRIDGE_ABI)
		return err_set(-ELIBBAD,
			       "%s was built for bridge ABI %u, this simbridge speaks %u: rebuild the plug-in", path,
			       ops->abi, SIM_BRIDGE_ABI);
	if (ops->size < OPS_MIN_SIZE)
		return err_set(-ELIBBAD,
			       "%s: its table has %u bytes, bridge ABI %u needs at least %zu: rebuild the plug-in",
			       path, ops->size, SIM_BRIDGE_ABI, OPS_MIN_SIZE);
	if (!ops->name || !ops->type || !ops->reg || !ops->create || !ops->connect || !ops->disconnect ||
	    !ops->status || !ops->open || !ops->close || !ops->publish || !ops->destroy)
		return err_set(-ELIBBAD, "%s: a required member of its table is NULL", path);
	return 0;
}

static int add_type(struct plugin *p, const char *type_name, const char *foreign, int way)
{
	struct plugin_type *t;

	if (!type_name || !foreign || strlen(type_name) > SIM_TYPE_NAME_MAX)
		return -EINVAL;
	if (p->n_types == PLUGIN_TYPES_MAX)
		return -E2BIG;
	t = &p->types[p->n_types++];
	snprintf(t->name, sizeof(t->name), "%s", type_name);
	snprintf(t->foreign, sizeof(t->foreign), "%s", foreign);
	t->way = way;
	return 0;
}

static int add_publisher(void *ctx, const char *type_name, const char *foreign)
{
	return add_type(ctx, type_name, foreign, PLUGIN_OUT);
}

static int add_subscriber(void *ctx, const char *type_name, const char *foreign)
{
	return add_type(ctx, type_name, foreign, PLUGIN_IN);
}

static int add_service(void *ctx, const char *type_name, const char *foreign)
{
	return add_type(ctx, type_name, foreign, PLUGIN_SERVICE);
}

void plugin_path(char ret[PLUGIN_PATH_MAX], const char *dir, const char *kind, const char *name)
{
	if (strchr(name, '/'))
		snprintf(ret, PLUGIN_PATH_MAX, "%s", name);
	else
		snprintf(ret, PLUGIN_PATH_MAX, "%s/%s_%s.so", dir, kind, name);
}

int plugin_table(const char *path, const char *kind, const char *symbol, void **ret_handle, const void **ret_table)
{
	const void *(*entry)(void);
	void *sym;
	int r = strchr(path, '/') ? trust_check(path) : 0;

	if (r < 0)
		return r;
	/*
	 * Never unmapped: libraries that it links (Cyclone) register thread-exit destructors on threads that call them,
	 * as libsimclient's "sim-service", and those run when the thread ends.
	 */
	*ret_handle = dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
	if (!*ret_handle)
		return err_set(-ENOENT, "cannot load the %s plug-in: %s", kind, dlerror());
	sym = dlsym(*ret_handle, symbol);
	if (!sym)
		return err_set(-ELIBBAD, "%s exports no %s(): it is not a %s plug-in", path, symbol, kind);
	memcpy(&entry, &sym, sizeof(entry));
	*ret_table = entry();
	return 0;
}

int plugin_load(const char *dir, const char *name, struct plugin **ret)
{
	struct sim_bridge_registry reg = { .abi = SIM_BRIDGE_ABI,
					   .size = sizeof(reg),
					   .add_publisher = add_publisher,
					   .add_subscriber = add_subscriber,
					   .add_service = add_service };
	struct plugin *p = MEM_NEW(struct plugin);
	char path[PLUGIN_PATH_MAX];
	const void *table;
	int r;

	if (!p)
		return err_nomem();
	plugin_path(path, dir, "bridge", name);
	r = plugin_table(path, "bridge", SIM_BRIDGE_SYMBOL, &p->handle, &table);
	if (r == 0)
		r = check_ops(p->ops = table, path);
	if (r < 0)
		goto err;
	reg.ctx = p;
	r = p->ops->reg(&reg);
	if (r < 0) {
		err_sys(r, "%s: the plug-in failed to register its types", path);
		goto err;
	}
	*ret = p;
	return 0;
err:
	plugin_unload(p);
	return r;
}

void plugin_unload(struct plugin *p)
{
	if (!p)
		return;
	if (p->handle)
		dlclose(p->handle);
	mem_free(p);
}

static const struct sim_bridge_option *find_option(const struct plugin *p, const char *name)
{
	for (const struct sim_bridge_option *o = p->ops->options; o && o->name; o++)
		if (!strcmp(o->name, name))
			return o;
	return NULL;
}

/* The default shows the type of an option: an object, a list, or a single value. */
static int check_kind(const struct sim_bridge_option *o, json_t *value)
{
	char begin = o->deflt ? o->deflt[0] : '\0';

	if (begin == '{')
		return json_is_object(value) ? 0 : err_set(-EINVAL, "options.%s: must be an object", o->name);
	if (begin == '[')
		return json_is_array(value) ? 0 : err_set(-EINVAL, "options.%s: must be a list", o->name);
	if (json_is_object(value) || json_is_array(value) || json_is_null(value))
		return err_set(-EINVAL, "options.%s: must be a string, a number or a boolean", o->name);
	return 0;
}

int plugin_check_options(const struct plugin *p, json_t *options, void (*each)(void *arg), void *arg)
{
	const char *key;
	json_t *value;
	int first = 0, r;

	json_object_foreach(options, key, value) {
		const struct sim_bridge_option *o = find_option(p, key);

		r = o ? check_kind(o, value)
		      : err_set(-EINVAL, "options.%s: the bridge plug-in \"%s\" has no such option", key, p->ops->name);
		first = r < 0 ? r : first;
		if (r < 0 && !each)
			return r;
		if (r < 0)
			each(arg);
	}
	for (const struct sim_bridge_option *o = p->ops->options; o && o->name; o++) {
		if (o->deflt || json_object_get(options, o->name))
			continue;
		first = err_set(-EINVAL, "options.%s is required by the bridge plug-in \"%s\" (%s)", o->name,
				p->ops->name, o->help ? o->help : "");
		if (!each)
			return first;
		each(arg);
	}
	return first;
}

const char *plugin_option(const struct plugin *p, json_t *options, const char *name, json_t *texts)
{
	const struct sim_bridge_option *o = find_option(p, name);
	json_t *v = json_object_get(options, name);
	char *text;

	if (!o)
		return NULL;
	if (!v)
		return o->deflt;
	if (json_is_string(v))
		return json_string_value(v);
	if (!json_object_get(texts, name)) {
		text = json_dumps(v, JSON_COMPACT | JSON_ENCODE_ANY | JSON_REAL_PRECISION(17));
		json_object_set_new(texts, name, json_string(text ? text : ""));
		free(text);
	}
	return json_string_value(json_object_get(texts, name));
}

static bool registered(const struct plugin *p, const char *type_name, int way)
{
	for (unsigned i = 0; i < p->n_types; i++)
		if (p->types[i].way == way && !strcmp(p->types[i].name, type_name))
			return true;
	return false;
}

bool plugin_maps(const struct plugin *p, const char *type_name)
{
	return registered(p, type_name, PLUGIN_OUT);
}

bool plugin_carries(const struct plugin *p, const char *type_name)
{
	return plugin_foreign(p, type_name) != NULL;
}

const char *plugin_foreign(const struct plugin *p, const char *type_name)
{
	const char *any = NULL;

	for (unsigned i = 0; i < p->n_types; i++) {
		if (p->types[i].way != PLUGIN_OUT)
			continue;
		if (!strcmp(p->types[i].name, type_name))
			return p->types[i].foreign;
		if (!strcmp(p->types[i].name, "*"))
			any = p->types[i].foreign;
	}
	return any;
}

bool plugin_brings(const struct plugin *p, const char *type_name)
{
	return registered(p, "*", PLUGIN_IN) || registered(p, type_name, PLUGIN_IN);
}

bool plugin_serves(const struct plugin *p, const char *type_name)
{
	return registered(p, "*", PLUGIN_SERVICE) || registered(p, type_name, PLUGIN_SERVICE);
}

uint32_t plugin_flags(const struct plugin *p)
{
	return SIM_BRIDGE_HAS(p->ops, flags) ? p->ops->flags : 0;
}
