/* SPDX-License-Identifier: Apache-2.0 */
/* Sensors of the ego. See sensors.h. */
#include "sensors.h"

#include <errno.h>
#include <math.h>

#include "../scene/chance.h"
#include "../space.h"
#include "err.h"
#include "mem.h"
#include "nearest.h"

#define EARLY_NS    INT64_C(2000000) /* the reference simulator's: a look 2 ms early is in time */
#define ROUNDED_NS  1000             /* ns: tolerance, since sums of 1/30 s are rounded */
#define BELOW_M     1.0
#define TURNED_RAD  0.04 /* the reference simulator's: if the ego has turned by less, it keeps its plane */
#define ON_M        1e-3 /* tolerance, so that rounding does not lose an object on the plane */
#define GRAVITY     9.81 /* the reference simulator's */
#define SECONDS_MAX 60.0
#define LARGE       1e6

/* ---- life ---- */

void sensors_init(struct sensors *s)
{
	*s = (struct sensors){ 0 };
	sensors_reset(s);
}

void sensors_finish(struct sensors *s)
{
	lidar_close(&s->lidar);
	mem_free(s->scans.look);
	mem_free(s->detected.look);
	mem_free(s->truth.look);
	mem_free(s->drawn);
	sensors_init(s);
}

void sensors_reset(struct sensors *s)
{
	s->config = (struct sensors_config){ 0 };
	s->scans.n = s->detected.n = s->truth.n = 0;
	s->n_hit = 0;
	s->plane.taken = false;
	noise_reset(&s->noise);
}

void sensors_time(struct sensors *s, int64_t run_ns)
{
	s->run_ns = run_ns;
}

static bool within(double x, double most)
{
	return x >= 0 && x <= most; /* false for NaN */
}

/* -ERANGE if more looks would wait for their delay than there is room for. */
static int check_delay(const char *request, double delay_s, double period_s)
{
	if (delay_s > (SENSORS_LOOKS_MAX - 2) * (period_s > 0.01 ? period_s : 0.01))
		return err_set(-ERANGE, "%s: a delay of %g s is more than %d looks of %g s", request, delay_s,
			       SENSORS_LOOKS_MAX - 2, period_s);
	return 0;
}

static int make_room(struct sensors_queue *q)
{
	if (!q->look)
		q->look = mem_calloc(SENSORS_LOOKS_MAX, sizeof(*q->look));
	q->n = 0;
	return q->look ? 0 : err_nomem();
}

int sensors_attach_lidar(struct sensors *s, const struct lidar_config *c)
{
	int r;

	if (!within(c->scan_s, SECONDS_MAX) || !within(c->delay_s, SECONDS_MAX))
		return err_set(-ERANGE, "attach_lidar_sensor: a duration is out of range");
	r = check_delay("attach_lidar_sensor", c->delay_s, c->scan_s);
	if (r == 0)
		r = make_room(&s->scans);
	if (r == 0)
		r = lidar_open(&s->lidar, c);
	if (r < 0)
		return r;
	s->config.lidar = *c;
	s->config.lidar.attached = true;
	s->scanned_run_ns = s->run_ns;
	s->n_hit = 0;
	return 0;
}

int sensors_attach_detection(struct sensors *s, const struct sensors_detection *c)
{
	double longest = c->delay_s > c->truth_delay_s ? c->delay_s : c->truth_delay_s;
	int r;

	if (!within(c->update_s, SECONDS_MAX) || !within(c->range, LARGE) || !within(c->noise, LARGE) ||
	    !within(c->lost, 1) || !within(c->delay_s, SECONDS_MAX) || !within(c->truth_delay_s, SECONDS_MAX))
		return err_set(-ERANGE,
			       "attach_detection_sensor: a duration, the range, the noise or a probability is out of "
			       "range");
	r = check_delay("attach_detection_sensor", longest, c->update_s);
	if (r == 0)
		r = make_room(&s->detected);
	if (r == 0)
		r = make_room(&s->truth);
	if (r < 0)
		return r;
	s->config.detection = *c;
	s->config.detection.attached = true;
	s->looked_run_ns = s->run_ns;
	s->plane.taken = false;
	noise_reset(&s->noise);
	rnd_seed(&s->detection, (uint64_t)(uint32_t)c->seed);
	return 0;
}

int sensors_attach_grid(struct sensors *s, const struct sensors_grid *c)
{
	if (!within(c->update_s, SECONDS_MAX) || !within(c->grid.range, LARGE) || !within(c->grid.resolution, LARGE) ||
	    !(c->grid.resolution > 1e-3))
		return err_set(-ERANGE,
			       "attach_occupancy_grid_sensor: a duration, the range or the resolution is out of range");
	if (!c->grid.width || !c->grid.height || c->grid.width > GRID_CELLS_MAX || c->grid.height > GRID_CELLS_MAX ||
	    (size_t)c->grid.width * c->grid.height > GRID_CELLS_MAX)
		return err_set(-ERANGE, "attach_occupancy_grid_sensor: %u x %u cells are out of range, %zu at most",
			       c->grid.width, c->grid.height, GRID_CELLS_MAX);
	if (!s->drawn)
		s->drawn = mem_calloc(1, sizeof(*s->drawn));
	if (!s->drawn)
		return err_nomem();
	s->config.grid = *c;
	s->config.grid.attached = true;
	s->drawn_run_ns = s->run_ns;
	return 0;
}

int sensors_attach_imu(struct sensors *s, const struct sensors_imu *c)
{
	if (!within(c->noise_orientation, LARGE) || !within(c->noise_twist, LARGE) ||
	    !within(c->noise_acceleration, LARGE))
		return err_set(-ERANGE, "attach_imu_sensor: a noise is out of range");
	s->config.imu = *c;
	s->config.imu.attached = true;
	rnd_seed(&s->imu, (uint64_t)(uint32_t)c->seed);
	return 0;
}

/* ---- objects and looks ---- */

static double distance(const struct sim_Vector3 *a, const struct sim_Vector3 *b)
{
	return space_length(space_sub(*a, *b));
}

/* As in the reference simulator: the plane of the ego when an object was first that low, until the ego has turned. */
static bool on_or_above(struct sensors_plane *plane, const struct scene_entity *e, const struct scene_entity *ego)
{
	struct sim_Vector3 up, d;

	if (e->pose.position.z >= ego->pose.position.z - BELOW_M)
		return true;
	if (!plane->taken || space_angle(plane->ego.orientation, ego->pose.orientation) > TURNED_RAD)
		*plane = (struct sensors_plane){ true, ego->pose };
	up = space_rotate(plane->ego.orientation, (struct sim_Vector3){ .z = 1 });
	d = space_sub(e->pose.position, plane->ego.position);
	return d.x * up.x + d.y * up.y + d.z * up.z >= -ON_M;
}

static struct sensors_look *push(struct sensors_queue *q)
{
	if (q->n == SENSORS_LOOKS_MAX) { /* frames are shorter than the delay allows for: drop the oldest */
		q->first = (q->first + 1) % SENSORS_LOOKS_MAX;
		q->n--;
	}
	if (!q->n)
		q->first = 0; /* reuse memory that is in the cache */
	return &q->look[(q->first + q->n++) % SENSORS_LOOKS_MAX];
}

static struct sensors_look *due(struct sensors_queue *q, int64_t now_run_ns, double delay_s)
{
	struct sensors_look *l;

	if (!q->n)
		return NULL;
	l = &q->look[q->first];
	if ((double)(now_run_ns - l->run_ns + ROUNDED_NS) < delay_s * 1e9)
		return NULL;
	q->first = (q->first + 1) % SENSORS_LOOKS_MAX;
	q->n--;
	return l;
}

static bool was_hit(const struct sensors *s, const struct scene_entity *e)
{
	for (uint32_t i = 0; i < s->n_hit; i++)
		if (s->hit[i] == e->id)
			return true;
	return false;
}

static bool is_detected(struct sensors *s, const struct scene_entity *e, const struct scene_entity *ego)
{
	return distance(&e->pose.position, &ego->pose.position) <= s->config.detection.range &&
	       on_or_above(&s->plane, e, ego) && (s->config.detection.all || was_hit(s, e));
}

static bool is_in_reach(struct sensors *s, const struct scene_entity *e, const struct scene_entity *ego)
{
	(void)s;
	return distance(&e->pose.position, &ego->pose.position) <=
	       LIDAR_RANGE_M + space_length(e->box_center) + space_length(e->box_size) / 2;
}

/* Take the wanted objects; if there are too many, the nearest. */
static void look(struct sensors *s, const struct scene *scene, int64_t sim_ns,
		 bool (*wanted)(struct sensors *s, const struct scene_entity *e, const struct scene_entity *ego),
		 struct sensors_look *ret)
{
	const struct scene_entity *ego = scene_ego(scene);
	struct nearest_one one[SENSORS_OBJECTS_MAX];
	struct nearest chosen = { .one = one, .max = SENSORS_OBJECTS_MAX };

	ret->sim_ns = sim_ns;
	ret->run_ns = s->run_ns;
	ret->ego = ego->pose;
	for (size_t i = 0; i < scene->n_entities; i++) {
		const struct scene_entity *e = &scene->entity[i];

		if (e != ego && wanted(s, e, ego))
			nearest_put(&chosen, distance(&e->pose.position, &ego->pose.position), (uint32_t)i);
	}
	nearest_end(&chosen);
	ret->n = (uint32_t)chosen.n;
	for (uint32_t i = 0; i < ret->n; i++)
		ret->object[i] = scene->entity[one[i].at];
}

/* Whether a measurement is due; if so, *last_run_ns becomes now. */
static bool in_time(const struct sensors *s, int64_t *last_run_ns, double update_s)
{
	if (s->run_ns >= *last_run_ns && (double)(s->run_ns - *last_run_ns + EARLY_NS) < update_s * 1e9)
		return false;
	*last_run_ns = s->run_ns;
	return true;
}

/* ---- lidar ---- */

static void scan(struct sensors *s, const struct sensors_look *l)
{
	bool seen[SENSORS_OBJECTS_MAX];

	lidar_scan(&s->lidar, l, &s->cloud, seen);
	s->n_hit = 0;
	for (uint32_t i = 0; i < l->n; i++)
		if (seen[i])
			s->hit[s->n_hit++] = l->object[i].id;
}

const struct lidar_cloud *sensors_scan(struct sensors *s, const struct scene *scene, int64_t sim_ns)
{
	const struct lidar_config *c = &s->config.lidar;
	bool unseen[SENSORS_OBJECTS_MAX];
	struct sensors_look *l;

	if (!c->attached || !scene_ego(scene))
		return NULL;
	if (in_time(s, &s->scanned_run_ns, c->scan_s)) {
		l = push(&s->scans);
		look(s, scene, sim_ns, is_in_reach, l);
		scan(s, l);
	}
	l = due(&s->scans, s->run_ns, c->delay_s);
	if (!l)
		return NULL;
	if (l->sim_ns != s->cloud.sim_ns) /* the cloud is of a later scan: scan this look again */
		lidar_scan(&s->lidar, l, &s->cloud, unseen);
	return &s->cloud;
}

/* ---- detection ---- */

static void disturb(struct sensors *s, struct sensors_look *l)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < l->n; i++) {
		l->object[i].pose.position.x += chance_normal(&s->detection, s->config.detection.noise);
		l->object[i].pose.position.y += chance_normal(&s->detection, s->config.detection.noise);
	}
	for (uint32_t i = 0; i < l->n; i++) {
		if (chance_unit(&s->detection) >= s->config.detection.lost)
			l->object[n++] = l->object[i];
	}
	l->n = n;
}

void sensors_detect(struct sensors *s, const struct scene *scene, int64_t sim_ns,
		    const struct sensors_look **ret_detected, const struct sensors_look **ret_truth)
{
	const struct sensors_detection *c = &s->config.detection;
	struct sensors_look *l;

	*ret_detected = *ret_truth = NULL;
	if (!c->attached || !scene_ego(scene))
		return;
	if (!in_time(s, &s->looked_run_ns, c->update_s))
		return;
	look(s, scene, sim_ns, is_detected, push(&s->detected));
	look(s, scene, sim_ns, is_detected, push(&s->truth));
	l = due(&s->detected, s->run_ns, c->delay_s);
	if (l && s->model && s->model->version > 1)
		noise_apply(&s->noise, s->model, &s->detection, l);
	else if (l)
		disturb(s, l);
	*ret_detected = l;
	*ret_truth = due(&s->truth, s->run_ns, c->truth_delay_s);
}

/* ---- grid ---- */

/* As in the reference simulator, a grid is made of the lidar's points. Without a lidar all cells are free. */
static bool is_drawn(struct sensors *s, const struct scene_entity *e, const struct scene_entity *ego)
{
	double range = s->config.grid.grid.range;

	return is_in_reach(s, e, ego) && (!(range > 0) || distance(&e->pose.position, &ego->pose.position) <= range) &&
	       was_hit(s, e);
}

const struct sensors_look *sensors_draw(struct sensors *s, const struct scene *scene, int64_t sim_ns)
{
	if (!s->config.grid.attached || !scene_ego(scene) || !in_time(s, &s->drawn_run_ns, s->config.grid.update_s))
		return NULL;
	look(s, scene, sim_ns, is_drawn, s->drawn);
	return s->drawn;
}

/* ---- IMU ---- */

static void add_noise(struct rnd *r, struct sim_Vector3 *v, double deviation)
{
	v->x += chance_normal(r, deviation);
	v->y += chance_normal(r, deviation);
	v->z += chance_normal(r, deviation);
}

static struct sim_Quaternion turned_by(struct sim_Quaternion q, struct sim_Vector3 small)
{
	double angle = sqrt(small.x * small.x + small.y * small.y + small.z * small.z), k;

	if (!(angle > 0))
		return q;
	k = sin(angle / 2) / angle;
	return space_mul(q, (struct sim_Quaternion){
				    .x = small.x * k, .y = small.y * k, .z = small.z * k, .w = cos(angle / 2) });
}

bool sensors_imu(struct sensors *s, const struct scene *scene, struct sensors_measure *ret)
{
	const struct sensors_imu *c = &s->config.imu;
	const struct scene_entity *ego = scene_ego(scene);
	struct sim_Vector3 turn = { 0 }, g;

	if (!c->attached || !ego)
		return false;
	ret->angular_velocity = ego->twist.angular;
	ret->linear_acceleration = ego->accel.linear;
	add_noise(&s->imu, &turn, c->noise_orientation);
	add_noise(&s->imu, &ret->angular_velocity, c->noise_twist);
	add_noise(&s->imu, &ret->linear_acceleration, c->noise_acceleration);
	ret->orientation = turned_by(ego->pose.orientation, turn);
	if (c->gravity) { /* as in the reference simulator: downwards, unlike what an accelerometer measures */
		g = space_rotate(space_inverse(ret->orientation), (struct sim_Vector3){ .z = -GRAVITY });
		ret->linear_acceleration = space_add(ret->linear_acceleration, g);
	}
	return true;
}
