/* SPDX-License-Identifier: Apache-2.0 */
/* One value by itself, as std_msgs has it. See map.h. */
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

#define STD(name, suffix) \
	int map_##name##_to_std_msgs_##name(const struct map_message *in, struct sim_enc *e) \
	{ \
		const struct sim_##name *m = BODY(name, in); \
\
		if (!m) \
			return -EBADMSG; \
		sim_enc_##suffix(e, "data", m->data); \
		return 0; \
	}
STD(Bool, bool)
STD(Int8, i8)
STD(Int16, i16)
STD(Int32, i32)
STD(Int64, i64)
STD(UInt8, u8)
STD(UInt16, u16)
STD(UInt32, u32)
STD(UInt64, u64)
STD(Float32, f32)
STD(Float64, f64)

int map_String_to_std_msgs_String(const struct map_message *in, struct sim_enc *e)
{
	const struct sim_String *m = BODY(String, in);

	if (!m)
		return -EBADMSG;
	sim_enc_text(e, "data", sim_String_data(m, in->size));
	return 0;
}
