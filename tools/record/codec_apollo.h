/* SPDX-License-Identifier: Apache-2.0 */
/* Whose messages the encoding of Apollo's has: a release's, and by which definitions. Constant once it is read: any thread. */
#ifndef CODEC_APOLLO_H
#define CODEC_APOLLO_H

#include "convert/apollo_set.h"

struct codec_apollo {
	enum apollo_release release;
	struct apollo_set *definitions; /* a user's, that are written instead of those of schemas/apollo; NULL */
};

/*
 * release: "10.0", ..., or NULL, 10.0; definitions: the path of a user's (apollo_set_load()), or NULL. -EINVAL: no such release, of which nothing
 * is said; errors of apollo_set_load(), with a fatal sentence. codec_apollo_finish(), also after an error.
 */
int codec_apollo_read(const char *release, const char *definitions, const struct apollo_set_log *log,
		      struct codec_apollo *ret);
void codec_apollo_finish(struct codec_apollo *o);

/* The definitions of a message, as apollo_type_all_files(). 0: the user's have none of it. */
size_t codec_apollo_files(const struct codec_apollo *o, const struct apollo_type *type,
			  struct iovec files[APOLLO_FILES_MAX]);

#endif
