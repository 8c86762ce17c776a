/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A loaded bridge plug-in: its checked ops table and what it registered. Thread: main, before the
 * first lane runs; read-only afterwards.
 */
#ifndef PLUGIN_H
#define PLUGIN_H

#include <jansson.h>
#include <stdbool.h>

#include <sim/bridge.h>

#define PLUGIN_TYPES_MAX 256

enum plugin_way { PLUGIN_OUT, PLUGIN_IN, PLUGIN_SERVICE };

struct plugin_type {
	char name[SIM_TYPE_NAME_MAX + 1];
	char foreign[128];
	int way; /* enum plugin_way */
};

struct plugin {
	void *handle;
	const struct sim_bridge_ops *ops;
	unsigned n_types;
	struct plugin_type types[PLUGIN_TYPES_MAX];
};

/*
 * Loads `name`: a path if it contains a slash, else bridge_<name>.so in `dir`. Checks the handshake and calls reg().
 * Errors, each with a reason: -ENOENT, -ELIBBAD (no symbol, wrong ABI, short or incomplete table), or the error of
 * reg().
 */
int plugin_load(const char *dir, const char *name, struct plugin **ret);
void plugin_unload(struct plugin *p);

/*
 * plugin_path() writes the file of a plug-in: `name` if it contains a slash, else <kind>_<name>.so in `dir`.
 * plugin_table() loads it and calls its function `symbol`; *ret_handle is open if it is not NULL, even on error.
 * -ENOENT, -ELIBBAD, each with a reason.
 */
#define PLUGIN_PATH_MAX 4096
void plugin_path(char ret[PLUGIN_PATH_MAX], const char *dir, const char *kind, const char *name);
int plugin_table(const char *path, const char *kind, const char *symbol, void **ret_handle, const void **ret_table);

/*
 * Checks that the plug-in has every key of `options`, and that every required one is present. -EINVAL with a reason.
 * With `each`, continues after an error and calls it for each one, with err_why() set.
 */
int plugin_check_options(const struct plugin *p, json_t *options, void (*each)(void *arg), void *arg);
/*
 * Returns the value of an option as text: the rig's, else the default; NULL if the plug-in has no such option. A value
 * that is not a string is JSON text, owned by `texts`, an object.
 */
const char *plugin_option(const struct plugin *p, json_t *options, const char *name, json_t *texts);

/* Whether the plug-in registered a publisher for the type (by name or "*"). */
bool plugin_carries(const struct plugin *p, const char *type_name);
/* The foreign type that it registered, by name before "*"; NULL: it does not carry the type. */
const char *plugin_foreign(const struct plugin *p, const char *type_name);
/* Whether the plug-in registered a publisher for exactly this type, not only for "*". */
bool plugin_maps(const struct plugin *p, const char *type_name);
/* Whether the plug-in registered a subscriber for the type. */
bool plugin_brings(const struct plugin *p, const char *type_name);
/* enum sim_bridge_flag; 0 for a plug-in built before flags existed. */
uint32_t plugin_flags(const struct plugin *p);
/* Whether the plug-in registered the service type. */
bool plugin_serves(const struct plugin *p, const char *type_name);

#endif
