/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Converters of example/FloatArray to test_msgs/msg/Readings that are wrong, one way per BAD_ macro the object is compiled with;
 * BAD_GOOD is right. SYMBOL to NEITHER are refused when they are loaded, the others by the bridge or
 * message by message. Thread: any.
 */
#include <errno.h>

#include <example/msg/FloatArray.h>
#include <sim/converter.h>

__attribute__((unused)) static int emit(const struct sim_converter_in *in, struct sim_enc *e)
{
	const struct example_FloatArray *m = example_FloatArray_from(in->body, in->body_size);
	const float *array;
	uint32_t n;

	if (!m)
		return -EBADMSG;
	array = example_FloatArray_array(m, in->body_size, &n);
#ifdef BAD_FAIL
	return -EDOM;
#endif
#ifdef BAD_ORDER
	sim_enc_array(e, "values", SIM_KIND_FLOAT32, array, n);
#endif
	sim_enc_header(e, "header", &in->header);
#ifdef BAD_FIELDS
	sim_enc_u64(e, "surplus", 7);
#endif
#ifndef BAD_ORDER
	sim_enc_array(e, "values", SIM_KIND_FLOAT32, array, n);
#endif
	return 0;
}

__attribute__((unused)) static int read_back(struct sim_dec *d, void *body, size_t capacity, size_t *ret_size)
{
	struct sim_builder b;
	struct example_FloatArray *m = example_FloatArray_init(body, capacity, &b);
	const void *from;
	float *array;
	uint32_t n;

	if (!m)
		return -ENOBUFS;
	m->timestamp = sim_dec_header(d, "header");
	from = sim_dec_array(d, "values", SIM_KIND_FLOAT32, &n);
	array = example_FloatArray_array_alloc(&b, n);
	if (array && n)
		memcpy(array, from, n * sizeof(*array));
	*ret_size = sim_builder_size(&b);
	return sim_builder_error(&b);
}

__attribute__((unused)) static const struct sim_converter one = {
#ifdef BAD_ONE
	.size = 16,
#else
	.size = sizeof(one),
#endif
#ifndef BAD_TYPE
	.type = &example_FloatArray_type,
#endif
#ifdef BAD_WORD
	.foreign = "test_msgs/Readings and more",
#elif !defined(BAD_FOREIGN)
	.foreign = "test_msgs/msg/Readings",
#endif
#ifdef BAD_DEFINITION
	.definition = "std_msgs/Header header\nfloat32[ values\n",
#else
	.definition = "std_msgs/Header header\nfloat32[] values\n",
#endif
#ifndef BAD_NEITHER
	.emit = emit,
	.read = read_back,
#endif
};

__attribute__((unused)) static const struct sim_converter *const converters[] = {
#ifndef BAD_EMPTY
	&one,
#endif
	NULL,
};

__attribute__((unused)) static const struct sim_converter_plugin plugin = {
#ifdef BAD_ABI
	.abi = SIM_CONVERTER_ABI + 41,
#else
	.abi = SIM_CONVERTER_ABI,
#endif
#ifdef BAD_SIZE
	.size = 8,
#else
	.size = sizeof(plugin),
#endif
#ifndef BAD_NAME
	.name = "test",
#endif
	.converters = converters,
};

#ifdef BAD_SYMBOL
#define ENTRY some_other_symbol
#else
#define ENTRY sim_converter_plugin
#endif

SIM_API const struct sim_converter_plugin *ENTRY(void);

const struct sim_converter_plugin *ENTRY(void)
{
#ifdef BAD_NOTHING
	return NULL;
#else
	return &plugin;
#endif
}
