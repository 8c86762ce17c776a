/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A user's own definitions of Apollo's messages, in place of those that are carried here: a FileDescriptorSet, as protoc --include_imports
 * --descriptor_set_out writes it, or a folder of .proto files. Nothing of it is trusted: what is damaged, or clashes with another file, is left out with a sentence, and the
 * rest holds. Constant once it is loaded: any thread.
 */
#ifndef APOLLO_SET_H
#define APOLLO_SET_H

#include "apollo.h"

struct apollo_set;

/* Where sentences go. fatal: nothing can be used. */
struct apollo_set_log {
	void (*say)(void *arg, bool fatal, const char *sentence);
	void *arg;
};

/*
 * Of a folder what the messages of that family need; what the set lacks of it is said. 0; or an errno, -EBADMSG if there is no such set: with a
 * fatal sentence. *ret: apollo_set_destroy().
 */
int apollo_set_load(const char *path, enum apollo_release r, const struct apollo_set_log *log, struct apollo_set **ret);
/* The same of bytes; name: what sentences begin with. */
int apollo_set_read(const char *name, const void *set, size_t size, const struct apollo_set_log *log,
		    struct apollo_set **ret);
void apollo_set_destroy(struct apollo_set *s); /* NULL is fine */

/* As apollo_type_files() of a message by its name. 0: it has none, or needs more than APOLLO_FILES_MAX. */
size_t apollo_set_files(const struct apollo_set *s, const char *name, struct iovec files[APOLLO_FILES_MAX]);
/* Say, in a sentence each, which messages and which fields of that family it lacks of those that are written. */
void apollo_set_say_missing(const struct apollo_set *s, enum apollo_release r, const struct apollo_set_log *log);

#endif
