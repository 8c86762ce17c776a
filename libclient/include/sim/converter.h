/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Converter plug-in ABI: converts a type of your own to a foreign message and back. A plug-in is a shared object,
 * converter_<name>.so, that exports one symbol
 *
 *     const struct sim_converter_plugin *sim_converter_plugin(void);
 *
 * The rig lists any number of them under "converters" of a bridge. The host loads them beside the one bridge plug-in
 * and refuses a table whose abi differs; the error names both numbers. Members beyond `size` do not exist.
 * One converter serves every bridge that speaks ROS messages, whatever their encoding: it emits fields (sim/encode.h)
 * and reads fields (sim/decode.h), never bytes.
 *
 * A bridge looks for a converter first, then among its own mappings. Where several convert a type, the one that is
 * listed first wins, unless the channel's options name a foreign type.
 *
 * Thread: emit() and read() from any, several at once: a converter has no state.
 * The ABI is frozen: numbers and members stay as they are; new members are added at the end of a table, whose `size`
 * shows which members it has.
 */
#ifndef SIM_CONVERTER_H
#define SIM_CONVERTER_H

#include <sim/decode.h>
#include <sim/encode.h>
#include <sim/message.h>
#include <sim/types.h>

#ifdef __cplusplus
extern "C" {
#endif

#define SIM_CONVERTER_ABI    1u
#define SIM_CONVERTER_SYMBOL "sim_converter_plugin"

/* An outbound message. */
struct sim_converter_in {
	uint32_t size;      /* sizeof(struct sim_converter_in) of the host */
	uint32_t body_size; /* bytes at body */
	/* in its slot, aligned to 64; a peer wrote it and may still write to it: use the accessors */
	const void *body;
	struct sim_enc_header header; /* from the slot and the channel's options: for sim_enc_header() */
};

struct sim_converter {
	uint32_t size;               /* sizeof(struct sim_converter) when the plug-in was built */
	uint32_t reserved;           /* 0 */
	const struct sim_type *type; /* the sim type, as simgen made it; a channel with another definition is refused */
	const char *foreign;         /* the foreign type: "std_msgs/msg/Float32MultiArray" */
	/*
	 * Definition of the foreign type, in the syntax of .msg files. Nested types that the bridge may not know
	 * follow, each after a line of "=" and a line "MSG: package/Name". NULL: the bridge must know the type, or
	 * refuses it.
	 */
	const char *definition;
	/*
	 * Emits all fields of the foreign message, in their order. Returns 0 or a negative errno: then the message
	 * fails. Output that does not follow the definition fails too and is named in the log. NULL: outbound messages
	 * are not converted.
	 */
	int (*emit)(const struct sim_converter_in *in, struct sim_enc *e);
	/*
	 * Reads all fields of the foreign message, in their order, into a body of `type`: at most capacity bytes at
	 * body (aligned to 64), e.g. with the builder of simgen's header. Returns 0 and *ret_size; 1: nothing to
	 * publish; or a negative errno: the message is dropped. NULL: inbound messages are not converted.
	 */
	int (*read)(struct sim_dec *d, void *body, size_t capacity, size_t *ret_size);
};

struct sim_converter_plugin {
	uint32_t abi;                                  /* SIM_CONVERTER_ABI the plug-in was built with */
	uint32_t size;                                 /* sizeof(struct sim_converter_plugin) at that time */
	const char *name;                              /* "float_array" */
	const struct sim_converter *const *converters; /* ended by NULL */
};

#define SIM_CONVERTER_HAS(c, f) ((c)->size >= offsetof(struct sim_converter, f) + sizeof((c)->f) && (c)->f)

typedef const struct sim_converter_plugin *(*sim_converter_plugin_fn)(void);

#ifdef __cplusplus
}
#endif
#endif
