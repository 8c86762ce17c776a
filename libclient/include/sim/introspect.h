/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Introspection: handles messages whose type this program was not built with. A type travels as JSON (a publisher
 * registers it with simd; simctl and generic bridges read it there); its field table is then used to find, check and
 * print the fields of a body.
 *
 * Thread:  all calls are pure functions of their arguments: any thread, no lock. A body may lie in shared memory that a
 *          faulty peer still writes to: results may then be nonsense, but nothing crashes.
 * Errors:  negative errno; sim_why() then holds one sentence (what, where, what to do).
 */
#ifndef SIM_INTROSPECT_H
#define SIM_INTROSPECT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sim/message.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Limits on what a peer may describe. */
#define SIM_TYPE_JSON_MAX   (256u * 1024) /* bytes of a type's JSON */
#define SIM_TYPE_TYPES_MAX  64u           /* types in one definition, nested ones included */
#define SIM_TYPE_FIELDS_MAX 256u          /* fields of one type, and constants of one type */
#define SIM_TYPE_DEPTH_MAX  8u            /* nesting of types */
#define SIM_TYPE_FIXED_MAX  (1u << 20)    /* bytes of a fixed struct */
#define SIM_IDENT_MAX       63u           /* characters of a field's or a constant's name */

/* ---- types ---- */

/* The types that come with simd, by name ("sim/Imu"). NULL: not one of them. Static, never released. */
SIM_API const struct sim_type *sim_type_builtin(const char *name);

/* All of them, ended by NULL. Static. */
SIM_API const struct sim_type *const *sim_type_builtins(void);

/* The services that come with simd, by name ("sim/SetBool"), and all of them, ended by NULL. Static. */
SIM_API const struct sim_service_type *sim_service_type_builtin(const char *name);
SIM_API const struct sim_service_type *const *sim_service_type_builtins(void);

/* Same name and same hash: bodies of one can be read as the other. */
SIM_API bool sim_type_equal(const struct sim_type *a, const struct sim_type *b);

/* "float32", "?" for an unknown number. Static string. */
SIM_API const char *sim_kind_name(enum sim_kind kind);

/*
 * Writes a type and all types nested in it as one JSON object. Returns a string: free().
 * Errors: -EINVAL not a type of this ABI, -E2BIG over a limit, -ENOMEM.
 */
SIM_API SIM_MUST_CHECK int sim_type_to_json(const struct sim_type *type, char **ret);

/*
 * Reads such a JSON text of `len` bytes. Offsets and sizes are computed here, not taken from the text; the hash must be
 * the one that follows from the definition. Returns a counted type: sim_type_unref().
 * Errors: -EINVAL not such a text, -EBADMSG hash or size do not match the definition, -E2BIG over a limit, -ENOMEM.
 */
SIM_API SIM_MUST_CHECK int sim_type_from_json(const char *json, size_t len, const struct sim_type **ret);

/* References. Both do nothing with static types (built in, or of a simgen table); unref accepts NULL. */
SIM_API const struct sim_type *sim_type_ref(const struct sim_type *type);
SIM_API void sim_type_unref(const struct sim_type *type);

/* ---- messages ---- */

/*
 * Checks that all spans lie inside the body, hold what their field allows, and together claim no more bytes than the
 * body has. The body may lie at any address. Returns: 0, -EBADMSG a span is invalid, -EINVAL body NULL or too short.
 */
SIM_API SIM_MUST_CHECK int sim_msg_check(const struct sim_type *type, const void *body, size_t size);

/* End of the last byte that the message uses, 0 if sim_msg_check() would refuse it. For trimming a body. */
SIM_API size_t sim_msg_size(const struct sim_type *type, const void *body, size_t size);

/* ---- one field ---- */

#define SIM_PATH_STEPS SIM_TYPE_DEPTH_MAX

/* A path such as "objects[3].pose.position.x", resolved against a type once, used on any body of it. */
struct sim_field_path {
	uint32_t n;
	struct {
		const struct sim_field *field;
		int64_t index; /* element, or -1 for all of the field */
	} step[SIM_PATH_STEPS];
};

/* What a path leads to: `count` elements of `field`, spaced by elem_size. */
struct sim_field_view {
	const struct sim_field *field;
	const void *data; /* borrows from the body; NULL when count is 0 */
	uint32_t count;
	bool is_array; /* a whole array; false: one value */
};

/*
 * Resolves a path. Errors: -ENOENT no such field (sim_why() lists the fields there are), -EINVAL syntax, or an index on
 * a field that is no array, -ERANGE index beyond a fixed or bounded array, -E2BIG deeper than SIM_PATH_STEPS.
 */
SIM_API SIM_MUST_CHECK int sim_field_find(const struct sim_type *type, const char *path, struct sim_field_path *ret);

/*
 * Follows it in a body. Errors: -ERANGE this body has no such element, -EBADMSG a span is invalid, -EINVAL body too
 * short or misaligned.
 */
SIM_API SIM_MUST_CHECK int sim_field_get(const struct sim_field_path *path, const void *body, size_t size,
					 struct sim_field_view *ret);

/* Element i of a numeric view as a double, for gauges and comparisons. -ERANGE, -EINVAL not a number. */
SIM_API SIM_MUST_CHECK int sim_field_number(const struct sim_field_view *view, uint32_t i, double *ret);

/* ---- JSON ---- */

struct sim_json_options {
	const char *field;  /* print only this path; NULL: the whole message; borrows */
	uint32_t max_array; /* elements printed of an array, then "... n more"; 0: all */
	bool no_arr;        /* arrays as "<float32[361]>" */
	bool pretty;        /* indented by two spaces, with line ends */
	/* for sim_msg_from_json(): values that JSON numbers cannot hold are printed as strings; see there */
	bool exact;
	bool digest; /* arrays of more than max_array elements as type, length and hash; see there */
};

/*
 * Prints a body as strict JSON: numbers in the fewest digits that read back to the same value, NaN and infinities as
 * null, times and durations as integers (ns), bool as true and false, uint8 arrays as base64 of the valid length,
 * strings as UTF-8 (invalid bytes as U+FFFD). An invalid span is printed as null and makes the result -EBADMSG; the
 * JSON stays well-formed. The body may lie at any address.
 * With `digest` an array longer than max_array is printed as "<uint8[3686400] xxh64:44bc2cf5ad770999>": XXH64, seed 0,
 * of the elements' bytes; for strings, messages and bool, of the JSON text that would stand there.
 * With `exact` NaN and infinities are "NaN", "Infinity" and "-Infinity", and integers above 2^63 - 1 strings of digits.
 *
 * write    called with consecutive pieces; a result other than 0 stops printing and is returned
 * o        NULL: defaults
 * Errors:  -EBADMSG see above; those of sim_field_find and sim_field_get; -EINVAL body too short; the result of write
 */
typedef int (*sim_write_fn)(void *user, const char *data, size_t len);
SIM_API int sim_msg_to_json(const struct sim_type *type, const void *body, size_t size,
			    const struct sim_json_options *o, sim_write_fn write, void *user);

/* The same into a heap string: NUL-terminated, free() it, also with -EBADMSG. ret_len may be NULL. */
SIM_API int sim_msg_to_json_alloc(const struct sim_type *type, const void *body, size_t size,
				  const struct sim_json_options *o, char **ret, size_t *ret_len);

/*
 * Reads a message from JSON into a body: missing fields stay 0 or empty, null counts as missing. uint8 arrays may be
 * base64 or an array of numbers, 64-bit integers strings of digits, floats "NaN", "Infinity" and "-Infinity": what
 * sim_msg_to_json() prints with `exact` reads back to the same values.
 * Errors: -EINVAL syntax, wrong type or unknown field, -ERANGE a number does not fit its field, -EMSGSIZE over a bound,
 * -ENOBUFS the body does not fit into capacity.
 */
SIM_API SIM_MUST_CHECK int sim_msg_from_json(const struct sim_type *type, const char *json, size_t len, void *body,
					     size_t capacity, size_t *ret_size);

#ifdef __cplusplus
}
#endif
#endif
