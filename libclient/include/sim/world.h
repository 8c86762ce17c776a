/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A host of a world that many hosts share (sim-world(1)): it reports the states of its own objects, sees all objects
 * near them, and keeps its time in step with the other hosts. A library of its own, libsimworld: it needs no simd, and
 * links nothing of libsimclient.
 *
 *     struct sim_world_options o = { .size = sizeof(o), .name = "host-a" };
 *     struct sim_world_tick tick;
 *     struct sim_world *w;
 *
 *     if (sim_world_connect(&o, &w) < 0 || sim_world_wait(w, -1, &tick) < 0)
 *             die(sim_world_why());
 *     for (;;) {
 *             simulate one step to tick.time_sim_ns + tick.step_dur_ns, and put the car's state at that time:
 *             struct sim_world_object car = { .id = 0, .code = SIM_WORLD_VEHICLE, .time_sim_ns = ...,
 *                                             .position = { x, y, z } };
 *             sim_world_put(w, &car);
 *             sim_world_step(w, -1, &tick);
 *     }
 *
 * Units and frames: metres, m/s, rad/s, in the world: right-handed, x east, y north, z up. Rotation: a unit quaternion
 * w x y z that turns the object's axes (x forward, y left, z up) into the world's. On the wire a position has 1 mm, a
 * rotation 4e-6 rad, a velocity 1 mm/s (schemas/wire/world.md).
 * Thread: any; one thread of its own, "sim-world", reads, calls back and reconnects. With SIM_WORLD_NO_THREAD there is
 * none: the program polls sim_world_fd() and calls sim_world_process(); sim_world_step() and sim_world_wait() do both.
 * Lost:   a lost connection is made again, under the same identity: the library puts its objects again, and the server
 *         keeps them for its grace period. Objects that were seen stay, and move on as predicted.
 * Errors: negative errno; sim_world_why() has the reason.
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
	SIM_WORLD_REGULATING = 0,  /* time waits for this host, and this host for time */
	SIM_WORLD_CONSTRAINED = 1, /* this host waits for time, but time does not wait for it */
	SIM_WORLD_OBSERVER = 2,    /* neither waits for the other; the host has no objects */
};

/* Codes of objects. 128 to 255 are for types of your own: see sim_world_options::own_codes. */
enum sim_world_code {
	SIM_WORLD_VEHICLE = 2,
	SIM_WORLD_PEDESTRIAN = 16,
	SIM_WORLD_BICYCLE = 17,
	SIM_WORLD_GENERIC = 18,
	SIM_WORLD_TRAFFIC_LIGHT = 19,
};

/* How the state of an object at a time was found. */
enum sim_world_how {
	SIM_WORLD_SAID = 0, /* one of its reported states, or between two of them */
	SIM_WORLD_GUESSED,  /* after its last state: extrapolated by its velocity and spin */
	/* later than it is extrapolated: the state where that ended; or before its first state: the first state */
	SIM_WORLD_HELD,
};

struct sim_world_object {
	/*
	 * For this host's own objects a number that it chooses, 0 to sim_world_info::objects - 1, or the whole id; for
	 * others' the whole id
	 */
	uint64_t id;
	uint32_t code;       /* enum sim_world_code, or 128 to 255 */
	uint32_t connection; /* number of its owner's connection; not read by sim_world_put() */
	int64_t time_sim_ns; /* time of all members below */
	double position[3], rotation[4], velocity[3], spin[3];
	/*
	 * The message of its code in schemas/wire/world.proto (Vehicle, Person, Generic, TrafficLight, or your own),
	 * serialised. Put: NULL: unchanged.
	 */
	const void *body;
	size_t body_size;
	enum sim_world_how how; /* not read by sim_world_put() */
};

struct sim_world_tick {
	uint64_t tick;          /* counts from 1; 0: the world has not begun */
	int64_t time_sim_ns;    /* of that tick */
	int64_t step_dur_ns;    /* to the next one */
	uint32_t pace_permille; /* of real time: 1000; less while time waits for slow hosts; 0: as fast as possible */
	uint32_t waited_for;    /* hosts that the tick waited for beyond the first rung of the ladder (world.md) */
	int32_t step_advice_e6; /* advice: lengthen (+) or shorten (-) this host's own step by so many millionths */
	/* this host's present role: a host that is late may be made an observer for a while */
	enum sim_world_role role;
};

enum sim_world_state {
	SIM_WORLD_CONNECTED = 0,
	SIM_WORLD_CONNECTING = 1, /* not yet, or not any more; retried with back-off (10 ms .. 1 s) */
	SIM_WORLD_FAILED = 2,     /* for good: the server refused this host; the reason is in sim_world_info::why */
};

/*
 * Events, on the thread "sim-world" or inside sim_world_process(). A callback may put, remove, say Done, note and ask;
 * it must not wait, step or disconnect (-EDEADLK). Objects and payloads are borrowed until it returns. Each may be
 * NULL. enter, update and leave report only other hosts' objects, not this host's own.
 */
struct sim_world_events {
	void (*enter)(void *user, const struct sim_world_object *o);
	void (*update)(void *user, const struct sim_world_object *o); /* it has changed since the tick before */
	/* it was removed, is out of interest, or is this host's own now */
	void (*leave)(void *user, const struct sim_world_object *o);
	/* the world is at t, and everything up to it has been reported */
	void (*tick)(void *user, const struct sim_world_tick *t);
	void (*note)(void *user, uint64_t from, int64_t time_sim_ns, const void *payload, size_t size);
	/* connection asks for id, an object of this host: answer with sim_world_give(), now or later */
	void (*wanted)(void *user, uint64_t id, uint32_t connection);
	/* the owner of id is connection from now on; refused: it stays with its owner */
	void (*owner)(void *user, uint64_t id, uint32_t connection, bool refused);
	void (*state)(void *user, enum sim_world_state state, const char *why);
};

enum sim_world_flag {
	SIM_WORLD_NO_THREAD = 1u << 0,
	/*
	 * The updates of each tick come by UDP, if the server supports it and the network lets it through, so a lost
	 * packet delays nothing: the newest tick counts, and ticks may be skipped. What a regulating host puts still
	 * goes by TCP, as it must not be lost.
	 */
	SIM_WORLD_DATAGRAMS = 1u << 1,
};

struct sim_world_options {
	size_t size; /* sizeof(struct sim_world_options) of the caller */
	/* HOST:PORT; NULL: 127.0.0.1:8082. Without keys: an address of this machine. Borrowed for the call, as all below */
	const char *address;
	const char *name;  /* 1 to 63 printable characters, for people */
	const char *token; /* if the server requires one */
	/*
	 * DIR:NAME: TLS 1.3, with a server whose certificate DIR/ca.pem has signed for the host part of address; this
	 * host presents DIR/NAME.pem with DIR/NAME.key, made by sim-world --make-keys. DIR: it presents no certificate,
	 * for servers that accept a token instead. NULL: plain text.
	 */
	const char *keys;
	/*
	 * Identity of this host: 16 bytes of its own choice. All 0: random, so a new process is another host. A process
	 * that connects with the identity of an earlier one, and with keys a certificate of the same name, gets its
	 * connection number and takes its place: the objects of the earlier one are removed.
	 */
	uint8_t identity[16];
	enum sim_world_role role;
	unsigned flags;           /* enum sim_world_flag */
	int64_t lookahead_dur_ns; /* a promise: everything put is at least this later than the newest tick */
	uint32_t section_level;   /* 0 to 4: sections of the server's size times 2^level */
	double radius;            /* [m] of interest; 0: the server's default */
	unsigned history;         /* states kept of each object, 2 to 256; 0: 4 */
	int64_t guess_dur_ns;     /* how long an object is extrapolated after its last state; 0: 1 s */
	const uint8_t *own_codes; /* object codes 128 to 255 that this host puts */
	size_t n_own_codes;
	const struct sim_world_events *events; /* copied */
	void *user;
	int timeout_ms; /* bound on the connect; 0: 5000 */
};

/*
 * Connects, and waits until the server has answered.
 * Returns: 0; -EINVAL options; -ECONNREFUSED nothing listens there; -ETIMEDOUT; -EPROTO the peer is not a world server
 * of this version; -EACCES the server refused this host, or this host the server's certificate, or address is another
 * machine and there are no keys; invalid keys: the errno of reading them, such as -ENOENT, -EPERM users other than
 * their owner can read them, -EINVAL not keys; -ENOSPC the server is full; -ENOMEM; -EAGAIN no thread could be started;
 * errors of the system. Since 0.1.
 */
SIM_API SIM_MUST_CHECK int sim_world_connect(const struct sim_world_options *o, struct sim_world **ret);
/*
 * Leaves the world: this host's objects are removed at once. Waits up to 2 s for the server to receive that. NULL is
 * fine. Not from a callback.
 */
SIM_API void sim_world_disconnect(struct sim_world *w);

/* ---- this host's own objects ---- */

/*
 * Reports the state of an object of this host. It counts for the next tick; of several reports the last. An object that
 * is put for the first time, or after it was removed, is a new one. An object without a report is extrapolated by the
 * server, so one that stands, or drives straight on, need not be put. While the server is away the state is kept, and
 * sent when it is back.
 * Returns: 0; -EINVAL a number is not finite, or code; -ERANGE a number is beyond the protocol's range, or no such
 * object number; -E2BIG or -EBADMSG its body; -EPERM a whole id that is not this host's, or this host is an observer;
 * -EBUSY the object of this number was given to another host, and still exists; -ENOSPC this number was removed 65535
 * times; -EAGAIN the server does not read; -ENOMEM. Since 0.1.
 */
SIM_API SIM_MUST_CHECK int sim_world_put(struct sim_world *w, const struct sim_world_object *o);
/* Removes an object. Returns: 0; -ENOENT; -EAGAIN; -ENOMEM. */
SIM_API SIM_MUST_CHECK int sim_world_remove(struct sim_world *w, uint64_t id);
/*
 * The whole id of this host's object of that number; 0: no such object. It changes when the object is removed and put
 * again, or the server lost it.
 */
SIM_API uint64_t sim_world_id(struct sim_world *w, uint64_t number);

/* ---- time ---- */

/*
 * Declares that everything has been put for all ticks up to the last one that the program knows of: which
 * sim_world_wait() or sim_world_step() has returned, or events.tick reported. A regulating host must call it, or time
 * stops for all hosts; whatever is put is sent with it at the latest.
 * Returns: 0; -ENOTCONN; -EAGAIN; -ENOMEM. Since 0.1.
 */
SIM_API SIM_MUST_CHECK int sim_world_done(struct sim_world *w);
/*
 * Declares that this host's time stands still: the program, or what it works for, is paused and promises nothing until
 * the next sim_world_done() or sim_world_step(). The world goes on without this host, whose objects stay, or waits for
 * it, as its operator has set; without this call a silent host is disconnected. The declaration is kept, and repeated
 * when the server is back.
 * Returns: as sim_world_done(). Since 0.1.
 */
SIM_API SIM_MUST_CHECK int sim_world_pause(struct sim_world *w);
/*
 * Waits for a tick later than the last one that this handle's waits have returned; returns at once if there is one.
 * timeout_dur_ns of wall time, negative: for ever.
 * Returns: 0; -ETIMEDOUT; -EDEADLK in a callback; -ENOTCONN the server has refused this host for good, see
 * sim_world_why(). While the server is away it waits. A host that was disconnected because time had waited too long for
 * it, while its program did something else, such as a pause, reconnects with this call. Since 0.1.
 */
SIM_API SIM_MUST_CHECK int sim_world_wait(struct sim_world *w, int64_t timeout_dur_ns, struct sim_world_tick *ret);
/*
 * sim_world_done() and sim_world_wait(). If the server was lost in between and did not get the Done, it is sent again.
 */
SIM_API SIM_MUST_CHECK int sim_world_step(struct sim_world *w, int64_t timeout_dur_ns, struct sim_world_tick *ret);

/* ---- other hosts' objects ---- */

/*
 * The state of an object at a time, from its last states. body: filled with at most *body_size bytes, which becomes its
 * size; NULL: not copied.
 * Returns: 0; -ENOENT it is not seen; -ENOBUFS the body is longer; *body_size is its length.
 */
SIM_API SIM_MUST_CHECK int sim_world_find(struct sim_world *w, uint64_t id, int64_t at_sim_ns,
					  struct sim_world_object *ret, void *body, size_t *body_size);
/*
 * Calls fn for all objects of other hosts, in any order, until it returns false. fn must call nothing of this library;
 * the object is borrowed. Returns how many.
 */
SIM_API int sim_world_each(struct sim_world *w, int64_t at_sim_ns,
			   bool (*fn)(void *user, const struct sim_world_object *o), void *user);
/* Observe from up to 8 places instead of this host's own objects; n 0: from these again. radius: [m]; 0: unchanged. */
SIM_API SIM_MUST_CHECK int sim_world_look(struct sim_world *w, const double (*places)[3], unsigned n, double radius);

/*
 * An object type that the operator of the world has added (--config of sim-world). All of it comes from the server
 * unchecked.
 */
struct sim_world_type {
	uint32_t code;     /* 128 to 255 */
	const char *name;  /* borrowed, as is proto */
	const char *proto; /* text of a .proto file, whose first message is the body of its objects */
};
/*
 * Calls fn for all of them, as of the last connection, until it returns false. fn must call nothing of this library.
 * Returns how many. Since 0.1.
 */
SIM_API int sim_world_each_type(struct sim_world *w, bool (*fn)(void *user, const struct sim_world_type *t),
				void *user);

/* ---- messages and ownership ---- */

/*
 * Sends a note to the owner of object `to`; to 0: to all hosts that see the section of `from`, or with `all` to every
 * host. from: an object of this host. At most 2048 bytes, 100 a second.
 */
SIM_API SIM_MUST_CHECK int sim_world_note(struct sim_world *w, uint64_t from, uint64_t to, bool all,
					  const void *payload, size_t size);
/* Asks the owner for an object: it is this host's own when events.owner says so. */
SIM_API SIM_MUST_CHECK int sim_world_ask(struct sim_world *w, uint64_t id);
/* Gives an object to a connection, or refuses. */
SIM_API SIM_MUST_CHECK int sim_world_give(struct sim_world *w, uint64_t id, uint32_t connection, bool refuse);

/* ---- bodies ---- */

/* What the bodies of vehicles, people and generic objects have in common (schemas/wire/world.proto). */
struct sim_world_shape {
	char model[64]; /* "": no model */
	double size[3]; /* [m] length, width, height of the bounding box, within 1 km; 0: unknown */
	/* [m] centre of the box from the object's origin, in its axes; for all but vehicles half the height up */
	double offset[3];
};

/*
 * Reads the shape from a body, as far as the body has it. Returns: 0; -EBADMSG not protobuf; -EINVAL objects of this
 * code have no shape.
 */
SIM_API SIM_MUST_CHECK int sim_world_shape_read(uint32_t code, const void *body, size_t size,
						struct sim_world_shape *ret);
/*
 * Writes a body with only this. Returns its size; -ENOBUFS room (128 is enough); -EINVAL code, or a number is not
 * finite or beyond 1 km.
 */
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
	size_t n_parts;         /* of the separate array */
};

#define SIM_WORLD_PARTS_MAX 256 /* of one vehicle */

/*
 * Writes the whole body of a vehicle. parts: n_parts of them; may be NULL if there are none. A body with n wheels takes
 * at most 200 + 48 n bytes.
 * Returns its size; -ENOBUFS room; -EINVAL a number is not finite or out of range, or too many parts.
 */
SIM_API SIM_MUST_CHECK int sim_world_vehicle_write(const struct sim_world_vehicle *v,
						   const struct sim_world_part *parts, void *body, size_t room);
/*
 * Reads the body of a vehicle. parts: room for n_parts of them; ret->n_parts is how many there are, which may be more.
 * Returns: 0; -EBADMSG not protobuf, or lists of parts with different lengths.
 */
SIM_API SIM_MUST_CHECK int sim_world_vehicle_read(const void *body, size_t size, struct sim_world_vehicle *ret,
						  struct sim_world_part *parts, size_t n_parts);

/* ---- the rest ---- */

struct sim_world_info {
	enum sim_world_state state;
	uint32_t connection, objects; /* this host's connection number, and how many objects it may have */
	uint32_t seen;                /* objects seen, this host's own among them */
	uint64_t hash; /* of everything seen, as the protocol defines it: equal in hosts that see the same */
	uint64_t bytes_in, bytes_out, ticks, reconnects;
	struct sim_world_tick tick;
	char why[256]; /* if not CONNECTED: the reason */
	uint64_t datagrams_in, datagrams_out;
	bool datagrams; /* datagrams pass in both directions */
};
SIM_API void sim_world_get_info(struct sim_world *w, struct sim_world_info *ret);

/* Readable when sim_world_process() has work; poll only. Valid until sim_world_disconnect(). */
SIM_API int sim_world_fd(struct sim_world *w);
/*
 * Reads, calls back, writes and reconnects, without blocking. Returns how many ticks have arrived; -EBUSY it has its
 * own thread; -EDEADLK in a callback.
 */
SIM_API int sim_world_process(struct sim_world *w);

/* The reason of the calling thread's last failed call of this library; "" if no call has failed. */
SIM_API const char *sim_world_why(void);

#ifdef __cplusplus
}
#endif
#endif
