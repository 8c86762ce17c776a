/* SPDX-License-Identifier: Apache-2.0 */
/* Requests about entities: spawning, despawning, moving. See server.h. */
#include "server_private.h"

#include <errno.h>
#include <string.h>

#include "err.h"
#include "log.h"
#include "mem.h"
#include "space.h"

LOG_TOPIC("ss2");

void answer_finish(struct answer *a)
{
	mem_free(a->status);
	mem_free(a->response.status);
}

/* ---- from the envelope's geometry to ours; what is absent is 0 ---- */

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
	r = scene_spawn(&s->scene, name, kind, &e);
	if (r < 0)
		return r;
	e->pose = pose;
	e->box_center = center;
	e->box_size = size;
	log_debug("%s spawned", e->name);
	return 0;
}

int on_spawn_vehicle(struct server *s, const Ss2__Request *m, struct answer *a)
{
	const Ss2__SpawnVehicleEntityRequest *q = m->spawn_vehicle_entity;
	const Ss2__VehicleParameters *p = q->parameters;

	(void)a;
	return spawn(s, p ? p->name : "", q->is_ego ? SCENE_EGO : SCENE_VEHICLE, p ? p->bounding_box : NULL, q->pose);
}

static int spawn_object(struct server *s, const Ss2__SpawnObjectEntityRequest *q, enum scene_kind kind)
{
	const Ss2__ObjectParameters *p = q->parameters;

	return spawn(s, p ? p->name : "", kind, p ? p->bounding_box : NULL, q->pose);
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
	int r = scene_despawn(&s->scene, m->despawn_entity->name);

	(void)a;
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

static const Ss2__AttachSensorRequest *attach_of(const Ss2__Request *m)
{
	switch (m->request_case) {
	case SS2__REQUEST__REQUEST_ATTACH_LIDAR_SENSOR:
		return m->attach_lidar_sensor;
	case SS2__REQUEST__REQUEST_ATTACH_DETECTION_SENSOR:
		return m->attach_detection_sensor;
	case SS2__REQUEST__REQUEST_ATTACH_OCCUPANCY_GRID_SENSOR:
		return m->attach_occupancy_grid_sensor;
	default:
		return m->attach_imu_sensor;
	}
}

int on_attach_sensor(struct server *s, const Ss2__Request *m, struct answer *a)
{
	const Ss2__AttachSensorRequest *q = attach_of(m);

	a->note = "the sensors are those of simd's rig";
	return known(s, q->configuration ? q->configuration->entity : "");
}

int on_attach_detector(struct server *s, const Ss2__Request *m, struct answer *a)
{
	(void)s;
	(void)m;
	a->note = "the lights are on simd's channel of traffic signals";
	return 0;
}

/* Before 1.4.0 a trajectory was handed on; who follows it still tells the poses, frame by frame. */
int on_follow_trajectory(struct server *s, const Ss2__Request *m, struct answer *a)
{
	(void)s;
	(void)m;
	a->note = "not followed here: entities are placed by their status";
	return 0;
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

/* The ego is where its vehicle says; what it is doing stays the scenario's word. */
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
	ret->pose = &e->pose;
	ret->action_status = &e->action;
}

/* Nothing moves unless everything can. */
static int check_statuses(struct server *s, const Ss2__UpdateEntityStatusRequest *q)
{
	struct sim_Pose pose;
	int r = 0;

	for (size_t i = 0; r == 0 && i < q->n_status; i++) {
		r = known(s, q->status[i]->name);
		if (r == 0)
			r = pose_of(q->status[i]->pose, q->status[i]->name, &pose);
		if (r == 0 && i >= s->scene.n_entities)
			r = err_set(-E2BIG, "update_entity_status: %zu statuses for %zu entities", q->n_status,
				    s->scene.n_entities);
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

static void move_as_vehicle(struct scene_entity *e, const struct vehicle_state *v)
{
	e->pose = v->pose;
	e->twist = v->twist;
	e->accel = v->accel;
}

static void warn_placed(struct server *s, const char *name)
{
	if (!s->ego_placed)
		log_warn("the scenario places %s, but its vehicle is driven by whoever publishes it and does not move",
			 name);
	s->ego_placed = true;
}

int on_update_entity_status(struct server *s, const Ss2__Request *m, struct answer *a)
{
	const Ss2__UpdateEntityStatusRequest *q = m->update_entity_status;
	struct vehicle_state v;
	bool has_vehicle;
	int r = check_statuses(s, q);

	if (r < 0 || q->n_status == 0)
		return r;
	a->status = mem_calloc(q->n_status, sizeof(*a->status));
	a->response.status = mem_calloc(q->n_status, sizeof(Ss2__UpdatedEntityStatus *));
	if (!a->status || !a->response.status)
		return err_nomem();
	has_vehicle = s->ops->vehicle(s->ctx, &v);
	for (size_t i = 0; i < q->n_status; i++) {
		const Ss2__EntityStatus *from = q->status[i];
		struct scene_entity *e = scene_find(&s->scene, from->name);

		ss2__updated_entity_status__init(&a->status[i]);
		a->status[i].name = from->name;
		a->status[i].action_status = from->action_status;
		a->status[i].pose = from->pose;
		a->response.status[i] = &a->status[i];
		move(e, from);
		if (!has_vehicle || e != scene_ego(&s->scene))
			continue;
		if (q->overwrite_ego_status) {
			warn_placed(s, e->name);
			continue;
		}
		move_as_vehicle(e, &v);
		answer_vehicle(&a->ego, &v, &a->status[i]);
	}
	a->response.n_status = q->n_status;
	return 0;
}
