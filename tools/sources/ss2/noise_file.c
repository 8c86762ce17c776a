/* SPDX-License-Identifier: Apache-2.0 */
/* Parameters of noise. See noise_file.h. */
#include "noise_file.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "conf.h"
#include "err.h"
#include "log.h"
#include "mem.h"
#include "sensors.h"
#include "ss2/ss2.pb-c.h"

LOG_TOPIC("ss2");

#define ROOT  "/**.ros__parameters"
#define FOUND "/perception/object_recognition/detection/objects"
#define TRUTH "/perception/object_recognition/ground_truth/objects"

/* ---- the tables ---- */

#define REAL(name_, def_, min_, max_, doc_) \
	{ \
		.name = (name_), .type = CONF_REAL, .def = (def_), .min = (min_), .max = (max_), .doc = (doc_) \
	}
#define OBJECT(name_, sub_, doc_) \
	{ \
		.name = (name_), .type = CONF_OBJECT, .sub = (sub_), .doc = (doc_) \
	}
#define ANY(name_, doc_) \
	{ \
		.name = (name_), .type = CONF_ANY, .doc = (doc_) \
	}
#define PATTERNS(name_, doc_) \
	{ \
		.name = (name_), .type = CONF_STRINGS, .def = "[\"*\"]", .max = 64, .doc = (doc_) \
	}
#define PHI OBJECT("autocorrelation_coefficient", phi_keys, "Correlation with the value drawn before.")

static const struct conf_key phi_keys[] = { REAL("amplitude", "0", 0, 0, "Of the part that decays."),
					    REAL("decay", "0", 0, 1000000, "[1/s]"),
					    REAL("offset", "0", 0, 0, "The part that does not decay."),
					    { 0 } };
static const struct conf_key curve_keys[] = { REAL("ellipse_normalized_x_radius", "1", 0, 1000000,
						   "Ratio of the ellipses' radii, along x to along y."),
					      ANY("values", "One for each ellipse."),
					      { 0 } };
static const struct conf_key walk_keys[] = {
	PHI, OBJECT("mean", curve_keys, "[m], [rad]"), OBJECT("standard_deviation", curve_keys, "[m], [rad]"), { 0 }
};
static const struct conf_key flip_keys[] = { PHI,
					     REAL("speed_threshold", "0.1", 0, 1000, "[m/s]"),
					     REAL("rate", "0", 0, 1, "Fraction with front and back swapped."),
					     { 0 } };
static const struct conf_key positive_keys[] = { PHI,
						 OBJECT("rate", curve_keys, "Fraction of objects detected."),
						 { 0 } };
static const struct conf_key position_keys[] = { OBJECT("x", walk_keys, "To the right of the line from the ego."),
						 OBJECT("y", walk_keys, "Along it."),
						 { 0 } };
static const struct conf_key entity_keys[] = { PATTERNS("types", "EGO, VEHICLE, PEDESTRIAN, MISC_OBJECT."),
					       PATTERNS("subtypes", "CAR, TRUCK, ..."),
					       PATTERNS("names", "Names in the scenario."),
					       { 0 } };

#define COMMON \
	ANY("ellipse_y_radii", "[m] Radii along y of the ellipses around the ego."), \
		OBJECT("yaw", walk_keys, "Rotation of the object."), \
		OBJECT("yaw_flip", flip_keys, "Swapping of front and back."), \
		OBJECT("true_positive", positive_keys, "Detection of the object.")
#define ENTITIES OBJECT("noise_application_entities", entity_keys, "Entities that it applies to.")
#define DISTANCE OBJECT("distance", walk_keys, "Displacement away from the ego.")

static const struct conf_key v2_keys[] = { COMMON, DISTANCE, { 0 } };
static const struct conf_key v3_keys[] = { COMMON, DISTANCE, ENTITIES, { 0 } };
static const struct conf_key v4_keys[] = {
	COMMON, OBJECT("position", position_keys, "Displacement of the object."), ENTITIES, { 0 }
};

static const struct conf_key model_keys[] = {
	{ .name = "version", .type = CONF_INT, .def = "1", .min = 1, .max = 4, .doc = "Number of the model below." },
	{ 0 }
};
static const struct conf_key v1_position_keys[] = { REAL("standard_deviation", "0", 0, 1000000, "[m]"), { 0 } };
static const struct conf_key v1_keys[] = { OBJECT("position", v1_position_keys, "Of x and of y."),
					   REAL("missing_probability", "0", 0, 1, "Fraction of objects lost."),
					   { 0 } };
static const struct conf_key noise_keys[] = { OBJECT("model", model_keys, "The model."),
					      OBJECT("v1", v1_keys, "The same for all objects."),
					      ANY("v2", "By distance."),
					      ANY("v3", "By distance, for groups of entities."),
					      ANY("v4", "From the nearest point, for groups of entities."),
					      { 0 } };

#define HEAD \
	{ .name = "version", .type = CONF_INT, .doc = "Of the interface; not used here." }, \
		{ .name = "override_legacy_configuration", \
		  .type = CONF_BOOL, \
		  .def = "false", \
		  .doc = "Use these values instead of the scenario's." }, \
		REAL("delay", "0", 0, 60, "[s]")

static const struct conf_key found_keys[] = {
	HEAD,
	{ .name = "seed", .type = CONF_INT, .def = "0", .min = 0, .max = INT32_MAX, .doc = "0: the request's." },
	REAL("range", "300", 0, 1000000, "[m]"),
	{ .name = "occlusionless", .type = CONF_BOOL, .def = "false", .doc = "Sees through other objects." },
	OBJECT("noise", noise_keys, "Noise of the detections."),
	{ 0 }
};
static const struct conf_key truth_keys[] = { HEAD, { 0 } };

static const char *const NOT_MADE[] = { "/localization/kinematic_state",
					"/localization/pose_estimator/pose_with_covariance",
					"/vehicle/status/velocity_status", "/sensing/imu/imu_data",
					"/perception/obstacle_segmentation/pointcloud" };

static const struct conf_key topic_keys[] = { OBJECT(FOUND, found_keys, "Detections."),
					      OBJECT(TRUTH, truth_keys, "Ground truth."),
					      ANY("/localization/kinematic_state", "Not supported."),
					      ANY("/localization/pose_estimator/pose_with_covariance",
						  "Not supported."),
					      ANY("/vehicle/status/velocity_status", "Not supported."),
					      ANY("/sensing/imu/imu_data", "Not supported."),
					      ANY("/perception/obstacle_segmentation/pointcloud", "Not supported."),
					      { 0 } };
static const struct conf_key node_keys[] = { OBJECT("ros__parameters", topic_keys, "By topic."), { 0 } };
static const struct conf_key root_keys[] = { OBJECT("/**", node_keys, "Of all nodes."), { 0 } };

/* ---- a group ---- */

/* Read numbers from min to max, one for each ellipse. *n 0: any count, which *n is set to. */
static int numbers(json_t *list, const char *path, uint32_t *n, double min, double max, double *ret)
{
	size_t size = json_array_size(list);

	if (!json_is_array(list) || size < 1 || size > NOISE_RADII_MAX)
		return err_set(-EINVAL, "%s must be an array of 1 to %d numbers", path, NOISE_RADII_MAX);
	if (*n && size != *n)
		return err_set(-EINVAL, "%s has %zu numbers, ellipse_y_radii %u", path, size, *n);
	for (size_t i = 0; i < size; i++) {
		const json_t *x = json_array_get(list, i);

		ret[i] = json_number_value(x);
		if (!json_is_number(x) || !(ret[i] >= min && ret[i] <= max))
			return err_set(-EINVAL, "%s: number %zu must be from %g to %g", path, i + 1, min, max);
	}
	*n = (uint32_t)size;
	return 0;
}

struct range {
	double min, max, otherwise;
};
static const struct range MEAN = { -1e6, 1e6, 0 }, DEVIATION = { 0, 1e6, 0 }, RATE = { 0, 1, 1 };

static int read_curve(struct conf_view v, const char *path, struct range in, uint32_t n, struct noise_curve *ret)
{
	char values[160], ratio[160];

	snprintf(values, sizeof(values), "%s.values", path);
	snprintf(ratio, sizeof(ratio), "%s.ellipse_normalized_x_radius", path);
	ret->x_ratio = conf_real(v, ratio);
	if (!(ret->x_ratio > 0))
		return err_set(-EINVAL, "%s must be above 0", ratio);
	for (uint32_t i = 0; i < n; i++)
		ret->value[i] = in.otherwise;
	return conf_has(v, values) ? numbers(conf_any(v, values), values, &n, in.min, in.max, ret->value) : 0;
}

static struct noise_phi read_phi(struct conf_view v, const char *path)
{
	char at[96];
	struct conf_view phi;

	snprintf(at, sizeof(at), "%s.autocorrelation_coefficient", path);
	phi = conf_object(v, at);
	return (struct noise_phi){ conf_real(phi, "amplitude"), conf_real(phi, "decay"), conf_real(phi, "offset") };
}

static int read_walk(struct conf_view v, const char *path, uint32_t n, struct noise_walk *ret)
{
	char at[96];
	int r;

	ret->phi = read_phi(v, path);
	snprintf(at, sizeof(at), "%s.mean", path);
	r = read_curve(v, at, MEAN, n, &ret->mean);
	snprintf(at, sizeof(at), "%s.standard_deviation", path);
	return r < 0 ? r : read_curve(v, at, DEVIATION, n, &ret->deviation);
}

static int read_radii(struct conf_view v, struct noise_group *g)
{
	static const double usual[] = { 10, 20, 40, 60, 80, 120, 150, 180, 1000 };

	if (conf_has(v, "ellipse_y_radii"))
		return numbers(conf_any(v, "ellipse_y_radii"), "ellipse_y_radii", &g->n_radii, 0, 1e9, g->radius);
	g->n_radii = sizeof(usual) / sizeof(usual[0]);
	memcpy(g->radius, usual, sizeof(usual));
	return 0;
}

/* For a direction in which the model moves no object. */
static const struct noise_walk STILL = { .mean.x_ratio = 1, .deviation.x_ratio = 1 };

static int fill_group(int version, struct noise_group *g)
{
	struct conf_view v = conf_root(g->conf);
	int r = read_radii(v, g);

	g->across = STILL;
	if (r == 0 && version == 4)
		r = read_walk(v, "position.x", g->n_radii, &g->across);
	if (r == 0)
		r = read_walk(v, version == 4 ? "position.y" : "distance", g->n_radii, &g->along);
	if (r == 0)
		r = read_walk(v, "yaw", g->n_radii, &g->yaw);
	if (r == 0)
		r = read_curve(v, "true_positive.rate", RATE, g->n_radii, &g->positive);
	if (r < 0)
		return r;
	g->positive_phi = read_phi(v, "true_positive");
	g->flip_phi = read_phi(v, "yaw_flip");
	g->flip_rate = conf_real(v, "yaw_flip.rate");
	g->flip_below = conf_real(v, "yaw_flip.speed_threshold");
	return 0;
}

static int read_group(const char *origin, int version, json_t *tree, struct noise_group *g)
{
	static const struct conf_key *const keys[] = { [2] = v2_keys, [3] = v3_keys, [4] = v4_keys };
	char *text = json_dumps(tree, JSON_COMPACT | JSON_ENCODE_ANY);
	int r = text ? conf_create(keys[version], &g->conf) : err_nomem();

	if (r == 0)
		r = conf_add_text(g->conf, origin, text, strlen(text));
	free(text);
	if (r < 0)
		return r;
	r = conf_finish(g->conf);
	if (r == 0)
		r = fill_group(version, g);
	if (r < 0)
		return err_prefix(r, "%s", origin);
	return 0;
}

/* ---- the models ---- */

static int read_groups(const char *path, json_t *tree, struct noise_model *m)
{
	char origin[512];
	const char *name;
	json_t *group;
	int r = 0;

	json_object_foreach(tree, name, group) {
		snprintf(origin, sizeof(origin), "%s: noise.v%d.%.64s", path, m->version, name);
		if (r == 0)
			r = read_group(origin, m->version, group, &m->group[m->n_groups++]);
	}
	return r;
}

static int read_model(const char *path, struct conf_view noise, struct noise_model **ret)
{
	int version = (int)conf_int(noise, "model.version"), r = 0;
	char key[4] = { 'v', (char)('0' + version), 0 };
	json_t *tree = version > 1 ? conf_any(noise, key) : NULL;
	size_t n = version > 2 ? json_object_size(tree) : 1;
	char origin[512];

	if (version > 1 && !json_is_object(tree))
		return err_set(-EINVAL, "%s: noise.model.version is %d, but there is no object noise.%s", path, version,
			       key);
	if (n > NOISE_GROUPS_MAX)
		return err_set(-EINVAL, "%s: noise.%s has %zu groups, %d at most", path, key, n, NOISE_GROUPS_MAX);
	*ret = mem_calloc(1, sizeof(**ret) + n * sizeof((*ret)->group[0]));
	if (!*ret)
		return err_nomem();
	(*ret)->version = version;
	snprintf(origin, sizeof(origin), "%s: noise.v2", path);
	if (version == 2)
		r = read_group(origin, version, tree, &(*ret)->group[(*ret)->n_groups++]);
	else if (version > 2)
		r = read_groups(path, tree, *ret);
	return r;
}

static int read_settings(const char *path, struct conf_view topics, struct noise_settings *s)
{
	struct conf_view found = conf_object(topics, FOUND), truth = conf_object(topics, TRUTH);

	for (size_t i = 0; i < sizeof(NOT_MADE) / sizeof(NOT_MADE[0]); i++)
		if (conf_has(topics, NOT_MADE[i]))
			log_warn("%s: noise of %s is not supported; ignoring", path, NOT_MADE[i]);
	s->seed = (int32_t)conf_int(found, "seed");
	s->overrides = conf_bool(found, "override_legacy_configuration");
	s->delay_s = conf_real(found, "delay");
	s->range = conf_real(found, "range");
	s->all = conf_bool(found, "occlusionless");
	s->deviation = conf_real(found, "noise.v1.position.standard_deviation");
	s->lost = conf_real(found, "noise.v1.missing_probability");
	s->overrides_truth = conf_bool(truth, "override_legacy_configuration");
	s->truth_delay_s = conf_real(truth, "delay");
	return read_model(path, conf_object(found, "noise"), &s->model);
}

int noise_file_load(const char *path, struct noise_settings **ret)
{
	struct noise_settings *s = MEM_NEW(struct noise_settings);
	struct conf *c = NULL;
	int r = s ? conf_create(root_keys, &c) : err_nomem();

	if (r == 0)
		r = conf_add_file(c, path);
	if (r == 0)
		r = conf_finish(c);
	if (r == 0)
		r = read_settings(path, conf_object(conf_root(c), ROOT), s);
	conf_destroy(c);
	if (r < 0) {
		noise_file_free(s);
		return r;
	}
	*ret = s;
	return 0;
}

void noise_file_free(struct noise_settings *s)
{
	for (size_t i = 0; s && s->model && i < s->model->n_groups; i++)
		conf_destroy(s->model->group[i].conf);
	if (s)
		mem_free(s->model);
	mem_free(s);
}

/* ---- use ---- */

void noise_file_settle(const struct noise_settings *s, struct sensors_detection *c)
{
	if (!s)
		return;
	if (s->seed)
		c->seed = s->seed;
	if (s->overrides) {
		c->all = s->all;
		c->delay_s = s->delay_s;
		c->range = s->range;
		c->noise = s->deviation;
		c->lost = s->lost;
	}
	if (s->overrides_truth)
		c->truth_delay_s = s->truth_delay_s;
}

static bool any(struct conf_view v, const char *path, const char *name)
{
	for (size_t i = 0; i < conf_count(v, path); i++)
		if (fnmatch(conf_string_at(v, path, i), name, FNM_NOESCAPE) == 0)
			return true;
	return false;
}

bool noise_file_names(const struct conf *group, const struct scene_entity *e)
{
	static const char *const kinds[] = {
		[SCENE_EGO] = "EGO",
		[SCENE_VEHICLE] = "VEHICLE",
		[SCENE_PEDESTRIAN] = "PEDESTRIAN",
		[SCENE_OBJECT] = "MISC_OBJECT",
	};
	const ProtobufCEnumValue *subtype =
		protobuf_c_enum_descriptor_get_value(&ss2__entity_subtype__enum__descriptor, (int)e->subtype);
	struct conf_view v = conf_root(group);

	return any(v, "noise_application_entities.types", kinds[e->kind]) &&
	       any(v, "noise_application_entities.subtypes", subtype ? subtype->name : "UNKNOWN") &&
	       any(v, "noise_application_entities.names", e->name);
}
