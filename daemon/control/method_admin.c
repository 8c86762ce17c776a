/* SPDX-License-Identifier: Apache-2.0 */
/* Methods about simd itself: what it is, its configuration, restarting a bridge, ending it. Thread: simd-main. */
#include "conn.h"

#include "bridge.h"
#include "rig.h"
#include "simd.h"
#include "err.h"
#include "jsonx.h"
#include "mem.h"

#include <errno.h>
#include <sys/statvfs.h>
#include <unistd.h>

static json_t *rigs_json(const struct simd *s)
{
	json_t *a = json_array();

	for (unsigned i = 0; i < s->n_rigs; i++)
		json_array_append_new(a, json_string(s->rigs[i].name));
	return a;
}

static json_t *pools_json(const struct simd *s)
{
	json_t *a = json_array();

	for (unsigned i = 0; i < s->pools.n; i++)
		json_array_append_new(a, json_pack("{s:I, s:I}", "size", (json_int_t)s->pools.c[i].size, "count",
						   (json_int_t)s->pools.c[i].count));
	return a;
}

static int method_get_info(struct call *call)
{
	const struct simd *s = call->s;
	struct statvfs shm = { 0 };
	struct mem_stats mem;

	mem_stats(&mem);
	(void)statvfs("/dev/shm", &shm);
	call->reply =
		json_pack("{s:s, s:s, s:i, s:I, s:s, s:i, s:b, s:I, s:s, s:o, s:o, s:I, s:I, s:I, s:I, s:I, s:I, s:o}",
			  "version", SIM_VERSION, "simd_id", s->id_text, "pid", (int)getpid(), "uptime_ms",
			  (json_int_t)((exec_now(s->x) - s->start_mono_ns) / 1000000), "runtime", s->runtime_dir,
			  "roudi_pid", s->dataplane.roudi_pid, "roudi_owned", (int)s->dataplane.roudi_owned,
			  "iox_generation", (json_int_t)s->dataplane.generation, "backend",
			  conf_choice(s->root, "backend") == 0 ? "iox" : "mem", "rigs", rigs_json(s), "pools",
			  pools_json(s), "shm_total", (json_int_t)(shm.f_blocks * shm.f_frsize), "shm_free",
			  (json_int_t)(shm.f_bavail * shm.f_frsize), "shm_need", (json_int_t)pools_need(&s->pools),
			  "clients", (json_int_t)s->n_clients, "channels", (json_int_t)s->n_channels, "memory",
			  (json_int_t)mem.bytes, "given_up",
			  s->ops && s->ops->given_up ? s->ops->given_up(s->user) : json_array());
	return call->reply ? 0 : err_nomem();
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
	call->reply = json_pack("{s:O, s:o, s:o}", "config", call->s->root.obj, "origins", origins, "changed", changed);
	return call->reply ? 0 : err_nomem();
}

static int method_restart_bridge(struct call *call)
{
	struct simd *s = call->s;
	const char *name;
	int r = jsonx_string(call->params, "name", 4096, &name);

	if (r < 0)
		return r;
	if (!bridge_find(s, name))
		return err_set(-ENOENT, "no rig has a bridge \"%.60s\"; `simctl bridge list` shows those there are",
			       name);
	if (!s->ops || !s->ops->bridge_restart)
		return err_set(-EOPNOTSUPP, "bridge %s was not started by this simd", name);
	return s->ops->bridge_restart(s->user, name);
}

static int method_shutdown(struct call *call)
{
	const struct simd *s = call->s;

	if (!s->ops || !s->ops->shutdown)
		return err_set(-EOPNOTSUPP, "this simd cannot be shut down by a client");
	s->ops->shutdown(s->user);
	return 0;
}

#define P(...) \
	(const char *const[]) \
	{ \
		__VA_ARGS__, NULL \
	}
static const char *const none[] = { NULL };

const struct method admin_methods[] = {
	{ "GetInfo", method_get_info, 0, none },
	{ "GetConfig", method_get_config, 0, none },
	{ "RestartBridge", method_restart_bridge, METHOD_ADMIN, P("name") },
	{ "Shutdown", method_shutdown, METHOD_ADMIN, none },
	{ 0 },
};
