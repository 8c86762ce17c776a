/* SPDX-License-Identifier: Apache-2.0 */
/*
 * JSON Schema to types of ours and back, for messages in JSON (json_reader.h, enc_json.h).
 *
 * A schema becomes a type with its properties in their order: number float64, integer int64, boolean bool, string
 * string, or with contentEncoding base64 uint8[]; an array of these T[]; an object with properties a nested type; {sec,
 * nsec} time, or duration if its title says so. References may lead to $defs or definitions of the same document. A
 * choice of constants (enum, or oneOf with const, as in Foxglove's schemas) has the type of the constants. Left out:
 * unions, lists of types, maps, properties of any type, arrays of arrays, recursive objects, properties whose names are
 * not valid field names. Pure functions: any thread.
 */
#ifndef JSON_SCHEMA_H
#define JSON_SCHEMA_H

#include <stddef.h>

#include <sim/message.h>

#define JSON_SCHEMA_MAX        (512u * 1024) /* bytes of a schema's text */
#define JSON_SCHEMA_PROPERTIES 4096u         /* in all; those behind a reference count each time */
#define JSON_SCHEMA_LEFT_MAX   400u          /* bytes of the text that lists what is left out, with its NUL */

/*
 * Makes the type of a document; name: the schema's, "foxglove.Log", "car_msgs/msg/Thing", or without a package, which
 * becomes `json`. *ret is reference-counted: sim_type_unref(). ret_left_out: "pose.extra (a union), speed-max (its
 * name), and 3 more", or "". Errors, with a reason: -ENOTSUP it cannot become a type, -ENOMEM.
 */
int json_schema_type(const char *name, const char *text, size_t len, const struct sim_type **ret,
		     char ret_left_out[JSON_SCHEMA_LEFT_MAX], char *why, size_t why_size);

/*
 * The name of the type for a schema's name: "json/T" for "T", "car/Log" for "car.Log". 0; -ENOTSUP no name of at most
 * 63 characters can be made of it.
 */
int json_schema_type_name(const char *name, char ret[SIM_TYPE_NAME_MAX + 1]);

/*
 * Writes the schema for messages of that type as enc_json writes them with ROS_GENERIC_OURS; header: name of a leading
 * field that is an object of stamp and frame_id, or NULL. Free the text with mem_free(). Errors: -E2BIG it would be
 * longer than JSON_SCHEMA_MAX; -ENOMEM.
 */
int json_schema_text(const struct sim_type *t, const char *header, char **ret);

#endif
