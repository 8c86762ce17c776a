/* SPDX-License-Identifier: Apache-2.0 */
/* Requests about entities: spawning, despawning, moving. See server.h. */
#include "server_private.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "../space.h"
#include "err.h"
#include "log.h"
#include "mem.h"
#include "printable.h"

LOG_TOPIC("ss2");

void answer_finish(struct answer *a)
{
	mem_free(a->status);
	mem_free(a->response.status);
}

/* ---- from the envelope's geometry to sim's; an absent value is 0 ---- */

static struct sim_Vector3 vector_of(const Ss2__Vector3 *v)
{
	return v ? (struct sim_Vector3){ .x = v->x, .y = v->y, .z = v->z } : (struct sim_Vector3){ 0 };
}

static int pose_of(const Ss2__Pose *p, const char *name, struct sim_Pose *ret)
{
	struct sim_Pose pose = { .position = vector_of(p ? p->position : NULL) };

	if (p && p->orientation)
		pose.orientation = (struct sim_Quaternion){
			.x = p->orientation->x, .y = p->orientation->y, .z = p->orientation->z, .w = p->orientation->w
		};
	if (!space_vector_ok(&pose.position) || !space_normalise(&pose.orientation))
		return err_set(-EINVAL, "entity \"%.*s\": its pose is invalid", SCENE_NAME_MAX, name);
	*ret = pose;
	return 0;
}

static struct sim_Vector3 finite_vector_of(const Ss2__Vector3 *v)
{
	struct sim_Vector3 ret = vector_of(v);

	return space_vector_ok(&ret) ? ret : (struct sim_Vector3){ 0 };
}

static struct sim_Twist motion_of(const Ss2__Motion *m)
{
	return (struct sim_Twist){ .linear = finite_vector_of(m ? m->linear : NULL),
				   .angular = finite_vector_of(m ? m->angular : NULL) };
}

/* ---- coming and going ---- */

static int spawn(struct server *s, const char *name, enum scene_kind kind, const Ss2__BoundingBox *box,
		 const Ss2__Pose *at)
{
	struct sim_Vector3 center = vector_of(box ? box->center : NULL);
	struct sim_Vector3 size = vector_of(box ? box->dimensions : NULL);
	struct scene_entity *e;
	struct sim_Pose pose;
	int r = pose_of(at, name, &pose);

	if (r < 0)
		return r;
	if (!space_vector_ok(&center) || !space_vector_ok(&size) || size.x < 0 || size.y < 0 || size.z < 0)
		return err_set(-EINVAL, "entity \"%.*s\": its bounding box is invalid", SCENE_NAME_MAX, name);
	if (scene_find(&s->scene, name))
		return 0; /* as the reference simulator does: the first entity stays unchanged */
	if (kind == SCENE_EGO && scene_ego(&s->scene))
		return err_set(-EEXIST, "multi ego does not support: \"%s\" is the ego already",
			       scene_ego(&s->scene)->name);
	r = scene_spawn(&s->scene, name, kind, &e);
	if (r < 0)
		return r;
	e->pose = pose;
	e->box_center = center;
	e->box_size = size;
	log_debug("%s spawned", e->name);
	return 1;
}

/* Order the vehicle to the place that the scenario has given its ego; its earlier states no longer count. */
static bool place(struct server *s, enum server_placing action, const struct scene_entity *ego, const Ss2__Axles *axles)
{
	struct server_place p = { .action = action, .ego = ego };

	if (axles && axles->front_axle) {
		p.max_steering = axles->front_axle->max_steering;
		p.wheel_base = axles->front_axle->position_x - (axles->rear_axle ? axles->rear_axle->position_x : 0);
	}
	if (!(p.wheel_base > 0))
		p.wheel_base = 0;
	if (!(p.max_steering > 0))
		p.max_steering = 0;
	if (!s->ops->place(s->ctx, &p))
		return false;
	s->placed_sim_ns = s->now_sim_ns;
	return true;
}

int on_spawn_vehicle(struct server *s, const Ss2__Request *m, struct answer *a)
{
	const Ss2__SpawnVehicleEntityRequest *q = m->spawn_vehicle_entity;
	const Ss2__VehicleParameters *p = q->parameters;

	int r = spawn(s, p ? p->name : "", q->is_ego ? SCENE_EGO : SCENE_VEHICLE, p ? p->bounding_box : NULL, q->pose);

	(void)a;
	if (r == 1 && q->is_ego)
		(void)place(s, PLACE_SPAWN, scene_ego(&s->scene), p->axles);
	return r < 0 ? r : 0;
}

static int spawn_object(struct server *s, const Ss2__SpawnObjectEntityRequest *q, enum scene_kind kind)
{
	const Ss2__ObjectParameters *p = q->parameters;

	int r = spawn(s, p ? p->name : "", kind, p ? p->bounding_box : NULL, q->pose);

	return r < 0 ? r : 0;
}

int on_spawn_pedestrian(struct server *s, const Ss2__Request *m, struct answer *a)
{
	(void)a;
	return spawn_object(s, m->spawn_pedestrian_entity, SCENE_PEDESTRIAN);
}

int on_spawn_object(struct server *s, const Ss2__Request *m, struct answer *a)
{
	(void)a;
	return spawn_object(s, m->spawn_misc_object_entity, SCENE_OBJECT);
}

int on_despawn(struct server *s, const Ss2__Request *m, struct answer *a)
{
	struct scene_entity *ego = scene_ego(&s->scene);
	int r;

	(void)a;
	if (ego && strcmp(ego->name, m->despawn_entity->name) == 0)
		(void)place(s, PLACE_REMOVE, ego, NULL);
	r = scene_despawn(&s->scene, m->despawn_entity->name);
	if (r == 0)
		log_debug("%.*s despawned", SCENE_NAME_MAX, m->despawn_entity->name);
	return r;
}

static int known(struct server *s, const char *name)
{
	if (scene_find(&s->scene, name))
		return 0;
	return err_set(-ENOENT, "entity \"%.*s\" is not spawned", SCENE_NAME_MAX, name);
}

/* ---- sensors and orders ---- */

static int attached(struct server *s, int r)
{
	return r < 0 ? r : s->ops->attach(s->ctx, &s->sensors.config);
}

/* The request's angles are about y, so they are positive downwards. */
int on_attach_lidar(struct server *s, const Ss2__Request *m, struct answer *a)
{
	const Ss2__LidarConfiguration *q = m->attach_lidar_sensor->configuration;
	struct lidar_config c = { 0 };

	(void)a;
	if (q && q->n_vertical_angles > SCAN_BEAMS_MAX)
		return err_set(-ERANGE, "attach_lidar_sensor: %zu vertical angles are out of range, %d at most",
			       q->n_vertical_angles, SCAN_BEAMS_MAX);
	if (q) {
		c.scan_s = q->scan_duration;
		c.delay_s = q->lidar_sensor_delay;
		c.resolution_rad = q->horizontal_resolution;
		c.beams = (uint32_t)q->n_vertical_angles;
		for (uint32_t i = 0; i < c.beams; i++)
			c.elevation_rad[i] = -q->vertical_angles[i];
	}
	return attached(s, sensors_attach_lidar(&s->sensors, &c));
}

int on_attach_detection(struct server *s, const Ss2__Request *m, struct answer *a)
{
	const Ss2__DetectionSensorConfiguration *q = m->attach_detection_sensor->configuration;
	struct sensors_detection c = { 0 };

	(void)a;
	if (q)
		c = (struct sensors_detection){ .all = q->detect_all_objects_in_range,
						.update_s = q->update_duration,
						.range = q->range,
						.noise = q->pos_noise_stddev,
						.lost = q->probability_of_lost,
						.delay_s = q->object_recognition_delay,
						.truth_delay_s = q->object_recognition_ground_truth_delay,
						.seed = q->random_seed };
	noise_file_settle(s->noise, &c);
	return attached(s, sensors_attach_detection(&s->sensors, &c));
}

int on_attach_grid(struct server *s, const Ss2__Request *m, struct answer *a)
{
	const Ss2__OccupancyGridSensorConfiguration *q = m->attach_occupancy_grid_sensor->configuration;
	struct sensors_grid c = { 0 };

	(void)a;
	if (q)
		c = (struct sensors_grid){ .update_s = q->update_duration,
					   .grid = { .resolution = q->resolution,
						     .width = q->width,
						     .height = q->height,
						     .range = q->filter_by_range ? q->range : 0 } };
	return attached(s, sensors_attach_grid(&s->sensors, &c));
}

int on_attach_imu(struct server *s, const Ss2__Request *m, struct answer *a)
{
	const Ss2__ImuSensorConfiguration *q = m->attach_imu_sensor->configuration;
	struct sensors_imu c = { 0 };

	(void)a;
	if (q) {
		c = (struct sensors_imu){ .gravity = q->add_gravity,
					  .seed = q->use_seed ? q->seed : 0,
					  .noise_orientation = q->noise_standard_deviation_orientation,
					  .noise_twist = q->noise_standard_deviation_twist,
					  .noise_acceleration = q->noise_standard_deviation_acceleration };
		snprintf(c.frame, sizeof(c.frame), "%.*s", SENSORS_FRAME_MAX, q->frame_id);
	}
	return attached(s, sensors_attach_imu(&s->sensors, &c));
}

int on_attach_detector(struct server *s, const Ss2__Request *m, struct answer *a)
{
	(void)m;
	(void)a;
	s->sensors.config.lights = true;
	return attached(s, 0);
}

/*
 * Releases before 1.4.0 expect the simulator to move the ego along the trajectory. The vehicle here is moved by a
 * driver; the failure keeps the client from waiting for it.
 */
int on_follow_trajectory(struct server *s, const Ss2__Request *m, struct answer *a)
{
	(void)s;
	(void)a;
	return err_set(
		-EOPNOTSUPP,
		"follow_polyline_trajectory: \"%.*s\" is not moved along a trajectory here; let Autoware drive it, or "
		"use a release from 1.4.0 on, which places it itself",
		SCENE_NAME_MAX, m->follow_polyline_trajectory->name);
}

/* ---- moving ---- */

static void put_vector(Ss2__Vector3 *to, const struct sim_Vector3 *v)
{
	ss2__vector3__init(to);
	to->x = v->x;
	to->y = v->y;
	to->z = v->z;
}

static void put_motion(Ss2__Motion *to, Ss2__Vector3 two[2], const struct sim_Twist *t)
{
	ss2__motion__init(to);
	put_vector(&two[0], &t->linear);
	put_vector(&two[1], &t->angular);
	to->linear = &two[0];
	to->angular = &two[1];
}

/* The ego's pose comes from its vehicle; its current action stays as the scenario has it. */
static void answer_vehicle(struct ego_answer *e, const struct vehicle_state *v, Ss2__UpdatedEntityStatus *ret)
{
	ss2__pose__init(&e->pose);
	put_vector(&e->position, &v->pose.position);
	ss2__quaternion__init(&e->orientation);
	e->orientation.x = v->pose.orientation.x;
	e->orientation.y = v->pose.orientation.y;
	e->orientation.z = v->pose.orientation.z;
	e->orientation.w = v->pose.orientation.w;
	e->pose.position = &e->position;
	e->pose.orientation = &e->orientation;
	ss2__action_status__init(&e->action);
	if (ret->action_status)
		e->action.current_action = ret->action_status->current_action;
	put_motion(&e->twist_both, e->twist, &v->twist);
	put_motion(&e->accel_both, e->accel, &v->accel);
	e->action.twist = &e->twist_both;
	e->action.accel = &e->accel_both;
	e->action.linear_jerk = v->jerk;
	ret->pose = &e->pose;
	ret->action_status = &e->action;
}

/* No entity is moved unless all can be. */
static int check_statuses(struct server *s, const Ss2__UpdateEntityStatusRequest *q)
{
	struct sim_Pose pose;
	int r = 0;

	for (size_t i = 0; r == 0 && i < q->n_status; i++) {
		r = known(s, q->status[i]->name);
		if (r == 0)
			r = pose_of(q->status[i]->pose, q->status[i]->name, &pose);
	}
	return r;
}

static void move(struct scene_entity *e, const Ss2__EntityStatus *q)
{
	(void)pose_of(q->pose, q->name, &e->pose);
	e->twist = motion_of(q->action_status ? q->action_status->twist : NULL);
	e->accel = motion_of(q->action_status ? q->action_status->accel : NULL);
	if (q->subtype)
		e->subtype = (uint32_t)q->subtype->value;
}

void ego_move(struct scene_entity *e, const struct vehicle_state *v)
{
	e->pose = v->pose;
	e->twist = v->twist;
	e->accel = v->accel;
}

bool ego_follows(struct server *s, struct vehicle_state *ret)
{
	return s->ops->vehicle(s->ctx, ret) && ret->stamp_sim_ns > s->placed_sim_ns;
}

/*
 * The scenario places its ego: by order, after which nobody drives it until a driver asks to; otherwise because nobody
 * drives it.
 */
static void place_ego(struct server *s, const struct scene_entity *e, bool by_order, bool has_vehicle)
{
	if (place(s, by_order ? PLACE_TAKE_OVER : PLACE_OVERWRITE, e, NULL) || !has_vehicle)
		return;
	if (!s->ego_placed)
		log_warn("the scenario places %s, but its vehicle is driven by whoever publishes it and does not move",
			 e->name);
	s->ego_placed = true;
}

/* Text that is sent back must be UTF-8, otherwise the client could not decode the answer. */
static void mend_action(Ss2__ActionStatus *a)
{
	if (a)
		utf8_mend(a->current_action, strlen(a->current_action));
}

static void update_one(struct server *s, const Ss2__UpdateEntityStatusRequest *q, const Ss2__EntityStatus *from,
		       struct ego_answer *ego, Ss2__UpdatedEntityStatus *to)
{
	struct scene_entity *e = scene_find(&s->scene, from->name);
	struct vehicle_state v;
	bool has_vehicle;

	mend_action(from->action_status);
	ss2__updated_entity_status__init(to);
	to->name = from->name;
	to->action_status = from->action_status;
	to->pose = from->pose;
	if (e->kind != SCENE_EGO) { /* there is at most one ego */
		move(e, from);
		return;
	}
	has_vehicle = ego_follows(s, &v);
	move(e, from);
	if (q->overwrite_ego_status || (has_vehicle && v.manual)) {
		place_ego(s, e, q->overwrite_ego_status, has_vehicle);
	} else if (!q->npc_logic_started && place(s, PLACE_OVERWRITE, e, NULL)) {
		/*
		 * whatever the vehicle is ordered, it stays there until the scenario starts the logic of all entities
		 */
		;
	} else if (has_vehicle) {
		ego_move(e, &v);
		answer_vehicle(ego, &v, to);
	}
}

/*
 * The ego moves when its status is requested, by the scenario's step, as in the reference simulator. The scenario has
 * put the pose of the previous answer on its lanelet, whose height and slope come back with the request: sim-ss2 has no
 * other map.
 */
static void advance_ego(struct server *s, const Ss2__UpdateEntityStatusRequest *q)
{
	const struct scene_entity *ego = scene_ego(&s->scene);
	int64_t step_dur_ns = llround(s->step_time_s * 1e9);
	struct sim_Pose at;

	if (!ego || q->overwrite_ego_status || !q->npc_logic_started)
		return;
	for (size_t i = 0; i < q->n_status; i++) {
		if (strcmp(q->status[i]->name, ego->name) != 0)
			continue;
		if (pose_of(q->status[i]->pose, ego->name, &at) == 0)
			s->ops->ground(s->ctx, &at);
		if (step_dur_ns > 0)
			s->ops->advance(s->ctx, s->now_sim_ns + step_dur_ns);
	}
}

int on_update_entity_status(struct server *s, const Ss2__Request *m, struct answer *a)
{
	const Ss2__UpdateEntityStatusRequest *q = m->update_entity_status;
	int r = check_statuses(s, q);

	if (r < 0 || q->n_status == 0)
		return r;
	advance_ego(s, q);
	a->status = mem_calloc(q->n_status, sizeof(*a->status));
	a->response.status = mem_calloc(q->n_status, sizeof(Ss2__UpdatedEntityStatus *));
	if (!a->status || !a->response.status)
		return err_nomem();
	for (size_t i = 0; i < q->n_status; i++) {
		a->response.status[i] = &a->status[i];
		update_one(s, q, q->status[i], &a->ego, &a->status[i]);
	}
	a->response.n_status = q->n_status;
	return 0;
}
