/* SPDX-License-Identifier: Apache-2.0 */
/* A stack with one bridge, "far", to a rosbridge server of ours, and what its tests share. Thread: the test's. */
#ifndef ROSBRIDGE_LINE_H
#define ROSBRIDGE_LINE_H

#include <sys/types.h>

#include <sim/client.h>
#include <sim/publisher.h>
#include <sim/subscriber.h>

#include "rosbridge_server.h"

extern struct rosbridge_server *line_server;
extern struct sim_client *line_client;
extern pid_t line_simd;

/* More members of the rig, before start(); "": none, as line_sweep() leaves it. */
extern const char *line_rig;

/* options: of the bridge, JSON without its braces. start() waits for the connection. */
void line_start_with(const struct rosbridge_server_how *how, const char *scheme, const char *options);
void line_start(const char *options);
void line_stop(void); /* the server must have found no fault */
int line_sweep(void **state);

struct sim_publisher *line_advertise(const char *channel, const struct sim_type *type, size_t max);
int line_send_one(struct sim_publisher *p, const void *body, size_t size);
struct sim_publisher *line_imu_publisher(void);
int line_send_imu(struct sim_publisher *p, double yaw_rate);

/* What "a.b" is in the newest message of a topic, or of another operation; it must be there. A reference; a text: until the next call. */
json_t *line_value_of(const char *op, const char *name, const char *path);
double line_number_of(const char *op, const char *name, const char *path);
const char *line_text_of(const char *op, const char *name, const char *path);

/* Commands that come in: /cmd becomes "control". */
#define COMMANDS(more) \
	"\"subscribe\":{\"/cmd\":{\"type\":\"lgsvl_msgs/msg/VehicleControlData\",\"channel\":\"control\"" more "}}"
#define COMMAND(throttle) \
	"{\"op\":\"publish\",\"topic\":\"/cmd\",\"msg\":{\"acceleration_pct\":" throttle ",\"target_gear\":1}}"

void line_subscribe(struct sim_subscriber **ret);
double line_next_throttle(struct sim_subscriber *s);
void line_start_listening(const char *options, struct sim_subscriber **ret);

#endif
