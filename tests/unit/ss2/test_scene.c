/* SPDX-License-Identifier: Apache-2.0 */
/* Entities by their names, however many and in whichever order, while others come and go. */
#include "tests/support/test.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "tools/sources/ss2/scene.h"

static struct scene s;

static int setup(void **state)
{
	*state = calloc(1, scene_size());
	assert_non_null(*state);
	scene_init(&s, *state);
	return 0;
}

static int teardown(void **state)
{
	free(*state);
	return 0;
}

static const char *name_of(unsigned i)
{
	static char name[32];

	snprintf(name, sizeof(name), "npc_%u", i);
	return name;
}

static void spawn(unsigned i)
{
	struct scene_entity *e;

	assert_int_equal(scene_spawn(&s, name_of(i), SCENE_VEHICLE, &e), 0);
	e->subtype = i;
}

static bool is_there(unsigned i)
{
	const struct scene_entity *e = scene_find(&s, name_of(i));

	assert_true(!e || e->subtype == i);
	return e != NULL;
}

TEST_WITH(each_entity_is_found_by_name, setup, teardown)
{
	struct scene_entity *e;

	assert_false(is_there(0));
	for (unsigned i = 0; i < SCENE_ENTITIES_MAX; i++)
		spawn(i);
	assert_int_equal(scene_spawn(&s, "more", SCENE_VEHICLE, &e), -ENOSPC);
	for (unsigned i = SCENE_ENTITIES_MAX; i-- > 0;)
		assert_true(is_there(i));
	assert_false(is_there(SCENE_ENTITIES_MAX));
	assert_null(scene_find(&s, ""));
}

TEST_WITH(despawned_entities_are_gone_and_the_others_stay, setup, teardown)
{
	for (unsigned i = 0; i < 100; i++)
		spawn(i);
	for (unsigned i = 0; i < 100; i += 2) {
		assert_int_equal(scene_despawn(&s, name_of(i)), 0);
		assert_int_equal(scene_despawn(&s, name_of(i)), -ENOENT);
		spawn(100 + i); /* right after it, before any search */
	}
	for (unsigned i = 0; i < 200; i++)
		assert_true(is_there(i) == (i < 100 ? i % 2 == 1 : i % 2 == 0));
	scene_clear(&s);
	assert_false(is_there(1));
	spawn(1);
	assert_true(is_there(1));
	assert_false(is_there(3));
}

/* An earlier process has left them: only their number is reported. */
TEST_WITH(entities_of_an_earlier_process_are_found, setup, teardown)
{
	struct scene left;

	for (unsigned i = 0; i < 10; i++)
		spawn(i);
	left = s;
	scene_init(&s, *state);
	s.n_entities = left.n_entities;
	for (unsigned i = 0; i < 11; i++)
		assert_true(is_there(i) == (i < 10));
}
