/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lens models: project a ray of the optical frame (x right, y down, z forward) to a pixel, and back. Pixel coordinates as in\n * OpenCV and ROS: (0, 0) is the centre of the upper left pixel, so the image extends from -0.5 to width - 0.5.
 * Formulae: sensor_msgs/CameraInfo and OpenCV's calib3d ("plumb_bob": k1, k2, p1, p2, k3; "rational_polynomial": k1, k2, p1, p2, k3 to k6)
 * and its fisheye module ("equidistant": k1 to k4).
 *
 * A model is only used where it is certainly one to one: within the largest circle (of the ideal image at distance 1, or of\n * angles) in which its Jacobian is positive definite. The Jacobian is symmetric, so there each model is the gradient of a\n * convex function, and no two rays can meet in a pixel. Beyond the circle a polynomial may fold back, and nothing is seen.
 *
 * Thread: any; a lens is not modified after lens_init().
 */
#ifndef CAMERA_LENS_H
#define CAMERA_LENS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum lens_model {
	LENS_PLUMB_BOB,   /* all of d 0: an ideal pinhole */
	LENS_EQUIDISTANT, /* fisheye */
	LENS_RATIONAL,    /* rational_polynomial */
};

#define LENS_D_MAX       8u
#define LENS_SIDE_MAX    8192u     /* pixels per side */
#define LENS_OFF_MAX_RAD 1.3089969 /* 75 degrees: largest angle from the axis in a rendered flat picture */
#define LENS_GROWN_MAX   4u        /* limit of that picture's size, in multiples of the image's width and height */

struct lens_params {
	enum lens_model model;
	uint32_t width, height; /* px */
	double fx, fy, cx, cy;  /* px; pixel coordinates: (width - 1) / 2 is the centre */
	/* in the order of CameraInfo; the first lens_coefficients() are used, the others are 0 */
	double d[LENS_D_MAX];
};

struct lens {
	struct lens_params p;
	double over[4],
		under[3]; /* radial part: coefficients of powers of the squared radius: (1 + over) / (1 + under) */
	double p1, p2;
	double limit; /* limit of the usable circle: radius at distance 1; equidistant: radians from the axis */
};

/*
 * A lens with square pixels and centred axis. hfov_rad: from the left edge to the right edge; above 0, below pi, or for
 * LENS_EQUIDISTANT 2 pi.
 */
struct lens_params lens_from_fov(enum lens_model model, uint32_t width, uint32_t height, double hfov_rad);

/*
 * Validates and stores the lens. -EINVAL (with the reason in why) if a number is out of range, or the model cannot be
 * used for all pixels of the image.
 */
int lens_init(struct lens *l, const struct lens_params *p, char *why, size_t cap);

/* Name in CameraInfo: "plumb_bob", "equidistant", "rational_polynomial". */
const char *lens_model_name(enum lens_model model);
unsigned lens_coefficients(enum lens_model model);
bool lens_model_from(const char *name, enum lens_model *ret);

/* ray: any length. False: behind the camera, or outside the usable circle. The pixel may be outside the image. */
bool lens_project(const struct lens *l, const double ray[3], double ret_px[2]);
/* ret_ray: of length 1. False: no ray reaches that pixel. */
bool lens_unproject(const struct lens *l, const double px[2], double ret_ray[3]);
/* Whether it is an ideal pinhole: then rendering with its fx, fy, cx, cy gives its image directly. */
bool lens_is_ideal(const struct lens *l);

/* An ideal picture with equal focal lengths that contains all of the lens's image. */
struct lens_source {
	uint32_t width, height;
	double f, cx, cy;
};

/*
 * The smallest such picture that is as sharp as the image at the axis. -ERANGE, with the reason in why: the image
 * extends more than LENS_OFF_MAX_RAD from its axis, or the picture would be larger than LENS_GROWN_MAX times the image.
 */
int lens_source(const struct lens *l, struct lens_source *ret, char *why, size_t cap);
/*
 * For each pixel of the image, row by row: its x and y in the picture, in pixel coordinates. ret: 2 * width * height
 * floats.
 */
void lens_table(const struct lens *l, const struct lens_source *s, float *ret);

#endif
