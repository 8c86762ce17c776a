/* SPDX-License-Identifier: Apache-2.0 */
/* Fields, headers and texts of incoming messages. See apollo_in_private.h. */
#include <math.h>
#include <string.h>

#include "apollo_in_private.h"

/* ---- tables ---- */

static const struct apollo_field point_fields[] = { APOLLO_FIELD(1, IN_F64, sim_Vector3, x),
						    APOLLO_FIELD(2, IN_F64, sim_Vector3, y),
						    APOLLO_FIELD(3, IN_F64, sim_Vector3, z) };
static const struct apollo_field turn_fields[] = { APOLLO_FIELD(1, IN_F64, sim_Quaternion, x),
						   APOLLO_FIELD(2, IN_F64, sim_Quaternion, y),
						   APOLLO_FIELD(3, IN_F64, sim_Quaternion, z),
						   APOLLO_FIELD(4, IN_F64, sim_Quaternion, w) };

static void take_one(const struct pb_reader *r, enum apollo_kind_in kind, void *to)
{
	double wide;
	bool on;

	switch (kind) {
	case IN_F64:
		pb_get_f64(r, to);
		break;
	case IN_F64_F32:
		if (pb_get_f64(r, &wide))
			*(float *)to = (float)wide;
		break;
	case IN_F32:
		pb_get_f32(r, to);
		break;
	case IN_I32:
		pb_get_i32(r, to);
		break;
	case IN_U32:
		pb_get_u32(r, to);
		break;
	case IN_BOOL:
		if (pb_get_bool(r, &on))
			*(uint8_t *)to = on;
		break;
	case IN_POINT:
		APOLLO_TAKE_ALL(r, point_fields, to);
		break;
	case IN_TURN:
		APOLLO_TAKE_ALL(r, turn_fields, to);
		break;
	}
}

void apollo_take(const struct pb_reader *r, const struct apollo_field *t, size_t n, void *to)
{
	for (size_t i = 0; i < n; i++)
		if (t[i].number == r->field) {
			take_one(r, (enum apollo_kind_in)t[i].kind, (char *)to + t[i].at);
			return;
		}
}

void apollo_take_all(const struct pb_reader *r, const struct apollo_field *t, size_t n, void *to)
{
	struct pb_reader in;

	for (pb_enter(r, &in); pb_next(&in);)
		apollo_take(&in, t, n, to);
}

/* ---- iterating over a message ---- */

void apollo_begin(struct apollo_in *d, struct pb_reader *r)
{
	pb_read_begin(r, d->data, d->len, &d->error);
}

bool apollo_next(struct pb_reader *r, uint32_t field)
{
	while (pb_next(r))
		if (r->field == field && r->wire == PB_LENGTH)
			return true;
	return false;
}

uint32_t apollo_count(const struct apollo_in *d, uint32_t field)
{
	struct pb_reader r;
	uint32_t n = 0;
	int error = 0;

	pb_read_begin(&r, d->data, d->len, &error);
	while (apollo_next(&r, field))
		n++;
	return n;
}

/* ---- headers ---- */

int64_t apollo_ns(double s)
{
	double whole = floor(s);

	return (int64_t)whole * 1000000000 + (int64_t)llround((s - whole) * 1e9);
}

int64_t apollo_dur_ns(double s)
{
	return fabs(s) < APOLLO_STAMP_MAX_S ? apollo_ns(s) : 0;
}

void apollo_header_here(struct apollo_in *d, const struct pb_reader *field)
{
	struct pb_reader r;
	uint64_t ns = 0;
	double s;

	for (pb_enter(field, &r); pb_next(&r);)
		if (r.field == 1 && pb_get_f64(&r, &s) && fabs(s) <= APOLLO_STAMP_MAX_S)
			d->stamp_ns = apollo_ns(s);
		else if (r.field >= APOLLO_LIDAR_TIMESTAMP && r.field <= APOLLO_RADAR_TIMESTAMP)
			pb_get_u64(&r, &ns);
		else if (r.field == 9)
			pb_get_bytes(&r, &d->frame, &d->frame_len);
	if (ns && ns <= INT64_MAX)
		d->stamp_ns = (int64_t)ns;
}

int apollo_take_header(struct apollo_in *d, uint32_t field)
{
	struct pb_reader r;

	for (apollo_begin(d, &r); apollo_next(&r, field);)
		apollo_header_here(d, &r);
	return d->error;
}

/* ---- values ---- */

int apollo_set_text(struct sim_builder *b, struct sim_span *to, const void *text, size_t len, uint32_t bound)
{
	size_t n = len ? strnlen(text, len) : 0;
	char *at = sim_builder_string(b, to, n, bound);

	if (at && n)
		memcpy(at, text, n);
	return at ? 0 : sim_builder_error(b);
}

bool apollo_finite(const struct sim_Vector3 *v)
{
	return isfinite(v->x) && isfinite(v->y) && isfinite(v->z);
}

struct sim_Vector3 apollo_to_origin(const struct apollo_in *d, const struct sim_Vector3 *v)
{
	const double *at = d->options->origin;

	return at ? (struct sim_Vector3){ .x = v->x - at[0], .y = v->y - at[1], .z = v->z - at[2] } : *v;
}
