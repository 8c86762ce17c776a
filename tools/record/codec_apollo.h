/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Options of the encoding apollo: the release, and whose definitions are written. Constant after codec_apollo_read():
 * any thread.
 */
#ifndef CODEC_APOLLO_H
#define CODEC_APOLLO_H

#include "convert/apollo_set.h"

struct codec_apollo {
	enum apollo_release release;
	struct apollo_set *definitions; /* user's definitions, written instead of those of schemas/apollo; NULL */
};

/*
 * release: "10.0", ..., or NULL for 10.0; definitions: path of the user's (see apollo_set_load()), or NULL. -EINVAL:
 * unknown release, which is not logged; errors of apollo_set_load(), logged as fatal. Call codec_apollo_finish(), also
 * after an error.
 */
int codec_apollo_read(const char *release, const char *definitions, const struct apollo_set_log *log,
		      struct codec_apollo *ret);
void codec_apollo_finish(struct codec_apollo *o);

/* The files that define a message, as apollo_type_all_files(). 0: the user's definitions do not have it. */
size_t codec_apollo_files(const struct codec_apollo *o, const struct apollo_type *type,
			  struct iovec files[APOLLO_FILES_MAX]);

#endif
