/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Methods about simd itself: information, configuration, restarting bridges and processes, shutdown. Thread: simd-main.
 */
#include "conn.h"

#include "bridge.h"
#include "report_pools.h"
#include "rig.h"
#include "simd.h"
#include "slot_reclaim.h"
#include "err.h"
#include "jsonx.h"
#include "mem.h"
#include "near.h"
#include "timeutil.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

static json_t *rigs_json(const struct simd *s)
{
	json_t *a = json_array();

	for (unsigned i = 0; i < s->n_rigs; i++)
		json_array_append_new(a, json_string(s->rigs[i].name));
	return a;
}

static int method_get_info(struct call *call)
{
	const struct simd *s = call->s;
	struct statvfs shm = { 0 };
	struct mem_stats mem;

	mem_stats(&mem);
	(void)statvfs("/dev/shm", &shm);
	return call_reply(
		call,
		JSONX_MAKE(JX_STR("version", SIM_VERSION), JX_STR("simd_id", s->id_text), JX_INT("pid", getpid()),
			   JX_INT("uptime_ms", (exec_now(s->x) - s->start_mono_ns) / NS_PER_MS),
			   JX_STR("runtime", s->runtime_dir), JX_STR("plane", s->plane),
			   JX_INT("roudi_pid", s->dataplane.roudi_pid),
			   JX_BOOL("roudi_owned", s->dataplane.roudi_owned),
			   JX_BOOL("roudi_robust", s->dataplane.roudi_robust),
			   JX_INT("iox_generation", s->dataplane.generation), JX_STR("backend", call_backend(call)),
			   JX_NEW("rigs", rigs_json(s)), JX_NEW("pools", report_pools(s)),
			   JX_INT("shm_total", shm.f_blocks * shm.f_frsize),
			   JX_INT("shm_free", shm.f_bavail * shm.f_frsize), JX_INT("shm_need", pools_need(&s->pools)),
			   JX_INT("clients", s->n_clients), JX_INT("channels", s->n_channels),
			   JX_INT("memory", mem.bytes), JX_STR("reclaim_why", slot_reclaim_why(s)),
			   JX_NEW("given_up", s->ops && s->ops->given_up ? s->ops->given_up(s->user) : json_array())));
}

static int method_get_config(struct call *call)
{
	json_t *list = conf_effective(call->s->conf), *origins = json_object(), *changed = json_object(), *item;
	size_t i;

	json_array_foreach(list, i, item) {
		const char *key = json_string_value(json_object_get(item, "key"));

		if (key)
			json_object_set(origins, key, json_object_get(item, "origin"));
		if (key && json_object_get(item, "default"))
			json_object_set(changed, key, json_object_get(item, "default"));
	}
	json_decref(list);
	return call_reply(call, JSONX_MAKE(JX_NEW("config", json_incref(call->s->root.obj)), JX_NEW("origins", origins),
					   JX_NEW("changed", changed)));
}

static int no_bridge(const struct simd *s, const char *name)
{
	struct near n = { .word = name };
	char text[NEAR_TEXT_MAX];
	const struct bridge *b;

	list_for_each(b, &s->bridges, link)
		near_offer(&n, b->name);
	return err_set(-ENOENT, "no rig has a bridge \"%.60s\"; %s", name,
		       near_text(&n, "`simctl bridge list` shows those there are", text));
}

/* Finds a bridge that simd can restart. */
static int find_own_bridge(struct call *call, struct bridge **ret)
{
	const struct simd *s = call->s;
	const char *name = call->a.name;

	*ret = bridge_find(call->s, name);
	if (!*ret)
		return no_bridge(s, name);
	if (!s->ops || !s->ops->bridge_restart)
		return err_set(-EOPNOTSUPP, "bridge %s was not started by this simd", name);
	return 0;
}

static int restart(const struct simd *s, struct bridge *b)
{
	bridge_evict(b);
	return s->ops->bridge_restart(s->user, b->name);
}

static int method_restart_bridge(struct call *call)
{
	struct bridge *b;
	int r = find_own_bridge(call, &b);

	return r < 0 ? r : restart(call->s, b);
}

static bool goes_up(const char *path)
{
	bool up = false;

	for (const char *at = path; (at = strstr(at, "..")) && !up; at += 2)
		up = (at == path || at[-1] == '/') && (at[2] == '/' || !at[2]);
	return up;
}

/* Resolves the existing part of path, following symbolic links; cuts path down to it. False: it cannot be resolved. */
static bool resolve(char *path, char ret[PATH_MAX])
{
	struct stat st;
	char *end;

	while (!realpath(path, ret)) {
		end = strrchr(path, '/');
		if ((errno != ENOENT && errno != ENOTDIR) || lstat(path, &st) == 0 || !end || end == path)
			return false; /* also for a symbolic link whose target does not exist yet */
		*end = '\0';
	}
	return true;
}

static bool is_below(const char *dir, const char *connection)
{
	char path[2 * PATH_MAX], real[PATH_MAX];
	size_t len = strlen(dir);

	if (goes_up(connection) ||
	    snprintf(path, sizeof(path), *connection == '/' ? "%.0s%s" : "%s/%s", dir, connection) >= (int)sizeof(path))
		return false;
	return resolve(path, real) && strncmp(real, dir, len) == 0 && (real[len] == '/' || !real[len]);
}

/*
 * Plug-ins that store data create files, with simd's rights. So other users may name no place outside the working
 * directory of bridges, which for the service is its log directory. Addresses are not paths, and so count as inside.
 */
static int may_connect_to(const struct call *call, const char *connection)
{
	const struct ucred *cred = &call->conn->cred;
	const char *configured = conf_string(conf_root(call->s->conf), "bridge.dir");
	char dir[PATH_MAX];

	if (cred->uid == 0 || cred->uid == geteuid())
		return 0;
	if (!realpath(*configured ? configured : ".", dir))
		return err_sys(-errno, "bridge.dir: %s", *configured ? configured : ".");
	if (strcmp(dir, "/") == 0)
		return err_set(
			-EACCES,
			"bridges of this simd work in /, so only root and simd's own user may name what they connect to; "
			"give them a directory by bridge.dir in simd's configuration");
	if (is_below(dir, connection))
		return 0;
	return err_set(
		-EACCES,
		"\"%.100s\": only root and simd's own user may name a path outside %.200s, the directory of bridges; "
		"give one inside it, without \"..\" and without symbolic links that lead out",
		connection, dir);
}

/*
 * Restarts the bridge with the new connection, as after an edit of the configuration: not every plug-in can change it
 * while running.
 */
static int method_set_bridge_connection(struct call *call)
{
	struct bridge *b;
	int r = find_own_bridge(call, &b);

	if (r == 0 && b->external)
		r = err_set(
			-EOPNOTSUPP,
			"bridge %s is started by its own unit, not by simd; change its connection in the configuration",
			b->name);
	if (r == 0)
		r = may_connect_to(call, call->a.connection);
	if (r == 0)
		r = bridge_set_connection(b, call->a.connection);
	return r < 0 ? r : restart(call->s, b);
}

static int method_restart_process(struct call *call)
{
	const struct simd *s = call->s;

	if (!s->ops || !s->ops->process_restart)
		return err_set(-EOPNOTSUPP, "this simd starts no processes");
	return s->ops->process_restart(s->user, call->a.name);
}

static int method_shutdown(struct call *call)
{
	const struct simd *s = call->s;

	if (!s->ops || !s->ops->shutdown)
		return err_set(-EOPNOTSUPP, "this simd cannot be shut down by a client");
	s->ops->shutdown(s->user);
	return 0;
}

const struct method admin_methods[] = {
	{ "GetInfo", method_get_info, 0, NULL },
	{ "GetConfig", method_get_config, 0, NULL },
	{ "RestartBridge", method_restart_bridge, METHOD_ADMIN | RIGHT(RESTART),
	  PARAMS(ARG_STR("name", name, TEXT_MAX)) },
	{ "SetBridgeConnection", method_set_bridge_connection, METHOD_ADMIN | RIGHT(RESTART),
	  PARAMS(ARG_STR("name", name, TEXT_MAX), ARG_STR("connection", connection, TEXT_MAX)) },
	{ "RestartProcess", method_restart_process, METHOD_ADMIN | RIGHT(RESTART),
	  PARAMS(ARG_STR("name", name, TEXT_MAX)) },
	{ "Shutdown", method_shutdown, METHOD_ADMIN | RIGHT(SHUTDOWN), NULL },
	{ 0 },
};
