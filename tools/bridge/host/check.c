/* SPDX-License-Identifier: Apache-2.0 */
/*
 * simbridge --check: finds what would make a bridge's start fail, without connecting anywhere and without simd. Reads
 * the bridge's configuration from stdin, as JSON; prints one finding a line to stdout, beginning with the key. Thread:
 * main.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "converter.h"
#include "err.h"
#include "host.h"
#include "mem.h"
#include "plugin.h"

struct check {
	struct plugin *plugin;
	struct converters *converters; /* NULL: the list is empty, or a converter cannot be loaded */
	json_t *options, *texts;
	unsigned n;
};

static void found(void *arg)
{
	struct check *k = arg;

	k->n++;
	puts(err_why());
}

static void check_log(void *ctx, int level, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

static void check_log(void *ctx, int level, const char *fmt, ...)
{
	struct check *k = ctx;
	va_list ap;

	if (level)
		return;
	k->n++;
	va_start(ap, fmt);
	vprintf(fmt, ap);
	va_end(ap);
	putchar('\n');
}

static const char *check_option(void *ctx, const char *name)
{
	struct check *k = ctx;

	return plugin_option(k->plugin, k->options, name, k->texts);
}

static const struct sim_converter *check_converter(void *ctx, const char *sim_type, const char *foreign, unsigned i)
{
	struct check *k = ctx;

	return k->converters ? converters_find(k->converters, sim_type, foreign, i) : NULL;
}

/* Must exist: plug-ins check for this member when they read the services to offer. Never called. */
static int check_answer(void *ctx, struct sim_pending *p, int result, const char *why, const void *response,
			size_t size)
{
	(void)ctx;
	(void)p;
	(void)result;
	(void)why;
	(void)response;
	(void)size;
	return -ENOTCONN;
}

/* Runs the plug-in's own check(), if it has one. */
static void ask_plugin(struct check *k, const char *connection)
{
	const struct sim_bridge_host services = { .abi = SIM_BRIDGE_ABI,
						  .size = sizeof(services),
						  .ctx = k,
						  .log = check_log,
						  .option = check_option,
						  .converter = check_converter,
						  .answer = check_answer };
	unsigned before = k->n;
	int r = SIM_BRIDGE_HAS(k->plugin->ops, check) ? k->plugin->ops->check(&services, connection) : 0;

	if (r < 0 && k->n == before) {
		err_set(r, "plugin: %s refuses it: %s", k->plugin->ops->name, err_text(r));
		found(k);
	}
}

static void check_converters(struct check *k, const char *plugin_dir, json_t *list)
{
	json_t *item;
	size_t i;

	json_array_foreach(list, i, item) {
		json_t *one = json_pack("[O]", item);
		struct converters *c = NULL;

		if (converters_load(plugin_dir, one, &c) < 0) {
			printf("converters[%zu]: %s\n", i, err_why());
			k->n++;
		}
		converters_unload(c);
		json_decref(one);
	}
}

int host_check(const char *plugin_dir)
{
	json_t *config = json_loadf(stdin, 0, NULL);
	const char *plugin = json_string_value(json_object_get(config, "plugin"));
	const char *connection = json_string_value(json_object_get(config, "connection"));
	struct check k = { .options = json_object_get(config, "options"), .texts = json_object() };
	int r = plugin ? plugin_load(plugin_dir, plugin, &k.plugin) : -EINVAL;

	if (!plugin)
		puts("plugin: --check expects the configuration of a bridge on stdin, as JSON");
	else if (r < 0)
		printf("plugin: %s\n", err_why());
	k.n = r < 0;
	if (converters_load(plugin_dir, json_object_get(config, "converters"), &k.converters) < 0)
		k.converters = NULL; /* check_converters() reports each failure */
	if (r == 0 && plugin_check_options(k.plugin, k.options, found, &k) == 0)
		ask_plugin(&k, connection ? connection : "");
	check_converters(&k, plugin_dir, json_object_get(config, "converters"));
	plugin_unload(k.plugin);
	converters_unload(k.converters);
	json_decref(k.texts);
	json_decref(config);
	return k.n ? -EINVAL : 0;
}
