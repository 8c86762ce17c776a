/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A convoy of hosts: each is a process with one car. The first drives in a circle; each of the others drives where the
 * car in front was a second ago. Start sim-world, then the four hosts, each in its own terminal; with the server's
 * keys, on any machines that reach it:
 *
 *     convoy 0        convoy 1        convoy 2        convoy 3        [HOST:PORT [SECONDS [DIR:NAME]]]
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sim/world.h>

#define NS     1e9
#define RADIUS 50.0 /* m */
#define SPEED  10.0 /* m/s */
#define BEHIND 1000000000ll

struct front {
	char model[16]; /* of the car in front */
	uint64_t id;    /* 0: not seen */
};

/* The field `model` of a Vehicle in schemas/wire/world.proto: number 1, a string. Returns its size. */
static size_t body_of(const char *model, unsigned char body[32])
{
	size_t n = strlen(model);

	body[0] = 1 << 3 | 2;
	body[1] = (unsigned char)n;
	memcpy(body + 2, model, n);
	return n + 2;
}

static void on_enter(void *user, const struct sim_world_object *o)
{
	struct front *f = user;
	unsigned char body[32];
	size_t n = body_of(f->model, body);

	if (o->body_size == n && !memcmp(o->body, body, n))
		f->id = o->id;
}

static void on_leave(void *user, const struct sim_world_object *o)
{
	struct front *f = user;

	if (f->id == o->id)
		f->id = 0;
}

/* Moves the first car along the circle. */
static void drive(struct sim_world_object *car)
{
	double angle = SPEED / RADIUS * (double)car->time_sim_ns / NS, heading = angle + M_PI / 2;

	car->position[0] = RADIUS * cos(angle);
	car->position[1] = RADIUS * sin(angle);
	car->velocity[0] = SPEED * cos(heading);
	car->velocity[1] = SPEED * sin(heading);
	car->rotation[0] = cos(heading / 2);
	car->rotation[3] = sin(heading / 2);
	car->spin[2] = SPEED / RADIUS;
}

/* Moves a car to where the car in front was. Returns 0 if that is not known. */
static int follow(struct sim_world *w, const struct front *f, struct sim_world_object *car)
{
	struct sim_world_object then;

	if (!f->id || sim_world_find(w, f->id, car->time_sim_ns - BEHIND, &then, NULL, NULL) < 0 ||
	    then.how != SIM_WORLD_SAID)
		return 0;
	memcpy(car->position, then.position, sizeof(car->position));
	memcpy(car->rotation, then.rotation, sizeof(car->rotation));
	memcpy(car->velocity, then.velocity, sizeof(car->velocity));
	memcpy(car->spin, then.spin, sizeof(car->spin));
	return 1;
}

static void report(struct sim_world *w, const struct front *f, const struct sim_world_object *car)
{
	struct sim_world_object front;
	struct sim_world_info i;

	sim_world_get_info(w, &i);
	printf("%.1f s: %u cars, mine at %.2f %.2f", (double)car->time_sim_ns / NS, i.seen, car->position[0],
	       car->position[1]);
	if (f->id && sim_world_find(w, f->id, car->time_sim_ns, &front, NULL, NULL) == 0)
		printf(", the next one %.2f m before it",
		       hypot(front.position[0] - car->position[0], front.position[1] - car->position[1]));
	printf("\n");
	fflush(stdout);
}

static int run(struct sim_world *w, const struct front *f, int number, double seconds)
{
	struct sim_world_object car = { .id = 0, .code = SIM_WORLD_VEHICLE, .rotation = { 1 } };
	struct sim_world_tick t;
	unsigned char body[32];
	char model[16];
	int r;

	snprintf(model, sizeof(model), "convoy-%d", number);
	car.body = body;
	car.body_size = body_of(model, body);
	for (r = sim_world_wait(w, -1, &t); r == 0; r = sim_world_step(w, -1, &t)) {
		car.time_sim_ns = t.time_sim_ns + t.step_dur_ns;
		if (number == 0)
			drive(&car);
		if ((number == 0 || follow(w, f, &car)) && (r = sim_world_put(w, &car)) < 0)
			break;
		if (t.time_sim_ns / 1000000000 != car.time_sim_ns / 1000000000)
			report(w, f, &car);
		if (seconds > 0 && (double)car.time_sim_ns / NS >= seconds)
			return 0;
	}
	fprintf(stderr, "convoy: %s\n", sim_world_why());
	return 1;
}

int main(int argc, char **argv)
{
	static const struct sim_world_events events = { .enter = on_enter, .leave = on_leave };
	int number = argc > 1 ? atoi(argv[1]) : -1, r;
	struct front front = { .id = 0 };
	struct sim_world *w;
	char name[16];

	if (number < 0 || number > 999) {
		fprintf(stderr, "usage: convoy NUMBER [HOST:PORT [SECONDS [DIR:NAME]]]\n");
		return 2;
	}
	snprintf(name, sizeof(name), "host-%d", number);
	snprintf(front.model, sizeof(front.model), "convoy-%d", number - 1);
	/* history for more than the last second: the server's step is 10 ms by default */
	if (sim_world_connect(&(struct sim_world_options){ .size = sizeof(struct sim_world_options),
							   .address = argc > 2 ? argv[2] : NULL,
							   .name = name,
							   .keys = argc > 4 ? argv[4] : NULL,
							   .history = 128,
							   .flags = SIM_WORLD_NO_THREAD,
							   .events = &events,
							   .user = &front },
			      &w) < 0) {
		fprintf(stderr, "convoy: %s\n", sim_world_why());
		return 1;
	}
	r = run(w, &front, number, argc > 3 ? atof(argv[3]) : 0);
	sim_world_disconnect(w);
	return r;
}
