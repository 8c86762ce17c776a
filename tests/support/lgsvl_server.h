/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A stand-in for lgsvl_bridge, from tools/bridge/tcp/frame.h and the limits of the real one: a thread that serves one
 * simulator after another on a loopback port. It is strict: input that the real one would fail on, silently or not, is
 * kept in `fault`. Thread: any may query it.
 */
#ifndef LGSVL_SERVER_H
#define LGSVL_SERVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct lgsvl_server;

/* port 0: any free one. NULL: it cannot listen. */
struct lgsvl_server *lgsvl_server_create(unsigned port);
void lgsvl_server_destroy(struct lgsvl_server *s);

unsigned lgsvl_server_port(const struct lgsvl_server *s);
/* Number of simulators so far, and whether one is connected. */
unsigned lgsvl_server_connections(struct lgsvl_server *s);
bool lgsvl_server_connected(struct lgsvl_server *s);
/*
 * Whether the present simulator has announced that it publishes (op 2) or subscribes to (1) that topic with that type;
 * NULL: any type.
 */
bool lgsvl_server_heard(struct lgsvl_server *s, unsigned op, const char *topic, const char *type);
/*
 * Number of a topic's messages, over all connections; the newest is copied into data: returns its length, SIZE_MAX if
 * there is none or no room.
 */
uint64_t lgsvl_server_count(struct lgsvl_server *s, const char *topic);
size_t lgsvl_server_last(struct lgsvl_server *s, const char *topic, uint8_t *data, size_t room);
/* The first error; "": none. */
const char *lgsvl_server_fault(struct lgsvl_server *s);
/* Writes a line for each topic into text. */
void lgsvl_server_list(struct lgsvl_server *s, char *text, size_t size);

/* ---- commands ---- */

void lgsvl_server_send(struct lgsvl_server *s, const void *data, size_t n); /* raw bytes */
void lgsvl_server_publish(struct lgsvl_server *s, const char *topic, const void *message, uint32_t len);
void lgsvl_server_hold(struct lgsvl_server *s, bool on); /* stops reading from the simulator */
void lgsvl_server_drop(struct lgsvl_server *s);          /* resets the connection */

#endif
