/* SPDX-License-Identifier: Apache-2.0 */
/* Single values, as in std_msgs, in both directions. See map.h and map_in.h. */
#include "map_in_private.h"
#include "map_private.h"
#include "sim/msg/Bool.h"
#include "sim/msg/Float32.h"
#include "sim/msg/Float64.h"
#include "sim/msg/Int16.h"
#include "sim/msg/Int32.h"
#include "sim/msg/Int64.h"
#include "sim/msg/Int8.h"
#include "sim/msg/String.h"
#include "sim/msg/UInt16.h"
#include "sim/msg/UInt32.h"
#include "sim/msg/UInt64.h"
#include "sim/msg/UInt8.h"

#define X(name, suffix) \
	MAP(name, std_msgs, name) \
	{ \
		sim_enc_##suffix(e, "data", m->data); \
		return 0; \
	}
MAP_IN_STD(X)
#undef X

MAP(String, std_msgs, String)
{
	map_text(e, "data", in, sim_String_data(m, in->size));
	return 0;
}

/* ---- incoming ---- */

#define TEXT_MAX 65000u /* so that the whole message fits into the host's limit */

/* Numbers are unchecked: in a single value NaN may mean "no reading". */
#define TAKE_bool sim_dec_bool
#define TAKE_i8   sim_dec_i8
#define TAKE_i16  sim_dec_i16
#define TAKE_i32  sim_dec_i32
#define TAKE_i64  sim_dec_i64
#define TAKE_u8   sim_dec_u8
#define TAKE_u16  sim_dec_u16
#define TAKE_u32  sim_dec_u32
#define TAKE_u64  sim_dec_u64
#define TAKE_f32  map_in_f32
#define TAKE_f64  map_in_f64

#define X(name, suffix) \
	int map_in_##name(struct sim_dec *d, struct message_in *to) \
	{ \
		START(name); \
		m->data = TAKE_##suffix(d, "data"); \
		return map_in_finish(&builder, to); \
	}
MAP_IN_STD(X)
#undef X

int map_in_String(struct sim_dec *d, struct message_in *to)
{
	const char *s;
	size_t len;
	char *at;

	START(String);
	s = sim_dec_string(d, "data", TEXT_MAX, &len);
	at = d->err ? NULL : sim_builder_string(&builder, &m->data, len, 0);
	if (at && len)
		memcpy(at, s, len);
	return map_in_finish(&builder, to);
}
