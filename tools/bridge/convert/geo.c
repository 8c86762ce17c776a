/* SPDX-License-Identifier: Apache-2.0 */
/* Transverse Mercator by Krueger's series in the third flattening n, to the fourth order. */
#include "geo.h"

#include <errno.h>
#include <math.h>

#define SEMI_MAJOR 6378137.0
#define FLATTENING (1 / 298.257223563)
#define SCALE      0.9996
#define ORDER      4

/* Tangent of the conformal latitude. */
static double conformal_tan(double lat, double ecc)
{
	double t = tan(lat), s = sinh(ecc * atanh(ecc * t / sqrt(1 + t * t)));

	return t * sqrt(1 + s * s) - s * sqrt(1 + t * t);
}

#define FAR_DEG 20.0

int geo_utm_in(int zone, bool south, double lon_deg, double lat_deg, struct geo_utm *ret)
{
	const double n = FLATTENING / (2 - FLATTENING), n2 = n * n, n3 = n2 * n, n4 = n3 * n;
	const double radius = SEMI_MAJOR / (1 + n) * (1 + n2 / 4 + n4 / 64);
	const double alpha[ORDER] = { n / 2 - 2 * n2 / 3 + 5 * n3 / 16 + 41 * n4 / 180,
				      13 * n2 / 48 - 3 * n3 / 5 + 557 * n4 / 1440, 61 * n3 / 240 - 103 * n4 / 140,
				      49561 * n4 / 161280 };
	double ecc = sqrt(FLATTENING * (2 - FLATTENING)), t, off, lambda, xi0, eta0, xi, eta;

	if (zone < 1 || zone > 60 || !(lon_deg >= -180 && lon_deg <= 180 && lat_deg >= -80 && lat_deg <= 84))
		return -EINVAL;
	off = remainder(lon_deg - (zone * 6 - 183), 360); /* so that zones 1 and 60 are neighbours */
	if (fabs(off) > FAR_DEG)
		return -EINVAL;
	lambda = off * M_PI / 180;
	t = conformal_tan(lat_deg * M_PI / 180, ecc);
	xi = xi0 = atan2(t, cos(lambda));
	eta = eta0 = asinh(sin(lambda) / hypot(t, cos(lambda)));
	for (int k = 1; k <= ORDER; k++) {
		xi += alpha[k - 1] * sin(2 * k * xi0) * cosh(2 * k * eta0);
		eta += alpha[k - 1] * cos(2 * k * xi0) * sinh(2 * k * eta0);
	}
	ret->zone = zone;
	ret->easting = 500000 + SCALE * radius * eta;
	ret->northing = SCALE * radius * xi + (south ? 10000000 : 0);
	return 0;
}

/*
 * Tangent of the latitude for the tangent of the conformal latitude: Newton's method, with an error below 1e-15 after
 * three steps.
 */
static double geodetic_tan(double conformal, double ecc)
{
	double t = conformal, rest = 1 - ecc * ecc;

	for (int i = 0; i < 5; i++) {
		double is = conformal_tan(atan(t), ecc);

		t += (conformal - is) / sqrt(1 + is * is) * (1 + rest * t * t) / (rest * sqrt(1 + t * t));
	}
	return t;
}

int geo_of_utm(int zone, bool south, double easting, double northing, double *ret_lon_deg, double *ret_lat_deg)
{
	const double n = FLATTENING / (2 - FLATTENING), n2 = n * n, n3 = n2 * n, n4 = n3 * n;
	const double radius = SEMI_MAJOR / (1 + n) * (1 + n2 / 4 + n4 / 64);
	const double beta[ORDER] = { n / 2 - 2 * n2 / 3 + 37 * n3 / 96 - n4 / 360, n2 / 48 + n3 / 15 - 437 * n4 / 1440,
				     17 * n3 / 480 - 37 * n4 / 840, 4397 * n4 / 161280 };
	double xi0 = (northing - (south ? 10000000 : 0)) / (SCALE * radius), xi = xi0;
	double eta0 = (easting - 500000) / (SCALE * radius), eta = eta0, lat, off;

	if (zone < 1 || zone > 60 || !(fabs(xi0) < M_PI / 2 && fabs(eta0) < 1))
		return -EINVAL;
	for (int k = 1; k <= ORDER; k++) {
		xi -= beta[k - 1] * sin(2 * k * xi0) * cosh(2 * k * eta0);
		eta -= beta[k - 1] * cos(2 * k * xi0) * sinh(2 * k * eta0);
	}
	off = atan2(sinh(eta), cos(xi)) * 180 / M_PI;
	lat = atan(geodetic_tan(sin(xi) / hypot(sinh(eta), cos(xi)), sqrt(FLATTENING * (2 - FLATTENING)))) * 180 / M_PI;
	if (!(fabs(off) <= FAR_DEG && lat >= -80 && lat <= 84))
		return -EINVAL;
	*ret_lon_deg = remainder(off + zone * 6 - 183, 360);
	*ret_lat_deg = lat;
	return 0;
}

int geo_utm(double lon_deg, double lat_deg, struct geo_utm *ret)
{
	int zone;

	if (!(lon_deg >= -180 && lon_deg <= 180))
		return -EINVAL;
	zone = lon_deg >= 180 ? 60 : (int)floor((lon_deg + 180) / 6) + 1;
	return geo_utm_in(zone, lat_deg < 0, lon_deg, lat_deg, ret);
}
