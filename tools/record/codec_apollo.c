/* SPDX-License-Identifier: Apache-2.0 */
/* See codec_apollo.h. */
#include "codec_apollo.h"

#include <errno.h>

int codec_apollo_read(const char *release, const char *definitions, const struct apollo_set_log *log,
		      struct codec_apollo *ret)
{
	*ret = (struct codec_apollo){ .release = APOLLO_10 };
	if (release && apollo_release_named(release, &ret->release) < 0)
		return -EINVAL;
	return definitions ? apollo_set_load(definitions, ret->release, log, &ret->definitions) : 0;
}

void codec_apollo_finish(struct codec_apollo *o)
{
	apollo_set_destroy(o->definitions);
	o->definitions = NULL;
}

size_t codec_apollo_files(const struct codec_apollo *o, const struct apollo_type *type,
			  struct iovec files[APOLLO_FILES_MAX])
{
	return o->definitions ? apollo_set_files(o->definitions, apollo_type_name(type), files)
			      : apollo_type_all_files(type, files);
}
