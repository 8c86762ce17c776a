/* SPDX-License-Identifier: Apache-2.0 */
/*
 * JSON Schema and types of ours, both ways, for messages in JSON (json_reader.h, enc_json.h).
 *
 * A schema becomes a type of one's own with its properties in their order: number float64, integer int64, boolean bool, string string, or in
 * base64 (contentEncoding) uint8[], an array of such T[], an object with properties a type that is nested, {sec, nsec} time, or duration where it
 * is titled so. References lead to $defs or definitions of the same document. A choice of constants (enum, or oneOf with const, as Foxglove has
 * them) is what the constants are. Left out: unions, lists of types, maps, what may be anything, arrays of arrays, objects that nest
 * themselves, properties whose names are none of a field's. Pure functions: any thread.
 */
#ifndef JSON_SCHEMA_H
#define JSON_SCHEMA_H

#include <stddef.h>

#include <sim/message.h>

#define JSON_SCHEMA_MAX        (512u * 1024) /* bytes of a text */
#define JSON_SCHEMA_PROPERTIES 4096u         /* in all, those of a reference each time that it leads there */
#define JSON_SCHEMA_LEFT_MAX   400u          /* bytes of the sentence of what is left out, with its NUL */

/*
 * The type of a document; name: of the schema, "foxglove.Log", "car_msgs/msg/Thing" or without a package, as which `json` stands then.
 * returns a counted type: sim_type_unref(). ret_left_out: "pose.extra (a union), speed-max (its name), and 3 more", or "". Errors, with a
 * sentence: -ENOTSUP no type is made of it, -ENOMEM.
 */
int json_schema_type(const char *name, const char *text, size_t len, const struct sim_type **ret,
		     char ret_left_out[JSON_SCHEMA_LEFT_MAX], char *why, size_t why_size);

/* As which type the schema of that name comes: "json/T" of "T", "car/Log" of "car.Log". 0; -ENOTSUP none of at most 63 characters can be made of it. */
int json_schema_type_name(const char *name, char ret[SIM_TYPE_NAME_MAX + 1]);

/*
 * The document for messages of that type as enc_json writes them in our words; header: the name of a field in front that is an
 * object of stamp and frame_id, or NULL. returns a text: mem_free(). Errors: -E2BIG it would be longer than JSON_SCHEMA_MAX; -ENOMEM.
 */
int json_schema_text(const struct sim_type *t, const char *header, char **ret);

#endif
