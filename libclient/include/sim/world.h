/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A host of a world that many hosts share (sim-world(1)): it says where its own objects are, sees everybody's near them, and its time
 * stays in step with theirs. A library of its own, libsimworld: it needs no simd, and links nothing of libsimclient.
 *
 *     struct sim_world_options o = { .size = sizeof(o), .name = "host-a" };
 *     struct sim_world_tick tick;
 *     struct sim_world *w;
 *
 *     if (sim_world_connect(&o, &w) < 0 || sim_world_wait(w, -1, &tick) < 0)
 *             die(sim_world_why());
 *     for (;;) {
 *             simulate one step to tick.time_sim_ns + tick.step_dur_ns, and say where the car is then:
 *             struct sim_world_object car = { .id = 0, .code = SIM_WORLD_VEHICLE, .time_sim_ns = ..., .position = { x, y, z } };
 *             sim_world_put(w, &car);
 *             sim_world_step(w, -1, &tick);
 *     }
 *
 * Units and frames: metres, m/s, rad/s, in the world: right-handed, x east, y north, z up. Rotation: a unit quaternion w x y z that turns the object's
 * axes (x forward, y left, z up) into the world's. On the wire a position has 1 mm, a rotation 4e-6 rad, a velocity 1 mm/s (schemas/wire/world.md).
 * Thread: any; one thread of its own, "sim-world", reads, calls back and connects again. With SIM_WORLD_NO_THREAD there is none: the program polls
 *         sim_world_fd() and calls sim_world_process(), and sim_world_step() and sim_world_wait() do both.
 * Lost:   a connection that is lost is made again, under the same identity: what was put is put again, and the server keeps the objects for its grace. Who
 *         was seen stays, and moves on as it did.
 * Errors: negative errno; sim_world_why() is the sentence.
 */
#ifndef SIM_WORLD_H
#define SIM_WORLD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sim/types.h>

#ifdef __cplusplus
extern "C" {
#endif

struct sim_world;

enum sim_world_role {
	SIM_WORLD_REGULATING = 0,  /* time waits for this host, and it waits for time */
	SIM_WORLD_CONSTRAINED = 1, /* it waits for time, and time does not wait for it */
	SIM_WORLD_OBSERVER = 2,    /* neither; it has no objects */
};

/* Codes of objects. 128 to 255 are one's own: see sim_world_options::own_codes. */
enum sim_world_code {
	SIM_WORLD_VEHICLE = 2,
	SIM_WORLD_PEDESTRIAN = 16,
	SIM_WORLD_BICYCLE = 17,
	SIM_WORLD_GENERIC = 18,
	SIM_WORLD_TRAFFIC_LIGHT = 19,
};

/* How the state of an object at a time came about. */
enum sim_world_how {
	SIM_WORLD_SAID = 0, /* between two of its states, or one of them */
	SIM_WORLD_GUESSED,  /* after its last state: moved on by its velocity and spin */
	SIM_WORLD_HELD,     /* so long after it that it was not moved on further; or before its first state: that one */
};

struct sim_world_object {
	/* One's own: a number that the host chooses, 0 to sim_world_info::objects - 1; or whole, as of others' */
	uint64_t id;
	uint32_t code;       /* enum sim_world_code, or 128 to 255 */
	uint32_t connection; /* whose it is; not read by sim_world_put() */
	int64_t time_sim_ns; /* the moment of all below */
	double position[3], rotation[4], velocity[3], spin[3];
	/* The message of its code in schemas/wire/world.proto (Vehicle, Person, Generic, TrafficLight, one's own), serialised. Put: NULL: as it was. */
	const void *body;
	size_t body_size;
	enum sim_world_how how; /* not read by sim_world_put() */
};

struct sim_world_tick {
	uint64_t tick;            /* counts from 1; 0: the world has not begun */
	int64_t time_sim_ns;      /* of that tick */
	int64_t step_dur_ns;      /* to the next one */
	uint32_t pace_permille;   /* of real time: 1000; less while the slow are waited for; 0: as fast as it goes */
	uint32_t waited_for;      /* hosts that the tick waited for longer than the first rung */
	int32_t step_advice_e6;   /* this host's own step is better longer (+) or shorter (-) by so many millionths */
	enum sim_world_role role; /* the one that it has: the ladder may have made it an observer for a while */
};

enum sim_world_state {
	SIM_WORLD_CONNECTED = 0,
	SIM_WORLD_CONNECTING = 1, /* not, or not any more; it is tried again, with back-off (10 ms .. 1 s) */
	SIM_WORLD_FAILED = 2,     /* for good: the server refused this host; sim_world_info::why */
};

/*
 * What happens, on the thread "sim-world" or inside sim_world_process(). A callback may put, remove, say Done, note and ask; it must not wait, step
 * or disconnect (-EDEADLK). Objects and payloads are borrowed until it returns. Any may be NULL. Others' objects alone: one's own are not told.
 */
struct sim_world_events {
	void (*enter)(void *user, const struct sim_world_object *o);
	void (*update)(void *user, const struct sim_world_object *o); /* it is not as it was at the tick before */
	void (*leave)(void *user, const struct sim_world_object *o);  /* gone, out of interest, or one's own now */
	void (*tick)(void *user, const struct sim_world_tick *t);     /* the world is at t: all of it is told */
	void (*note)(void *user, uint64_t from, int64_t time_sim_ns, const void *payload, size_t size);
	/* connection would have id, which is one's own: answer with sim_world_give(), now or later */
	void (*wanted)(void *user, uint64_t id, uint32_t connection);
	/* id is connection's from now on; refused: its owner keeps it */
	void (*owner)(void *user, uint64_t id, uint32_t connection, bool refused);
	void (*state)(void *user, enum sim_world_state state, const char *why);
};

enum sim_world_flag {
	SIM_WORLD_NO_THREAD = 1u << 0,
	/*
	 * What is told each tick comes by UDP, where the server has it and the way lets it through, so a packet that is lost holds up nothing: the newest
	 * tick counts, and ticks may be passed over. What a host that regulates puts goes by TCP all the same, as it must not be lost.
	 */
	SIM_WORLD_DATAGRAMS = 1u << 1,
};

struct sim_world_options {
	size_t size; /* sizeof(struct sim_world_options) of the caller */
	const char *
		address; /* HOST:PORT; NULL: 127.0.0.1:8082. Without keys: an address of this machine. Borrows, as all below, for the call */
	const char *name;  /* 1 to 63 printable characters, for people */
	const char *token; /* where the server wants one */
	/*
	 * DIR:NAME: by TLS 1.3, with the server that DIR/ca.pem vouches for under the host of address; it is shown DIR/NAME.pem with
	 * DIR/NAME.key, which sim-world --make-keys has made. DIR: it is shown none, where it takes a token instead. NULL: plain text.
	 */
	const char *keys;
	/*
	 * Who this host is: 16 bytes of its own choice. All 0: chosen by chance, so a new process is another host. A process that comes with the identity of
	 * an earlier one, and with keys a certificate of the same name, has its connection number, and takes its place: what that one had put goes.
	 */
	uint8_t identity[16];
	enum sim_world_role role;
	unsigned flags;           /* enum sim_world_flag */
	int64_t lookahead_dur_ns; /* a promise: nothing is put that is earlier than the newest tick and this */
	uint32_t section_level;   /* 0 to 4: sections of the server's size times 2^level */
	double radius;            /* [m] of interest; 0: the server's own */
	unsigned history;         /* states kept of each object, 2 to 256; 0: 4 */
	int64_t guess_dur_ns;     /* an object is moved on for so long after its last state; 0: 1 s */
	const uint8_t *own_codes; /* object codes 128 to 255 that this host puts */
	size_t n_own_codes;
	const struct sim_world_events *events; /* copied */
	void *user;
	int timeout_ms; /* bound on the connect; 0: 5000 */
};

/*
 * Connect, and wait until the server has answered.
 * Returns: 0; -EINVAL options; -ECONNREFUSED nobody listens; -ETIMEDOUT; -EPROTO what listens is no world's server of this version; -EACCES the
 *          server refused this host, or it the server's certificate, or address is another machine and there are no keys; invalid keys
 *          read: -ENOENT and so on, -EPERM others than their owner can read them, -EINVAL they are none; -ENOSPC the server is full; -ENOMEM; -EAGAIN no thread; as the system says.
 *          Since 0.1.
 */
SIM_API SIM_MUST_CHECK int sim_world_connect(const struct sim_world_options *o, struct sim_world **ret);
/* Says Bye: its objects go at once. Waits up to 2 s for the server to take that. NULL is fine. Not from a callback. */
SIM_API void sim_world_disconnect(struct sim_world *w);

/* ---- one's own objects ---- */

/*
 * Say where an object of one's own is. It counts for the next tick; of several the last. One that is put for the first time, or after it was removed, is a
 * new one. Of what nothing is said the server moves on evenly, so who stands, or drives straight on, need not speak. While the server is away it is kept, and
 * said when it is back.
 * Returns: 0; -EINVAL a number is not finite, or code; -ERANGE a number is beyond the protocol's range, or no such number; -E2BIG or -EBADMSG its body;
 *          -EPERM a whole id that is not this host's, or this host is an observer; -EBUSY this number's object was given away, and is there; -ENOSPC this
 *          number was removed 65535 times; -EAGAIN the server does not read; -ENOMEM. Since 0.1.
 */
SIM_API SIM_MUST_CHECK int sim_world_put(struct sim_world *w, const struct sim_world_object *o);
/* Returns: 0; -ENOENT; -EAGAIN; -ENOMEM. */
SIM_API SIM_MUST_CHECK int sim_world_remove(struct sim_world *w, uint64_t id);
/* The whole id of an object of one's own by its number; 0: there is none. It changes when it is removed and put again, or the server lost it. */
SIM_API uint64_t sim_world_id(struct sim_world *w, uint64_t number);

/* ---- time ---- */

/*
 * Say that all of ticks up to the last one that the program knows of has been put: which sim_world_wait() or sim_world_step() has returned, or
 * events.tick told. A regulating host must, or time stands still for everybody; what is put goes out with it at the latest.
 * Returns: 0; -ENOTCONN; -EAGAIN; -ENOMEM. Since 0.1.
 */
SIM_API SIM_MUST_CHECK int sim_world_done(struct sim_world *w);
/*
 * Say that time stands here: the program, or what it works for, is paused and promises nothing, until the next sim_world_done() or sim_world_step(). The
 * world goes on without this host, whose objects stay, or waits for it, as its operator has it; without this a host that is silent is put out. It is
 * kept, and said again when the server is back.
 * Returns: as sim_world_done(). Since 0.1.
 */
SIM_API SIM_MUST_CHECK int sim_world_pause(struct sim_world *w);
/*
 * Wait for a tick later than the last one that this handle's waits have returned; at once when there is one. timeout_dur_ns of wall time, negative: for ever.
 * Returns: 0; -ETIMEDOUT; -EDEADLK in a callback; -ENOTCONN the server has refused this host for good, sim_world_why(). A server that is away is waited for.
 * A host that was put out, as time had waited for it for too long while its program did something else, such as a pause, comes again with this call.
 * Since 0.1.
 */
SIM_API SIM_MUST_CHECK int sim_world_wait(struct sim_world *w, int64_t timeout_dur_ns, struct sim_world_tick *ret);
/* sim_world_done() and sim_world_wait(). Where the server was lost meanwhile and knows nothing of it, it is said again. */
SIM_API SIM_MUST_CHECK int sim_world_step(struct sim_world *w, int64_t timeout_dur_ns, struct sim_world_tick *ret);

/* ---- others' objects ---- */

/*
 * Where an object is at a time, from its last states. body: copied into room of body_size bytes, which is then its size; NULL: not copied.
 * Returns: 0; -ENOENT it is not seen; -ENOBUFS the body is longer, body_size says how long.
 */
SIM_API SIM_MUST_CHECK int sim_world_find(struct sim_world *w, uint64_t id, int64_t at_sim_ns,
					  struct sim_world_object *ret, void *body, size_t *body_size);
/* All of others, in no order, until fn returns false. fn must call nothing of this library; the object is borrowed. Returns how many. */
SIM_API int sim_world_each(struct sim_world *w, int64_t at_sim_ns,
			   bool (*fn)(void *user, const struct sim_world_object *o), void *user);
/* Look from up to 8 places instead of one's own objects; n 0: from these again. radius: [m]; 0: as it is. */
SIM_API SIM_MUST_CHECK int sim_world_look(struct sim_world *w, const double (*places)[3], unsigned n, double radius);

/* An object type that the operator of the world has added (--config of sim-world). All is the server's: not checked. */
struct sim_world_type {
	uint32_t code;     /* 128 to 255 */
	const char *name;  /* borrowed, as is proto */
	const char *proto; /* text of a .proto file, whose first message is the body of its objects */
};
/* All of them, as of the last time that it has connected, until fn returns false. fn must call nothing of this library. Returns how many. Since 0.1. */
SIM_API int sim_world_each_type(struct sim_world *w, bool (*fn)(void *user, const struct sim_world_type *t),
				void *user);

/* ---- messages and ownership ---- */

/* To the owner of object `to`; to 0: to all who see the section of `from`, or with all to everybody. from: one of one's own. 2048 bytes, 100 a second. */
SIM_API SIM_MUST_CHECK int sim_world_note(struct sim_world *w, uint64_t from, uint64_t to, bool all,
					  const void *payload, size_t size);
/* Ask the owner for an object: it is one's own when events.owner says so. */
SIM_API SIM_MUST_CHECK int sim_world_ask(struct sim_world *w, uint64_t id);
/* Give it to a connection, or refuse. */
SIM_API SIM_MUST_CHECK int sim_world_give(struct sim_world *w, uint64_t id, uint32_t connection, bool refuse);

/* ---- bodies ---- */

/* What the bodies of vehicles, people and generic objects have in common (schemas/wire/world.proto). */
struct sim_world_shape {
	char model[64]; /* "": none */
	double size[3]; /* [m] length, width, height of the box around it, within 1 km; 0: not known */
	double offset[3]; /* [m] the box's centre from the object's origin, in its axes; of all but vehicles half the height up */
};

/* Reads what there is of it. Returns: 0; -EBADMSG no protobuf; -EINVAL objects of this code have none. */
SIM_API SIM_MUST_CHECK int sim_world_shape_read(uint32_t code, const void *body, size_t size,
						struct sim_world_shape *ret);
/* A body that has this alone. Returns its size; -ENOBUFS room (128 is enough); -EINVAL code, or a number is not finite or beyond 1 km. */
SIM_API SIM_MUST_CHECK int sim_world_shape_write(uint32_t code, const struct sim_world_shape *shape, void *body,
						 size_t room);

/* Parts of a vehicle, in its frame: wheels from front to rear, left before right, then others. */
enum sim_world_part_kind {
	SIM_WORLD_WHEEL = 0,
	SIM_WORLD_TRAILER = 1, /* a body behind a joint */
	SIM_WORLD_STEERING_WHEEL = 2,
	SIM_WORLD_DOOR = 3,
	SIM_WORLD_OTHER_PART = 4,
};

struct sim_world_part {
	uint32_t kind;                   /* enum sim_world_part_kind */
	double position[3], rotation[4]; /* [m], within 1 km; to the vehicle's axes */
};

enum sim_world_light {
	SIM_WORLD_LOW_BEAM = 1,
	SIM_WORLD_HIGH_BEAM = 2,
	SIM_WORLD_BRAKE_LIGHT = 4,
	SIM_WORLD_REVERSE_LIGHT = 8,
	SIM_WORLD_TURN_LEFT = 16,
	SIM_WORLD_TURN_RIGHT = 32,
	SIM_WORLD_HAZARD = 64,
};

struct sim_world_vehicle {
	struct sim_world_shape shape;
	double steering;        /* [rad] at the wheels, left is positive */
	unsigned lights;        /* enum sim_world_light */
	double acceleration[3]; /* [m/s^2] world */
	size_t n_parts;         /* of the array beside it */
};

#define SIM_WORLD_PARTS_MAX 256 /* of one vehicle */

/*
 * The body of a vehicle, all of it. parts: n_parts of them, which may be NULL where there is none. A body of n wheels takes 200 and 48 n bytes at most.
 * Returns its size; -ENOBUFS room; -EINVAL a number is not finite or out of range, or too many parts.
 */
SIM_API SIM_MUST_CHECK int sim_world_vehicle_write(const struct sim_world_vehicle *v,
						   const struct sim_world_part *parts, void *body, size_t room);
/*
 * parts: room for n_parts of them; there may be more, which n_parts of *ret tells.
 * Returns: 0; -EBADMSG no protobuf, or parts whose lists do not agree.
 */
SIM_API SIM_MUST_CHECK int sim_world_vehicle_read(const void *body, size_t size, struct sim_world_vehicle *ret,
						  struct sim_world_part *parts, size_t n_parts);

/* ---- the rest ---- */

struct sim_world_info {
	enum sim_world_state state;
	uint32_t connection, objects; /* of this host: its number, and how many objects it may have */
	uint32_t seen;                /* objects, one's own among them */
	uint64_t hash; /* of all that is seen, as the protocol has it: two hosts that see the same have the same */
	uint64_t bytes_in, bytes_out, ticks, reconnects;
	struct sim_world_tick tick;
	char why[256]; /* not CONNECTED: a sentence */
	uint64_t datagrams_in, datagrams_out;
	bool datagrams; /* they go both ways */
};
SIM_API void sim_world_get_info(struct sim_world *w, struct sim_world_info *ret);

/* Readable when sim_world_process() has work; poll only. Valid until sim_world_disconnect(). */
SIM_API int sim_world_fd(struct sim_world *w);
/* Read, call back, write, connect again, without blocking. Returns how many ticks have come; -EBUSY it has its own thread; -EDEADLK in a callback. */
SIM_API int sim_world_process(struct sim_world *w);

/* The sentence of the calling thread's last failed call of this library; "" if there was none. */
SIM_API const char *sim_world_why(void);

#ifdef __cplusplus
}
#endif
#endif
