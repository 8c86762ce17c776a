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
 * Load `name`: a path when it holds a slash, else bridge_<name>.so in `dir`. Checks the handshake and lets it
 * register. Errors, each with a sentence: -ENOENT, -ELIBBAD (no symbol, wrong ABI, short or incomplete table),
 * or what reg() returned.
 */
int plugin_load(const char *dir, const char *name, struct plugin **ret);
void plugin_unload(struct plugin *p);

/*
 * The file of a plug-in: `name` where it holds a slash, else <kind>_<name>.so in `dir`. Then what its function `symbol` returns, and
 * its handle, which is open when that is not NULL, whatever is returned. -ENOENT, -ELIBBAD with a sentence.
 */
#define PLUGIN_PATH_MAX 4096
void plugin_path(char ret[PLUGIN_PATH_MAX], const char *dir, const char *kind, const char *name);
int plugin_table(const char *path, const char *kind, const char *symbol, void **ret_handle, const void **ret_table);

/*
 * Every key of `options` is on the plug-in's list and every required one is there. -EINVAL with a sentence, of the first one
 * that is not; each: is called for every one instead, with err_why().
 */
int plugin_check_options(const struct plugin *p, json_t *options, void (*each)(void *arg), void *arg);
/*
 * Value of an option as text: the rig's, else the default; anything but a string as JSON. NULL when it is not on the list.
 * A value that is not a string is kept as text in texts, an object, as long as that exists.
 */
const char *plugin_option(const struct plugin *p, json_t *options, const char *name, json_t *texts);

/* Whether the plug-in registered a publisher for the type (by name or "*"). */
bool plugin_carries(const struct plugin *p, const char *type_name);
/* What it registered it as, by name before "*"; NULL: it does not carry it. */
const char *plugin_foreign(const struct plugin *p, const char *type_name);
/* Whether it registered a publisher by that very name. */
bool plugin_maps(const struct plugin *p, const char *type_name);
/* Whether it registered a subscriber for the type. */
bool plugin_brings(const struct plugin *p, const char *type_name);
/* enum sim_bridge_flag; a plug-in of before there were any has none. */
uint32_t plugin_flags(const struct plugin *p);
/* Whether it registered that type of services. */
bool plugin_serves(const struct plugin *p, const char *type_name);

#endif
