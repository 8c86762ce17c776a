/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where a camera's lens puts what it sees: a ray of the optical frame (x right, y down, z forward) to a pixel, and back.
 * Pixels as OpenCV and ROS count them: (0, 0) is the middle of the upper left one, so the image ends at -0.5 and width - 0.5.
 * Formulae: sensor_msgs/CameraInfo and OpenCV's calib3d ("plumb_bob": k1, k2, p1, p2, k3; "rational_polynomial": k1, k2, p1, p2, k3 to k6)
 * and its fisheye module ("equidistant": k1 to k4).
 *
 * A model is used as far from the axis as it is one to one for sure: within the largest circle (of the ideal image at distance 1, or of angles) in
 * which the matrix of its derivatives is positive definite. That matrix is symmetric, so there each model is the gradient of a convex function, and no
 * two rays can meet in a pixel. Beyond the circle a polynomial may fold back, and nothing is seen.
 *
 * Thread: any; nothing here changes a lens once it is made.
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
#define LENS_SIDE_MAX    8192u     /* pixels */
#define LENS_OFF_MAX_RAD 1.3089969 /* 75 degrees: a flat picture that is rendered sees no further from its axis */
#define LENS_GROWN_MAX   4u        /* that picture has at most so many times the image's width and height */

struct lens_params {
	enum lens_model model;
	uint32_t width, height; /* px */
	double fx, fy, cx, cy;  /* px; cx and cy as pixels are counted: (width - 1) / 2 is the middle */
	double d[LENS_D_MAX];   /* as CameraInfo has them, lens_coefficients() of them; 0 after these */
};

struct lens {
	struct lens_params p;
	double over[4],
		under[3]; /* the radial part, by powers of the radius' square from the first on: 1 + ... over 1 + ... */
	double p1, p2;
	double limit; /* how far it can be used: radius at distance 1; equidistant: radians from the axis */
};

/* hfov_rad: from the left edge to the right one; above 0, below pi, or for LENS_EQUIDISTANT 2 pi. Square pixels, the axis in the middle. */
struct lens_params lens_from_fov(enum lens_model model, uint32_t width, uint32_t height, double hfov_rad);

/* Takes what can be a lens. -EINVAL, with a sentence: a number is out of range, or the image has pixels that the model cannot be used for. */
int lens_init(struct lens *l, const struct lens_params *p, char *why, size_t cap);

/* "plumb_bob", "equidistant", "rational_polynomial": as CameraInfo names it. */
const char *lens_model_name(enum lens_model model);
unsigned lens_coefficients(enum lens_model model);
bool lens_model_from(const char *name, enum lens_model *ret);

/* ray: any length. False: behind the camera, or further out than the model can be used. The pixel may be outside the image. */
bool lens_project(const struct lens *l, const double ray[3], double ret_px[2]);
/* ret_ray: of length 1. False: there is no such ray. */
bool lens_unproject(const struct lens *l, const double px[2], double ret_ray[3]);
/* Whether it is an ideal pinhole: then what is rendered with its fx, fy, cx, cy is its image. */
bool lens_is_ideal(const struct lens *l);

/* An ideal picture, f the same both ways, in which all of a lens' image can be found. */
struct lens_source {
	uint32_t width, height;
	double f, cx, cy;
};

/*
 * The smallest one in which the lens' axis is as sharp as in the image. -ERANGE, with a sentence: the image sees more than LENS_OFF_MAX_RAD from
 * its axis, or the picture would be larger than LENS_GROWN_MAX times the image.
 */
int lens_source(const struct lens *l, struct lens_source *ret, char *why, size_t cap);
/* For each pixel of the image, row by row: x and y in the picture, counted as pixels are. ret: 2 * width * height floats. */
void lens_table(const struct lens *l, const struct lens_source *s, float *ret);

#endif
