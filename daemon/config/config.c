/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Loads the sources of the configuration in order of rising precedence, and makes the checks beyond the table of keys
 * (config_keys.c).
 * Thread: simd-main, before the start.
 */
#include "config.h"

#include "err.h"
#include "fd.h"
#include "log.h"
#include "mem.h"
#include "names.h"
#include "number.h"
#include "trust.h"

#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <sim/types.h>

/* Adds a rig file: one rig, or a fragment with "rigs". Wrapping a single rig keeps its line numbers. */
static int add_rig(struct conf *c, const char *path)
{
	json_t *j;
	bool whole;
	char *text;
	size_t len;
	int r = trust_check(path);

	if (r == 0)
		r = fd_read_file(path, CONF_FILE_MAX, &text, &len);
	if (r < 0)
		return r;
	j = json_loadb(text, len, 0, NULL);
	whole = !j || json_object_get(j, "rigs"); /* a syntax error is reported by the reader, with its line */
	json_decref(j);
	if (!whole) {
		char *wrapped = mem_printf("{\"rigs\":[%s]}", text);

		mem_free(text);
		text = wrapped;
	}
	r = text ? conf_add_text(c, path, text, whole ? len : strlen(text)) : err_nomem();
	mem_free(text);
	return r;
}

static int add_override(struct conf *c, const char *text)
{
	const char *eq = strchr(text, '=');
	char *path;
	int r;

	if (!eq || eq == text)
		return err_set(-EINVAL, "--set %s: expected KEY=VALUE, such as dispatch.wait_ms=50", text);
	path = mem_strndup(text, (size_t)(eq - text));
	if (!path)
		return err_nomem();
	r = conf_set(c, path, eq + 1, "--set");
	mem_free(path);
	return r;
}

static int add_main_file(struct conf *c, const struct config_sources *s)
{
	const char *file = s->file ? s->file : s->usual_file;
	char *dir;
	int r;

	if (s->text)
		return conf_add_text(c, "text", s->text, strlen(s->text));
	if (!file || (!s->file && access(file, F_OK) < 0))
		return 0;
	r = conf_add_file(c, file);
	if (r < 0)
		return r;
	dir = mem_printf("%s.d", file);
	if (!dir)
		return err_nomem();
	r = conf_add_dir(c, dir);
	mem_free(dir);
	return r;
}

/* ---- checks beyond the table ---- */

int config_mode(const char *text, unsigned *ret)
{
	uint64_t v;

	if (number_u64(text, NUMBER_OCT, 0777, &v) < 0 || (v & 0600) != 0600)
		return err_set(-EINVAL, "socket.mode: \"%s\" is not an octal mode that lets the owner in, such as 0660",
			       text);
	*ret = (unsigned)v;
	return 0;
}

int config_time_source(const struct conf *c, const char **ret_name)
{
	static const char *const names[] = {
#define X(id, num, name) [num] = name,
		SIM_TIME_SOURCES(X)
#undef X
	};
	json_t *v = conf_any(conf_root(c), "TimeSource");
	const char *s = json_string_value(v);

	if (json_is_integer(v)) {
		json_int_t n = json_integer_value(v);

		if (n < 0 || n >= SIM_SOURCE_PLUGIN)
			return err_set(-EINVAL, "TimeSource: %lld is out of range, 0 (unity) to 4 (ros2)",
				       (long long)n);
		*ret_name = names[n];
		return (int)n;
	}
	if (!s || !*s)
		return err_set(
			-EINVAL,
			"TimeSource: expected unity, ss2, system, simulation, ros2, 0 to 4, link, or the name of a plug-in");
	for (int i = 0; i < SIM_SOURCE_COUNT; i++) {
		if (i != SIM_SOURCE_PLUGIN && strcmp(s, names[i]) == 0) {
			*ret_name = names[i];
			return i;
		}
	}
	*ret_name = s;
	return SIM_SOURCE_PLUGIN;
}

static int check_name(const char *what, const char *name)
{
	if (names_plain_ok(name))
		return 0;
	return err_set(-EINVAL, "%s \"%s\": use 1 to 40 characters of A-Z a-z 0-9 _ . -", what, name);
}

static int check_channels(struct conf_view rig, const char *rig_name)
{
	for (size_t i = 0; i < conf_count(rig, "channels"); i++) {
		struct conf_view ch = conf_item(rig, "channels", i);

		if (!channel_name_ok(conf_string(ch, "name")))
			return err_set(-EINVAL,
				       "rigs[%s].channels: \"%s\" is not a channel name; use A-Z a-z 0-9 _ . / ~ -",
				       rig_name, conf_string(ch, "name"));
		if (!json_is_object(conf_any(ch, "options")))
			return err_set(-EINVAL, "rigs[%s].channels[%s].options: expected an object", rig_name,
				       conf_string(ch, "name"));
	}
	return 0;
}

static int check_bridges(struct conf_view rig, const char *rig_name)
{
	for (size_t i = 0; i < conf_count(rig, "bridges"); i++) {
		struct conf_view b = conf_item(rig, "bridges", i);
		int r = check_name("bridge", conf_string(b, "name"));

		if (r < 0)
			return r;
		if (!json_is_object(conf_any(b, "options")))
			return err_set(-EINVAL, "rigs[%s].bridges[%s].options: expected an object", rig_name,
				       conf_string(b, "name"));
		if (!*conf_string(b, "plugin"))
			return err_set(-EINVAL, "rigs[%s].bridges[%s].plugin: empty", rig_name, conf_string(b, "name"));
		for (size_t k = 0; k < conf_count(b, "converters"); k++)
			if (!*conf_string_at(b, "converters", k))
				return err_set(-EINVAL, "rigs[%s].bridges[%s].converters[%zu]: empty", rig_name,
					       conf_string(b, "name"), k);
	}
	return 0;
}

static int check_wait_for(struct conf_view rig, const char *rig_name)
{
	for (size_t i = 0; i < conf_count(rig, "wait_for"); i++)
		if (!names_plain_ok(conf_string_at(rig, "wait_for", i)))
			return err_set(
				-EINVAL,
				"rigs[%s].wait_for: \"%s\" is not the name of a bridge, a process or a client; use 1 to "
				"40 characters of A-Z a-z 0-9 _ . -",
				rig_name, conf_string_at(rig, "wait_for", i));
	return 0;
}

static int check_env(json_t *env, const char *name)
{
	const char *key;
	json_t *v;

	if (!json_is_object(env))
		return err_set(-EINVAL, "processes[%s].env: expected an object of strings", name);
	json_object_foreach(env, key, v) {
		if (!*key || strchr(key, '=') || !(json_is_string(v) || json_is_null(v)))
			return err_set(-EINVAL, "processes[%s].env.%s: expected a string, or null to unset it", name,
				       key);
	}
	return 0;
}

static int check_processes(struct conf_view rig)
{
	for (size_t i = 0; i < conf_count(rig, "processes"); i++) {
		struct conf_view p = conf_item(rig, "processes", i);
		int r = check_name("process", conf_string(p, "name"));

		if (r < 0)
			return r;
		if (conf_count(p, "command") == 0 || !*conf_string_at(p, "command", 0))
			return err_set(-EINVAL, "processes[%s].command: empty; name a program", conf_string(p, "name"));
		r = check_env(conf_any(p, "env"), conf_string(p, "name"));
		if (r < 0)
			return r;
	}
	return 0;
}

/* Bridges and processes are addressed by name alone, so a name may occur once over all rigs. */
static int check_unique(struct conf_view root, const char *list)
{
	for (size_t r1 = 0; r1 < conf_count(root, "rigs"); r1++) {
		struct conf_view a = conf_item(root, "rigs", r1);

		for (size_t r2 = r1 + 1; r2 < conf_count(root, "rigs"); r2++) {
			struct conf_view b = conf_item(root, "rigs", r2);

			for (size_t i = 0; i < conf_count(a, list); i++) {
				for (size_t k = 0; k < conf_count(b, list); k++) {
					const char *n = conf_string(conf_item(a, list, i), "name");

					if (strcmp(n, conf_string(conf_item(b, list, k), "name")) == 0)
						return err_set(
							-EINVAL,
							"rigs[%s].%s: the name %s is taken by rig %s; give it another",
							conf_string(b, "name"), list, n, conf_string(a, "name"));
				}
			}
		}
	}
	return 0;
}

/* The prefix as it appears in names: without leading and trailing slashes. */
static size_t bare_prefix(struct conf_view rig, const char **ret)
{
	const char *p = conf_string(rig, "prefix");
	size_t n;

	p += strspn(p, "/");
	n = strlen(p);
	while (n && p[n - 1] == '/')
		n--;
	*ret = p;
	return n;
}

/* A rig is one vehicle: with equal prefixes, two rigs would share the channels of their sensors. */
static int check_prefixes(struct conf_view root)
{
	for (size_t i = 0; i < conf_count(root, "rigs"); i++) {
		struct conf_view a = conf_item(root, "rigs", i);
		const char *pa, *pb;
		size_t na = bare_prefix(a, &pa);

		for (size_t k = i + 1; k < conf_count(root, "rigs"); k++) {
			struct conf_view b = conf_item(root, "rigs", k);

			if (bare_prefix(b, &pb) == na && memcmp(pa, pb, na) == 0)
				return err_set(-EINVAL,
					       "rigs[%s].prefix: \"%s\" is that of rig %s too, whose channels would be "
					       "the same; give it another",
					       conf_string(b, "name"), conf_string(b, "prefix"),
					       conf_string(a, "name"));
		}
	}
	return 0;
}

/* Where findings are reported. each NULL: the check ends at the first one. */
struct findings {
	void (*each)(void *arg);
	void *arg;
	int first;
};

/* Returns whether to continue. */
static bool note(struct findings *f, int r)
{
	if (r >= 0)
		return true;
	if (!f->first)
		f->first = r;
	if (f->each)
		f->each(f->arg);
	return f->each != NULL;
}

static int check_prefix(struct conf_view rig)
{
	const char *name = conf_string(rig, "name"), *prefix = conf_string(rig, "prefix");
	int r = check_name("rig", name);

	if (r == 0 && *prefix && !channel_name_ok(prefix))
		return err_set(-EINVAL,
			       "rigs[%s].prefix: \"%s\" cannot begin a channel name; use A-Z a-z 0-9 _ . / ~ -", name,
			       prefix);
	return r;
}

static bool check_rig(struct findings *f, struct conf_view rig)
{
	const char *name = conf_string(rig, "name");

	return note(f, check_prefix(rig)) && note(f, check_channels(rig, name)) && note(f, check_bridges(rig, name)) &&
	       note(f, check_processes(rig)) && note(f, check_wait_for(rig, name));
}

static int check_programs(struct conf_view root)
{
	static const char *const keys[] = { "roudi.path", "bridge.program" };
	const char *group = conf_string(root, "socket.group");

	for (unsigned i = 0; i < sizeof(keys) / sizeof(*keys); i++) {
		if (!*conf_string(root, keys[i]))
			return err_set(-EINVAL, "%s: empty; name a program", keys[i]);
	}
	if (conf_int(root, "process.restart_max_ms") < conf_int(root, "process.restart_ms"))
		return err_set(-EINVAL, "process.restart_max_ms: %lld is below process.restart_ms, %lld",
			       (long long)conf_int(root, "process.restart_max_ms"),
			       (long long)conf_int(root, "process.restart_ms"));
	if (*group && !getgrnam(group))
		return err_set(-ENOENT, "socket.group: there is no group \"%s\"", group);
	return 0;
}

int config_principal(const char *text, bool *ret_group, uint32_t *ret_id)
{
	bool group = *text == '@';
	const char *name = text + group;
	const struct group *g = group ? getgrnam(name) : NULL;
	const struct passwd *u = group ? NULL : getpwnam(name);
	uint64_t id = g ? g->gr_gid : u ? u->pw_uid : UINT32_MAX;

	if (!g && !u && number_u64(name, NUMBER_DEC, UINT32_MAX, &id) < 0)
		id = UINT32_MAX;
	if (id == UINT32_MAX)
		return err_set(-ENOENT, "there is no %s \"%.60s\"", group ? "group" : "user", name);
	*ret_group = group;
	*ret_id = (uint32_t)id;
	return 0;
}

static int check_right(struct conf_view access, const char *key)
{
	const char *file = conf_origin(access, key);
	bool group;
	uint32_t id;

	for (size_t i = 0; i < conf_count(access, key); i++)
		if (config_principal(conf_string_at(access, key, i), &group, &id) < 0)
			return err_prefix(-ENOENT, "%s: access.%s", file ? file : "?", key);
	return 0;
}

static int check_access(struct conf_view root)
{
	struct conf_view access = conf_object(root, "access");
	int r = 0;

#define X(id, key, doc) r = r < 0 ? r : check_right(access, key);
	CONFIG_RIGHTS(X)
#undef X
	return r;
}

static int check_scale(struct conf_view root)
{
	double scale = conf_real(root, "TimeScale");

	if (scale != 0 && scale < 0.01)
		return err_set(-EINVAL, "TimeScale: %g is out of range, 0.01 to 100, or 0 to start paused", scale);
	return 0;
}

static int check_log(struct conf_view root)
{
	int r = log_check_spec(conf_string(root, "log"));

	return r < 0 ? err_prefix(r, "log") : 0;
}

/* What the table of keys cannot express: globs, names that must be unique over rigs, TimeSource, the socket's mode. */
static int check_all(const struct conf *c, void (*each)(void *arg), void *arg)
{
	struct conf_view root = conf_root(c);
	struct findings f = { .each = each, .arg = arg };
	const char *name;
	unsigned mode;
	bool on = note(&f, config_mode(conf_string(root, "socket.mode"), &mode)) &&
		  note(&f, config_time_source(c, &name)) && note(&f, check_scale(root));

	for (size_t i = 0; on && i < conf_count(root, "rigs"); i++)
		on = check_rig(&f, conf_item(root, "rigs", i));
	on = on && note(&f, check_log(root)) && note(&f, check_programs(root)) && note(&f, check_access(root)) &&
	     note(&f, check_unique(root, "bridges")) && note(&f, check_unique(root, "processes")) &&
	     note(&f, check_prefixes(root)) && note(&f, config_check_carriers(root));
	return f.first;
}

int config_load(const struct config_sources *s, struct conf **ret)
{
	struct conf *c;
	int r = conf_create(config_keys, &c);

	if (r < 0)
		return r;
	r = add_main_file(c, s);
	for (unsigned i = 0; r == 0 && i < s->n_rigs; i++)
		r = add_rig(c, s->rigs[i]);
	for (unsigned i = 0; r == 0 && i < s->n_overrides; i++)
		r = add_override(c, s->overrides[i]);
	if (r == 0)
		r = conf_finish(c);
	if (r == 0)
		r = check_all(c, s->each, s->arg);
	if (r < 0) {
		conf_destroy(c);
		return r;
	}
	*ret = c;
	return 0;
}
