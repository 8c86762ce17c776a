/* SPDX-License-Identifier: Apache-2.0 */
/* The lidar of a scenario. See lidar.h. */
#include "lidar.h"

#include <errno.h>
#include <math.h>

#include "../space.h"
#include "err.h"
#include "mem.h"
#include "sensors.h"

#define REFLECTIVITY 0.5  /* of every object */
#define WHOLE        1e-6 /* columns: a number this close to a whole number counts as whole */

static unsigned columns_of(double resolution_rad)
{
	double n = 2 * M_PI / resolution_rad;

	return n >= 1 && n <= SCAN_COLUMNS_MAX + WHOLE ? (unsigned)(n + WHOLE) : 0; /* also 0 for NaN */
}

size_t lidar_points_max(const struct lidar_config *c)
{
	return (size_t)c->beams * columns_of(c->resolution_rad);
}

int lidar_open(struct lidar *l, const struct lidar_config *c)
{
	struct scan_params p = { .beams = c->beams,
				 .columns = columns_of(c->resolution_rad),
				 .elevations_rad = c->elevation_rad,
				 .range_max = LIDAR_RANGE_M,
				 .no_road = true,
				 .tells = true };
	struct lidar made = { 0 };
	const char *why = NULL;
	int r = scan_create(&p, &made.scan, &why);

	if (r < 0 && why)
		return err_set(-ERANGE, "attach_lidar_sensor: %u vertical angles, %g rad from column to column: %s",
			       c->beams, c->resolution_rad, why);
	if (r < 0)
		return err_nomem();
	made.point = mem_calloc(lidar_points_max(c), sizeof(*made.point));
	if (!made.point) {
		lidar_close(&made);
		return err_nomem();
	}
	lidar_close(l);
	*l = made;
	return 0;
}

void lidar_close(struct lidar *l)
{
	scan_destroy(l->scan);
	mem_free(l->point);
	*l = (struct lidar){ 0 };
}

/* The box of an entity, relative to the ego. */
static struct scan_box box_of(const struct scene_entity *e, const struct sim_Pose *ego)
{
	struct sim_Quaternion back = space_inverse(ego->orientation);
	struct sim_Vector3 center = space_add(e->pose.position, space_rotate(e->pose.orientation, e->box_center));

	center = space_rotate(back, space_sub(center, ego->position));
	return (struct scan_box){ .x = center.x,
				  .y = center.y,
				  .z = center.z,
				  .yaw = space_yaw(space_mul(back, e->pose.orientation)),
				  .length = e->box_size.x,
				  .width = e->box_size.y,
				  .height = e->box_size.z,
				  .reflectivity = REFLECTIVITY };
}

void lidar_scan(struct lidar *l, const struct sensors_look *look, struct lidar_cloud *ret, bool *seen)
{
	struct scan_box box[SENSORS_OBJECTS_MAX];

	for (uint32_t i = 0; i < look->n; i++)
		box[i] = box_of(&look->object[i], &look->ego);
	ret->sim_ns = look->sim_ns;
	ret->n = (uint32_t)scan_turn(l->scan, box, look->n, l->point);
	ret->point = l->point;
	scan_saw(l->scan, look->n, seen);
}
