/* SPDX-License-Identifier: Apache-2.0 */
/* `simctl record` beside a test, a client that publishes numbered messages for it, and the files that it writes. */
#ifndef SYSTEM_STACK_RECORDER_H
#define SYSTEM_STACK_RECORDER_H

#include "peer.h"
#include "stack.h"

#include <stdbool.h>
#include <sys/types.h>

#include <sim/msg/Imu.h>

#define RECORDER_CONF \
	"\"TimeSource\":\"simulation\",\"pools\":[{\"size\":\"1KiB\",\"count\":3000},{\"size\":\"64KiB\",\"count\":200}]"
#define FILE_1 "/tmp/a.mcap"
#define FILE_2 "/tmp/a.2.mcap"

/* ---- the recorder ---- */

struct recording {
	pid_t pid;
	int out; /* its output */
	size_t n;
	char text[65536];
};

void start_record(struct recording *rec, const char *const *args);
#define RECORD(rec, ...) start_record(rec, (const char *const[]){ __VA_ARGS__, NULL })
/* Whether it has printed that by now. */
bool printed(struct recording *rec, const char *text);
int end_record(struct recording *rec, int sig); /* its exit code */
/* It has all its channels: its services come last. */
bool is_ready(void);
/* It has recorded the messages published before, and has subscribed to all channels that it knows of. */
void caught_up(void);
bool is_subscribed(const char *channel);

/* ---- publishers ---- */

struct voice {
	struct sim_client *c;
	struct sim_publisher *pub[3];
	unsigned n;
};

extern pid_t simd;
extern struct voice voice;

void begin_with(const char *conf, unsigned flags, const char *const *channels, unsigned n);
void begin(const char *const *channels, unsigned n);
#define BEGIN(...) \
	begin((const char *const[]){ __VA_ARGS__ }, sizeof((const char *const[]){ __VA_ARGS__ }) / sizeof(char *))
void end_voice(void);
void end(void);
void publish(unsigned i, unsigned number);
/* No more than its queue takes. */
void publish_many(unsigned i, unsigned from, unsigned n);

/* ---- the content of the files ---- */

/* How many of /tmp begin so. */
unsigned files_of(const char *prefix);

unsigned messages_of(const char *path, const char *channel);
/* A value of the metadata of that name; static; "": it is not there. */
const char *metadata_of(const char *path, const char *name, const char *key);
/* Numbers of the channel's messages, which must follow one another from `first` on. */
void check_numbers(const char *path, const char *channel, unsigned first, unsigned n);

#endif
