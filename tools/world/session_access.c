/* SPDX-License-Identifier: Apache-2.0 */
/* See world.h: what a session may do according to the access list (access.h). Without a list: everything. */
#include <stdarg.h>
#include <stdio.h>

#include "world_private.h"

bool session_admit(struct session *s, const Sim__World__Hello *h)
{
	const struct access *a = &s->w->o.access;

	s->access = a->entries ? access_find(a, s->certificate, h->token.data, h->token.len) : NULL;
	if (a->entries && !s->access) {
		session_tell_end(s, SIM__WORLD__BYE__REASON__REFUSED, "Hello: the access list has no entry for %s%s%s",
				 *s->certificate ? "certificate " : "", *s->certificate ? s->certificate : "this token",
				 *s->certificate ? " and this token" : "");
		return false;
	}
	for (size_t i = 0; i < h->n_own_codes; i++)
		if (!access_has_type(a, h->own_codes[i])) {
			session_tell_end(s, SIM__WORLD__BYE__REASON__REFUSED,
					 "Hello: own_codes: this server has no type with code %u", h->own_codes[i]);
			return false;
		}
	return true;
}

uint32_t session_objects_max(const struct session *s)
{
	uint32_t each = s->w->o.store.objects_each_max;

	return s->access && s->access->objects < each ? s->access->objects : each;
}

/* Counts its objects, and those it will be given at the next tick. */
static bool has_room(const struct session *s)
{
	uint32_t n = store_owned(s->w->store, s->m->connection);

	for (uint32_t i = 0; i < s->w->n_gives; i++)
		n += s->w->gives[i].to == s->m->connection;
	return n < s->access->objects;
}

void session_refuse(struct session *s, const char *fmt, ...)
{
	char sentence[200];
	va_list ap;

	s->info.refused++;
	if (s->refusal_said)
		return;
	s->refusal_said = true;
	va_start(ap, fmt);
	vsnprintf(sentence, sizeof(sentence), fmt, ap);
	va_end(ap);
	world_say(s, WORLD_REFUSED, "access list: %s; later refusals are only counted", sentence);
}

/*
 * The code of an object must not change, or a client could be given an object that then becomes one of a code it may
 * not own.
 */
bool session_may_put(struct session *s, uint64_t id, uint32_t code)
{
	uint32_t before = s->access ? store_code(s->w->store, id) : 0;

	if (!s->access)
		return true;
	if (!access_may_own(s->access, code))
		session_refuse(s, "client may not own objects of code %u", code);
	else if (before && before != code)
		session_refuse(s, "the code of an object cannot change from %u to %u", before, code);
	else if (!before && !has_room(s))
		session_refuse(s, "it may own %u objects", s->access->objects);
	else
		return true;
	return false;
}

bool session_may_get(struct session *s, uint64_t id)
{
	uint32_t code = s->access ? store_code(s->w->store, id) : 0;

	if (!code || store_owner(s->w->store, id) == s->m->connection)
		return true;
	if (!access_may_own(s->access, code))
		session_refuse(s, "it may not be given an object of code %u", code);
	else if (!has_room(s))
		session_refuse(s, "it may be given no more than %u objects", s->access->objects);
	else
		return true;
	return false;
}

bool session_may_note(struct session *s)
{
	if (!s->access || s->access->notes)
		return true;
	session_refuse(s, "it may send no messages");
	return false;
}
