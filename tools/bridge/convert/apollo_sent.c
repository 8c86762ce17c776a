/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See apollo_sent.h. The table lists what apollo_out_*() write: a test checks every message that it encodes against it.
 */
#include "apollo_sent.h"

#include <string.h>

#include "apollo_private.h"

/* clang-format off */
static const struct apollo_sent all[] = {
	{ "apollo.canbus.Chassis", { 3, 4, 5, 8, 9, 11, 13, 14, 15, 16, 17, 19, 21, 22, 23, 25, 26, 27, 28, 33 } },
	{ "apollo.canbus.ChassisGPS", { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 14, 15, 18, 19, 20 } },
	{ "apollo.common.BoundingBox2D", { 1, 2, 3, 4 } },
	{ "apollo.common.Detection2D", { 1, 2, 3, 4, 5, 6 } },
	{ "apollo.common.Detection2DArray", { 1, 2 } },
	{ "apollo.common.Header", { 1, 2, 3, 4, 5, 6, 9 } },
	{ "apollo.common.Point3D", { 1, 2, 3 } },
	{ "apollo.common.PointENU", { 1, 2, 3 } },
	{ "apollo.common.Quaternion", { 1, 2, 3, 4 } },
	{ "apollo.common.Twist", { 1, 2 } },
	{ "apollo.common.Vector3", { 1, 2, 3 } },
	{ "apollo.common.VehicleID", { 1 } },
	{ "apollo.common.VehicleSignal", { 1, 2, 3, 5 } },
	{ "apollo.cyber.proto.Clock", { 1 } },
	{ "apollo.drivers.CompressedImage", { 1, 2, 3, 4, 5, 7, 8 } },
	{ "apollo.drivers.ContiRadar", { 1, 2, 5 } },
	{ "apollo.drivers.ContiRadarObs", { 1, 2, 3, 4, 5, 6, 7, 9, 14, 15, 18, 22, 23, 24 } },
	{ "apollo.drivers.Image", { 1, 2, 3, 4, 5, 6, 7, 8 } },
	{ "apollo.drivers.ObjectListStatus_60A", { 1, 2, 3 } },
	{ "apollo.drivers.PointCloud", { 1, 2, 3, 4, 5, 6, 7 } },
	{ "apollo.drivers.PointXYZIT", { 1, 2, 3, 4, 5 } },
	{ "apollo.drivers.Ultrasonic", { 1, 2 } },
	{ "apollo.drivers.gnss.GnssBestPose", { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19 } },
	{ "apollo.drivers.gnss.Imu", { 1, 2, 3, 4, 5 } },
	{ "apollo.drivers.gnss.InsStat", { 1, 2, 3 } },
	{ "apollo.localization.CorrectedImu", { 1, 3 } },
	{ "apollo.localization.Gps", { 1, 2 } },
	{ "apollo.localization.LocalizationEstimate", { 1, 2, 3, 4 } },
	{ "apollo.localization.Pose", { 1, 2, 3, 4, 5, 6, 7, 8, 9 } },
	{ "apollo.localization.Uncertainty", { 1, 2, 3 } },
	{ "apollo.perception.PerceptionLanes", { 1, 5 } },
	{ "apollo.perception.PerceptionObstacle", { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 13, 16, 17, 19 } },
	{ "apollo.perception.PerceptionObstacles", { 1, 2, 3 } },
	{ "apollo.perception.TrafficLight", { 1, 2, 3, 5 } },
	{ "apollo.perception.TrafficLightDetection", { 1, 2, 4 } },
	{ "apollo.perception.camera.CameraLaneLine", { 1, 2, 3 } },
	{ "apollo.perception.camera.LaneLineCubicCurve", { 1, 2, 3, 4, 5, 6 } },
	{ "apollo.transform.Transform", { 1, 2 } },
	{ "apollo.transform.TransformStamped", { 1, 2, 3 } },
	{ "apollo.transform.TransformStampeds", { 1, 2 } },
};
/* clang-format on */

const struct apollo_sent *apollo_sent_at(unsigned i)
{
	return i < sizeof(all) / sizeof(all[0]) ? &all[i] : NULL;
}

/* ---- in a set; field numbers are those of google/protobuf/descriptor.proto ---- */

static bool is(const struct pb_reader *r, const char *text, size_t len)
{
	return r->wire == PB_LENGTH && r->len == len && memcmp(r->data, text, len) == 0;
}

/* Whether a descriptor's field 1, its name, is `name`. */
static bool has_name(const struct pb_reader *descriptor, const char *name, size_t len)
{
	struct pb_reader in;

	for (pb_enter(descriptor, &in); pb_next(&in);)
		if (in.field == 1)
			return is(&in, name, len);
	return false;
}

/* Finds the message "A", or "A.B" within it, among the messages in that field. */
static bool descend(const void *data, size_t len, uint32_t field, const char *name, struct apollo_descriptor *ret)
{
	size_t first = strcspn(name, ".");
	struct pb_reader r;
	int error = 0;

	pb_read_begin(&r, data, len, &error);
	while (pb_next(&r)) {
		if (r.field != field || r.wire != PB_LENGTH || !has_name(&r, name, first))
			continue;
		if (name[first])
			return descend(r.data, r.len, 3, name + first + 1, ret);
		*ret = (struct apollo_descriptor){ r.data, r.len };
		return true;
	}
	return false;
}

/* The part of the name after the file's package; NULL: another package. */
static const char *within(const struct apollo_file *f, const char *name)
{
	struct pb_reader r;
	int error = 0;

	pb_read_begin(&r, f->blob, f->size, &error);
	while (pb_next(&r))
		if (r.field == 2 && r.wire == PB_LENGTH)
			return r.len < strlen(name) && memcmp(name, r.data, r.len) == 0 && name[r.len] == '.'
				       ? name + r.len + 1
				       : NULL;
	return name;
}

bool apollo_message_find(const struct apollo_file *files, size_t n, const char *name, struct apollo_descriptor *ret)
{
	for (size_t i = 0; i < n; i++) {
		const char *rest = within(&files[i], name);

		if (rest && descend(files[i].blob, files[i].size, 4, rest, ret))
			return true;
	}
	return false;
}

static void read_field(const struct pb_reader *descriptor, struct apollo_field *ret)
{
	struct pb_reader r;

	*ret = (struct apollo_field){ .name = "" };
	for (pb_enter(descriptor, &r); pb_next(&r);) {
		if (r.field == 1)
			pb_get_bytes(&r, &ret->name, &ret->name_len);
		else if (r.field == 3)
			pb_get_u32(&r, &ret->number);
		else if (r.field == 4)
			pb_get_u32(&r, &ret->label);
		else if (r.field == 5)
			pb_get_u32(&r, &ret->type);
		else if (r.field == 6)
			pb_get_bytes(&r, &ret->type_name, &ret->type_name_len);
	}
}

bool apollo_field_find(const struct apollo_descriptor *message, uint32_t number, struct apollo_field *ret)
{
	struct pb_reader r;
	int error = 0;

	pb_read_begin(&r, message->data, message->len, &error);
	while (pb_next(&r)) {
		if (r.field != 2 || r.wire != PB_LENGTH)
			continue;
		read_field(&r, ret);
		if (ret->number == number)
			return true;
	}
	return false;
}

#define TYPE_MESSAGE   11u
#define LABEL_REPEATED 3u

/*
 * The encoding of a field type: 0 varint, 1 zigzag, 2 eight bytes, 3 four bytes, 4 length-delimited, 5 message, 6
 * group.
 */
static unsigned form_of(uint32_t type)
{
	static const uint8_t forms[] = { 7, 2, 3, 0, 0, 0, 2, 3, 0, 4, 6, 5, 4, 0, 0, 3, 2, 1, 1 };

	return type < sizeof(forms) ? forms[type] : 7;
}

static bool same_text(const void *a, size_t n, const void *b, size_t k)
{
	return n == k && (n == 0 || memcmp(a, b, n) == 0);
}

bool apollo_field_reads(const struct apollo_field *a, const struct apollo_field *b)
{
	return same_text(a->name, a->name_len, b->name, b->name_len) && form_of(a->type) == form_of(b->type) &&
	       (a->label == LABEL_REPEATED) == (b->label == LABEL_REPEATED) &&
	       (a->type != TYPE_MESSAGE || same_text(a->type_name, a->type_name_len, b->type_name, b->type_name_len));
}
