/* SPDX-License-Identifier: Apache-2.0 */
/* Configured bridges; contract in bridge.h. Thread: simd-main. */
#include "bridge.h"

#include "carried.h"
#include "channel.h"
#include "client.h"
#include "config.h"
#include "err.h"
#include "event.h"
#include "fd.h"
#include "jsonx.h"
#include "log.h"
#include "mem.h"
#include "printable.h"
#include "names.h"
#include "near.h"
#include "plugin_file.h"
#include "reaper.h"
#include "rig.h"
#include "shards.h"
#include "simd.h"
#include "trust.h"

#include "dispatch.h"
#include "timeutil.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

LOG_TOPIC("bridge");

_Static_assert(CONFIG_BRIDGES_MAX == DISPATCH_BRIDGES_MAX && CONFIG_CARRIERS_MAX == DISPATCH_ROUTES_MAX,
	       "what the configuration allows is what dispatch takes");

/* A lane must take a batch of descriptors and a channel's definition without making the dispatch thread wait. */
#define LANE_BUFFER (1 << 20)

struct bridge *bridge_find(struct simd *s, const char *name)
{
	struct bridge *b;

	list_for_each(b, &s->bridges, link) {
		if (strcmp(b->name, name) == 0)
			return b;
	}
	return NULL;
}

static struct bridge *by_id(struct simd *s, uint32_t id)
{
	struct bridge *b;

	list_for_each(b, &s->bridges, link) {
		if (b->id == id)
			return b;
	}
	return NULL;
}

/* ---- making ---- */

static void bridge_free(struct bridge *b)
{
	carried_clear_reported(&b->carried);
	carried_clear_named(&b->carried);
	exec_io_del(&b->exit_io);
	fd_close(b->exit_fd);
	list_remove(&b->link);
	b->s->n_bridges--;
	mem_free(b->plugin_path);
	mem_free(b->own_connection);
	json_decref(b->converters);
	mem_free(b);
}

static enum dispatch_lossless lossless(struct conf_view v)
{
	if (!conf_has(v, "lossless"))
		return DISPATCH_LOSSLESS_AUTO;
	return conf_bool(v, "lossless") ? DISPATCH_LOSSLESS_YES : DISPATCH_LOSSLESS_NO;
}

/*
 * Decided by the name or file of the plug-in, before the bridge's process runs, so that publishers keep their kind when
 * it comes.
 */
static bool links_machines(const char *plugin)
{
	const char *slash = strrchr(plugin, '/');

	return strcmp(slash ? slash + 1 : plugin, slash ? "bridge_link.so" : "link") == 0;
}

static int add(struct simd *s, const struct rig *rig, struct conf_view v)
{
	struct bridge *b;
	struct dispatch_bridge d;
	int r;

	b = MEM_NEW(struct bridge);
	if (!b)
		return err_nomem();
	b->s = s;
	b->id = s->n_bridges++;
	b->limit = (struct log_limit)LOG_LIMIT(10 * NS_PER_S, 50);
	b->rig = rig;
	b->view = v;
	b->name = conf_string(v, "name");
	b->plugin = conf_string(v, "plugin");
	b->connection = conf_string(v, "connection");
	b->external = conf_choice(v, "start") == 1;
	b->links = links_machines(b->plugin);
	b->exit_fd = -1;
	list_init(&b->carried);
	b->converters = json_array();
	list_append(&s->bridges, &b->link);
	if (!b->converters)
		return err_nomem();
	d = (struct dispatch_bridge){
		.id = b->id,
		.name = b->name,
		.queue = (uint32_t)conf_int(s->root, "dispatch.queue"),
		.deadline_dur_ns = conf_int(s->root, "dispatch.deadline_ms") * NS_PER_MS,
		.kill_after_dur_ns = conf_int(s->root, "bridge.kill_after_ms") * NS_PER_MS,
		.lossless = lossless(v),
		.comes_back = !b->external,
	};
	r = dispatch_bridge_add(shard_of(s, rig->shard), &d);
	if (r == 0)
		r = dispatch_bridge_connect(shard_of(s, rig->shard), b->id, b->connection, true);
	return r < 0 ? err_set(r, "bridge %s: dispatch refused it: %s", b->name, err_text(r)) : 0;
}

int bridge_create_all(struct simd *s)
{
	for (unsigned i = 0; i < s->n_rigs; i++) {
		struct conf_view rig = s->rigs[i].view;

		for (size_t k = 0; k < conf_count(rig, "bridges"); k++) {
			int r = add(s, &s->rigs[i], conf_item(rig, "bridges", k));

			if (r < 0)
				return r;
		}
	}
	return 0;
}

struct wanted { /* a file named by a bridge of a rig; kind: bridge or converter */
	const char *rig, *bridge, *kind, *key, *name;
};

struct like {
	struct near near;
	char found[NAME_MAX + 1];
};

static void offer(void *arg, const char *name)
{
	struct like *l = (struct like *)arg;

	if (near_offer(&l->near, name)) {
		snprintf(l->found, sizeof(l->found), "%s", name);
		l->near.found = l->found;
	}
}

/* "; did you mean logging?", naming the most similar existing file; "": none is similar. */
static const char *like_it(const struct wanted *w, const char *const *dirs, char text[NEAR_TEXT_MAX])
{
	struct like l = { .near = { .word = w->name } };

	text[0] = '\0';
	plugin_files(dirs, w->kind, offer, &l);
	if (l.near.found)
		snprintf(text, NEAR_TEXT_MAX, "; did you mean %s?", l.near.found);
	return text;
}

/*
 * Finds <kind>_<name>.so in the directories; a path is used as it is. ret_path: mem_free(); NULL if the name is a path.
 */
static int find_file(const struct wanted *w, const char *const *dirs, char **ret_path)
{
	char list[ERR_WHY_MAX] = "", near[NEAR_TEXT_MAX];
	size_t n = 0;
	int r;

	if (strchr(w->name, '/'))
		return access(w->name, R_OK) == 0
			       ? trust_check(w->name)
			       : err_sys(-errno, "rigs[%s].bridges[%s].%s: %s", w->rig, w->bridge, w->key, w->name);
	for (unsigned i = 0; dirs[i]; i++) {
		char *path = mem_printf("%s/%s_%s.so", dirs[i], w->kind, w->name);

		if (!path)
			return err_nomem();
		if (access(path, R_OK) == 0) {
			r = trust_check(path);
			if (r == 0)
				*ret_path = path;
			else
				mem_free(path);
			return r;
		}
		mem_free(path);
		n = n < sizeof(list) ? n + (size_t)snprintf(list + n, sizeof(list) - n, "%s%s", i ? ", " : "", dirs[i])
				     : n;
	}
	return err_set(-ENOENT, "rigs[%s].bridges[%s].%s: there is no %s_%s.so (bridge.plugin_dir) in: %s%s", w->rig,
		       w->bridge, w->key, w->kind, w->name, list, like_it(w, dirs, near));
}

int bridge_find_plugin(const char *rig, struct conf_view v, const char *const *dirs, char **ret_path)
{
	return find_file(&(struct wanted){ rig, conf_string(v, "name"), "bridge", "plugin", conf_string(v, "plugin") },
			 dirs, ret_path);
}

int bridge_find_converter(const char *rig, struct conf_view v, size_t i, const char *const *dirs, char **ret_path)
{
	return find_file(&(struct wanted){ rig, conf_string(v, "name"), "converter", "converters",
					   conf_string_at(v, "converters", i) },
			 dirs, ret_path);
}

/* A bridge that simd does not start may see other directories, so a file missing here may exist there. */
static int tolerated(const struct bridge *b, int r)
{
	if (r == 0 || !b->external)
		return r;
	log_warn("%s", err_why());
	return 0;
}

static int find_converters(struct bridge *b, const char *const *dirs)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < conf_count(b->view, "converters"); i++) {
		const char *name = conf_string_at(b->view, "converters", i);
		char *path = NULL;

		r = tolerated(b, bridge_find_converter(b->rig->name, b->view, i, dirs, &path));
		if (r == 0 && json_array_append_new(b->converters, json_string(path ? path : name)) < 0)
			r = err_nomem();
		mem_free(path);
	}
	return r;
}

int bridge_find_plugins(struct simd *s, const char *const *dirs)
{
	struct bridge *b;

	list_for_each(b, &s->bridges, link) {
		int r = 0;

		if (!b->plugin_path)
			r = tolerated(b, bridge_find_plugin(b->rig->name, b->view, dirs, &b->plugin_path));
		if (r == 0 && !json_array_size(b->converters))
			r = find_converters(b, dirs);
		if (r < 0)
			return r;
	}
	return 0;
}

void bridge_destroy_all(struct simd *s)
{
	struct bridge *b, *tmp;

	list_for_each_safe(b, tmp, &s->bridges, link)
		bridge_free(b);
}

/* ---- what it carries ---- */

static const char *listed_as(const struct bridge *b, const char *key, const char *full)
{
	return config_listed_as(b->view, b->rig->prefix, key, full);
}

/* Whether the bridge's globs (full names, or relative to the rig's prefix) match the channel. */
static bool lists(const struct bridge *b, const struct channel *ch)
{
	return (b->links || !ch->inbound) && listed_as(b, "channels", ch->name) != NULL;
}

bool bridge_serves(const struct bridge *b, const char *service)
{
	return listed_as(b, "services", service) != NULL;
}

bool bridge_carries(const struct bridge *b, const struct channel *ch)
{
	return lists(b, ch) && !carried_refused(&b->carried, ch->id);
}

static uint32_t shard_for(const struct channel *ch)
{
	struct bridge *b;

	list_for_each(b, &ch->s->bridges, link) {
		if (lists(b, ch))
			return b->rig->shard;
	}
	return 0;
}

static int route(struct simd *s, struct channel *ch)
{
	struct bridge *b;
	unsigned n = 0;

	list_for_each(b, &s->bridges, link) {
		char *options;
		int r;

		if (!lists(b, ch))
			continue;
		/* globs can overlap in ways that config_check_carriers() does not detect */
		if (n++ == DISPATCH_ROUTES_MAX)
			return err_set(-E2BIG,
				       "channel %s: more than %d bridges list it: take it out of some, with \"!%s\" in "
				       "their \"channels\"",
				       ch->name, DISPATCH_ROUTES_MAX, ch->name);
		options = ch->view.obj ? jsonx_text(conf_any(ch->view, "options")) : NULL;
		r = dispatch_route(shard_of(s, ch->shard), ch->id, b->id, options);
		mem_free(options);
		if (r < 0)
			return err_set(r, "channel %s: no route to bridge %s: %s", ch->name, b->name, err_text(r));
	}
	return 0;
}

static void channel_number_freed(struct simd *s, uint32_t id)
{
	struct bridge *b;

	list_for_each(b, &s->bridges, link)
		carried_forget(&b->carried, id);
}

static bool linked(const struct channel *ch)
{
	struct bridge *b;

	list_for_each(b, &ch->s->bridges, link) {
		if (b->links && lists(b, ch))
			return true;
	}
	return false;
}

const struct channel_events bridge_channel_events = {
	.shard = shard_for, .linked = linked, .opened = route, .freed = channel_number_freed
};

json_t *bridge_names_of(const struct channel *ch)
{
	json_t *a = json_array();
	struct bridge *b;

	list_for_each(b, &ch->s->bridges, link) {
		if (bridge_carries(b, ch))
			json_array_append_new(a, json_string(b->name));
	}
	return a;
}

json_t *bridge_topics(const struct bridge *b)
{
	json_t *a = json_array();
	struct carried *k;

	list_for_each(k, &b->carried, link) {
		const struct channel *ch = k->channel ? NULL : b->s->by_id[k->channel_id];

		if (ch || k->channel)
			json_array_append_new(a, carried_json(k, b->name, ch ? ch->name : NULL));
	}
	return a;
}

json_t *bridge_topics_of(const struct channel *ch)
{
	json_t *a = json_array();
	struct bridge *b;

	list_for_each(b, &ch->s->bridges, link) {
		const struct carried *k = carried_find(&b->carried, ch->id);

		if (k)
			json_array_append_new(a, carried_json(k, b->name, ch->name));
	}
	return a;
}

/* ---- its process ---- */

static void process_ended(struct bridge *b)
{
	exec_io_del(&b->exit_io);
	b->exit_fd = fd_close(b->exit_fd);
	b->pid = 0;
	(void)dispatch_bridge_gone(shard_of(b->s, b->rig->shard), b->id);
}

static void on_exit_fd(void *arg, uint32_t events)
{
	struct bridge *b = (struct bridge *)arg;

	(void)events;
	log_limited(&b->limit, exec_now(b->s->x), LOG_LEVEL_INFO, "bridge %s: its process %d has exited", b->name,
		    (int)b->pid);
	process_ended(b);
}

static int watch(struct bridge *b, const struct client *cl)
{
	int r;

	if (cl->process->fd < 0) /* only the closed socket shows the exit */
		return 0;
	/* otherwise the slots that the bridge reads would be freed when the socket closes */
	r = fd_dup(cl->process->fd);
	if (r >= 0) {
		b->exit_fd = r;
		r = exec_io_add(b->s->x, &b->exit_io, b->exit_fd, EPOLLIN, on_exit_fd, b);
	}
	if (r < 0) {
		b->exit_fd = fd_close(b->exit_fd);
		return err_set(r, "bridge %s: cannot watch its process %d: %s", b->name, (int)cl->pid, err_text(r));
	}
	return 0;
}

static int lane_pair(struct bridge *b, int sv[2])
{
	int size = LANE_BUFFER, r = fd_packet_pair(sv, SOCK_NONBLOCK);

	if (r < 0)
		return err_sys(r, "bridge %s: cannot make its lane", b->name);
	for (int i = 0; i < 2; i++)
		(void)setsockopt(sv[i], SOL_SOCKET, SO_SNDBUF, &size, sizeof(size));
	return 0;
}

static int may_attach(const struct bridge *b, pid_t pid)
{
	const struct simd *s = b->s;

	return b->external || !s->ops || !s->ops->bridge_may ? 0 : s->ops->bridge_may(s->user, b->name, pid);
}

int bridge_set_connection(struct bridge *b, const char *connection)
{
	char *own = mem_strdup(connection);
	int r;

	if (!own)
		return err_nomem();
	r = dispatch_bridge_connect(shard_of(b->s, b->rig->shard), b->id, own, false);
	if (r < 0) {
		mem_free(own);
		return err_set(r, "bridge %s: dispatch refused the connection: %s", b->name, err_text(r));
	}
	log_info("bridge %s: connection is \"%s\" now, not \"%s\"", b->name, own, b->connection);
	mem_free(b->own_connection);
	b->connection = b->own_connection = own;
	return 0;
}

void bridge_evict(struct bridge *b)
{
	if (!b->pid || may_attach(b, b->pid) == 0)
		return;
	log_warn("bridge %s: process %d, which simd did not start, is evicted", b->name, (int)b->pid);
	if (b->cl) {
		b->cl->bridge = NULL;
		b->cl = NULL;
	}
	process_ended(b);
}

int bridge_attach(struct client *cl, const char *name, struct bridge **ret, int *ret_fd)
{
	struct simd *s = cl->s;
	struct bridge *b = bridge_find(s, name);
	int sv[2], r;

	if (cl->role != CLIENT_BRIDGE)
		return err_set(-EPERM,
			       "client %s has role \"%s\"; only a client with role \"bridge\" (Hello) can attach as one",
			       cl->name, client_role_name(cl->role));
	if (cl->bridge)
		return err_set(-EINVAL, "client %s is bridge %s already", cl->name, cl->bridge->name);
	if (!b)
		return err_set(-ENOENT, "no rig has a bridge \"%.60s\"; `simctl bridge list` shows those there are",
			       name);
	r = may_attach(b, cl->pid);
	if (r < 0)
		return r;
	if (b->pid)
		return err_set(-EBUSY, "bridge %s is run by process %d; end that first", b->name, (int)b->pid);
	r = lane_pair(b, sv);
	if (r < 0)
		return r;
	r = watch(b, cl);
	if (r == 0)
		r = dispatch_bridge_attach(shard_of(s, b->rig->shard), b->id, sv[0]);
	else
		fd_close(sv[0]);
	if (r < 0) {
		exec_io_del(&b->exit_io);
		b->exit_fd = fd_close(b->exit_fd);
		fd_close(sv[1]);
		return r;
	}
	carried_clear_named(&b->carried);
	b->pid = cl->pid;
	b->cl = cl;
	cl->bridge = b;
	cl->rig = b->rig;
	log_limited(&b->limit, exec_now(s->x), LOG_LEVEL_INFO, "bridge %s: process %d has attached", b->name,
		    (int)b->pid);
	if (s->ops && s->ops->sessions_changed)
		s->ops->sessions_changed(s->user);
	*ret = b;
	*ret_fd = sv[1];
	return 0;
}

int bridge_name_topic(const struct client *cl, const char *channel, bool inbound, const char *name, const char *type)
{
	char shown_name[BRIDGE_TOPIC_MAX], shown_type[BRIDGE_TOPIC_MAX];
	int r;

	if (!cl->bridge)
		return err_set(-EPERM, "client %s is not a bridge, so it has no topics", cl->name);
	if (!channel_name_ok(channel) || *channel != '/')
		return err_set(-EINVAL, "\"%.60s\" is not the full name of a channel", channel);
	printable(shown_name, sizeof(shown_name), name, strlen(name));
	printable(shown_type, sizeof(shown_type), type, strlen(type));
	r = carried_name(&cl->bridge->carried, channel, inbound, shown_name, shown_type);
	return r == -ENOSPC ? err_set(r, "bridge %s names more than %d topics", cl->bridge->name, CARRIED_NAMED_MAX)
			    : r;
}

void bridge_detach(struct bridge *b)
{
	b->cl->bridge = NULL;
	b->cl = NULL;
	if (b->exit_fd < 0)
		process_ended(b);
}

static json_t *inbound(const struct rig *rig)
{
	char pattern[PATTERN_MAX + 1];
	json_t *a = json_array();

	for (size_t i = 0; i < conf_count(rig->view, "inbound"); i++) {
		names_pattern_full(rig->prefix, conf_string_at(rig->view, "inbound", i), pattern);
		json_array_append_new(a, json_string(pattern));
	}
	return a;
}

/* The rig's configuration of /clock, if the bridge lists it; else null. "named": listed by more than just "*". */
static json_t *clock_config(const struct bridge *b)
{
	const char *as = listed_as(b, "channels", CLOCK_CHANNEL);
	bool named = as && !names_is_star(as);
	char name[CHANNEL_NAME_MAX + 1];
	const struct rig *rig = b->rig;

	if (!as)
		return json_null();
	for (size_t i = 0; i < conf_count(rig->view, "channels"); i++) {
		struct conf_view v = conf_item(rig->view, "channels", i);

		if (channel_name_full(rig->prefix, conf_string(v, "name"), name) == 0 &&
		    strcmp(name, CLOCK_CHANNEL) == 0)
			return JSONX_MAKE(JX_BOOL("named", named),
					  JX_NEW("options", json_incref(conf_any(v, "options"))));
	}
	return JSONX_MAKE(JX_BOOL("named", named), JX_NEW("options", json_object()));
}

json_t *bridge_config(const struct bridge *b)
{
	return JSONX_MAKE(JX_STR("name", b->name), JX_STR("simd_id", b->s->id_text),
			  JX_STR("plugin", b->plugin_path ? b->plugin_path : b->plugin),
			  JX_NEW("converters", json_incref(b->converters)), JX_STR("connection", b->connection),
			  JX_NEW("options", json_incref(conf_any(b->view, "options"))),
			  JX_STR("prefix", b->rig->prefix), JX_NEW("inbound", inbound(b->rig)),
			  JX_BOOL("inbound_while_paused", conf_bool(b->rig->view, "inbound_while_paused")),
			  JX_NEW("clock", clock_config(b)), JX_BOOL("reports_channels", true));
}

/* ---- dispatch's events ---- */

static void on_status(void *user, uint32_t id, enum sim_bridge_status status, const char *detail)
{
	size_t n = strcspn(detail, "\n"); /* length of the sentence */
	struct simd *s = (struct simd *)user;
	struct bridge *b = by_id(s, id);
	struct channel *ch;

	if (!b)
		return;
	if (b->status != status)
		log_limited(&b->limit, exec_now(s->x), LOG_LEVEL_INFO, "bridge %s: %s%s%.*s", b->name,
			    sim_bridge_status_name(status), n ? ": " : "", (int)n, detail);
	b->status = status;
	printable(b->detail, sizeof(b->detail), detail, n); /* printable() cuts between characters */
	snprintf(b->other_clocks, sizeof(b->other_clocks), "%s", detail[n] ? detail + n + 1 : "");
	list_for_each(ch, &s->channels, link) {
		if (ch->n_publishers && lists(b, ch))
			event_bridges(s, ch->name, ch->id);
	}
	if (s->bridge_changed)
		s->bridge_changed(s);
}

static void on_carries(void *user, uint32_t id, uint32_t channel_id, int result, const char *name, const char *type)
{
	struct simd *s = (struct simd *)user;
	struct bridge *b = by_id(s, id);
	struct channel *ch = channel_id < WIRE_CHANNELS_MAX ? s->by_id[channel_id] : NULL;
	bool was;

	if (!b || !ch)
		return;
	was = carried_refused(&b->carried, ch->id);
	if (carried_set(&b->carried, ch->id, result, name, type) < 0)
		log_error("no memory to keep what bridge %s reports of %s", b->name, ch->name);
	if (was != (result < 0) && ch->n_publishers)
		event_bridges(s, ch->name, ch->id);
}

static void on_forgot(void *user, uint32_t id)
{
	struct bridge *b = by_id((struct simd *)user, id);

	if (b)
		carried_clear_reported(&b->carried);
}

static void end(struct bridge *b, const char *why, bool now)
{
	const struct simd *s = b->s;

	if (b->external || !s->ops || !s->ops->bridge_kill || !s->ops->bridge_kill(s->user, b->name, why, now))
		log_warn("bridge %s: %s; it was not started by simd: end it yourself", b->name, why);
}

static void on_broken(void *user, uint32_t id, const char *why)
{
	struct bridge *b = by_id((struct simd *)user, id);

	if (b && b->pid && !b->s->stopping)
		end(b, why, false); /* most likely the process is exiting, and its own exit status says more */
}

static void on_stuck(void *user, uint32_t id, int64_t late_dur_ns)
{
	struct bridge *b = by_id((struct simd *)user, id);
	char why[96];

	if (!b || !b->pid)
		return;
	snprintf(why, sizeof(why), "it has kept a message for %lld ms beyond its deadline",
		 (long long)(late_dur_ns / NS_PER_MS));
	end(b, why, true);
}

static void on_idle(void *user, uint32_t id)
{
	const struct simd *s = (struct simd *)user;

	if (s->ops && s->ops->bridge_idle)
		s->ops->bridge_idle(s->user, id);
}

void bridge_dispatch_events(struct dispatch_events *ev)
{
	ev->bridge_status = on_status;
	ev->bridge_broken = on_broken;
	ev->bridge_stuck = on_stuck;
	ev->bridge_idle = on_idle;
	ev->bridge_carries = on_carries;
	ev->bridge_forgot = on_forgot;
}
