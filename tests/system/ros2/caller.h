/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program in a process of its own that calls whatever service it is told to, with bytes that are made and read here by hand: on
 * Cyclone DDS as a node of rmw_cyclonedds does, or on Fast DDS (fastdds_asker.cpp) as one of rmw_fastrtps. It is told by a
 * pipe, a line for each call. Thread: main. What goes wrong fails the test.
 */
#ifndef CALLER_H
#define CALLER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

/* The fields of a message in CDR, from the first one on: neither the four bytes before them nor who asks. */
struct cdr {
	uint8_t *bytes; /* free() */
	size_t n, room;
	size_t at; /* where it is read; SIZE_MAX: there was less than was asked for */
};

void cdr_u8(struct cdr *c, uint8_t v);
void cdr_u32(struct cdr *c, uint32_t v);
void cdr_i64(struct cdr *c, int64_t v);
void cdr_f64(struct cdr *c, double v);
void cdr_text(struct cdr *c, const char *s);
uint8_t cdr_get_u8(struct cdr *c);
uint32_t cdr_get_u32(struct cdr *c);
int64_t cdr_get_i64(struct cdr *c);
double cdr_get_f64(struct cdr *c);
const char *cdr_get_text(struct cdr *c); /* "" where there is none; borrows */
bool cdr_ended(const struct cdr *c);     /* all of it was read, but for padding, and there was no less */
void cdr_free(struct cdr *c);

struct caller {
	pid_t pid;
	FILE *to, *from;
};

/* Before this process has threads of Cyclone's. fast: on Fast DDS. */
struct caller caller_start(bool fast);
/*
 * A reader of a topic instead, on Cyclone, reliable and volatile: caller_next() has each message. Type: "pkg::msg::dds_::Name_".
 */
struct caller caller_listen(const char *topic, const char *type);
struct cdr caller_next(struct caller *c);

/* Sends the request, so many times, without waiting. service: "/lamp"; type: "std_srvs::srv::dds_::SetBool_". */
void caller_send(struct caller *c, const char *service, const char *type, const struct cdr *request, unsigned times);
/* The same on Cyclone, once; returns when the service's reader has it. */
void caller_post(struct caller *c, const char *service, const char *type, const struct cdr *request);
/* The reply to the last of those. returns: cdr_free(). */
struct cdr caller_reply(struct caller *c);
/* Both; request: takes. */
struct cdr caller_call(struct caller *c, const char *service, const char *type, struct cdr request);
/* Waits until there is none of the services that were called. */
void caller_wait_gone(struct caller *c);
void caller_end(struct caller *c);
/* One that waits for what does not come. */
void caller_kill(struct caller *c);

#endif
