/* SPDX-License-Identifier: Apache-2.0 */
#include "place.h"

#include <stdio.h>
#include <string.h>

#include "mem.h"

struct place {
	struct list link; /* sim_host::places */
	uint64_t place;
	char key[TASK_NAME_MAX + 4];
};

static void key_make(char ret[TASK_NAME_MAX + 4], enum place_kind kind, const char *node, const char *of)
{
	snprintf(ret, TASK_NAME_MAX + 4, "%c %s %s", kind == PLACE_TIMER ? 't' : 'r', node, of);
}

/* Under host::lock. */
static void forget(struct sim_host *h, struct place *p)
{
	list_remove(&p->link);
	h->n_places--;
	mem_free(p);
}

static struct place *find(struct sim_host *h, const char *key)
{
	struct place *p;

	list_for_each(p, &h->places, link)
		if (strcmp(p->key, key) == 0)
			return p;
	return NULL;
}

uint64_t place_take(struct sim_host *h, enum place_kind kind, const char *node, const char *of)
{
	char key[TASK_NAME_MAX + 4];
	struct place *p;
	uint64_t place;

	key_make(key, kind, node, of);
	p = find(h, key);
	place = p ? p->place : ++h->last_place;
	if (p)
		forget(h, p);
	return place;
}

void place_leave(struct sim_host *h, enum place_kind kind, const char *node, const char *of, uint64_t place)
{
	struct place *p = place ? MEM_NEW(struct place) : NULL;

	if (!p)
		return;
	p->place = place;
	key_make(p->key, kind, node, of);
	pthread_mutex_lock(&h->lock);
	if (h->n_places == PLACES_MAX)
		forget(h, list_first(&h->places, struct place, link));
	list_append(&h->places, &p->link);
	h->n_places++;
	pthread_mutex_unlock(&h->lock);
}

void places_finish(struct sim_host *h)
{
	struct place *p;

	while ((p = list_first(&h->places, struct place, link)))
		forget(h, p);
}
