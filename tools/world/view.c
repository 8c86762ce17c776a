/* SPDX-License-Identifier: Apache-2.0 */
/* See view.h. */
#include "view.h"

#include <errno.h>

#include "mem.h"

void view_init(struct view *v, const struct view_options *o)
{
	*v = (struct view){ .o = *o };
}

void view_finish(struct view *v)
{
	mem_free(v->cells);
	*v = (struct view){ 0 };
}

void view_step_finish(struct view_step *step)
{
	mem_free(step->sections);
	mem_free(step->left);
	*step = (struct view_step){ 0 };
}

static struct view_cell *find(const struct view *v, struct section_key key)
{
	uint32_t low = 0, high = v->n;

	while (low < high) {
		uint32_t mid = low + (high - low) / 2;
		int order = section_key_compare(v->cells[mid].key, key);

		if (!order)
			return &v->cells[mid];
		if (order < 0)
			low = mid + 1;
		else
			high = mid;
	}
	return NULL;
}

void view_lost(struct view *v, struct section_key key)
{
	struct view_cell *c = find(v, key);

	if (c)
		*c = (struct view_cell){ key, 0, UINT64_MAX };
}

void view_lost_all(struct view *v)
{
	for (uint32_t i = 0; i < v->n; i++)
		v->cells[i] = (struct view_cell){ v->cells[i].key, 0, UINT64_MAX };
}

void view_unsure(struct view *v, const struct view_step *step, uint32_t i)
{
	v->cells[i].tick = step->sections[i].base;
}

void view_acked(struct view *v, struct section_key key, uint64_t tick)
{
	struct view_cell *c = find(v, key);

	if (c && tick >= c->since && tick > c->tick)
		c->tick = tick;
}

uint64_t view_has(const struct view *v, struct section_key key)
{
	const struct view_cell *c = find(v, key);

	return c ? c->tick : 0;
}

/* Distance from a coordinate to the nearest point of an interval. */
static double beyond(int64_t at, int64_t begin, int64_t size)
{
	if (at < begin)
		return (double)(begin - at);
	return at > begin + size ? (double)(at - begin - size) : 0;
}

static bool sees(const struct view *v, struct section_key key, bool was, const struct view_centre *centres, unsigned n)
{
	int64_t size = v->o.section_mm << key.level;
	double radius = (double)v->o.radius_mm * (was ? 1.1 : 1);

	if (v->o.radius_mm == VIEW_ALL)
		return true;
	for (unsigned i = 0; i < n; i++) {
		double dx = beyond(centres[i].x_mm, key.x * size, size),
		       dy = beyond(centres[i].y_mm, key.y * size, size);

		if (dx * dx + dy * dy <= radius * radius)
			return true;
	}
	return false;
}

static int step_room(const struct view *v, uint32_t n_sections, struct view_step *step, struct view_cell **ret_cells)
{
	struct view_step s = { .sections = mem_calloc(n_sections + 1, sizeof(*s.sections)),
			       .left = mem_calloc(v->n + 1, sizeof(*s.left)) };

	*ret_cells = mem_calloc(n_sections + 1, sizeof(**ret_cells));
	if (!s.sections || !s.left || !*ret_cells) {
		view_step_finish(&s);
		mem_free(*ret_cells);
		return -ENOMEM;
	}
	*step = s;
	return 0;
}

/* The sections of the view's level, which are contiguous. */
static struct section **of_level(const struct snapshot *s, uint32_t level, uint32_t *ret_n)
{
	uint32_t first = 0, end;

	while (first < s->n_sections && s->sections[first]->key.level < level)
		first++;
	for (end = first; end < s->n_sections && s->sections[end]->key.level == level;)
		end++;
	*ret_n = end - first;
	return s->sections + first;
}

int view_next(struct view *v, const struct snapshot *s, const struct view_centre *centres, unsigned n,
	      struct view_step *ret)
{
	uint32_t n_sections, old = 0;
	struct section **sections = of_level(s, v->o.level, &n_sections);
	struct view_step step;
	struct view_cell *cells;
	int r = step_room(v, n_sections, &step, &cells);

	if (r < 0)
		return r;
	for (uint32_t i = 0; i < n_sections; i++) {
		struct section_key key = sections[i]->key;
		const struct view_cell *was = NULL;

		for (; old < v->n && section_key_compare(v->cells[old].key, key) < 0; old++)
			step.left[step.n_left++] = v->cells[old].key;
		if (old < v->n && section_key_equal(v->cells[old].key, key))
			was = &v->cells[old++];
		if (sees(v, key, was != NULL, centres, n)) {
			cells[step.n_sections] =
				(struct view_cell){ key, s->tick,
						    was && was->since != UINT64_MAX ? was->since : s->tick };
			step.sections[step.n_sections++] =
				(struct view_section){ sections[i], was ? was->tick : 0,
						       (uint32_t)(sections - s->sections) + i };
		} else if (was) {
			step.left[step.n_left++] = key;
		}
	}
	for (; old < v->n; old++)
		step.left[step.n_left++] = v->cells[old].key;
	mem_free(v->cells);
	v->cells = cells;
	v->n = step.n_sections;
	*ret = step;
	return 0;
}
