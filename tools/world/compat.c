/* SPDX-License-Identifier: Apache-2.0 */
/* See compat.h: the listener's part, and a client's session in memory. Messages: compat_vehicle.c */
#include "compat.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "compat_private.h"
#include "err.h"
#include "mem.h"
#include "rnd.h"
#include "timeutil.h"

#define STUCK_DUR_NS (10 * NS_PER_S) /* after which a client that reads nothing is disconnected */
#define LAST_DUR_NS  (2 * NS_PER_S)  /* for a client to read its last bytes */
/* A silent client is disconnected after this: it sends in each step of its simulation, but may be stopped in a debugger. */
#define SILENT_DUR_NS (60 * NS_PER_S)

int compat_create(struct world *w, const struct compat_fields *fields, int64_t now_mono_ns, struct compat **ret)
{
	struct compat *c = MEM_NEW(struct compat);

	if (!c)
		return err_nomem();
	c->w = w;
	c->fields = fields;
	c->beat_mono_ns = now_mono_ns + NS_PER_S;
	list_init(&c->clients);
	*ret = c;
	return 0;
}

void compat_destroy(struct compat *c)
{
	struct compat_client *cl, *next;

	if (!c)
		return;
	list_for_each_safe(cl, next, &c->clients, link)
		compat_close(cl, 0);
	mem_free(c);
}

void compat_info(const struct compat *c, struct compat_info *ret)
{
	*ret = c->info;
	ret->clients = (uint32_t)list_count(&c->clients);
}

/* ---- the end ---- */

void compat_end(struct compat_client *cl, const char *why)
{
	static const uint8_t code = COMPAT_DISCONNECT;

	if (cl->ends)
		return;
	snprintf(cl->why, sizeof(cl->why), "%s", why);
	cl->ends = true;
	wire_append(&cl->out, &code, 1);
}

/* ---- session ---- */

static void on_event(struct compat_client *cl, const struct side_event *e)
{
	if (e->kind == SIDE_ENDED)
		compat_end(cl, e->sentence);
	else if (e->kind == SIDE_WANTED) /* the original client does not know changes of ownership */
		(void)!side_ownership(cl->side, e->id, true, e->connection, true);
}

/* Passes bytes from the world to its side. False: none. */
static bool hear(struct compat_client *cl, int64_t now_mono_ns)
{
	const void *data;
	struct side_event e;
	uint8_t *room;
	size_t len = session_output(cl->s, &data), size = 0, all = len;
	int r = 0;

	while (len && r == 0) {
		r = side_room(cl->side, &room, &size);
		if (r < 0)
			break;
		size = size < len ? size : len;
		memcpy(room, data, size);
		side_add(cl->side, size, now_mono_ns);
		session_sent(cl->s, size);
		while ((r = side_next(cl->side, &e)) == 1)
			on_event(cl, &e);
		len = session_output(cl->s, &data);
	}
	if (r < 0)
		compat_end(cl, err_why());
	return all > 0;
}

static bool speak(struct compat_client *cl, int64_t now_mono_ns)
{
	const void *data;
	size_t len = side_output(cl->side, &data);

	if (len)
		session_input(cl->s, data, len, now_mono_ns);
	side_sent(cl->side, len);
	return len > 0;
}

void compat_pump(struct compat_client *cl, int64_t now_mono_ns)
{
	bool more = true;

	while (more && !cl->ends) {
		more = speak(cl, now_mono_ns);
		more |= hear(cl, now_mono_ns);
	}
	if (!cl->ends && session_ends(cl->s))
		compat_end(cl, "the world has ended its session");
}

void compat_bye(struct compat_client *cl, int64_t now_mono_ns)
{
	compat_end(cl, "it has ended the session");
	(void)!side_bye(cl->side);
	(void)speak(cl, now_mono_ns);
}

static int begin(struct compat_client *cl, int64_t now_mono_ns)
{
	struct side_options o = { .name = cl->name, .role = SIDE_CONSTRAINED, .history = 2 };
	const uint64_t identity[2] = { rnd_entropy(), rnd_entropy() };
	int r;

	snprintf(cl->name, sizeof(cl->name), "%s %u", COMPAT_CERTIFICATE, cl->number);
	memcpy(o.identity, identity, sizeof(identity));
	r = side_create(&o, &cl->side);
	if (r == 0)
		r = side_begin(cl->side);
	if (r < 0)
		return r;
	r = session_open(cl->c->w, now_mono_ns, &cl->s);
	if (r < 0)
		return r == -ENOSPC ? err_set(r, "the world is full: it has as many clients as allowed") : err_nomem();
	session_set_certificate(cl->s, COMPAT_CERTIFICATE);
	compat_pump(cl, now_mono_ns);
	return cl->ends ? err_set(-EACCES, "%s", cl->why) : 0;
}

/* ---- clients ---- */

/* Disconnects the oldest client that has never spoken, to free its number. False: no such client. */
static bool make_room(struct compat *c)
{
	struct compat_client *cl;

	list_for_each(cl, &c->clients, link)
		if (!cl->spoken && !cl->ends) {
			compat_end(cl, "it has sent nothing, and another client needs its number");
			compat_numbers_forget(cl);
			return true;
		}
	return false;
}

int compat_open(struct compat *c, int64_t now_mono_ns, struct compat_client **ret)
{
	struct compat_client *cl = MEM_NEW(struct compat_client);
	uint32_t number;
	int r;

	if (!cl)
		return err_nomem();
	cl->c = c;
	cl->stuck_mono_ns = INT64_MAX;
	cl->heard_mono_ns = now_mono_ns;
	list_init(&cl->link);
	r = compat_number_of_client(c, cl, now_mono_ns);
	if (r == -ENOSPC && make_room(c))
		r = compat_number_of_client(c, cl, now_mono_ns);
	if (r >= 0) {
		number = cl->number = (uint32_t)r;
		wire_append(&cl->out, &number, sizeof(number));
		r = begin(cl, now_mono_ns);
	}
	if (r < 0) {
		compat_close(cl, now_mono_ns);
		return r;
	}
	list_append(&c->clients, &cl->link);
	*ret = cl;
	return 0;
}

void compat_close(struct compat_client *cl, int64_t now_mono_ns)
{
	if (!cl)
		return;
	compat_numbers_forget(cl);
	if (cl->s && !session_ends(cl->s)) {
		(void)!side_bye(cl->side);
		(void)speak(cl, now_mono_ns);
	}
	session_close(cl->s, now_mono_ns);
	side_destroy(cl->side);
	list_remove(&cl->link);
	wire_buf_finish(&cl->out);
	mem_free(cl);
}

size_t compat_room(struct compat_client *cl, uint8_t **ret)
{
	*ret = cl->in + cl->n_in;
	return cl->ends ? 0 : sizeof(cl->in) - cl->n_in;
}

void compat_add(struct compat_client *cl, size_t n, int64_t now_mono_ns)
{
	cl->n_in += n;
	cl->heard_mono_ns = now_mono_ns;
	compat_take(cl, now_mono_ns);
}

size_t compat_output(const struct compat_client *cl, const uint8_t **ret)
{
	*ret = cl->out.len > cl->sent ? cl->out.data + cl->sent : NULL;
	return cl->out.len - cl->sent;
}

void compat_sent(struct compat_client *cl, size_t n, int64_t now_mono_ns)
{
	cl->sent += n;
	cl->stuck_mono_ns = now_mono_ns;
	if (cl->sent < cl->out.len)
		return;
	cl->stuck_mono_ns = INT64_MAX;
	cl->sent = cl->out.len = 0;
	compat_take(cl, now_mono_ns);
}

const char *compat_ends(const struct compat_client *cl)
{
	return cl->ends ? cl->why : NULL;
}

/* When the client is disconnected for not reading. */
static int64_t patience(const struct compat_client *cl)
{
	if (cl->sent == cl->out.len || cl->stuck_mono_ns == INT64_MAX)
		return INT64_MAX;
	return cl->stuck_mono_ns + (cl->ends ? LAST_DUR_NS : STUCK_DUR_NS);
}

bool compat_over(const struct compat_client *cl, int64_t now_mono_ns)
{
	return cl->ends && (cl->sent == cl->out.len || patience(cl) <= now_mono_ns);
}

unsigned compat_number(const struct compat_client *cl)
{
	return cl->number;
}

/* ---- time ---- */

/* Sends heartbeats; to a client that does not read, only while little waits for it. */
static void beat(struct compat *c)
{
	static const uint8_t code = COMPAT_HEARTBEAT;
	struct compat_client *cl;

	list_for_each(cl, &c->clients, link)
		if (!cl->ends && cl->out.len - cl->sent < COMPAT_QUEUE_MAX)
			wire_append(&cl->out, &code, 1);
}

/* Returns when to call again. */
static int64_t turn_client(struct compat_client *cl, int64_t now_mono_ns)
{
	int64_t wake;

	compat_pump(cl, now_mono_ns);
	if (cl->sent == cl->out.len)
		cl->stuck_mono_ns = INT64_MAX;
	else if (cl->stuck_mono_ns == INT64_MAX)
		cl->stuck_mono_ns = now_mono_ns;
	if (!cl->ends && patience(cl) <= now_mono_ns)
		compat_end(cl, "it does not read the data sent to it");
	if (!cl->ends && now_mono_ns - cl->heard_mono_ns >= SILENT_DUR_NS)
		compat_end(cl, "it has sent nothing for 60 s");
	wake = cl->ends ? INT64_MAX : cl->heard_mono_ns + SILENT_DUR_NS;
	return patience(cl) < wake ? patience(cl) : wake;
}

int64_t compat_turn(struct compat *c, int64_t now_mono_ns, int64_t now_wall_s)
{
	int64_t wake = INT64_MAX, until;
	struct compat_client *cl;

	c->wall_s = now_wall_s;
	if (now_mono_ns >= c->beat_mono_ns) {
		beat(c);
		c->beat_mono_ns += ((now_mono_ns - c->beat_mono_ns) / NS_PER_S + 1) * NS_PER_S;
	}
	list_for_each(cl, &c->clients, link) {
		until = turn_client(cl, now_mono_ns);
		wake = until < wake ? until : wake;
	}
	return list_empty(&c->clients) || wake < c->beat_mono_ns ? wake : c->beat_mono_ns;
}
