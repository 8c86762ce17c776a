/* SPDX-License-Identifier: Apache-2.0 */
/* MCAP files for tests, byte by byte, without the writer under test. Thread: the test's. */
#ifndef MCAP_SAMPLE_H
#define MCAP_SAMPLE_H

#include "record/log.h"
#include "record/mcap_private.h"

void sample_write(const char *path, const void *bytes, size_t n);
uint8_t *sample_read(const char *path, size_t *ret_n); /* free() */

/* Everything that came out of a file until its end, as text: a line each for messages and errors. */
struct sample_listing {
	char *text; /* free() */
	unsigned messages, errors;
	char first_error[512];
};
void sample_list(struct log_reader *r, struct sample_listing *ret);

/* The features of a conformance file, in the order of their names there. */
enum {
	SAMPLE_CH = 1,
	SAMPLE_MX = 2,
	SAMPLE_ST = 4,
	SAMPLE_RSH = 8,
	SAMPLE_RCH = 16,
	SAMPLE_AX = 32,
	SAMPLE_MDX = 64,
	SAMPLE_CHX = 128,
	SAMPLE_SUM = 256,
	SAMPLE_PAD = 512,
	SAMPLE_END = 1024,
	SAMPLE_OURS = 1024, /* what our writer cannot know, or leaves out: library, sum of the data */
};

struct sample_input {
	const char *name;
	bool schema, channel, metadata, attachment;
	unsigned messages;
};
extern const struct sample_input sample_inputs[];
extern const unsigned n_sample_inputs;
bool sample_valid(const struct sample_input *in, unsigned features);
/* As "TenMessages-ch-chx-mx". */
void sample_name(const struct sample_input *in, unsigned features, char *name, size_t size);
void sample_build(const struct sample_input *in, unsigned features, struct mcap_buf *ret);

#endif
