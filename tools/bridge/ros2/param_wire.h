/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parameters as ROS 2 has them: what the six services of a node of rclcpp are asked and answer, made of what a node of simd says of
 * its own (sim/ListParams), and /parameter_events. What is refused is refused in rclcpp's words. Pure functions: any thread.
 */
#ifndef PARAM_WIRE_H
#define PARAM_WIRE_H

#include <stdbool.h>

#include <sim/decode.h>
#include <sim/encode.h>
#include <sim/msg/ParamInfo.h>
#include <sim/srv/SetParam.h>

#define PARAM_TABLE_MAX 256u  /* of a node: SIM_PARAMS_MAX */
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
	const void *body; /* that info lies in */
	size_t size;
	const char *name;
};

struct param_table {
	struct param at[PARAM_TABLE_MAX];
	unsigned n, total; /* total: as many as the node said last that it has */
	void *bodies[PARAM_TABLE_MAX];
	unsigned n_bodies;
};

/*
 * A copy of a body of sim/ListParamsResponse, behind what is there. Returns how many parameters it added: 0 when it has none, or
 * there is no room for more; -EBADMSG, -ENOMEM.
 */
int param_table_add(struct param_table *t, const void *body, size_t size);
/* Of one of malloc(); NULL is fine. */
void param_table_free(struct param_table *t);
/* NULL: there is none of that name. */
const struct param *param_find(const struct param_table *t, const char *name, size_t len);

/* ---- requests ---- */

struct param_text { /* borrows from the request, and is followed by a NUL */
	const char *s;
	size_t len;
};

struct param_value { /* rcl_interfaces/ParameterValue, without what simd has no type for */
	uint8_t type;
	uint8_t bool_value;
	int64_t int_value;
	double double_value;
	struct param_text text;
};

struct param_wish { /* rcl_interfaces/Parameter of one who sets it */
	struct param_text name;
	struct param_value value;
};

struct param_request {
	struct param_text *names;  /* of LIST the prefixes; free() */
	struct param_wish *wishes; /* of the two that set; free() */
	uint32_t n;                /* of either */
	uint64_t depth;            /* of LIST */
};

/* Fields of a request. 0; -E2BIG more than PARAM_ASKED_MAX; -ENOMEM; d->err. On failure there is nothing to free. */
int param_read_request(enum param_call call, struct sim_dec *d, struct param_request *ret);
void param_request_finish(struct param_request *q);

/* ---- setting ---- */

/* Whether rclcpp would refuse it before it asks the node; p NULL: the node has none of that name. */
bool param_refused(const struct param *p, const struct param_wish *w, char why[PARAM_WHY_MAX]);

/* The request that sets it, into buf, aligned to 64. 0, or -EMSGSIZE: the string is longer than simd's may be. */
int param_set_request(const struct param_wish *w, void *buf, size_t room, size_t *ret_size);
/* The one that sets it to what it is. The same. */
int param_restore_request(const struct param *p, void *buf, size_t room, size_t *ret_size);

/* ---- responses ---- */

/* Of all calls that set nothing. Names that the node does not have: the whole answer is empty, as rclcpp's is. */
void param_write_response(enum param_call call, const struct param_request *q, const struct param_table *t,
			  struct sim_enc *e);
/* The response where a request is refused: empty, or with the reason. n: results of SET. */
void param_write_refusal(enum param_call call, const char *why, uint32_t n, struct sim_enc *e);
/* rcl_interfaces/SetParametersResult: an element of SET's answer, after sim_enc_list(), or under its name "result". */
void param_write_result(const char *name, const char *why, struct sim_enc *e);

/* ---- events ---- */

/* Whether something came, went or changed; earlier NULL: there was nothing. */
bool param_changed(const struct param_table *earlier, const struct param_table *now);
/* rcl_interfaces/ParameterEvent of that. */
void param_write_event(int64_t stamp_sim_ns, const char *node, const struct param_table *earlier,
		       const struct param_table *now, struct sim_enc *e);

#endif
