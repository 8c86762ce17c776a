/* SPDX-License-Identifier: Apache-2.0 */
/* See rosbridge_server.h. Each client is a bit: a mask says who has said something. Thread: the server's own, under its lock. */
#include "rosbridge_server.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cbor_tree.h"
#include "ws_server.h"

#define HEARD 1024
#define TEXT  256

struct heard { /* one kind of operation, of one topic or service */
	char op[24], name[TEXT];
	unsigned on;   /* clients that have sent it, and have not revoked it */
	unsigned cbor; /* clients that want CBOR */
	uint64_t count, bytes;
	json_t *last;
	char *text; /* of the last */
};

struct parts { /* of a message that comes in fragments */
	struct ws_bytes all;
	char id[TEXT];
	json_int_t next;
};

struct rosbridge_server {
	struct ws_server *ws;
	struct rosbridge_server_how how;
	/* guarded by its lock */
	unsigned authenticated;
	struct heard heard[HEARD];
	unsigned n;
	char fault[512];
	struct parts parts[WS_PEERS_MAX];
};

/* Caller holds the lock. */
__attribute__((format(printf, 2, 3))) static void fault(struct rosbridge_server *s, const char *fmt, ...)
{
	va_list ap;

	if (s->fault[0])
		return;
	va_start(ap, fmt);
	vsnprintf(s->fault, sizeof(s->fault), fmt, ap);
	va_end(ap);
}

static unsigned bit(unsigned peer)
{
	return 1u << peer;
}

static void on_gone(void *arg, unsigned peer)
{
	struct rosbridge_server *s = arg;

	s->authenticated &= ~bit(peer);
	s->parts[peer].all.n = 0;
	for (unsigned i = 0; i < s->n; i++)
		s->heard[i].on &= ~bit(peer);
}

static void on_fault(void *arg, const char *what)
{
	fault(arg, "%s", what);
}

/* ---- operations ---- */

static struct heard *find(struct rosbridge_server *s, const char *op, const char *name)
{
	for (unsigned i = 0; i < s->n; i++)
		if (strcmp(s->heard[i].op, op) == 0 && strcmp(s->heard[i].name, name) == 0)
			return &s->heard[i];
	return NULL;
}

/* Returns the clients that have sent it. */
static unsigned who(struct rosbridge_server *s, const char *op, const char *name)
{
	const struct heard *h = find(s, op, name);

	return h ? h->on : 0;
}

static void take_back(struct rosbridge_server *s, unsigned peer, const char *op, const char *name)
{
	struct heard *h = find(s, op, name);

	if (!h || !(h->on & bit(peer)))
		fault(s, "%s: no %s precedes", name, op);
	else
		h->on &= ~bit(peer);
}

/* What an operation has: s a string, i an integer, b a bool, o an object, v any value; an upper case letter: it must. */
static const struct {
	const char *op, *keys, *name;
} ops[] = {
	{ "advertise", "S:topic S:type s:id b:latch i:queue_size", "topic" },
	{ "unadvertise", "S:topic s:id", "topic" },
	{ "publish", "S:topic O:msg s:id", "topic" },
	{ "subscribe", "S:topic s:type i:throttle_rate i:queue_length i:fragment_size s:compression s:id", "topic" },
	{ "unsubscribe", "S:topic s:id", "topic" },
	{ "advertise_service", "S:service S:type", "service" },
	{ "unadvertise_service", "S:service", "service" },
	{ "call_service", "S:service o:args s:id", "service" },
	{ "service_response", "S:service s:id v:values B:result", "id" },
	{ "fragment", "S:id S:data I:num I:total", "id" },
	{ "auth", "S:mac S:client S:dest S:rand I:t S:level I:end", "client" },
};

static bool kind_ok(char kind, const json_t *v)
{
	switch (kind | 0x20) {
	case 's':
		return json_is_string(v);
	case 'i':
		return json_is_integer(v) && json_integer_value(v) >= 0;
	case 'b':
		return json_is_boolean(v);
	case 'v':
		return true;
	default:
		return json_is_object(v);
	}
}

/* One word of keys, "S:topic". */
static void check_key(struct rosbridge_server *s, const char *op, const char *word, size_t len, const json_t *j,
		      size_t *known)
{
	char key[32];
	const json_t *v;

	snprintf(key, sizeof(key), "%.*s", (int)(len - 2), word + 2);
	v = json_object_get(j, key);
	*known += v != NULL;
	if (v ? !kind_ok(*word, v) : *word < 'a')
		fault(s, "%s: \"%s\" is %s", op, key, v ? "of another kind" : "missing");
}

static bool check_keys(struct rosbridge_server *s, const char *op, const char *keys, const json_t *j)
{
	size_t known = 1, len; /* "op" */

	for (const char *w = keys; *w; w += len + (w[len] == ' ')) {
		len = strcspn(w, " ");
		check_key(s, op, w, len, j, &known);
	}
	if (known != json_object_size(j))
		fault(s, "%s: it has a key that the protocol does not have", op);
	return !s->fault[0];
}

static void check_type(struct rosbridge_server *s, const char *name, const char *type)
{
	const char *slash = strchr(type, '/');

	if (slash && (strncmp(slash, "/msg/", 5) == 0 || strncmp(slash, "/srv/", 5) == 0))
		slash += 4;
	if (!slash || slash == type || !slash[1] || strchr(slash + 1, '/'))
		fault(s, "%s: \"%s\" is no type", name, type);
}

/* What must have been said before, and what is taken back. */
static void check_order(struct rosbridge_server *s, unsigned peer, const char *op, const char *name, const json_t *j)
{
	const char *type = json_string_value(json_object_get(j, "type"));

	if (type)
		check_type(s, name, type);
	if (s->how.auth && !(s->authenticated & bit(peer)) && strcmp(op, "auth") != 0)
		fault(s, "%s comes before auth", op);
	if (strcmp(op, "auth") == 0)
		s->authenticated |= bit(peer);
	if (strcmp(op, "publish") == 0 && !(who(s, "advertise", name) & bit(peer)))
		fault(s, "%s is published, but was not advertised", name);
	if ((strcmp(op, "advertise") == 0 || strcmp(op, "subscribe") == 0 || strcmp(op, "advertise_service") == 0) &&
	    who(s, op, name) & bit(peer))
		fault(s, "%s: %s twice", name, op);
	if (strcmp(op, "service_response") == 0 &&
	    !(who(s, "advertise_service", json_string_value(json_object_get(j, "service"))) & bit(peer)))
		fault(s, "%s: a response of a service that was not advertised", name);
	if (strncmp(op, "un", 2) == 0)
		take_back(s, peer, strcmp(op, "unsubscribe") == 0 ? "subscribe" : op + 2, name);
}

static void keep(struct rosbridge_server *s, unsigned peer, const char *op, const char *name, json_t *j,
		 const char *text, size_t n)
{
	const char *compression = json_string_value(json_object_get(j, "compression"));
	struct heard *h = find(s, op, name);

	if (!h && s->n < HEARD) {
		h = &s->heard[s->n++];
		snprintf(h->op, sizeof(h->op), "%s", op);
		snprintf(h->name, sizeof(h->name), "%s", name);
	}
	if (!h)
		return;
	json_decref(h->last);
	h->last = json_incref(j);
	free(h->text);
	h->text = strndup(text, n);
	h->on |= bit(peer);
	h->cbor = compression && strcmp(compression, "cbor") == 0 ? h->cbor | bit(peer) : h->cbor & ~bit(peer);
	h->count++;
	h->bytes += n;
}

/* ---- between clients ---- */

static void put_json(struct rosbridge_server *s, unsigned peer, const json_t *j)
{
	char *text = json_dumps(j, JSON_COMPACT);

	ws_server_put(s->ws, peer, 1, text, strlen(text));
	free(text);
}

static void relay_publish(struct rosbridge_server *s, const json_t *j)
{
	const char *topic = json_string_value(json_object_get(j, "topic"));
	const struct heard *h = find(s, "subscribe", topic);
	json_t *out = json_pack("{s:s,s:s,s:O}", "op", "publish", "topic", topic, "msg", json_object_get(j, "msg"));
	char *text = json_dumps(out, JSON_COMPACT);
	uint8_t *cbor = malloc(9 * strlen(text));
	size_t n = cbor ? cbor_tree_write(out, cbor) : 0;

	for (unsigned i = 0; h && i < WS_PEERS_MAX; i++)
		if (h->on & h->cbor & bit(i))
			ws_server_put(s->ws, i, 2, cbor, n);
		else if (h->on & bit(i))
			ws_server_put(s->ws, i, 1, text, strlen(text));
	free(cbor);
	free(text);
	json_decref(out);
}

/* To the first client that offers the service, under an id that names the caller. */
static void relay_call(struct rosbridge_server *s, unsigned peer, const json_t *j)
{
	const char *service = json_string_value(json_object_get(j, "service"));
	const char *id = json_string_value(json_object_get(j, "id"));
	unsigned offers = who(s, "advertise_service", service);
	json_t *out;

	if (offers) {
		out = json_deep_copy(j);
		json_object_set_new(out, "id", json_sprintf("%u:%s", peer, id ? id : ""));
		put_json(s, (unsigned)__builtin_ctz(offers), out);
	} else {
		out = json_pack("{s:s,s:s*,s:s,s:o,s:b}", "op", "service_response", "id", id, "service", service,
				"values", json_sprintf("Service %s does not exist", service), "result", 0);
		put_json(s, peer, out);
	}
	json_decref(out);
}

static void relay_answer(struct rosbridge_server *s, const json_t *j)
{
	const char *id = json_string_value(json_object_get(j, "id"));
	unsigned peer = id ? (unsigned)*id - '0' : WS_PEERS_MAX;
	json_t *out = json_deep_copy(j);

	if (peer >= WS_PEERS_MAX || id[1] != ':')
		fault(s, "an answer to nobody: %.40s", id ? id : "");
	else {
		json_object_set_new(out, "id", json_string(id + 2));
		put_json(s, peer, out);
	}
	json_decref(out);
}

static void relay(struct rosbridge_server *s, unsigned peer, const char *op, const json_t *j)
{
	if (strcmp(op, "publish") == 0)
		relay_publish(s, j);
	else if (strcmp(op, "call_service") == 0)
		relay_call(s, peer, j);
	else if (strcmp(op, "service_response") == 0)
		relay_answer(s, j);
}

static void on_text(void *arg, unsigned peer, const char *text, size_t n);

static void on_fragment(struct rosbridge_server *s, unsigned peer, const char *id, const json_t *j)
{
	json_int_t num = json_integer_value(json_object_get(j, "num")),
		   total = json_integer_value(json_object_get(j, "total"));
	const json_t *data = json_object_get(j, "data");
	struct parts *p = &s->parts[peer];
	struct ws_bytes whole;

	if (num == 0) {
		p->all.n = 0;
		p->next = 0;
		snprintf(p->id, sizeof(p->id), "%s", id);
	}
	if (num != p->next++ || strcmp(id, p->id) != 0 || num >= total)
		fault(s, "fragment %lld of %lld of %s out of turn", (long long)num, (long long)total, id);
	ws_append(&p->all, json_string_value(data), json_string_length(data));
	if (num + 1 != total)
		return;
	whole = p->all;
	p->all = (struct ws_bytes){ NULL, 0, 0 };
	on_text(s, peer, (const char *)whole.data, whole.n);
	free(whole.data);
}

static void on_op(struct rosbridge_server *s, unsigned peer, json_t *j, const char *text, size_t n)
{
	const char *op = json_string_value(json_object_get(j, "op")), *name;
	size_t i = 0;

	while (i < sizeof(ops) / sizeof(ops[0]) && (!op || strcmp(ops[i].op, op) != 0))
		i++;
	if (!op || i == sizeof(ops) / sizeof(ops[0])) {
		fault(s, "no operation: %.40s", op ? op : "none");
		return;
	}
	if (!check_keys(s, op, ops[i].keys, j))
		return;
	name = json_string_value(json_object_get(j, ops[i].name));
	check_order(s, peer, op, name, j);
	keep(s, peer, op, name, j, text, n);
	if (strcmp(op, "fragment") == 0)
		on_fragment(s, peer, name, j);
	else if (s->how.relay)
		relay(s, peer, op, j);
}

/* The length of a number that JSON does not have, or no double holds. */
static size_t odd_number(const char *text, size_t n)
{
	static const char *const words[] = { "NaN", "1e999", "-1e999" };

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (n >= strlen(words[i]) && memcmp(text, words[i], strlen(words[i])) == 0)
			return strlen(words[i]);
	return 0;
}

/* Such numbers outside of strings are null. */
static json_t *load_as_python(const char *text, size_t n, json_error_t *e)
{
	struct ws_bytes b = { NULL, 0, 0 };
	bool quoted = false;
	json_t *j;

	for (size_t i = 0; i < n; i++) {
		size_t odd = quoted ? 0 : odd_number(text + i, n - i);

		quoted ^= text[i] == '"' && (i == 0 || text[i - 1] != '\\');
		ws_append(&b, odd ? "null" : text + i, odd ? 4 : 1);
		i += odd ? odd - 1 : 0;
	}
	j = json_loadb((const char *)b.data, b.n, JSON_REJECT_DUPLICATES, e);
	free(b.data);
	return j;
}

static void on_text(void *arg, unsigned peer, const char *text, size_t n)
{
	struct rosbridge_server *s = arg;
	json_error_t e;
	json_t *j = s->how.python ? load_as_python(text, n, &e) : json_loadb(text, n, JSON_REJECT_DUPLICATES, &e);

	if (json_is_object(j))
		on_op(s, peer, j, text, n);
	else
		fault(s, "no JSON: %s: %.*s", e.text, (int)(n < 200 ? n : 200), text);
	json_decref(j);
}

/* ---- the server ---- */

struct rosbridge_server *rosbridge_server_create(unsigned port, const struct rosbridge_server_how *how)
{
	struct rosbridge_server *s = calloc(1, sizeof(*s));
	struct ws_events events = { .text = on_text, .gone = on_gone, .fault = on_fault, .arg = s };

	if (!s)
		return NULL;
	if (how)
		s->how = *how;
	s->ws = ws_server_create(port, &s->how.ws, &events);
	if (s->ws)
		return s;
	free(s);
	return NULL;
}

void rosbridge_server_destroy(struct rosbridge_server *s)
{
	ws_server_stop(s->ws);
	for (unsigned i = 0; i < s->n; i++) {
		json_decref(s->heard[i].last);
		free(s->heard[i].text);
	}
	for (unsigned i = 0; i < WS_PEERS_MAX; i++)
		free(s->parts[i].all.data);
	ws_server_destroy(s->ws);
	free(s);
}

/* ---- queries ---- */

unsigned rosbridge_server_port(const struct rosbridge_server *s)
{
	return ws_server_port(s->ws);
}

#define LOCKED(s, type, expr) \
	({ \
		ws_server_lock((s)->ws); \
		type value_ = (expr); \
		ws_server_unlock((s)->ws); \
		value_; \
	})

unsigned rosbridge_server_connections(struct rosbridge_server *s)
{
	return LOCKED(s, unsigned, ws_server_counts(s->ws).connections);
}

unsigned rosbridge_server_greeted(struct rosbridge_server *s)
{
	return LOCKED(s, unsigned, ws_server_counts(s->ws).greeted);
}

unsigned rosbridge_server_cbor(struct rosbridge_server *s)
{
	return LOCKED(s, unsigned, ws_server_counts(s->ws).binary);
}

bool rosbridge_server_connected(struct rosbridge_server *s)
{
	return LOCKED(s, bool, ws_server_counts(s->ws).connected);
}

static bool heard(struct rosbridge_server *s, const char *op, const char *name, const char *key, const char *value)
{
	const struct heard *h = find(s, op, name);
	const char *has = h && key ? json_string_value(json_object_get(h->last, key)) : NULL;

	return h && h->on && (!key || (has && strcmp(has, value) == 0));
}

bool rosbridge_server_heard(struct rosbridge_server *s, const char *op, const char *name, const char *key,
			    const char *value)
{
	return LOCKED(s, bool, heard(s, op, name, key, value));
}

static uint64_t count(struct rosbridge_server *s, const char *op, const char *name)
{
	const struct heard *h = find(s, op, name);

	return h ? h->count : 0;
}

uint64_t rosbridge_server_count(struct rosbridge_server *s, const char *op, const char *name)
{
	return LOCKED(s, uint64_t, count(s, op, name));
}

/* A copy: the thread that decodes changes counters of what it keeps. */
static json_t *last(struct rosbridge_server *s, const char *op, const char *name)
{
	const struct heard *h = find(s, op, name);

	return h ? json_deep_copy(h->last) : NULL;
}

json_t *rosbridge_server_last(struct rosbridge_server *s, const char *op, const char *name)
{
	return LOCKED(s, json_t *, last(s, op, name));
}

static char *last_text(struct rosbridge_server *s, const char *op, const char *name)
{
	const struct heard *h = find(s, op, name);

	return h ? strdup(h->text) : NULL;
}

char *rosbridge_server_last_text(struct rosbridge_server *s, const char *op, const char *name)
{
	return LOCKED(s, char *, last_text(s, op, name));
}

const char *rosbridge_server_fault(struct rosbridge_server *s)
{
	return LOCKED(s, const char *, s->fault);
}

void rosbridge_server_list(struct rosbridge_server *s, char *text, size_t size)
{
	size_t at = 0;

	ws_server_lock(s->ws);
	for (unsigned i = 0; i < s->n && at < size; i++) {
		const struct heard *h = &s->heard[i], *p = find(s, "publish", h->name);
		const char *type = json_string_value(json_object_get(h->last, "type"));

		if (type)
			at += (size_t)snprintf(text + at, size - at, "%-20s %-40s %-44s %10llu messages %14llu bytes\n",
					       h->op, h->name, type, p ? (unsigned long long)p->count : 0,
					       p ? (unsigned long long)p->bytes : 0);
	}
	ws_server_unlock(s->ws);
}

/* ---- commands ---- */

#define DO(s, what) \
	do { \
		ws_server_lock((s)->ws); \
		what; \
		ws_server_unlock((s)->ws); \
	} while (0)

void rosbridge_server_text(struct rosbridge_server *s, const char *text)
{
	DO(s, ws_server_put(s->ws, WS_ALL, 1, text, strlen(text)));
}

void rosbridge_server_binary(struct rosbridge_server *s, const void *data, size_t n)
{
	DO(s, ws_server_put(s->ws, WS_ALL, 2, data, n));
}

void rosbridge_server_raw(struct rosbridge_server *s, const void *data, size_t n)
{
	DO(s, ws_server_put(s->ws, WS_ALL, 0, data, n));
}

void rosbridge_server_hold(struct rosbridge_server *s, bool on)
{
	DO(s, ws_server_hold(s->ws, on));
}

void rosbridge_server_close(struct rosbridge_server *s, unsigned code)
{
	uint8_t said[2] = { (uint8_t)(code >> 8), (uint8_t)code };

	DO(s, ws_server_put(s->ws, WS_ALL, 8, said, sizeof(said)));
}

void rosbridge_server_drop(struct rosbridge_server *s)
{
	DO(s, ws_server_drop(s->ws));
}
