/* SPDX-License-Identifier: Apache-2.0 */
/* Finds problems in a log: by reading it with its index, and from the beginning. Thread: one at a time. */
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#include "check.h"
#include "log_private.h"

struct check {
	void (*say)(void *arg, const char *sentence);
	void *arg;
	int64_t findings;
};

__attribute__((format(printf, 2, 3))) static void finding(struct check *c, const char *format, ...)
{
	char text[LOG_WHY_MAX + 100];
	va_list ap;

	va_start(ap, format);
	vsnprintf(text, sizeof(text), format, ap);
	va_end(ap);
	c->findings++;
	c->say(c->arg, text);
}

/* Reads to the end; returns the number of messages. loud: reports damage. */
static uint64_t read_all(struct check *c, struct log_reader *r, bool loud)
{
	int64_t before_ns = INT64_MIN;
	uint64_t n = 0, late = 0;
	struct log_message m;
	int k;

	while ((k = log_reader_next(r, &m))) {
		if (k < 0 && loud)
			finding(c, "%s", log_reader_why(r));
		if (k < 0)
			continue;
		late += m.log_time_ns < before_ns;
		before_ns = m.log_time_ns > before_ns ? m.log_time_ns : before_ns;
		n++;
	}
	if (late && loud)
		finding(c,
			"%" PRIu64
			" messages are outside the times that the index states for their chunk, and come late",
			late);
	return n;
}

static void look_at_info(struct check *c, const struct log_info *info)
{
	if (!info->complete)
		finding(c,
			"the file was not closed properly, or its end is lost: `simctl bag recover` makes a new file "
			"of the rest");
	if (info->format == LOG_MCAP) /* in MCAP, schema 0 is allowed: a channel without type, such as JSON */
		return;
	for (size_t i = 0; i < info->n_channels; i++)
		if (!*info->channels[i].schema_name && info->channels[i].n_messages)
			finding(c, "the channel %s has messages, but no type", info->channels[i].topic);
}

/* Compares what the index says with what a scan finds. */
static void look_without_index(struct check *c, const char *path, uint64_t by_index, uint64_t said, bool counted)
{
	const struct log_read_options scan = { .scan = true };
	struct log_reader *r;
	uint64_t n;

	if (counted && said != by_index)
		finding(c, "the file says that it has %" PRIu64 " messages, but %" PRIu64 " can be read", said,
			by_index);
	if (log_reader_open(path, &scan, &r, NULL, 0) < 0)
		return;
	n = read_all(c, r, false);
	log_reader_close(r);
	if (n != by_index)
		finding(c, "its index leads to %" PRIu64 " messages, but there are %" PRIu64 " in the file", by_index,
			n);
}

int64_t log_check(const char *path, void (*say)(void *arg, const char *sentence), void *arg, char *why, size_t why_size)
{
	struct check c = { .say = say, .arg = arg };
	const struct log_info *info;
	struct log_reader *r;
	uint64_t n;
	int e = log_reader_open(path, NULL, &r, why, why_size);

	if (e < 0)
		return e;
	info = log_reader_info(r);
	n = read_all(&c, r, true);
	look_at_info(&c, info);
	if (info->indexed && info->format != LOG_DB3)
		look_without_index(&c, path, n, info->n_messages, info->counted);
	log_reader_close(r);
	return c.findings;
}
