/* SPDX-License-Identifier: Apache-2.0 */
/* See info.h. */
#include "info.h"

#include <string.h>

#include <sim/msg/CameraInfo.h>

#define NAME_MAX_SIZE sizeof("rational_polynomial")

size_t info_body_size(void)
{
	return sim_CameraInfo_size(NAME_MAX_SIZE, LENS_D_MAX);
}

size_t info_fill(const struct lens *l, void *body, size_t cap)
{
	const struct lens_params *p = &l->p;
	uint32_t n = lens_coefficients(p->model);
	struct sim_builder b;
	struct sim_CameraInfo *m = sim_CameraInfo_init(body, cap, &b);
	double *d = m && sim_CameraInfo_distortion_model_set(&b, lens_model_name(p->model)) == 0
			    ? sim_CameraInfo_d_alloc(&b, n)
			    : NULL;

	if (!d)
		return 0;
	memcpy(d, p->d, n * sizeof(*d));
	m->width = p->width;
	m->height = p->height;
	m->k[0] = m->p[0] = p->fx;
	m->k[2] = m->p[2] = p->cx;
	m->k[4] = m->p[5] = p->fy;
	m->k[5] = m->p[6] = p->cy;
	m->k[8] = m->p[10] = 1;
	m->r[0] = m->r[4] = m->r[8] = 1;
	return sim_builder_size(&b);
}
