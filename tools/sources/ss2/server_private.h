/* SPDX-License-Identifier: Apache-2.0 */
/* What server.c and server_entities.c share. Thread: the owner's. */
#ifndef SOURCES_SS2_SERVER_PRIVATE_H
#define SOURCES_SS2_SERVER_PRIVATE_H

#include "codec.h"
#include "server.h"

struct server {
	const struct server_ops *ops;
	void *ctx;
	struct store *store; /* owned elsewhere */
	struct scene scene;
	struct sensors sensors;
	const struct noise_settings *noise; /* owned elsewhere; NULL: none */
	bool initialised;
	bool begins;           /* an initialize request is being handled */
	bool ego_placed;       /* the log has said that the vehicle does not follow the scenario's orders */
	bool crowded;          /* the log has said that a message does not hold the whole scene */
	int64_t now_sim_ns;    /* of the last frame */
	int64_t next_run_ns;   /* the scenario's own time of the frame published next, or last */
	int64_t placed_sim_ns; /* vehicle states up to then are from before it was placed; -1: it was never placed */
	double step_time_s;
	uint64_t requests, failures;
	char peer[SERVER_PEER_MAX], owner[SERVER_PEER_MAX];
};

/* The ego's part of an answer: protobuf needs each level as a separate struct. */
struct ego_answer {
	Ss2__Pose pose;
	Ss2__Quaternion orientation;
	Ss2__Vector3 position, twist[2], accel[2];
	Ss2__Motion twist_both, accel_both;
	Ss2__ActionStatus action;
};

/* Whether the vehicle reports where the ego is. */
bool ego_follows(struct server *s, struct vehicle_state *ret);
void ego_move(struct scene_entity *e, const struct vehicle_state *v);

struct answer {
	Ss2__UpdateEntityStatusResponse response; /* without its result */
	const char *note;                         /* the description of a success; static */
	Ss2__UpdatedEntityStatus *status;         /* owned; what it points to belongs to the request or to ego */
	struct ego_answer ego;
};

void answer_finish(struct answer *a);

/* Handlers: on negative errno err_why() becomes the description of the failure. */
int on_spawn_vehicle(struct server *s, const Ss2__Request *m, struct answer *a);
int on_spawn_pedestrian(struct server *s, const Ss2__Request *m, struct answer *a);
int on_spawn_object(struct server *s, const Ss2__Request *m, struct answer *a);
int on_despawn(struct server *s, const Ss2__Request *m, struct answer *a);
int on_update_entity_status(struct server *s, const Ss2__Request *m, struct answer *a);
int on_attach_detection(struct server *s, const Ss2__Request *m, struct answer *a);
int on_attach_grid(struct server *s, const Ss2__Request *m, struct answer *a);
int on_attach_imu(struct server *s, const Ss2__Request *m, struct answer *a);
int on_attach_lidar(struct server *s, const Ss2__Request *m, struct answer *a);
int on_attach_detector(struct server *s, const Ss2__Request *m, struct answer *a);
int on_follow_trajectory(struct server *s, const Ss2__Request *m, struct answer *a);

#endif
