/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A converter plug-in: it converts example/FloatArray to a ROS message and back, in every bridge that lists it:
 *
 *     cc -shared -fPIC -o converter_float_array.so converter_float_array.c example/msg/FloatArray.c -I. $(pkg-config
 *     --cflags simclient)
 *     {"name":"ros2","plugin":"ros2","converters":["/path/converter_float_array.so"],...}
 *
 * The first converter is the default of the type; a channel selects another one by the foreign type in its options:
 * {"ros2":{"type":"example_msgs/msg/Readings"}}.
 */
#include <errno.h>
#include <string.h>

#include <example/msg/FloatArray.h>
#include <sim/converter.h>

/* ---- std_msgs/msg/Float32MultiArray: bridges know this type. The readings without their time. ---- */

static int to_multi_array(const struct sim_converter_in *in, struct sim_enc *e)
{
	const struct example_FloatArray *m = example_FloatArray_from(in->body, in->body_size);
	const float *array;
	uint32_t n;

	if (!m)
		return -EBADMSG;
	array = example_FloatArray_array(m, in->body_size, &n);
	sim_enc_begin(e, "layout");
	sim_enc_list(e, "dim", 1);
	sim_enc_begin(e, NULL);
	sim_enc_text(e, "label", "readings");
	sim_enc_u32(e, "size", n);
	sim_enc_u32(e, "stride", n);
	sim_enc_end(e);
	sim_enc_list_end(e);
	sim_enc_u32(e, "data_offset", 0);
	sim_enc_end(e);
	sim_enc_array(e, "data", SIM_KIND_FLOAT32, array, n); /* not copied: sent directly from the slot */
	return 0;
}

/* Reads all fields in their order, needed or not. Errors show at the end. */
static int from_multi_array(struct sim_dec *d, void *body, size_t capacity, size_t *ret_size)
{
	struct sim_builder b;
	struct example_FloatArray *m = example_FloatArray_init(body, capacity, &b);
	const void *data;
	float *array;
	uint32_t n;
	size_t len;

	if (!m)
		return -ENOBUFS;
	sim_dec_begin(d, "layout");
	for (n = sim_dec_list(d, "dim", 12); n; n--) {
		sim_dec_begin(d, NULL);
		sim_dec_string(d, "label", 255, &len);
		sim_dec_u32(d, "size");
		sim_dec_u32(d, "stride");
		sim_dec_end(d);
	}
	sim_dec_list_end(d);
	sim_dec_u32(d, "data_offset");
	sim_dec_end(d);
	data = sim_dec_array(d, "data", SIM_KIND_FLOAT32, &n);
	array = example_FloatArray_array_alloc(&b, n);
	if (array && n)
		memcpy(array, data, n * sizeof(*array));
	*ret_size = sim_builder_size(&b);
	return sim_builder_error(&b);
}

static const struct sim_converter multi_array = {
	.size = sizeof(multi_array),
	.type = &example_FloatArray_type,
	.foreign = "std_msgs/msg/Float32MultiArray",
	.emit = to_multi_array,
	.read = from_multi_array,
};

/* ---- example_msgs/msg/Readings: a message type of your own, so its definition is included. Outbound only. ---- */

static int to_readings(const struct sim_converter_in *in, struct sim_enc *e)
{
	const struct example_FloatArray *m = example_FloatArray_from(in->body, in->body_size);
	struct sim_enc_header h = in->header;
	const float *array;
	double mean = 0;
	uint32_t n;

	if (!m)
		return -EBADMSG;
	array = example_FloatArray_array(m, in->body_size, &n);
	for (uint32_t i = 0; i < n; i++)
		mean += (double)array[i] / n;
	h.stamp_sim_ns = m->timestamp;
	sim_enc_header(e, "header", &h);
	sim_enc_f64(e, "mean", mean);
	sim_enc_array(e, "values", SIM_KIND_FLOAT32, array, n);
	return 0;
}

static const struct sim_converter readings = {
	.size = sizeof(readings),
	.type = &example_FloatArray_type,
	.foreign = "example_msgs/msg/Readings",
	.definition = "std_msgs/Header header\n"
		      "float64 mean\n"
		      "float32[] values\n",
	.emit = to_readings,
};

static const struct sim_converter *const converters[] = { &multi_array, &readings, NULL };

SIM_API const struct sim_converter_plugin *sim_converter_plugin(void);

const struct sim_converter_plugin *sim_converter_plugin(void)
{
	static const struct sim_converter_plugin plugin = {
		.abi = SIM_CONVERTER_ABI,
		.size = sizeof(plugin),
		.name = "float_array",
		.converters = converters,
	};

	return &plugin;
}
