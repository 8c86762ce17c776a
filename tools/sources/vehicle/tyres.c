/* SPDX-License-Identifier: Apache-2.0 */
/* Linear tyres. See tyres.h. */
#include "tyres.h"

#include <math.h>

struct pair {
	double x, y;
};

struct matrix {
	double a, b, c, d; /* rows: a b, c d */
};

static struct pair apply(struct matrix m, struct pair v)
{
	return (struct pair){ m.a * v.x + m.b * v.y, m.c * v.x + m.d * v.y };
}

/* A tyre's force opposes its side slip; in reverse the same force acts on the motion with the opposite sign. */
static void equations(const struct vehicle_params *p, double speed, double steer, struct matrix *ret_a,
		      struct pair *ret_b)
{
	double v = fabs(speed), a = p->front_to_cog, b = p->wheel_base - a;
	double cf = p->stiffness_front, cr = p->stiffness_rear, m = p->mass, iz = p->yaw_inertia;
	double in = speed < 0 ? -steer : steer;

	*ret_a = (struct matrix){ -(cf + cr) / (m * v), -(a * cf - b * cr) / (m * v) - speed,
				  -(a * cf - b * cr) / (iz * v), -(a * a * cf + b * b * cr) / (iz * v) };
	*ret_b = (struct pair){ cf * in / m, a * cf * in / iz };
}

/* exp(A t) = e^(st) (cosh(qt) + sinh(qt)/q (A - s)), s = trace/2, q^2 = s^2 - det; trigonometric below 0. */
static struct matrix exponential(struct matrix m, double t)
{
	double s = (m.a + m.d) / 2, h = (m.a - m.d) / 2, q2 = h * h + m.b * m.c, q = sqrt(fabs(q2)), f, g;

	if (q * t < 1e-6) { /* sinh(x)/x and sin(x)/x are 1 to the last bit */
		f = exp(s * t);
		g = f * t;
	} else if (q2 > 0) {
		double fast = exp((s - q) * t), slow = exp((s + q) * t);

		f = (slow + fast) / 2;
		g = (slow - fast) / 2 / q;
	} else {
		f = exp(s * t) * cos(q * t);
		g = exp(s * t) * sin(q * t) / q;
	}
	return (struct matrix){ f + g * h, g * m.b, g * m.c, f - g * h };
}

struct tyres_motion tyres_move(const struct vehicle_params *p, struct tyres_state s, double speed, double steer,
			       double dt_s)
{
	struct pair in, rest, off, left, gone, rate;
	struct matrix m, back;
	double det;

	equations(p, speed, steer, &m, &in);
	det = m.a * m.d - m.b * m.c; /* above 0 below the critical speed: params.c */
	back = (struct matrix){ m.d / det, -m.b / det, -m.c / det, m.a / det };
	rest = apply(back, in);
	off = (struct pair){ s.side_speed + rest.x, s.yaw_rate + rest.y };
	left = apply(exponential(m, dt_s), off);
	gone = apply(back, (struct pair){ left.x - off.x, left.y - off.y });
	rate = apply(m, left);
	return (struct tyres_motion){ .end = { left.x - rest.x, left.y - rest.y },
				      .rate = { rate.x, rate.y },
				      .side_way = gone.x - rest.x * dt_s,
				      .turned = gone.y - rest.y * dt_s };
}
