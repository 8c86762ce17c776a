/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A set of types: definitions read from files, all nested types found and resolved, layout and hash computed. simgen
 * writes it out, and tests inspect it without writing anything. Thread: a set is used by one thread. All memory belongs
 * to the set.
 */
#ifndef TYPESET_H
#define TYPESET_H

#include <stdbool.h>
#include <stddef.h>

#include "gen/msgdef.h"
#include "sim/message.h"

struct typeset;

struct typeset_entry {
	const struct msgdef *def;
	struct sim_type type;
	const char *path; /* file that it was read from */
	bool asked_for;   /* requested by typeset_add(), not only nested */
	bool half;        /* the request or the response of a service */
	const char *kind; /* typeset_mark_kind() */
	bool resolving;   /* being resolved: meeting it again is a cycle */
	bool done;
};

/* A .srv file: "package/Name"; its halves are "package/NameRequest" and "package/NameResponse". */
struct typeset_service {
	const char *package, *name, *full;
	const char *comment; /* the request's comment, if it has one of its own */
	const struct typeset_entry *request, *response;
};

struct typeset *typeset_create(void);
void typeset_destroy(struct typeset *s);

/*
 * Adds a directory to search for nested types: "dir" (dir/pkg/msg/Name.msg, dir/pkg/Name.msg) or "pkg=dir"
 * (dir/Name.msg).
 */
int typeset_search(struct typeset *s, const char *where);

/*
 * Sets a function that provides definitions which no directory has; it returns NULL for those that it does not know.
 * Its texts are borrowed until the set is destroyed. ros: the definitions are ROS's, so byte, char and default values
 * are allowed, and types may be nested one level deeper, for builtin_interfaces.
 */
typedef const char *(*typeset_source_fn)(void *arg, const char *package, const char *name, size_t *ret_len);
void typeset_source(struct typeset *s, typeset_source_fn source, void *arg, bool ros);

/* If on, every field must have a comment that begins with its unit: "[m] ...", "[-]" for none. */
void typeset_strict(struct typeset *s, bool on);

/*
 * Reads one .msg file as package/<its base name> with all that it nests, or a .srv file as a service and its two
 * halves; package NULL: the directory above, or above "msg/" or "srv/". ret: for a service its request. Errors:
 * negative errno, typeset_why() then has "file:line: reason" or "file: reason".
 */
int typeset_add(struct typeset *s, const char *package, const char *path, const struct typeset_entry **ret);

/*
 * Takes package/name from the source, with all that it nests. Errors: as typeset_add(), with package/name instead of
 * the file.
 */
int typeset_take(struct typeset *s, const char *package, const char *name, const struct typeset_entry **ret);

/* Sets what ROS calls it, "srv" or "action", although it came from no file of that kind. `kind` is static. */
void typeset_mark_kind(struct typeset *s, const struct typeset_entry *e, const char *kind);

/*
 * Where the line "---" between the halves of a service begins, searched from `from` on, and where it ends. -1: there is
 * none.
 */
ptrdiff_t typeset_find_rule(const char *text, size_t len, size_t from, size_t *ret_end);

const char *typeset_why(const struct typeset *s);

/* All entries, nested ones before those that nest them. */
const struct typeset_entry *typeset_entry(const struct typeset *s, unsigned i);
unsigned typeset_count(const struct typeset *s);

/* Name of the next requested type, or service, of one package, from *i on. NULL: no more. */
const char *typeset_listed(const struct typeset *s, const char *package, bool services, unsigned *i);

/* All requested services. */
const struct typeset_service *typeset_service(const struct typeset *s, unsigned i);
unsigned typeset_services(const struct typeset *s);

#endif
