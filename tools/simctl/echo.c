/* SPDX-License-Identifier: Apache-2.0 */
/* echo: print messages as they come, through one bounded subscriber. Thread: main. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "simctl.h"
#include "timeutil.h"

static int write_out(void *user, const char *data, size_t len)
{
	return fwrite(data, 1, len, user) == len ? 0 : -EIO;
}

static int print_json(const struct sim_slot *s, const struct sim_type *type, const struct sim_json_options *o)
{
	int r;

	printf("{\"channel_id\":%u,\"sequence\":%llu,\"stamp_sim_ns\":%lld,\"frame_id\":\"%.*s\",\"message\":",
	       s->channel_id, (unsigned long long)s->sequence, (long long)s->stamp_sim_ns, SIM_FRAME_ID_MAX,
	       s->frame_id);
	r = sim_msg_to_json(type, sim_slot_body(s), s->body_size, o, write_out, stdout);
	fputs("}\n", stdout);
	return r;
}

static int print_text(const struct sim_slot *s, const struct sim_type *type, const struct sim_json_options *o)
{
	char stamp[DUR_FORMAT_MAX];
	int r;

	if (!o->field)
		printf("--- %s #%llu %s%s%.*s\n", stamp_format(s->stamp_sim_ns, stamp), (unsigned long long)s->sequence,
		       type->name, s->frame_id[0] ? " in " : "", SIM_FRAME_ID_MAX, s->frame_id);
	r = sim_msg_to_json(type, sim_slot_body(s), s->body_size, o, write_out, stdout);
	putchar('\n');
	return r;
}

static int print(const struct ctl *c, const struct sim_slot *s, const struct sim_type *type)
{
	struct sim_json_options o = {
		.field = c->a.field, .no_arr = c->a.no_arr, .max_array = (uint32_t)c->a.max_array, .pretty = !c->a.json
	};
	int r = c->a.json ? print_json(s, type, &o) : print_text(s, type, &o);

	fflush(stdout);
	return ferror(stdout) ? -EIO : r;
}

/* The publisher's definition; waits for one until the time-out. */
static int find_type(struct ctl *c, int64_t end_mono_ns, const struct sim_type **ret)
{
	int r;

	while ((r = sim_channel_type(c->client, c->a.channel, ret)) == -ENOENT && mono_now_ns() < end_mono_ns)
		if (!ctl_pause(100 * NS_PER_MS))
			break;
	return r;
}

static int follow(struct ctl *c, struct sim_subscriber *s, const struct sim_type *type, int64_t end_mono_ns)
{
	int64_t n = 0, max = c->a.once ? 1 : c->a.count;
	const struct sim_slot *slot;
	int r;

	while (!simctl_stop && (!max || n < max) && mono_now_ns() < end_mono_ns) {
		int64_t left = end_mono_ns - mono_now_ns();

		r = sim_wait(s, left < 200 * NS_PER_MS ? left : 200 * NS_PER_MS);
		if (r < 0 && r != -ESTALE)
			return ctl_fail(c->a.channel);
		while ((!max || n < max) && sim_take(s, &slot) == 0) {
			r = print(c, slot, type);
			sim_release(s, slot);
			n++;
			if (r < 0 && r != -ERANGE)
				return ctl_fail("printing");
		}
	}
	if (max && n < max && !simctl_stop) {
		fprintf(stderr, "simctl: %lld of %lld messages came on %s within the time-out\n", (long long)n,
			(long long)max, c->a.channel);
		return 1;
	}
	return 0;
}

static int check_field(const struct ctl *c, const struct sim_type *type)
{
	struct sim_field_path path;

	return !c->a.field || sim_field_find(type, c->a.field, &path) == 0 ? 0 : ctl_fail("--field");
}

int cmd_echo(struct ctl *c)
{
	int64_t end = c->a.timeout_dur_ns ? mono_now_ns() + c->a.timeout_dur_ns : INT64_MAX;
	struct sim_subscriber_options o = { .size = sizeof(o), .depth = 16, .flags = SIM_SUB_LATCHED };
	const struct sim_type *type = NULL;
	struct sim_subscriber *s = NULL;
	int r = 1;

	if (find_type(c, c->a.timeout_dur_ns ? end : mono_now_ns(), &type) < 0)
		return ctl_fail(NULL);
	if (check_field(c, type))
		goto out;
	if (sim_subscribe(c->client, c->a.channel, type, &o, &s) < 0)
		ctl_fail(NULL);
	else
		r = follow(c, s, type, end);
out:
	sim_subscriber_destroy(s);
	sim_type_unref(type);
	return r;
}
