/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A user's own definitions of Apollo's messages, used instead of the built-in ones: a FileDescriptorSet, as written by
 * protoc --include_imports --descriptor_set_out, or a folder of .proto files. They are untrusted: a file that is
 * malformed, or conflicts with another, is skipped with a log message. Constant once loaded: any thread.
 */
#ifndef APOLLO_SET_H
#define APOLLO_SET_H

#include "apollo.h"

struct apollo_set;

/* Receives log messages. fatal: nothing can be used. */
struct apollo_set_log {
	void (*say)(void *arg, bool fatal, const char *sentence);
	void *arg;
};

/*
 * Loads the set; from a folder, what the messages of that family need. Logs what the set lacks. 0, or an errno,
 * -EBADMSG if it is no such set, after a fatal message. Free *ret with apollo_set_destroy().
 */
int apollo_set_load(const char *path, enum apollo_release r, const struct apollo_set_log *log, struct apollo_set **ret);
/* The same from bytes; name: prefix of the log messages. */
int apollo_set_read(const char *name, const void *set, size_t size, const struct apollo_set_log *log,
		    struct apollo_set **ret);
void apollo_set_destroy(struct apollo_set *s); /* s may be NULL */

/*
 * As apollo_type_files() for a message by its name. 0: the set lacks it, or it needs more than APOLLO_FILES_MAX files.
 */
size_t apollo_set_files(const struct apollo_set *s, const char *name, struct iovec files[APOLLO_FILES_MAX]);
/* Logs each message and field of that family that we write but the set lacks. */
void apollo_set_say_missing(const struct apollo_set *s, enum apollo_release r, const struct apollo_set_log *log);

#endif
