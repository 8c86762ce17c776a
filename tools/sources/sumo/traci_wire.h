/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The bytes of TraCI, SUMO's remote-control protocol: big-endian, a message is an int32 length and
 * commands, a command is a length, an identifier and a body. This file has no socket: it writes
 * requests into a caller's buffer and reads answers out of one, and trusts nothing it reads.
 *
 * Thread: none of its own; a buffer or cursor is used by one thread at a time.
 */
#ifndef SOURCES_SUMO_TRACI_WIRE_H
#define SOURCES_SUMO_TRACI_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TRACI_MESSAGE_MAX (16u << 20) /* bytes; a longer answer is refused, not read */
#define TRACI_REQUEST_MAX 32768u      /* bytes of one request with all its commands */
#define TRACI_NEST_MAX    4           /* compounds inside compounds */

enum traci_command {
	TRACI_GET_VERSION = 0x00,
	TRACI_SIM_STEP = 0x02,
	TRACI_SET_ORDER = 0x03,
	TRACI_CHANGE_TARGET = 0x31,
	TRACI_CLOSE = 0x7f,
};

/* A domain's commands differ in the high nibble: get, answer, set, subscribe and so on. */
enum traci_domain {
	TRACI_LIGHT = 0x02,
	TRACI_LANE = 0x03,
	TRACI_VEHICLE = 0x04,
	TRACI_SIM = 0x0b,
	TRACI_PERSON = 0x0e,
};

enum traci_verb {
	TRACI_SUBSCRIBE_CONTEXT = 0x80,
	TRACI_ANSWER_CONTEXT = 0x90,
	TRACI_GET = 0xa0,
	TRACI_ANSWER_GET = 0xb0,
	TRACI_SET = 0xc0,
	TRACI_SUBSCRIBE = 0xd0,
	TRACI_ANSWER_SUBSCRIBE = 0xe0,
};

enum traci_var {
	TRACI_VAR_ID_LIST = 0x00,
	TRACI_VAR_LIGHT_STATE = 0x20,
	TRACI_VAR_LIGHT_LINKS = 0x27,
	TRACI_VAR_ALLOWED = 0x34,
	TRACI_VAR_POSITION_3D = 0x39,
	TRACI_VAR_SPEED = 0x40,
	TRACI_VAR_ANGLE = 0x43,
	TRACI_VAR_LENGTH = 0x44,
	TRACI_VAR_CLASS = 0x49,
	TRACI_VAR_WIDTH = 0x4d,
	TRACI_VAR_SHAPE = 0x4e,
	TRACI_VAR_ROAD = 0x50,
	TRACI_VAR_LANE = 0x51,
	TRACI_VAR_EDGES = 0x54,
	TRACI_VAR_ROUTE = 0x57,
	TRACI_VAR_TIME = 0x66,
	TRACI_VAR_SIGNALS = 0x5b,
	TRACI_VAR_CONVERT_POSITION = 0x82,
	TRACI_VAR_MOVE_TO_XY = 0xb4,
	TRACI_VAR_HEIGHT = 0xbc,
};

enum traci_type {
	TRACI_LON_LAT = 0x00,
	TRACI_XY = 0x01,
	TRACI_LON_LAT_ALT = 0x02,
	TRACI_XYZ = 0x03,
	TRACI_ROAD_POS = 0x04,
	TRACI_POLYGON = 0x06,
	TRACI_UBYTE = 0x07,
	TRACI_BYTE = 0x08,
	TRACI_INTEGER = 0x09,
	TRACI_DOUBLE = 0x0b,
	TRACI_STRING = 0x0c,
	TRACI_STRING_LIST = 0x0e,
	TRACI_COMPOUND = 0x0f,
	TRACI_DOUBLE_LIST = 0x10,
	TRACI_COLOR = 0x11,
};

enum traci_result {
	TRACI_OK = 0x00,
};

/* ---- writing ---- */

/* Commands of one request; an overflow marks it `failed`, later calls do nothing. */
struct traci_out {
	uint8_t *buf; /* borrows for the life of the request */
	size_t cap, len;
	size_t start; /* of the open command */
	bool failed;
};

/* Start a request in buf (cap bytes, at least 16). */
void traci_out_init(struct traci_out *o, uint8_t *buf, size_t cap);
/* Open a command; traci_out_end() closes it and writes its length. */
void traci_out_begin(struct traci_out *o, unsigned command);
void traci_out_end(struct traci_out *o);
void traci_out_u8(struct traci_out *o, unsigned value);
void traci_out_i32(struct traci_out *o, int32_t value);
void traci_out_f64(struct traci_out *o, double value);
void traci_out_str(struct traci_out *o, const char *text);
/* Write the length of the whole request. Returns it, or -EMSGSIZE when something did not fit. */
int traci_out_finish(struct traci_out *o);

/* Whole commands. */
void traci_out_get(struct traci_out *o, enum traci_domain domain, enum traci_var var, const char *id);
void traci_out_subscribe(struct traci_out *o, enum traci_domain domain, const char *id, double from_s, double to_s,
			 const uint8_t *vars, size_t n);
void traci_out_subscribe_context(struct traci_out *o, enum traci_domain domain, const char *id, double from_s,
				 double to_s, enum traci_domain around, double range_m, const uint8_t *vars, size_t n);

/* ---- reading ---- */

/* What is left of an answer. Reading past the end marks it `failed` and yields zeroes. */
struct traci_in {
	const uint8_t *p, *end;
	bool failed;
};

/* Text inside an answer: not terminated, valid as long as the answer. */
struct traci_str {
	const char *p;
	size_t len;
};

struct traci_value {
	uint8_t type; /* enum traci_type */
	union {
		int32_t i;          /* TRACI_UBYTE, _BYTE, _INTEGER */
		double d;           /* TRACI_DOUBLE */
		double pos[3];      /* positions; what is missing is 0 */
		struct traci_str s; /* TRACI_STRING */
		struct {
			uint32_t count;       /* number of elements */
			struct traci_in body; /* the elements: strings, doubles, points or typed values; checked */
		} list;                       /* TRACI_STRING_LIST, _DOUBLE_LIST, _POLYGON, _COMPOUND */
	};
};

void traci_in_init(struct traci_in *in, const void *data, size_t size);
int32_t traci_in_i32(struct traci_in *in);
double traci_in_f64(struct traci_in *in);
struct traci_str traci_in_str(struct traci_in *in);

/* The next command of an answer. 0, -ENODATA at the end, -EBADMSG. */
int traci_in_command(struct traci_in *in, unsigned *ret_id, struct traci_in *ret_body);
/* The next command must be the status of `command`. 0 accepted, -EREMOTEIO refused (*ret_text says why), -EBADMSG. */
int traci_in_status(struct traci_in *in, unsigned command, struct traci_str *ret_text);
/* A type byte and its value. 0 or -EBADMSG (unknown type, short, too deep). */
int traci_in_value(struct traci_in *in, struct traci_value *ret);
/* The answer to one get: status, then the value. 0, -EREMOTEIO, -EBADMSG. */
int traci_in_get(struct traci_in *in, enum traci_domain domain, enum traci_var var, struct traci_value *ret,
		 struct traci_str *ret_text);

/* One variable of one object, out of a subscription. */
struct traci_item {
	enum traci_domain domain; /* of the subscribed object */
	bool context;             /* `object` was found around `centre` */
	enum traci_domain around; /* domain of `object` in a context */
	struct traci_str centre;  /* the subscribed object */
	struct traci_str object;  /* object of the variable; `centre` without a context */
	uint32_t index;           /* of the object in its context, from 0 */
	uint8_t var;              /* enum traci_var */
	bool ok;                  /* false: SUMO refused it, value.s says why */
	struct traci_value value;
};
typedef void (*traci_item_fn)(void *user, const struct traci_item *item);

/* One subscription answer. Calls fn for each variable. 0 or -EBADMSG (items before the fault were handed out). */
int traci_in_subscription(struct traci_in *in, traci_item_fn fn, void *user);
/* The answer to a simulation step: status and any number of subscription answers. 0, -EREMOTEIO, -EBADMSG. */
int traci_in_step(struct traci_in *in, traci_item_fn fn, void *user, struct traci_str *ret_text);

/* Copy to a NUL-terminated buffer, cut when too long. Returns ret. */
char *traci_str_copy(struct traci_str s, char *ret, size_t cap);
bool traci_str_is(struct traci_str s, const char *text);

#endif
