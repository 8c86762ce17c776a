/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The channels that a recording does not have, and why: metadata "simd_left_out" of each file. The caller holds the
 * recording's lock.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "mem.h"
#include "recording_private.h"

static struct left_out *find(struct recording *s, const char *name)
{
	for (unsigned i = 0; i < s->n_left_out; i++)
		if (strcmp(s->left_out[i].name, name) == 0)
			return &s->left_out[i];
	return NULL;
}

static struct left_out *add(struct recording *s, const char *name)
{
	struct left_out *list = mem_realloc(s->left_out, (s->n_left_out + 1) * sizeof(*list)), *x;

	if (!list)
		return NULL;
	s->left_out = list;
	x = &list[s->n_left_out];
	*x = (struct left_out){ .name = mem_strdup(name) };
	if (!x->name)
		return NULL;
	s->n_left_out++;
	return x;
}

int recording_left_out(struct recording *s, const char *name, const char *why)
{
	struct left_out *x;
	char *text = why ? mem_strdup(why) : NULL;

	pthread_mutex_lock(&s->lock);
	x = find(s, name);
	if (!x && text)
		x = add(s, name);
	if (x)
		x->now = text;
	if (x && text) {
		mem_free(x->why);
		x->why = text;
		x->due = true;
		text = NULL;
	}
	pthread_mutex_unlock(&s->lock);
	mem_free(text);
	return why && !x ? -ENOMEM : 0;
}

bool recording_left_out_at(struct recording *s, unsigned i, struct recording_left_out *ret)
{
	bool there;

	pthread_mutex_lock(&s->lock);
	there = i < s->n_left_out;
	if (there)
		*ret = (struct recording_left_out){ s->left_out[i].name, s->left_out[i].why, s->left_out[i].now };
	pthread_mutex_unlock(&s->lock);
	return there;
}

static int by_name(const void *a, const void *b)
{
	return strcmp(((const struct log_pair *)a)->key, ((const struct log_pair *)b)->key);
}

/* Sorted, so that the result does not depend on the order of events. */
static unsigned fill(const struct recording *s, struct log_pair *pairs)
{
	unsigned n = 0;

	for (unsigned i = 0; i < s->n_left_out; i++)
		if (s->left_out[i].due)
			pairs[n++] = (struct log_pair){ s->left_out[i].name, s->left_out[i].why };
	if (n)
		qsort(pairs, n, sizeof(*pairs), by_name);
	return n;
}

void recording_left_out_write(struct recording *s)
{
	struct log_pair *pairs = mem_calloc(s->n_left_out + 1, sizeof(*pairs));
	unsigned n = pairs ? fill(s, pairs) : 0;

	if (n && log_writer_metadata(s->w, "simd_left_out", pairs, n) >= 0)
		for (unsigned i = 0; i < s->n_left_out; i++)
			s->left_out[i].due = s->left_out[i].now;
	mem_free(pairs);
}

void recording_left_out_clear(struct recording *s)
{
	for (unsigned i = 0; i < s->n_left_out; i++) {
		mem_free(s->left_out[i].name);
		mem_free(s->left_out[i].why);
	}
	mem_free(s->left_out);
}
