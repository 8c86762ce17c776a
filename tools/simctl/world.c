/* SPDX-License-Identifier: Apache-2.0 */
/* world …: calls sim-world on its own control socket (schemas/wire/io.simd.World.varlink). Thread: main. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "err.h"
#include "fd.h"
#include "mem.h"
#include "printable.h"
#include "simctl.h"
#include "timeutil.h"
#include "varlink_call.h"

#define CALL_DUR_NS (5 * NS_PER_S)
#define INTERFACE   "io.simd.World."

static struct { /* open from the first call to the end of the command */
	struct varlink *v;
	int fd;
} peer = { .fd = -1 };

/* ---- calling ---- */

static int fail(void)
{
	fprintf(stderr, "simctl: %s\n", err_why());
	return 1;
}

static char *path_of(const struct ctl *c)
{
	const char *env = getenv("SIM_WORLD_SOCKET"), *xdg = getenv("XDG_RUNTIME_DIR");

	if (c->a.world)
		return mem_strdup(c->a.world);
	if (env && *env)
		return mem_strdup(env);
	if (!xdg || !*xdg || access("/run/simd/world", F_OK) == 0)
		return mem_strdup("/run/simd/world");
	return mem_printf("%s/simd/world", xdg);
}

static int attach(const struct ctl *c)
{
	char *path;
	int r;

	if (peer.v)
		return 0;
	path = path_of(c);
	r = path ? fd_unix_connect(path, SOCK_STREAM, CALL_DUR_NS) : err_nomem();
	if (r == -ENOENT || r == -ECONNREFUSED)
		err_set(r, "%s: no world answers there; start sim-world, or name its socket (--world)", path);
	mem_free(path);
	if (r < 0)
		return r;
	peer.fd = r;
	return varlink_create(NULL, &peer.v);
}

static void detach(void)
{
	varlink_destroy(peer.v);
	peer.v = NULL;
	peer.fd = fd_close(peer.fd);
}

/* Calls a method; drops the reference to params. NULL: failed, and printed. */
static json_t *ask(const struct ctl *c, const char *method, json_t *params)
{
	struct varlink_msg m = { 0 };
	struct varlink_answer a = { 0 };
	json_t *reply = NULL;
	int r;

	if (attach(c) < 0) {
		json_decref(params);
		fail();
		return NULL;
	}
	ctl_begin_wait(c);
	r = varlink_call(peer.v, peer.fd, method, params, CALL_DUR_NS, &m);
	ctl_end_wait();
	if (r < 0) {
		fail();
		return NULL;
	}
	if (varlink_msg_answer(&m, &a) == 0)
		reply = a.params ? json_incref(a.params) : json_object();
	varlink_msg_finish(&m);
	return reply;
}

static json_t *ask_fit(const struct ctl *c, const char *method, json_t *params)
{
	json_t *reply = ask(c, method, params);

	if (!c->a.json)
		ctl_make_fit(reply);
	return reply;
}

/* Lists all clients, in as many calls as needed. */
static json_t *all_clients(const struct ctl *c)
{
	json_t *all = json_array(), *after = NULL;

	do {
		json_t *reply = ask_fit(c, INTERFACE "Clients", after ? json_pack("{s:o}", "after", after) : NULL);

		if (!reply) {
			json_decref(all);
			return NULL;
		}
		json_array_extend(all, json_object_get(reply, "clients"));
		after = json_incref(json_object_get(reply, "next"));
		json_decref(reply);
	} while (json_is_integer(after));
	json_decref(after);
	return json_pack("{s:o}", "clients", all);
}

/* ---- printing ---- */

static void print_pace(double pace)
{
	if (pace > 0)
		printf("pace %.3f", pace);
	else
		printf("as fast as it goes");
}

static void print_refused(const json_t *refused)
{
	const char *key, *between = ": ";
	json_t *v;
	double sum = 0;

	json_object_foreach((json_t *)(uintptr_t)refused, key, v)
		sum += json_number_value(v);
	printf("refused %.0f", sum);
	json_object_foreach((json_t *)(uintptr_t)refused, key, v)
		if (json_number_value(v) > 0) {
			printf("%s%s %.0f", between, key, json_number_value(v));
			between = ", ";
		}
}

static void print_status(const json_t *reply)
{
	const json_t *w = json_object_get(reply, "world");

	printf("tick %.0f at %.3f s, step %.3f ms, ", json_num(w, "tick"), json_num(w, "time_sim_ns") / 1e9,
	       json_num(w, "step_dur_ns") / 1e6);
	print_pace(json_num(w, "pace"));
	printf(", waited for %.0f; hash %s\n", json_num(w, "waited_for"), json_text(w, "hash"));
	printf("clients %.0f, regulating %.0f, connections %.0f; objects %.0f\n", json_num(w, "clients"),
	       json_num(w, "regulating"), json_num(w, "connections"), json_num(w, "objects"));
	printf("updates %.0f, ", json_num(w, "updates"));
	print_refused(json_object_get(w, "refused"));
	printf("; notes %.0f, lost %.0f\n", json_num(w, "notes"), json_num(w, "notes_lost"));
	fflush(stdout);
}

/* clang-format off */
static const struct column client_columns[] = {
	{ "CONN", "connection", NUM, .leave = 0 },
	{ "NAME", "name", .least = 12 },
	{ "ROLE", "role", .leave = 4, .least = 5 },
	{ "RUNG", "rung", .leave = 1 },
	{ "TICKS/S", "ticks_per_s", NUM1, .leave = 1 },
	{ "LAG", "lag", NUM, .leave = 2 },
	{ "RTT MS", "rtt_ns", NUM2, .scale = 1e-6, .leave = 3 },
	{ "IN KB/S", "bytes_in_per_s", NUM1, .scale = 1e-3, .leave = 5 },
	{ "OUT KB/S", "bytes_out_per_s", NUM1, .scale = 1e-3, .leave = 5 },
	{ "QUEUED KB", "queued_bytes", NUM1, .scale = 1e-3, .leave = 6 },
	{ "OBJECTS", "objects", NUM, .leave = 2 },
	{ "REFUSED", "refused", NUM, .leave = 7 },
	{ "SKIPPED", "skipped", NUM, .leave = 8 },
	{ "UDP LOST", "frames_lost", NUM, .leave = 9 },
	{ 0 },
};
/* clang-format on */

/* ---- commands ---- */

static int status_once(struct ctl *c)
{
	return ctl_show(c, ask_fit(c, INTERFACE "Status", NULL), print_status);
}

static int clients_once(struct ctl *c)
{
	return ctl_list(c, all_clients(c), "clients", client_columns);
}

static int top_once(struct ctl *c)
{
	json_t *status = ask_fit(c, INTERFACE "Status", NULL), *clients = status ? all_clients(c) : NULL;

	if (!clients) {
		json_decref(status);
		return 1;
	}
	if (c->a.json) {
		json_object_update(status, clients);
		json_decref(clients);
		return ctl_put(c, status);
	}
	(void)ctl_show(c, status, print_status);
	return ctl_list(c, clients, "clients", client_columns);
}

static int repeat(struct ctl *c, int (*once)(struct ctl *c))
{
	int r = ctl_repeat(c, once);

	detach();
	return r;
}

int cmd_world_status(struct ctl *c)
{
	return repeat(c, status_once);
}

int cmd_world_clients(struct ctl *c)
{
	return repeat(c, clients_once);
}

int cmd_world_top(struct ctl *c)
{
	c->a.watch = true;
	return repeat(c, top_once);
}

static int kick_once(struct ctl *c)
{
	json_t *params = json_pack("{s:I, s:s?}", "connection", (json_int_t)c->a.connection, "reason", c->a.reason);
	json_t *reply = ask_fit(c, INTERFACE "Kick", params);

	if (!reply || c->a.json)
		return ctl_put(c, reply);
	printf("%s is being disconnected\n", json_text(reply, "name"));
	json_decref(reply);
	return 0;
}

int cmd_world_kick(struct ctl *c)
{
	return repeat(c, kick_once);
}

/* Escapes each line before printing. */
static int metrics_once(struct ctl *c)
{
	json_t *reply = ask(c, INTERFACE "Metrics", NULL);
	char line[1024];

	if (!reply || c->a.json)
		return ctl_put(c, reply);
	for (const char *at = json_text(reply, "text"); *at;) {
		size_t len = strcspn(at, "\n");

		(void)printable(line, sizeof(line), at, len);
		puts(line);
		at += len + (at[len] == '\n');
	}
	json_decref(reply);
	return ctl_unread() ? 1 : 0;
}

int cmd_world_metrics(struct ctl *c)
{
	return repeat(c, metrics_once);
}
