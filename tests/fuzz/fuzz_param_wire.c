/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Requests about parameters as they come from ROS 2: the first byte chooses the call, the rest are its fields. What is read is
 * answered, of a node that has a few, or refused for a reason. Thread: one.
 */
#include <stdlib.h>
#include <string.h>

#include <sim/srv/ListParams.h>

#include "cdr_reader.h"
#include "enc_wire.h"
#include "tools/bridge/ros2/param_wire.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct param_table *make_table(void)
{
	static _Alignas(64) uint8_t body[2048];
	static struct param_table t;
	struct sim_builder b;
	struct sim_ParamInfo *info;

	if (t.n)
		return &t;
	(void)sim_ListParamsResponse_init(body, sizeof(body), &b);
	info = sim_ListParamsResponse_params_alloc(&b, 2);
	if (!info || sim_Param_name_set_in(&b, &info[0].param, "a.b") < 0 ||
	    sim_Param_name_set_in(&b, &info[1].param, "a") < 0 ||
	    sim_Param_string_value_set_in(&b, &info[1].param, "text") < 0)
		abort();
	info[0].param.type = SIM_PARAM_INT;
	info[0].has_min = info[0].has_max = 1;
	info[0].max = 1e300;
	info[1].param.type = SIM_PARAM_STRING;
	if (param_table_add(&t, body, sim_builder_size(&b)) != 2)
		abort();
	return &t;
}

static void set(const struct param_table *t, const struct param_wish *w)
{
	_Alignas(64) uint8_t request[8192];
	const struct param *p = param_find(t, w->name.s, w->name.len);
	char why[PARAM_WHY_MAX] = "";
	size_t size;

	if (param_refused(p, w, why) != (*why != '\0'))
		abort();
	if (*why || param_set_request(w, request, sizeof(request), &size) < 0)
		return;
	if (!sim_SetParamRequest_from(request, size))
		abort();
}

static void answer(enum param_call call, const struct param_request *q)
{
	const struct param_table *t = make_table();
	struct enc_wire w;
	struct iov_buf o;

	iov_buf_init(&o);
	wire_begin(&w, WIRE_CDR, &o);
	if (q->wishes)
		param_write_refusal(call, "why", q->n, &w.enc);
	else
		param_write_response(call, q, t, &w.enc);
	for (uint32_t i = 0; q->wishes && i < q->n; i++)
		set(t, &q->wishes[i]);
	if (wire_finish(&w) != 0)
		abort();
	iov_buf_finish(&o);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	enum param_call call = size ? (enum param_call)(data[0] % PARAM_CALLS_N) : PARAM_LIST;
	struct param_request q;
	struct cdr_reader d;

	if (!size)
		return 0;
	cdr_reader_begin(&d, WIRE_CDR, data + 1, size - 1);
	if (param_read_request(call, &d.dec, &q) < 0)
		return 0;
	if (q.n > PARAM_ASKED_MAX)
		abort();
	answer(call, &q);
	param_request_finish(&q);
	return 0;
}
