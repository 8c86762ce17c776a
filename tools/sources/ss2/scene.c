/* SPDX-License-Identifier: Apache-2.0 */
/* What a scenario has put on the road. See scene.h. */
#include "scene.h"

#include <errno.h>
#include <string.h>

#include "err.h"

#define ENTITIES_SIZE (SCENE_ENTITIES_MAX * sizeof(struct scene_entity))

size_t scene_size(void)
{
	return ENTITIES_SIZE + SCENE_BULBS_MAX * sizeof(struct scene_bulb);
}

void scene_init(struct scene *s, void *memory)
{
	*s = (struct scene){ .entity = memory, .bulb = (void *)((char *)memory + ENTITIES_SIZE) };
}

void scene_clear(struct scene *s)
{
	s->n_entities = s->n_bulbs = s->next = 0;
	s->last_id = 0;
}

/* A frame names all entities in one order, so each is most likely the one behind the last. */
struct scene_entity *scene_find(struct scene *s, const char *name)
{
	for (size_t i = 0; i < s->n_entities; i++) {
		size_t k = (s->next + i) % s->n_entities;

		if (strcmp(s->entity[k].name, name) == 0) {
			s->next = k + 1;
			return &s->entity[k];
		}
	}
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
	if (s->n_entities == SCENE_ENTITIES_MAX)
		return err_set(-ENOSPC, "entity \"%s\" is one too many: %d at most", name, SCENE_ENTITIES_MAX);
	e = &s->entity[s->n_entities++];
	*e = (struct scene_entity){ .id = ++s->last_id, .kind = kind };
	memcpy(e->name, name, strlen(name) + 1);
	e->pose.orientation.w = 1;
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
	s->next = 0;
	return 0;
}
