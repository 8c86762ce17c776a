/* SPDX-License-Identifier: Apache-2.0 */
/*
 * simd's configuration: the table of its keys, and loading it (file, fragments, rigs, overrides).
 * Thread: loaded on simd-main before anything starts; read-only afterwards, any thread.
 */
#ifndef CONFIG_CONFIG_H
#define CONFIG_CONFIG_H

#include "conf.h"

#include <stdbool.h>
#include <stdint.h>

struct config_sources {
	const char *file;        /* NULL: usual_file, if it exists */
	const char *usual_file;  /* installed path; NULL: only defaults */
	const char *const *rigs; /* files with one rig (or a fragment with "rigs") */
	unsigned n_rigs;
	const char *const *overrides; /* "dotted.path=value" */
	unsigned n_overrides;
	const char *text; /* for tests: the whole configuration as JSON text; NULL: none */
	/* Called for each mistake that the table of keys cannot detect, with err_why(); NULL: stop at the first one. */
	void (*each)(void *arg);
	void *arg;
};

extern const struct conf_key config_keys[];

/* Loads and checks everything. Errors with err_why() set. ret: conf_destroy(). */
int config_load(const struct config_sources *s, struct conf **ret);

/* enum sim_time_source of "TimeSource"; SIM_SOURCE_PLUGIN, with its name in *ret_name, for any other name. */
int config_time_source(const struct conf *c, const char **ret_name);

/* Whether simd uses a RouDi with iceoryx's default names, which it does not start. */
static inline bool config_roudi_external(struct conf_view root)
{
	return conf_choice(root, "roudi.start") == 1;
}

#define CONFIG_BRIDGES_MAX  64 /* of all rigs */
#define CONFIG_CARRIERS_MAX 16 /* bridges of one channel */

/* Checks these two limits. -E2BIG, with err_why() set. */
int config_check_carriers(struct conf_view root);
/* The pattern in a bridge's list `key` that includes the full name; NULL: none, or a later "!" pattern excludes it. */
const char *config_listed_as(struct conf_view bridge, const char *prefix, const char *key, const char *full);

/* Rights that "access" can restrict: identifier, key, description. */
#define CONFIG_RIGHTS(X) \
	X(PUBLISH, "publish", "Who may publish on channels and use exclusive tokens.") \
	X(SUBSCRIBE, "subscribe", "Who may subscribe to channels.") \
	X(DRIVE, "drive", "Who may drive simulated time, and take part in its steps.") \
	X(PAUSE, "pause", "Who may pause, resume, step and scale simulated time, and choose its source.") \
	X(SERVE, "serve", "Who may offer services.") \
	X(CALL, "call", "Who may call services.") \
	X(BRIDGE, "bridge", "Who may stand for a bridge that simd does not start (start: external).") \
	X(RESTART, "restart", "Who may restart bridges and processes, and connect bridges to other places.") \
	X(SHUTDOWN, "shutdown", "Who may end simd.")

/* Parses an entry of these lists: a user, or "@" and a group, by name or number. -ENOENT: no such user or group. */
int config_principal(const char *text, bool *ret_group, uint32_t *ret_id);

/* Permission bits of socket.mode ("0660"); -EINVAL. */
int config_mode(const char *text, unsigned *ret);

#endif
