/* SPDX-License-Identifier: Apache-2.0 */
/* The player's services, named as those of rosbag2's player. See play.h. */
#include "play.h"

#include "record/pace.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <sim/srv/GetPlayState.h>
#include <sim/srv/Seek.h>
#include <sim/srv/SetRate.h>
#include <sim/srv/Trigger.h>

static const char *words(int r)
{
	switch (r) {
	case 0:
		return "";
	case -EBUSY:
		return "it is not paused";
	case -ENODATA:
		return "it is over";
	case -ERANGE:
		return "out of range";
	default:
		return sim_strerror(r);
	}
}

static int trigger_answer(struct sim_request *req, int r)
{
	struct sim_builder b;
	struct sim_TriggerResponse *a = sim_TriggerResponse_init(req->response, req->response_capacity, &b);

	a->success = r == 0;
	(void)!sim_TriggerResponse_message_set(&b, words(r));
	req->response_size = sim_builder_size(&b);
	return 0;
}

static int on_pause(void *user, struct sim_request *req)
{
	struct play_services *s = user;

	player_pause(s->player, true);
	return trigger_answer(req, 0);
}

static int on_resume(void *user, struct sim_request *req)
{
	struct play_services *s = user;

	player_pause(s->player, false);
	return trigger_answer(req, 0);
}

static int on_toggle(void *user, struct sim_request *req)
{
	struct play_services *s = user;
	struct player_status st;

	player_status(s->player, &st);
	player_pause(s->player, !st.paused);
	return trigger_answer(req, 0);
}

static int on_next(void *user, struct sim_request *req)
{
	struct play_services *s = user;

	return trigger_answer(req, player_next(s->player));
}

static int on_rate(void *user, struct sim_request *req)
{
	const struct sim_SetRateRequest *q = sim_SetRateRequest_from(req->body, req->size);
	struct play_services *s = user;
	struct sim_SetRateResponse *a;
	struct sim_builder b;
	bool fits = q->rate >= 1e-6 && q->rate <= 1e6;

	if (fits)
		s->rate_e6 = (int64_t)(q->rate * 1e6 + 0.5);
	a = sim_SetRateResponse_init(req->response, req->response_capacity, &b);
	a->success = fits;
	(void)!sim_SetRateResponse_message_set(&b, fits ? "" : "a rate is 0.000001 to 1000000");
	req->response_size = sim_builder_size(&b);
	return 0;
}

static int on_seek(void *user, struct sim_request *req)
{
	const struct sim_SeekRequest *q = sim_SeekRequest_from(req->body, req->size);
	struct play_services *s = user;
	int r = player_seek(s->player, q->time);
	struct sim_SeekResponse *a;
	struct sim_builder b;
	char why[100] = "";

	if (r < 0)
		snprintf(why, sizeof(why), "the part that is played is from %.3f s to %.3f s",
			 (double)s->begin_ns / 1e9, (double)s->end_ns / 1e9);
	a = sim_SeekResponse_init(req->response, req->response_capacity, &b);
	a->success = r == 0;
	(void)!sim_SeekResponse_message_set(&b, why);
	req->response_size = sim_builder_size(&b);
	return 0;
}

static int on_state(void *user, struct sim_request *req)
{
	struct play_services *s = user;
	struct sim_GetPlayStateResponse *a;
	struct player_status st;
	struct sim_builder b;

	player_status(s->player, &st);
	a = sim_GetPlayStateResponse_init(req->response, req->response_capacity, &b);
	a->paused = st.paused;
	a->rate = (double)s->rate_e6 / 1e6;
	a->time = st.log_ns;
	a->begin = s->begin_ns;
	a->end = s->end_ns;
	a->loops = st.loops;
	a->published = st.published;
	a->late = st.late;
	req->response_size = sim_builder_size(&b);
	return 0;
}

static const struct {
	const char *name;
	const struct sim_service_type *type;
	sim_service_fn fn;
} services[PLAY_SERVICES] = {
	{ "pause", &sim_Trigger_service, on_pause },          { "resume", &sim_Trigger_service, on_resume },
	{ "toggle_paused", &sim_Trigger_service, on_toggle }, { "play_next", &sim_Trigger_service, on_next },
	{ "set_rate", &sim_SetRate_service, on_rate },        { "seek", &sim_Seek_service, on_seek },
	{ "state", &sim_GetPlayState_service, on_state },
};

int play_services_offer(struct play_services *s, struct sim_client *c, const char *name)
{
	char path[SIM_CHANNEL_MAX + 2];

	for (int i = 0; i < PLAY_SERVICES; i++) {
		int r;

		snprintf(path, sizeof(path), "/%.60s/%s", name, services[i].name);
		r = sim_service_offer(c, path, services[i].type, NULL, services[i].fn, s, &s->offered[i]);
		if (r < 0) {
			play_services_withdraw(s);
			return r;
		}
	}
	return 0;
}

void play_services_withdraw(struct play_services *s)
{
	for (int i = 0; i < PLAY_SERVICES; i++) {
		sim_service_destroy(s->offered[i]);
		s->offered[i] = NULL;
	}
}
