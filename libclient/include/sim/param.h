/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parameters: named values of a node that other programs read and set while it runs, as in Cyber RT and ROS 2:
 *
 *   simctl param list lidar
 *   simctl param set lidar frequency 20
 *
 * They are offered as the services NODE/get_parameter, NODE/set_parameter and NODE/list_parameters (sim/srv/GetParam.h,
 * SetParam.h, ListParams.h), so bridges carry them too. A node of sim/node.h can have them, and so can any client:
 * sensors use their client's name as the node. `simctl node info` counts those that a node's own client offers under
 * its name.
 *
 * A parameter keeps the type that it was declared with, one of SIM_PARAM_BOOL, INT, DOUBLE, STRING (sim/msg/Param.h).
 *
 * Part of libsimclient.
 *
 * Thread:  any. Changes happen one at a time; a concurrent reader gets the old value.
 * Errors:  negative errno; sim_why() then holds one sentence.
 */
#ifndef SIM_PARAM_H
#define SIM_PARAM_H

#include <sim/client.h>
#include <sim/msg/Param.h>

#ifdef __cplusplus
extern "C" {
#endif

#define SIM_PARAMS_MAX            256u  /* of one node */
#define SIM_PARAM_NAME_MAX        63u   /* characters */
#define SIM_PARAM_TEXT_MAX        4096u /* bytes of a string */
#define SIM_PARAM_DESCRIPTION_MAX 255u  /* bytes */

struct sim_params;

struct sim_param_value {
	uint8_t type; /* SIM_PARAM_NOT_SET, BOOL, INT, DOUBLE, STRING */
	union {
		bool b;
		int64_t i;
		double d;      /* finite */
		const char *s; /* UTF-8, up to SIM_PARAM_TEXT_MAX bytes; borrowed */
	} as;
};

/*
 * Called before a parameter becomes *v, which is of its type and within its bounds. Returns 0: it changes; a negative
 * errno: it keeps its value, and *why, if filled, is reported to the client that tried to set it. Called on the thread
 * "sim-service" (SIM_CLIENT_NO_THREAD: in sim_process()) when another program sets it, in sim_params_set() when this
 * one does, never twice at a time. It may read parameters, but not set one (-EDEADLK).
 */
typedef int (*sim_param_fn)(void *user, const char *name, const struct sim_param_value *v, char *why, size_t why_size);

struct sim_param_options {
	size_t size;                     /* sizeof(struct sim_param_options) of the caller */
	const char *description;         /* for people, with the unit; borrows */
	struct sim_param_value min, max; /* for an INT or DOUBLE, and of that type; NOT_SET: no bound */
	bool read_only;                  /* only the program itself may set it */
	sim_param_fn changed;            /* NULL: every value within the bounds is accepted */
	void *user;
};

/*
 * Creates the parameters of a node. c is kept until sim_params_destroy(); NULL: for this program alone, nothing is
 * offered. node: 1..63 of [A-Za-z0-9_.~-] and single slashes inside; the rig's prefix comes before it, as with
 * channels.
 * Returns: 0; -EINVAL; -EEXIST parameters of a node of that name are already offered (sim_why() says by which client);
 * -ENOTCONN; as sim_service_offer().
 */
SIM_API SIM_MUST_CHECK int sim_params_create(struct sim_client *c, const char *node, struct sim_params **ret);
/* Waits for a running callback; not from a callback. Call it before the client is closed. NULL is fine. */
SIM_API void sim_params_destroy(struct sim_params *p);

/*
 * Declares a parameter with the value *initial; the callback is not called for that. name: 1..63 of [A-Za-z0-9_.~/-]. o
 * NULL: no bounds, no callback.
 * Returns: 0; -EINVAL name, value or option; -ERANGE *initial is outside the bounds; -EEXIST; -EMFILE there are
 * SIM_PARAMS_MAX; -ENOMEM.
 */
SIM_API SIM_MUST_CHECK int sim_params_declare(struct sim_params *p, const char *name,
					      const struct sim_param_value *initial, const struct sim_param_options *o);

/*
 * Sets a parameter, also a read-only one; the callback decides first.
 * Returns: 0; -ENOENT; -EINVAL another type, or not a value; -ERANGE outside the bounds; -EDEADLK in a callback; the
 * callback's errno; -ENOMEM.
 */
SIM_API SIM_MUST_CHECK int sim_params_set(struct sim_params *p, const char *name, const struct sim_param_value *v);

/*
 * Gets the present value. Returns: 0; -ENOENT; -EINVAL it has another type; for a string -ENOBUFS it does not fit with
 * its NUL.
 */
SIM_API SIM_MUST_CHECK int sim_params_get_bool(const struct sim_params *p, const char *name, bool *ret);
SIM_API SIM_MUST_CHECK int sim_params_get_int(const struct sim_params *p, const char *name, int64_t *ret);
SIM_API SIM_MUST_CHECK int sim_params_get_double(const struct sim_params *p, const char *name, double *ret);
SIM_API SIM_MUST_CHECK int sim_params_get_string(const struct sim_params *p, const char *name, char *ret, size_t size);

/*
 * How many parameters there are; the name of the i-th (NULL: there are fewer; valid until destroy); the type of one
 * (NOT_SET: no such parameter).
 */
SIM_API uint32_t sim_params_count(const struct sim_params *p);
SIM_API const char *sim_params_name(const struct sim_params *p, uint32_t i);
SIM_API uint8_t sim_params_type(const struct sim_params *p, const char *name);

static inline struct sim_param_value sim_param_bool(bool b)
{
	struct sim_param_value v;

	v.type = SIM_PARAM_BOOL;
	v.as.b = b;
	return v;
}

static inline struct sim_param_value sim_param_int(int64_t i)
{
	struct sim_param_value v;

	v.type = SIM_PARAM_INT;
	v.as.i = i;
	return v;
}

static inline struct sim_param_value sim_param_double(double d)
{
	struct sim_param_value v;

	v.type = SIM_PARAM_DOUBLE;
	v.as.d = d;
	return v;
}

static inline struct sim_param_value sim_param_string(const char *s)
{
	struct sim_param_value v;

	v.type = SIM_PARAM_STRING;
	v.as.s = s;
	return v;
}

#ifdef __cplusplus
}
#endif
#endif
