/* SPDX-License-Identifier: Apache-2.0 */
/* std_msgs that are one value: see unmap.h. */
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
#include "unmap_private.h"

#define TEXT_MAX 65000u /* with the message around it no more than the host takes */

#define X(name, suffix) \
	int unmap_##name(struct sim_dec *d, void *buf, size_t room, size_t *ret_size) \
	{ \
		START(name); \
		m->data = sim_dec_##suffix(d, "data"); \
		return unmap_finish(&builder, ret_size); \
	}
UNMAP_STD(X)
#undef X

int unmap_String(struct sim_dec *d, void *buf, size_t room, size_t *ret_size)
{
	const char *s;
	size_t len;
	char *to;

	START(String);
	s = sim_dec_string(d, "data", TEXT_MAX, &len);
	to = d->err ? NULL : sim_builder_string(&builder, &m->data, len, 0);
	if (to && len)
		memcpy(to, s, len);
	return unmap_finish(&builder, ret_size);
}
