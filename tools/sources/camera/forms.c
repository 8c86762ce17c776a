/* SPDX-License-Identifier: Apache-2.0 */
/* See forms.h. Numbers are fractions of the box. */
#include "forms.h"

#include <math.h>
#include <stdbool.h>

#include "err.h"

#define ALL(material) \
	(struct mesh_dress) \
	{ \
		material, material, material, material \
	}

static void frustum(struct mesh *m, struct mesh_rect low, struct mesh_rect high, struct mesh_dress d)
{
	mesh_frustum(m, &low, &high, d);
}

/* A pair of plates, on the left and the right, at the front (x1 > 0) or the back. */
static void plates(struct mesh *m, float x, float y0, float y1, float z0, float z1, unsigned material)
{
	for (int side = -1; side <= 1; side += 2) {
		float a = (float)side * y0, b = (float)side * y1, lo = a < b ? a : b, hi = a < b ? b : a;
		const mesh_point f[4] = { { x, lo, z0 }, { x, hi, z0 }, { x, hi, z1 }, { x, lo, z1 } };

		if (x > 0)
			mesh_quad(m, f[0], f[1], f[2], f[3], material);
		else
			mesh_quad(m, f[1], f[0], f[3], f[2], material);
	}
}

/* A disc facing left (side 1) or right (-1). */
static void face(struct mesh *m, float side, const mesh_point hub, float rx, float rz, unsigned corners,
		 unsigned material)
{
	for (unsigned i = 0; i < corners; i++) {
		float w0 = 2 * (float)M_PI * (float)i / (float)corners,
		      w1 = 2 * (float)M_PI * (float)(i + 1) / (float)corners;
		const mesh_point a = { hub[0] + rx * cosf(w0), hub[1], hub[2] + rz * sinf(w0) };
		const mesh_point b = { hub[0] + rx * cosf(w1), hub[1], hub[2] + rz * sinf(w1) };

		if (side > 0)
			mesh_triangle(m, hub, b, a, material);
		else
			mesh_triangle(m, hub, a, b, material);
	}
}

/* A pair of wheels in dark arches. Their inner sides are not visible. */
static void axle(struct mesh *m, unsigned detail, float x, float rx, float rz, float inner)
{
	const unsigned corners = detail ? 8 : 12;

	if (detail >= 2) {
		mesh_box(m, x - 0.8f * rx, x + 0.8f * rx, -0.497f, 0.497f, 0, 1.7f * rz, MAT_TYRE);
		return;
	}
	for (int side = -1; side <= 1; side += 2) {
		float s = (float)side, a = s * inner, b = s * 0.497f;

		face(m, s, (mesh_point){ x, s * 0.4895f, rz * 1.14f }, rx * 1.18f, rz * 1.12f, corners, MAT_DARK);
		if (detail == 0) {
			mesh_wheel(m, x, a < b ? a : b, a < b ? b : a, rz, rx, rz, MAT_TYRE, MAT_TYRE);
		} else {
			face(m, s, (mesh_point){ x, b, rz }, rx, rz, corners, MAT_TYRE);
			mesh_box(m, x - 0.8f * rx, x + 0.8f * rx, a < b ? a : b, a < b ? b : a, 0, 1.2f * rz, MAT_TYRE);
		}
		face(m, s, (mesh_point){ x, s * 0.499f, rz }, rx * 0.6f, rz * 0.6f, corners, MAT_METAL);
	}
}

/* Two boxes on top of each other, enough for a shadow. */
static bool outline(struct mesh *m, unsigned detail, float x0, float x1, struct mesh_rect top)
{
	const struct mesh_rect foot = { x0, x1, 0.48f, 0 }, waist = { x0, x1, 0.485f, 0.5f };

	if (detail != FORM_OUTLINE)
		return false;
	frustum(m, foot, waist, ALL(MAT_DARK));
	frustum(m, waist, top, ALL(MAT_DARK));
	return true;
}

static void car(struct mesh *m, unsigned detail)
{
	if (outline(m, detail, -0.49f, 0.49f, (struct mesh_rect){ -0.32f, 0.02f, 0.33f, 1.0f }))
		return;
	frustum(m, (struct mesh_rect){ -0.475f, 0.475f, 0.46f, 0.13f },
		(struct mesh_rect){ -0.49f, 0.492f, 0.485f, 0.25f }, ALL(MAT_DARK));
	frustum(m, (struct mesh_rect){ -0.492f, 0.494f, 0.485f, 0.25f },
		(struct mesh_rect){ -0.494f, 0.485f, 0.485f, 0.50f }, ALL(MAT_PAINT));
	frustum(m, (struct mesh_rect){ -0.494f, 0.485f, 0.485f, 0.50f },
		(struct mesh_rect){ -0.47f, 0.40f, 0.45f, 0.64f }, ALL(MAT_PAINT));
	/* windows and pillars */
	frustum(m, (struct mesh_rect){ -0.46f, 0.24f, 0.435f, 0.635f },
		(struct mesh_rect){ -0.36f, 0.06f, 0.36f, 0.955f },
		(struct mesh_dress){ MAT_GLASS, MAT_GLASS, MAT_GLASS, MAT_PAINT });
	axle(m, detail, 0.30f, 0.070f, 0.215f, 0.36f);
	axle(m, detail, -0.29f, 0.070f, 0.215f, 0.36f);
	frustum(m, (struct mesh_rect){ -0.365f, 0.065f, 0.365f, 0.95f },
		(struct mesh_rect){ -0.32f, 0.02f, 0.33f, 1.0f }, ALL(MAT_PAINT));
	plates(m, 0.4955f, 0.28f, 0.44f, 0.38f, 0.48f, MAT_HEADLAMP);
	plates(m, -0.4955f, 0.29f, 0.46f, 0.42f, 0.53f, MAT_TAILLAMP);
	if (detail)
		return;
	frustum(m, (struct mesh_rect){ -0.09f, -0.065f, 0.438f, 0.635f },
		(struct mesh_rect){ -0.10f, -0.08f, 0.364f, 0.955f }, ALL(MAT_PAINT));
	frustum(m, (struct mesh_rect){ -0.35f, -0.31f, 0.438f, 0.635f },
		(struct mesh_rect){ -0.32f, -0.29f, 0.364f, 0.955f }, ALL(MAT_PAINT));
	plates(m, 0.4955f, 0.0f, 0.25f, 0.36f, 0.47f, MAT_DARK);
	plates(m, 0.4965f, 0.0f, 0.14f, 0.27f, 0.34f, MAT_PLATE);
	plates(m, -0.4965f, 0.0f, 0.14f, 0.40f, 0.47f, MAT_PLATE);
	/* mirrors */
	mesh_box(m, 0.19f, 0.215f, 0.44f, 0.499f, 0.62f, 0.70f, MAT_PAINT);
	mesh_box(m, 0.19f, 0.215f, -0.499f, -0.44f, 0.62f, 0.70f, MAT_PAINT);
}

static void van(struct mesh *m, unsigned detail)
{
	if (outline(m, detail, -0.494f, 0.49f, (struct mesh_rect){ -0.48f, 0.22f, 0.41f, 1.0f }))
		return;
	frustum(m, (struct mesh_rect){ -0.49f, 0.49f, 0.48f, 0.10f },
		(struct mesh_rect){ -0.494f, 0.494f, 0.485f, 0.20f }, ALL(MAT_DARK));
	frustum(m, (struct mesh_rect){ -0.494f, 0.494f, 0.485f, 0.20f },
		(struct mesh_rect){ -0.494f, 0.46f, 0.485f, 0.46f }, ALL(MAT_PAINT));
	frustum(m, (struct mesh_rect){ -0.494f, 0.46f, 0.485f, 0.46f },
		(struct mesh_rect){ -0.49f, 0.27f, 0.44f, 0.90f },
		(struct mesh_dress){ MAT_PAINT, MAT_GLASS, MAT_PAINT, MAT_PAINT });
	frustum(m, (struct mesh_rect){ -0.49f, 0.27f, 0.44f, 0.90f }, (struct mesh_rect){ -0.48f, 0.22f, 0.41f, 1.0f },
		ALL(MAT_PAINT));
	frustum(m, (struct mesh_rect){ 0.16f, 0.35f, 0.488f, 0.50f }, (struct mesh_rect){ 0.16f, 0.27f, 0.453f, 0.82f },
		ALL(MAT_GLASS));
	plates(m, 0.4955f, 0.30f, 0.46f, 0.30f, 0.38f, MAT_HEADLAMP);
	plates(m, 0.4955f, 0.0f, 0.26f, 0.26f, 0.36f, MAT_DARK);
	plates(m, -0.4955f, 0.40f, 0.47f, 0.25f, 0.45f, MAT_TAILLAMP);
	plates(m, -0.4965f, 0.06f, 0.37f, 0.50f, 0.78f, MAT_GLASS);
	plates(m, -0.4965f, 0.0f, 0.14f, 0.24f, 0.29f, MAT_PLATE);
	axle(m, detail, 0.32f, 0.060f, 0.14f, 0.36f);
	axle(m, detail, -0.30f, 0.060f, 0.14f, 0.36f);
}

static void truck(struct mesh *m, unsigned detail)
{
	if (outline(m, detail, -0.497f, 0.497f, (struct mesh_rect){ -0.497f, 0.27f, 0.495f, 1.0f }))
		return;
	frustum(m, (struct mesh_rect){ -0.49f, 0.30f, 0.38f, 0.14f }, (struct mesh_rect){ -0.49f, 0.30f, 0.38f, 0.26f },
		ALL(MAT_DARK));
	frustum(m, (struct mesh_rect){ 0.30f, 0.495f, 0.48f, 0.10f },
		(struct mesh_rect){ 0.30f, 0.497f, 0.485f, 0.45f }, ALL(MAT_PAINT));
	frustum(m, (struct mesh_rect){ 0.30f, 0.497f, 0.485f, 0.45f },
		(struct mesh_rect){ 0.30f, 0.475f, 0.46f, 0.80f },
		(struct mesh_dress){ MAT_PAINT, MAT_GLASS, MAT_PAINT, MAT_PAINT });
	frustum(m, (struct mesh_rect){ 0.38f, 0.47f, 0.488f, 0.48f },
		(struct mesh_rect){ 0.38f, 0.455f, 0.470f, 0.74f }, ALL(MAT_GLASS));
	frustum(m, (struct mesh_rect){ 0.30f, 0.475f, 0.46f, 0.80f }, (struct mesh_rect){ 0.30f, 0.42f, 0.42f, 0.95f },
		ALL(MAT_PAINT));
	frustum(m, (struct mesh_rect){ -0.497f, 0.27f, 0.495f, 0.26f },
		(struct mesh_rect){ -0.497f, 0.27f, 0.495f, 1.0f }, ALL(MAT_PLATE));
	plates(m, 0.4985f, 0.32f, 0.45f, 0.16f, 0.22f, MAT_HEADLAMP);
	plates(m, 0.4985f, 0.0f, 0.28f, 0.20f, 0.34f, MAT_DARK);
	plates(m, -0.4985f, 0.36f, 0.47f, 0.18f, 0.24f, MAT_TAILLAMP);
	axle(m, detail, 0.39f, 0.058f, 0.145f, 0.33f);
	axle(m, detail, -0.24f, 0.058f, 0.145f, 0.28f);
	axle(m, detail, -0.37f, 0.058f, 0.145f, 0.28f);
}

static void bus(struct mesh *m, unsigned detail)
{
	if (outline(m, detail, -0.497f, 0.494f, (struct mesh_rect){ -0.485f, 0.475f, 0.45f, 1.0f }))
		return;
	frustum(m, (struct mesh_rect){ -0.495f, 0.495f, 0.48f, 0.09f },
		(struct mesh_rect){ -0.497f, 0.497f, 0.487f, 0.40f }, ALL(MAT_PAINT));
	frustum(m, (struct mesh_rect){ -0.495f, 0.495f, 0.482f, 0.40f },
		(struct mesh_rect){ -0.492f, 0.488f, 0.478f, 0.80f },
		(struct mesh_dress){ MAT_GLASS, MAT_GLASS, MAT_GLASS, MAT_PAINT });
	frustum(m, (struct mesh_rect){ -0.497f, 0.494f, 0.487f, 0.80f },
		(struct mesh_rect){ -0.485f, 0.475f, 0.45f, 1.0f }, ALL(MAT_PAINT));
	for (int i = -3; i <= 3 && detail < 2; i++) {
		float x = (float)i * 0.135f;

		frustum(m, (struct mesh_rect){ x - 0.006f, x + 0.006f, 0.487f, 0.40f },
			(struct mesh_rect){ x - 0.006f, x + 0.006f, 0.485f, 0.80f }, ALL(MAT_PAINT));
	}
	plates(m, 0.4985f, 0.34f, 0.46f, 0.20f, 0.28f, MAT_HEADLAMP);
	plates(m, 0.4965f, 0.0f, 0.36f, 0.83f, 0.93f, MAT_DARK);
	plates(m, -0.4985f, 0.38f, 0.46f, 0.22f, 0.36f, MAT_TAILLAMP);
	axle(m, detail, 0.27f, 0.042f, 0.155f, 0.36f);
	axle(m, detail, -0.25f, 0.042f, 0.155f, 0.36f);
}

static void rider(struct mesh *m, float seat, float bar)
{
	for (int side = -1; side <= 1; side += 2) {
		float s = (float)side;

		mesh_box(m, seat - 0.02f, seat + 0.16f, s * 0.20f - 0.07f, s * 0.20f + 0.07f, 0.30f, 0.56f,
			 MAT_TROUSERS);
		mesh_box(m, seat + 0.10f, bar, s * 0.34f - 0.06f, s * 0.34f + 0.06f, 0.66f, 0.72f, MAT_PAINT);
	}
	frustum(m, (struct mesh_rect){ seat - 0.07f, seat + 0.09f, 0.28f, 0.54f },
		(struct mesh_rect){ seat + 0.02f, seat + 0.15f, 0.36f, 0.84f }, ALL(MAT_PAINT));
	frustum(m, (struct mesh_rect){ seat + 0.04f, seat + 0.15f, 0.13f, 0.85f },
		(struct mesh_rect){ seat + 0.05f, seat + 0.14f, 0.11f, 0.95f }, ALL(MAT_SKIN));
	frustum(m, (struct mesh_rect){ seat + 0.03f, seat + 0.16f, 0.15f, 0.94f },
		(struct mesh_rect){ seat + 0.06f, seat + 0.13f, 0.10f, 1.0f }, ALL(MAT_DARK));
}

static void bicycle(struct mesh *m, unsigned detail)
{
	for (int side = -1; side <= 1; side += 2) {
		float x = (float)side * 0.30f;

		if (detail < 2)
			mesh_wheel(m, x, -0.04f, 0.04f, 0.19f, 0.195f, 0.19f, MAT_TYRE, MAT_TYRE);
		else
			mesh_box(m, x - 0.195f, x + 0.195f, -0.04f, 0.04f, 0.02f, 0.36f, MAT_TYRE);
		if (detail == 0)
			mesh_wheel(m, x, -0.045f, 0.045f, 0.19f, 0.165f, 0.16f, MAT_METAL, MAT_METAL);
	}
	mesh_box(m, -0.28f, 0.24f, -0.03f, 0.03f, 0.36f, 0.40f, MAT_DARK);
	mesh_box(m, 0.22f, 0.27f, -0.03f, 0.03f, 0.22f, 0.66f, MAT_DARK);
	mesh_box(m, 0.20f, 0.26f, -0.48f, 0.48f, 0.63f, 0.66f, MAT_DARK);
	rider(m, -0.14f, 0.23f);
}

static void motorcycle(struct mesh *m, unsigned detail)
{
	(void)detail;
	mesh_wheel(m, -0.33f, -0.11f, 0.11f, 0.2f, 0.165f, 0.2f, MAT_TYRE, MAT_DARK);
	mesh_wheel(m, 0.33f, -0.11f, 0.11f, 0.2f, 0.165f, 0.2f, MAT_TYRE, MAT_DARK);
	frustum(m, (struct mesh_rect){ -0.30f, 0.22f, 0.22f, 0.22f }, (struct mesh_rect){ -0.42f, 0.26f, 0.18f, 0.52f },
		ALL(MAT_PAINT));
	mesh_box(m, 0.22f, 0.28f, -0.46f, 0.46f, 0.60f, 0.64f, MAT_DARK);
	mesh_box(m, 0.26f, 0.32f, -0.10f, 0.10f, 0.24f, 0.64f, MAT_METAL);
	plates(m, 0.33f, 0.0f, 0.12f, 0.50f, 0.60f, MAT_HEADLAMP);
	plates(m, -0.43f, 0.0f, 0.12f, 0.46f, 0.52f, MAT_TAILLAMP);
	rider(m, -0.14f, 0.24f);
}

static void person(struct mesh *m, unsigned detail)
{
	(void)detail;
	for (int side = -1; side <= 1; side += 2) {
		float s = (float)side, step = s * 0.16f;

		mesh_box(m, step - 0.20f, step + 0.22f, s * 0.17f - 0.13f, s * 0.17f + 0.13f, 0.0f, 0.48f,
			 MAT_TROUSERS);
		mesh_box(m, -step - 0.18f, -step + 0.16f, s * 0.42f - 0.08f, s * 0.42f + 0.08f, 0.45f, 0.81f,
			 MAT_PAINT);
	}
	frustum(m, (struct mesh_rect){ -0.40f, 0.40f, 0.33f, 0.47f }, (struct mesh_rect){ -0.36f, 0.36f, 0.42f, 0.82f },
		ALL(MAT_PAINT));
	frustum(m, (struct mesh_rect){ -0.18f, 0.22f, 0.12f, 0.82f }, (struct mesh_rect){ -0.2f, 0.24f, 0.12f, 0.86f },
		ALL(MAT_SKIN));
	frustum(m, (struct mesh_rect){ -0.34f, 0.40f, 0.18f, 0.86f }, (struct mesh_rect){ -0.34f, 0.40f, 0.19f, 0.95f },
		ALL(MAT_SKIN));
	frustum(m, (struct mesh_rect){ -0.40f, 0.36f, 0.20f, 0.94f }, (struct mesh_rect){ -0.28f, 0.24f, 0.14f, 1.0f },
		ALL(MAT_DARK));
}

/* The lamps face +x, towards the traffic that they are for. */
static void traffic_light(struct mesh *m, unsigned detail)
{
	static const uint8_t LAMPS[3] = { MAT_LAMP_GREEN, MAT_LAMP_YELLOW, MAT_LAMP_RED };

	mesh_box(m, -0.5f, 0.2f, -0.5f, 0.5f, 0.0f, 1.0f, MAT_DARK);
	for (int i = 0; i < 3; i++) {
		float z = 0.18f + 0.32f * (float)i;

		if (detail) {
			plates(m, 0.21f, 0, 0.33f, z - 0.11f, z + 0.11f, LAMPS[i]);
			continue;
		}
		mesh_disc(m, 0.21f, 0, z, 0.36f, 0.12f, LAMPS[i]);
		mesh_box(m, 0.2f, 0.49f, -0.40f, 0.40f, z + 0.125f, z + 0.14f, MAT_DARK);
	}
}

static void building(struct mesh *m, unsigned detail)
{
	(void)detail;
	frustum(m, (struct mesh_rect){ -0.5f, 0.5f, 0.5f, 0 }, (struct mesh_rect){ -0.5f, 0.5f, 0.5f, 1 },
		(struct mesh_dress){ MAT_FACADE, MAT_FACADE, MAT_FACADE, MAT_ROOF });
}

static void ground(struct mesh *m, unsigned detail)
{
	const mesh_point p[4] = { { -0.5f, -0.5f, 0 }, { 0.5f, -0.5f, 0 }, { 0.5f, 0.5f, 0 }, { -0.5f, 0.5f, 0 } };

	(void)detail;
	mesh_quad(m, p[0], p[1], p[2], p[3], MAT_GRASS);
}

static void block(struct mesh *m, unsigned detail)
{
	(void)detail;
	mesh_box(m, -0.5f, 0.5f, -0.5f, 0.5f, 0, 1, MAT_PAINT);
}

int forms_build(struct forms *f)
{
	static void (*const MAKE[FORM_COUNT])(struct mesh *, unsigned) = {
		[FORM_BLOCK] = block,           [FORM_CAR] = car,       [FORM_VAN] = van,
		[FORM_TRUCK] = truck,           [FORM_BUS] = bus,       [FORM_BICYCLE] = bicycle,
		[FORM_MOTORCYCLE] = motorcycle, [FORM_PERSON] = person, [FORM_SIGNAL] = traffic_light,
		[FORM_BUILDING] = building,     [FORM_GROUND] = ground,
	};

	*f = (struct forms){ .mesh = { .v = NULL } };
	for (int i = 0; i < FORM_COUNT; i++) {
		for (unsigned k = 0; k < FORM_DETAILS; k++) {
			f->at[i][k].first = f->mesh.n_index;
			MAKE[i](&f->mesh, k);
			f->at[i][k].n = f->mesh.n_index - f->at[i][k].first;
		}
	}
	if (!f->mesh.broken)
		return 0;
	forms_free(f);
	return err_set(-ENOMEM, "no memory for the forms of things");
}

void forms_free(struct forms *f)
{
	mesh_finish(&f->mesh);
}
