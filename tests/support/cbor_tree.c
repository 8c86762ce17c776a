/* SPDX-License-Identifier: Apache-2.0 */
/* See cbor_tree.h. */
#include "cbor_tree.h"

#include <string.h>

#include "ros/ros_type.h"
#include "ros_tree.h"

/* ---- in ---- */

struct in {
	const uint8_t *at, *end;
};

static json_t *item(struct in *in);

/* The argument of the head; ~0: it is not there. */
static uint64_t argument(struct in *in, unsigned info)
{
	unsigned n = info < 24 ? 0 : info < 28 ? 1u << (info - 24) : 9;
	uint64_t v = 0;

	if (!n)
		return info;
	if (n == 9 || (size_t)(in->end - in->at) < n)
		return UINT64_MAX;
	while (n--)
		v = v << 8 | *in->at++;
	return v;
}

static json_t *typed(const uint8_t *at, uint64_t len, uint64_t tag)
{
	static const struct {
		uint8_t tag, prim, size;
	} kinds[] = { { 0, ROS_UINT8, 1 },    { 69, ROS_UINT16, 2 }, { 70, ROS_UINT32, 4 }, { 71, ROS_UINT64, 8 },
		      { 72, ROS_INT8, 1 },    { 77, ROS_INT16, 2 },  { 78, ROS_INT32, 4 },  { 79, ROS_INT64, 8 },
		      { 85, ROS_FLOAT32, 4 }, { 86, ROS_FLOAT64, 8 } };
	json_t *list = json_array();

	for (size_t k = 0; k < sizeof(kinds) / sizeof(kinds[0]); k++)
		if (kinds[k].tag == tag && len % kinds[k].size == 0) {
			for (uint64_t i = 0; i < len; i += kinds[k].size)
				json_array_append_new(list, ros_tree_number(kinds[k].prim, at + i));
			return list;
		}
	json_decref(list);
	return NULL;
}

static json_t *simple(unsigned info, uint64_t v)
{
	uint32_t low = (uint32_t)v;

	if (info == 26)
		return ros_tree_number(ROS_FLOAT32, &low);
	if (info == 27)
		return ros_tree_number(ROS_FLOAT64, &v);
	return info == 20 || info == 21 ? json_boolean(info == 21) : NULL;
}

static json_t *list_of(struct in *in, uint64_t n)
{
	json_t *list = json_array(), *one;

	while (n-- && (one = item(in)))
		json_array_append_new(list, one);
	return list;
}

static json_t *map_of(struct in *in, uint64_t n)
{
	json_t *map = json_object(), *key, *value;

	while (n-- && (key = item(in))) {
		value = item(in);
		if (!value || !json_is_string(key) || json_object_get(map, json_string_value(key)))
			in->end = in->at = NULL;
		json_object_set_new(map, json_is_string(key) ? json_string_value(key) : "", value);
		json_decref(key);
	}
	return map;
}

static json_t *item(struct in *in)
{
	unsigned head = in->at < in->end ? *in->at++ : 0xff;
	uint64_t v = argument(in, head & 31), tag = 0;
	const uint8_t *bytes;

	if (head >> 5 == 6) {
		tag = v;
		head = in->at < in->end ? *in->at++ : 0xff;
		v = argument(in, head & 31);
	}
	switch (head >> 5) {
	case 0:
		return json_integer((json_int_t)v);
	case 1:
		return json_integer((json_int_t)~v);
	case 2:
	case 3:
		bytes = in->at;
		if (v > (uint64_t)(in->end - in->at))
			return NULL;
		in->at += v;
		return head >> 5 == 2 ? typed(bytes, v, tag) : json_stringn((const char *)bytes, v);
	case 4:
		return list_of(in, v);
	case 5:
		return map_of(in, v);
	default:
		return simple(head & 31, v);
	}
}

json_t *cbor_tree_read(const uint8_t *cbor, size_t len)
{
	struct in in = { cbor, cbor + len };
	json_t *tree = item(&in);

	if (in.at == cbor + len)
		return tree;
	json_decref(tree);
	return NULL;
}
