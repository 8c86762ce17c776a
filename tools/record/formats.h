/* SPDX-License-Identifier: Apache-2.0 */
/* The formats in log.c's table. Thread: as log.h. */
#ifndef RECORD_FORMATS_H
#define RECORD_FORMATS_H

#include "log_private.h"

bool record_is(const struct log_opening *o);
int record_open(struct log_opening *o, struct log_reader **ret);
int record_create(const struct log_out *out, const struct log_write_options *o, struct log_writer **ret, char *why,
		  size_t why_size);

bool bag_is(const struct log_opening *o);
int bag_open(struct log_opening *o, struct log_reader **ret);
int bag_create(const struct log_out *out, const struct log_write_options *o, struct log_writer **ret, char *why,
	       size_t why_size);

bool db3_is(const struct log_opening *o);
int db3_open(struct log_opening *o, struct log_reader **ret);

#endif
