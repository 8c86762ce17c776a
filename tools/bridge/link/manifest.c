/* SPDX-License-Identifier: Apache-2.0 */
/* See manifest.h. */
#include "manifest.h"
#include "number.h"

#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool manifest_host_ok(const char *name)
{
	static const char ok[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-";
	size_t n = strlen(name);

	return n && n <= SIM_HOST_NAME_MAX && strspn(name, ok) == n;
}

/* ---- writing ---- */

static json_t *hash_json(uint64_t hash)
{
	char text[17];

	snprintf(text, sizeof(text), "%016llx", (unsigned long long)hash);
	return json_string(text);
}

static json_t *channel_json(const struct manifest_channel *c)
{
	return json_pack("{ss ss so sI sb sb}", "name", c->name, "type", c->type.name, "hash", hash_json(c->type.hash),
			 "max_body", (json_int_t)c->max_body, "reliable", c->reliable, "keep", c->keep);
}

static json_t *service_json(const struct manifest_service *s)
{
	return json_pack("{ss ss ss so ss so}", "name", s->name, "type", s->type, "request", s->request.name,
			 "request_hash", hash_json(s->request.hash), "response", s->response.name, "response_hash",
			 hash_json(s->response.hash));
}

char *manifest_write(const struct manifest *m)
{
	json_t *channels = json_array(), *services = json_array(), *o;
	char *text;

	for (unsigned i = 0; i < m->n_channels; i++)
		json_array_append_new(channels, channel_json(&m->channels[i]));
	for (unsigned i = 0; i < m->n_services; i++)
		json_array_append_new(services, service_json(&m->services[i]));
	if (json_array_size(channels) != m->n_channels || json_array_size(services) != m->n_services) {
		json_decref(channels);
		json_decref(services);
		return NULL;
	}
	o = json_pack("{si ss so so so}", "version", MANIFEST_VERSION, "host", m->host, "id", hash_json(m->id),
		      "channels", channels, "services", services);
	text = o ? json_dumps(o, JSON_COMPACT) : NULL;
	json_decref(o);
	return text;
}

/* ---- reading ---- */

struct reading {
	char *why;
	size_t why_size;
};

static int bad(const struct reading *r, const char *what, const char *key)
{
	snprintf(r->why, r->why_size, "%s: \"%s\" is missing or invalid", what, key);
	return -EBADMSG;
}

/* Gets the name of a channel, service or type, and checks that it is printable. */
static int get_name(const struct reading *r, const json_t *o, const char *what, const char *key, char *ret, size_t size)
{
	static const char ok[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./~-";
	const char *s = json_string_value(json_object_get(o, key));
	size_t n = s ? strlen(s) : 0;

	if (!n || n >= size || strspn(s, ok) != n)
		return bad(r, what, key);
	memcpy(ret, s, n + 1);
	return 0;
}

static int get_hash(const struct reading *r, const json_t *o, const char *what, const char *key, uint64_t *ret)
{
	return number_hash(json_string_value(json_object_get(o, key)), ret) ? 0 : bad(r, what, key);
}

static int get_size(const struct reading *r, const json_t *o, const char *what, const char *key, uint64_t *ret)
{
	const json_t *v = json_object_get(o, key);

	if (!json_is_integer(v) || json_integer_value(v) < 0)
		return bad(r, what, key);
	*ret = (uint64_t)json_integer_value(v);
	return 0;
}

static int get_bool(const struct reading *r, const json_t *o, const char *what, const char *key, bool *ret)
{
	const json_t *v = json_object_get(o, key);

	if (!json_is_boolean(v))
		return bad(r, what, key);
	*ret = json_is_true(v);
	return 0;
}

static int read_channel(const struct reading *r, const json_t *o, void *ret)
{
	struct manifest_channel *c = ret;
	int e;

	if ((e = get_name(r, o, "a channel", "name", c->name, sizeof(c->name))) < 0 ||
	    (e = get_name(r, o, c->name, "type", c->type.name, sizeof(c->type.name))) < 0 ||
	    (e = get_hash(r, o, c->name, "hash", &c->type.hash)) < 0 ||
	    (e = get_size(r, o, c->name, "max_body", &c->max_body)) < 0 ||
	    (e = get_bool(r, o, c->name, "reliable", &c->reliable)) < 0 ||
	    (e = get_bool(r, o, c->name, "keep", &c->keep)) < 0)
		return e;
	return c->name[0] == '/' ? 0 : bad(r, c->name, "name");
}

static int read_service(const struct reading *r, const json_t *o, void *ret)
{
	struct manifest_service *s = ret;
	int e;

	if ((e = get_name(r, o, "a service", "name", s->name, sizeof(s->name))) < 0 ||
	    (e = get_name(r, o, s->name, "type", s->type, sizeof(s->type))) < 0 ||
	    (e = get_name(r, o, s->name, "request", s->request.name, sizeof(s->request.name))) < 0 ||
	    (e = get_hash(r, o, s->name, "request_hash", &s->request.hash)) < 0 ||
	    (e = get_name(r, o, s->name, "response", s->response.name, sizeof(s->response.name))) < 0 ||
	    (e = get_hash(r, o, s->name, "response_hash", &s->response.hash)) < 0)
		return e;
	return s->name[0] == '/' ? 0 : bad(r, s->name, "name");
}

static int read_list(const struct reading *r, const json_t *o, const char *key, size_t max, size_t each,
		     int (*read)(const struct reading *r, const json_t *o, void *ret), void **ret, unsigned *ret_n)
{
	const json_t *list = json_object_get(o, key);
	size_t n = json_array_size(list);
	int e = 0;

	if (!json_is_array(list))
		return bad(r, "it", key);
	if (n > max) {
		snprintf(r->why, r->why_size, "it has %zu %s, more than %zu", n, key, max);
		return -E2BIG;
	}
	*ret = calloc(n ? n : 1, each);
	if (!*ret)
		return -ENOMEM;
	for (size_t i = 0; i < n && e == 0; i++)
		e = read(r, json_array_get(list, i), (char *)*ret + i * each);
	*ret_n = (unsigned)n;
	return e;
}

static int read_all(const struct reading *r, const json_t *o, struct manifest *m)
{
	const json_t *version = json_object_get(o, "version");
	int e = get_name(r, o, "it", "host", m->host, sizeof(m->host));

	if (e == 0 && !manifest_host_ok(m->host))
		e = bad(r, "it", "host");
	if (e < 0)
		return e;
	if (!json_is_integer(version))
		return bad(r, "it", "version");
	if (json_integer_value(version) != MANIFEST_VERSION) {
		snprintf(r->why, r->why_size,
			 "it has version %lld of the link, this machine has %d: update the older simd",
			 (long long)json_integer_value(version), MANIFEST_VERSION);
		return -EPROTO;
	}
	e = get_hash(r, o, "it", "id", &m->id);
	if (e == 0 && !m->id)
		e = bad(r, "it", "id");
	if (e == 0)
		e = read_list(r, o, "channels", MANIFEST_CHANNELS_MAX, sizeof(*m->channels), read_channel,
			      (void **)&m->channels, &m->n_channels);
	if (e == 0)
		e = read_list(r, o, "services", MANIFEST_SERVICES_MAX, sizeof(*m->services), read_service,
			      (void **)&m->services, &m->n_services);
	return e;
}

int manifest_read(const char *text, size_t len, struct manifest **ret, char *why, size_t why_size)
{
	const struct reading r = { why, why_size };
	struct manifest *m = calloc(1, sizeof(*m));
	json_t *o = len <= MANIFEST_TEXT_MAX ? json_loadb(text, len, JSON_REJECT_DUPLICATES, NULL) : NULL;
	int e = -EBADMSG;

	snprintf(why, why_size, "it is not a JSON object of at most %u bytes", MANIFEST_TEXT_MAX);
	if (!m)
		e = -ENOMEM;
	else if (json_is_object(o))
		e = read_all(&r, o, m);
	json_decref(o);
	if (e < 0 && e != -EPROTO) {
		manifest_free(m);
		return e;
	}
	*ret = m;
	return e;
}

void manifest_free(struct manifest *m)
{
	if (!m)
		return;
	free(m->channels);
	free(m->services);
	free(m);
}
