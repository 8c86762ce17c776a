/* SPDX-License-Identifier: Apache-2.0 */
/* The entities of a scenario. See scene.h. */
#include "scene.h"

#include <errno.h>
#include <string.h>

#include "err.h"
#include "printable.h"

#define ENTITIES_SIZE (SCENE_ENTITIES_MAX * sizeof(struct scene_entity))

size_t scene_size(void)
{
	return ENTITIES_SIZE + SCENE_BULBS_MAX * sizeof(struct scene_bulb);
}

size_t scene_bulbs_at(void)
{
	return ENTITIES_SIZE;
}

void scene_init(struct scene *s, void *memory)
{
	memset(s, 0, sizeof(*s));
	s->entity = memory;
	s->bulb = (void *)((char *)memory + ENTITIES_SIZE);
	s->indexed = SIZE_MAX;
}

void scene_clear(struct scene *s)
{
	s->n_entities = s->n_bulbs = 0;
	s->last_id = 0;
	s->indexed = SIZE_MAX;
}

/* ---- by name: a frame names all entities, in any order ---- */

/*
 * FNV-1a. Half of the slots are free; even for badly chosen names a lookup costs no more than a walk through all
 * entities.
 */
static size_t slot_of(const char *name)
{
	uint32_t h = 2166136261u;

	for (; *name; name++)
		h = (h ^ (uint8_t)*name) * 16777619u;
	return (h ^ h >> 16) % SCENE_SLOTS;
}

static void index_it(struct scene *s, size_t i)
{
	size_t k = slot_of(s->entity[i].name);

	while (s->slot[k])
		k = (k + 1) % SCENE_SLOTS;
	s->slot[k] = (uint16_t)(i + 1);
	s->indexed = i + 1;
}

static void index_all(struct scene *s)
{
	memset(s->slot, 0, sizeof(s->slot));
	s->indexed = 0;
	for (size_t i = 0; i < s->n_entities; i++)
		index_it(s, i);
}

struct scene_entity *scene_find(struct scene *s, const char *name)
{
	if (s->indexed != s->n_entities)
		index_all(s);
	for (size_t k = slot_of(name); s->slot[k]; k = (k + 1) % SCENE_SLOTS)
		if (strcmp(s->entity[s->slot[k] - 1].name, name) == 0)
			return &s->entity[s->slot[k] - 1];
	return NULL;
}

struct scene_entity *scene_ego(const struct scene *s)
{
	for (size_t i = 0; i < s->n_entities; i++) {
		if (s->entity[i].kind == SCENE_EGO)
			return &s->entity[i];
	}
	return NULL;
}

int scene_spawn(struct scene *s, const char *name, enum scene_kind kind, struct scene_entity **ret)
{
	struct scene_entity *e;

	if (!*name || strlen(name) > SCENE_NAME_MAX)
		return err_set(-EINVAL, "an entity's name has 1 to %d bytes, this one has %zu", SCENE_NAME_MAX,
			       strlen(name));
	if (!utf8_is(name, strlen(name)))
		return err_set(-EINVAL, "an entity's name is not UTF-8, so no answer could name it");
	if (s->n_entities == SCENE_ENTITIES_MAX)
		return err_set(-ENOSPC, "entity \"%s\" is one too many: %d at most", name, SCENE_ENTITIES_MAX);
	e = &s->entity[s->n_entities++];
	*e = (struct scene_entity){ .id = ++s->last_id, .kind = kind };
	memcpy(e->name, name, strlen(name) + 1);
	e->pose.orientation.w = 1;
	if (s->indexed == s->n_entities - 1)
		index_it(s, s->indexed);
	*ret = e;
	return 0;
}

int scene_despawn(struct scene *s, const char *name)
{
	struct scene_entity *e = scene_find(s, name);

	if (!e)
		return err_set(-ENOENT, "entity \"%.*s\" is not spawned", SCENE_NAME_MAX, name);
	s->n_entities--;
	memmove(e, e + 1, (size_t)(&s->entity[s->n_entities] - e) * sizeof(*e));
	s->indexed = SIZE_MAX;
	return 0;
}
