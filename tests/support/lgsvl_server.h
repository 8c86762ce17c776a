/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lgsvl_bridge as the tests play it, from tools/bridge/tcp/frame.h and the sizes that the real one is known to take: a thread that
 * serves one simulator after the other on a port of loopback. It is strict: what the real one would stumble over, silently or not, is
 * kept in `fault`. Thread: any may ask.
 */
#ifndef LGSVL_SERVER_H
#define LGSVL_SERVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct lgsvl_server;

/* port 0: one that is free. NULL: it cannot listen. */
struct lgsvl_server *lgsvl_server_create(unsigned port);
void lgsvl_server_destroy(struct lgsvl_server *s);

unsigned lgsvl_server_port(const struct lgsvl_server *s);
/* Simulators so far, and whether one is connected. */
unsigned lgsvl_server_connections(struct lgsvl_server *s);
bool lgsvl_server_connected(struct lgsvl_server *s);
/* Whether this simulator has said that it publishes (op 2) or wants (1) that topic of that type; of any type: NULL. */
bool lgsvl_server_heard(struct lgsvl_server *s, unsigned op, const char *topic, const char *type);
/* Messages of a topic, of all connections; the newest into data: its length, SIZE_MAX where there is none or no room. */
uint64_t lgsvl_server_count(struct lgsvl_server *s, const char *topic);
size_t lgsvl_server_last(struct lgsvl_server *s, const char *topic, uint8_t *data, size_t room);
/* The first thing that was wrong; "": nothing. */
const char *lgsvl_server_fault(struct lgsvl_server *s);
/* A line for each topic, into text. */
void lgsvl_server_list(struct lgsvl_server *s, char *text, size_t size);

/* ---- what it does ---- */

void lgsvl_server_send(struct lgsvl_server *s, const void *data, size_t n); /* as it is */
void lgsvl_server_publish(struct lgsvl_server *s, const char *topic, const void *message, uint32_t len);
void lgsvl_server_hold(struct lgsvl_server *s, bool on); /* reads nothing meanwhile */
void lgsvl_server_drop(struct lgsvl_server *s);          /* resets the connection */

#endif
