/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parameters as ROS 2 has them: requests and responses of the six services of an rclcpp node, made from what a simd
 * node lists (sim/ListParams), and /parameter_events. Refusals use rclcpp's words. Pure functions: any thread.
 */
#ifndef PARAM_WIRE_H
#define PARAM_WIRE_H

#include <stdbool.h>

#include <sim/decode.h>
#include <sim/encode.h>
#include <sim/msg/ParamInfo.h>
#include <sim/srv/SetParam.h>

#define PARAM_TABLE_MAX 256u  /* parameters of a node: SIM_PARAMS_MAX */
#define PARAM_ASKED_MAX 4096u /* names or values of one request */
#define PARAM_WHY_MAX   256u  /* bytes of a reason */

/* clang-format off */
#define PARAM_CALLS(X) \
	X(LIST, "list_parameters", "ListParameters") X(GET, "get_parameters", "GetParameters") \
	X(TYPES, "get_parameter_types", "GetParameterTypes") X(DESCRIBE, "describe_parameters", "DescribeParameters") \
	X(SET, "set_parameters", "SetParameters") \
	X(SET_ATOMICALLY, "set_parameters_atomically", "SetParametersAtomically")
/* clang-format on */

enum param_call {
#define X(id, name, type) PARAM_##id,
	PARAM_CALLS(X)
#undef X
		PARAM_CALLS_N
};

/* ---- what a node has ---- */

struct param {
	const struct sim_ParamInfo *info;
	const void *body; /* body that info lies in */
	size_t size;
	const char *name;
};

struct param_table {
	struct param at[PARAM_TABLE_MAX];
	unsigned n, total; /* total: number of parameters that the node last reported */
	void *bodies[PARAM_TABLE_MAX];
	unsigned n_bodies;
};

/*
 * Appends a copy of a sim/ListParamsResponse body. Returns how many parameters it added: 0 if it contains none or the
 * table is full; -EBADMSG, -ENOMEM.
 */
int param_table_add(struct param_table *t, const void *body, size_t size);
/* Frees a table that was allocated by malloc() or calloc(), and its contents. NULL is allowed. */
void param_table_free(struct param_table *t);
/* NULL: no parameter of that name. */
const struct param *param_find(const struct param_table *t, const char *name, size_t len);

/* ---- requests ---- */

struct param_text { /* borrows from the request, and is followed by a NUL */
	const char *s;
	size_t len;
};

struct param_value { /* rcl_interfaces/ParameterValue, without the types that simd does not have */
	uint8_t type;
	uint8_t bool_value;
	int64_t int_value;
	double double_value;
	struct param_text text;
};

struct param_wish { /* rcl_interfaces/Parameter in a request that sets it */
	struct param_text name;
	struct param_value value;
};

struct param_request {
	struct param_text *names;  /* LIST: the prefixes; owned, free() */
	struct param_wish *wishes; /* SET and SET_ATOMICALLY; owned, free() */
	uint32_t n;                /* number of names or wishes */
	uint64_t depth;            /* LIST only */
};

/*
 * Reads a request's fields. 0; -E2BIG: more than PARAM_ASKED_MAX; -ENOMEM; d->err. On failure there is nothing to free.
 */
int param_read_request(enum param_call call, struct sim_dec *d, struct param_request *ret);
void param_request_finish(struct param_request *q);

/* ---- setting ---- */

/* Whether rclcpp would refuse the value without asking the node. p NULL: the node has no such parameter. */
bool param_refused(const struct param *p, const struct param_wish *w, char why[PARAM_WHY_MAX]);

/*
 * Writes the request that sets the parameter into buf, which is aligned to 64. 0, or -EMSGSIZE: the string is longer
 * than simd allows.
 */
int param_set_request(const struct param_wish *w, void *buf, size_t room, size_t *ret_size);
/* Like param_set_request(), with the value that p has. */
int param_restore_request(const struct param *p, void *buf, size_t room, size_t *ret_size);

/* ---- responses ---- */

/*
 * Writes the response of every call that sets nothing. If the node lacks one of the names, the whole answer is empty,
 * as rclcpp's is.
 */
void param_write_response(enum param_call call, const struct param_request *q, const struct param_table *t,
			  struct sim_enc *e);
/* Writes the response to a refused request: empty, or with the reason. n: number of results for SET. */
void param_write_refusal(enum param_call call, const char *why, uint32_t n, struct sim_enc *e);
/*
 * Writes a rcl_interfaces/SetParametersResult: an element of SET's answer after sim_enc_list(), or the field "result".
 */
void param_write_result(const char *name, const char *why, struct sim_enc *e);

/* ---- events ---- */

/* Whether a parameter was added, removed or changed. earlier NULL: an empty table. */
bool param_changed(const struct param_table *earlier, const struct param_table *now);
/* Writes the rcl_interfaces/ParameterEvent for these changes. */
void param_write_event(int64_t stamp_sim_ns, const char *node, const struct param_table *earlier,
		       const struct param_table *now, struct sim_enc *e);

#endif
