/* SPDX-License-Identifier: Apache-2.0 */
/*
 * GridClusters: turns a cloud (sim/PointCloud, of a lidar whose axes are the vehicle's) into obstacles
 * (sim/Detected3DObjects in base_link, with the cloud's stamp).
 *
 * Configuration: "output" (channel [obstacles]), "frame" (of the output [base_link]) and grid.h's parameters by their
 * names.
 */
#include <errno.h>
#include <string.h>

#include <sim/component.h>
#include <sim/msg/Detected3DObjects.h>
#include <sim/point_cloud.h>

#include "grid.h"
#include "objects.h"
#include "settings.h"

struct clusters {
	struct grid *grid;
	struct sim_node_writer *out;
	struct obstacle found[OBSTACLES_MAX];
};

static int init(struct sim_component *c, void *self)
{
	struct grid_params p = grid_params_default();
	char output[SETTING_TEXT_MAX] = "obstacles", frame[SETTING_TEXT_MAX] = "base_link", why[512];
	const struct setting settings[] = {
		{ "output", SETTING_TEXT, output },
		{ "frame", SETTING_TEXT, frame },
		{ "cell_m", SETTING_NUMBER, &p.cell_m },
		{ "range_m", SETTING_NUMBER, &p.range_m },
		{ "sensor_x", SETTING_NUMBER, &p.sensor_x },
		{ "sensor_y", SETTING_NUMBER, &p.sensor_y },
		{ "sensor_z", SETTING_NUMBER, &p.sensor_z },
		{ "ground_m", SETTING_NUMBER, &p.ground_m },
		{ "ceiling_m", SETTING_NUMBER, &p.ceiling_m },
		{ "min_points", SETTING_COUNT, &p.min_points },
	};
	struct clusters *s = self;
	const char *fault;
	int r = settings_read(sim_component_config(c), settings, sizeof(settings) / sizeof(*settings), why,
			      sizeof(why));

	if (r < 0)
		return sim_component_fail(c, r, "%s", why);
	r = grid_create(&p, &s->grid, &fault);
	if (r < 0)
		return sim_component_fail(c, r, "%s", fault);
	return objects_advertise(c, output, frame, &s->out);
}

/* By the size that a lidar measures of a person. */
static const char *label_of(const struct obstacle *o)
{
	return o->length <= 1.0 && o->height >= 1.0 && o->height <= 2.2 ? "Pedestrian" : "Unknown";
}

static void fill(const struct obstacle *o, struct sim_Detected3DObject *d)
{
	objects_put_box(d, o);
	d->score = 1;
}

static int proc(struct sim_component *c, void *self, const struct sim_message *const *m)
{
	const struct sim_PointCloud *cloud = sim_PointCloud_from(m[0]->body, m[0]->body_size);
	struct clusters *s = self;
	const struct sim_Point *points;
	struct objects_out out;
	uint32_t n = 0;
	size_t found;
	int r;

	points = cloud ? sim_point_cloud_points(cloud, m[0]->body_size, &n) : NULL;
	if (!points && (!cloud || cloud->width))
		return sim_component_fail(c, -EBADMSG, "a cloud whose points are not in the layout of sim/Point");
	found = points ? grid_cluster(s->grid, points, n, s->found) : 0;
	r = objects_begin(s->out, found, &out);
	for (size_t i = 0; r == 0 && i < found; i++) {
		fill(&s->found[i], &out.objects[i]);
		r = objects_label(&out, i, label_of(&s->found[i]));
	}
	return objects_end(s->out, &out, r, m[0]->header.stamp_sim_ns);
}

static void shutdown(struct sim_component *c, void *self)
{
	struct clusters *s = self;

	(void)c;
	sim_node_writer_destroy(s->out);
	grid_destroy(s->grid);
}

SIM_COMPONENT(GridClusters) = {
	.abi = SIM_COMPONENT_ABI,
	.size = sizeof(struct sim_component_class),
	.name = "GridClusters",
	.self_size = sizeof(struct clusters),
	.n_inputs = 1,
	.inputs = { &sim_PointCloud_type },
	.init = init,
	.proc = proc,
	.shutdown = shutdown,
};
