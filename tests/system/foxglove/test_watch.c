/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A client that shares no code with us sees all channels, and gets their messages, decoded by the definitions that we
 * send.
 */
#include "support/test.h"

#include <sim/msg/Detected3DObjects.h>
#include <sim/msg/Image.h>
#include <sim/msg/Imu.h>
#include <sim/msg/Transforms.h>

#include "line.h"

#define STAMP "1640995200123456768"

static const char *const plain[] = { NULL };

static void publish_imu(struct sim_bridge_topic *t, double rate)
{
	struct sim_slot *s = host_slot(sizeof(struct sim_Imu), "base");

	memset(sim_slot_body_mut(s), 0, sizeof(struct sim_Imu));
	((struct sim_Imu *)sim_slot_body_mut(s))->angular_velocity.z = rate;
	assert_int_equal(host_publish(&line_host, line_bridge, t, s), 0);
	free(s);
}

static void sees(const char *protocol)
{
	struct sim_bridge_topic *imu, *image;
	struct sim_slot *s = host_image(1920, 1080);
	struct watcher *p;

	line_up(plain);
	imu = host_open(&line_host, line_bridge, "imu", &sim_Imu_type, "{}");
	p = watcher_start(line_url, protocol);
	assert_non_null(strstr(watcher_hears(p, "open "), protocol));
	watcher_hears_of(p, "info ", "\"name\":\"simd\"");
	watcher_hears(p, "channel /simd/channels io.simd.Control.ListChannels json jsonschema");
	watcher_hears(p, "channel /imu sensor_msgs/msg/Imu cdr ros2msg");
	watcher_say(p, "watch /imu");
	watcher_say(p, "watch /camera"); /* which is not there yet */
	image = host_open(&line_host, line_bridge, "camera", &sim_Image_type, "{}");
	watcher_hears(p, "channel /camera sensor_msgs/msg/Image cdr ros2msg");
	watcher_sync(p);
	watcher_hears(p, "time 16409952");
	for (int i = 0; i < 3; i++) {
		struct watcher *other = line_client(""); /* connects and disconnects meanwhile */

		publish_imu(imu, 0.5);
		watcher_end(other);
	}
	watcher_hears_of(p, "message /imu " STAMP, "\"angular_velocity\":{\"x\":0,\"y\":0,\"z\":0.5}");
	assert_int_equal(host_publish(&line_host, line_bridge, image, s), 0);
	watcher_hears_of(p, "message /camera " STAMP, "\"height\":1080,\"width\":1920,\"encoding\":\"rgb8\"");
	assert_non_null(strstr(p->line, "\"data\":\"<6220800:39656>\"")); /* all of them */
	line_host.ops->close(line_bridge, image);
	watcher_hears(p, "gone /camera");
	line_host.ops->close(line_bridge, imu);
	watcher_end(p);
	line_down();
	free(s);
}

TEST(the_current_sub_protocol_is_spoken)
{
	if (watcher_possible())
		sees("foxglove.sdk.v1");
}

TEST(the_older_sub_protocol_is_spoken)
{
	if (watcher_possible())
		sees("foxglove.websocket.v1");
}

TEST(without_viewers_no_message_is_converted)
{
	struct sim_bridge_topic *t;

	line_up(plain);
	t = host_open(&line_host, line_bridge, "imu", &sim_Imu_type, "{}");
	publish_imu(t, 1);
	publish_imu(t, 1);
	line_host.ops->close(line_bridge, t);
	line_down();
	host_wait_log(&line_host, "0 messages converted, 2 not: no subscriber");
}

static struct sim_slot *a_frame(const char *child)
{
	struct sim_slot *s = host_slot(4096, "map");
	struct sim_builder b;
	struct sim_Transforms *m = sim_Transforms_init(sim_slot_body_mut(s), s->body_size, &b);
	struct sim_Transform *one = sim_Transforms_transforms_alloc(&b, 1);

	assert_non_null(m);
	assert_non_null(one);
	one->rotation.w = 1;
	assert_int_equal(sim_Transform_child_frame_set_in(&b, one, child), 0);
	assert_int_equal(sim_Transform_parent_frame_set_in(&b, one, "base_link"), 0);
	s->body_size = sim_builder_size(&b);
	return s;
}

/* A client that connects later gets all fixed frames, whichever publisher sent them. */
TEST(fixed_frames_are_kept_for_late_clients)
{
	struct sim_slot *one = a_frame("lidar"), *other = a_frame("camera");
	struct sim_bridge_topic *t;
	struct watcher *p;

	if (!watcher_possible())
		return;
	line_up(plain);
	t = host_open(&line_host, line_bridge, "tf_static", &sim_Transforms_type, "{}");
	assert_int_equal(host_publish(&line_host, line_bridge, t, one), 0);
	assert_int_equal(host_publish(&line_host, line_bridge, t, other), 0);
	p = line_client("");
	watcher_say(p, "watch /tf_static");
	watcher_hears_of(p, "message /tf_static " STAMP, "\"child_frame_id\":\"lidar\"");
	assert_non_null(strstr(p->line, "\"child_frame_id\":\"camera\""));
	watcher_end(p);
	line_host.ops->close(line_bridge, t);
	line_down();
	free(one);
	free(other);
}

/* What each sensor says again each second is sent once, to whoever comes when ever. */
TEST(fixed_frames_are_sent_once)
{
	struct sim_slot *s[] = { a_frame("lidar"), a_frame("camera"), a_frame("radar") };
	struct sim_bridge_topic *t;
	struct watcher *p;

	if (!watcher_possible())
		return;
	line_up(plain);
	t = host_open(&line_host, line_bridge, "tf_static", &sim_Transforms_type, "{}");
	assert_int_equal(host_publish(&line_host, line_bridge, t, s[0]), 0);
	p = line_client("");
	watcher_say(p, "watch /tf_static");
	watcher_hears_of(p, "message /tf_static " STAMP, "\"child_frame_id\":\"lidar\"");
	for (int i = 1; i < 3; i++) {
		for (int n = 0; n < 5; n++)
			assert_int_equal(host_publish(&line_host, line_bridge, t, s[0]), 0);
		assert_int_equal(host_publish(&line_host, line_bridge, t, s[i]), 0);
		watcher_hears(p, "message /tf_static " STAMP); /* the next that comes at all */
		assert_non_null(
			strstr(p->line, i == 1 ? "\"child_frame_id\":\"camera\"" : "\"child_frame_id\":\"radar\""));
	}
	watcher_end(p);
	line_host.ops->close(line_bridge, t);
	line_down();
	for (int i = 0; i < 3; i++)
		free(s[i]);
}

/* Objects as they are mapped, and as markers, unless the rig does not want these. */
TEST(objects_can_be_drawn)
{
	static const char *const none[] = { "markers", "false", NULL };
	struct sim_bridge_topic *t;
	struct watcher *p;

	if (!watcher_possible())
		return;
	line_up(plain);
	t = host_open(&line_host, line_bridge, "objects", &sim_Detected3DObjects_type, "{}");
	assert_int_equal(t != NULL, 1);
	p = line_client("");
	watcher_hears(p, "channel /objects lgsvl_msgs/msg/Detection3DArray");
	watcher_hears(p, "channel /objects/markers visualization_msgs/msg/MarkerArray");
	line_host.ops->close(line_bridge, t);
	watcher_hears(p, "gone /objects");
	watcher_end(p);
	line_down();

	line_up(none);
	t = host_open(&line_host, line_bridge, "objects", &sim_Detected3DObjects_type, "{}");
	p = line_client("");
	watcher_hears(p, "channel /objects lgsvl_msgs/msg/Detection3DArray");
	line_host.ops->close(line_bridge, t);
	watcher_hears(p, "gone /objects");
	assert_null(strstr(p->text, "markers"));
	watcher_end(p);
	line_down();
}

TEST(files_are_fetched_from_their_folder_alone)
{
	static const char *const assets[] = { "assets", "{\"package://car/\":\"/tmp/foxglove-assets\"}", NULL };
	struct watcher *p;

	if (!watcher_possible())
		return;
	assert_int_equal(
		system("mkdir -p /tmp/foxglove-assets/sub && echo secret >/tmp/foxglove-secret && "
		       "printf model >/tmp/foxglove-assets/car.urdf && ln -sf /tmp/foxglove-secret /tmp/foxglove-assets/link"),
		0);
	line_up(assets);
	p = line_client("");
	watcher_say(p, "asset 1 package://car/car.urdf");
	assert_string_equal(watcher_hears(p, "asset 1 "), "asset 1 model");
	watcher_say(p, "asset 2 package://car/../foxglove-secret");
	assert_non_null(strstr(watcher_hears(p, "asset 2 "), "it leads out of its folder"));
	watcher_say(p, "asset 3 package://car/link");
	assert_non_null(strstr(watcher_hears(p, "asset 3 "), "it leads out of its folder"));
	watcher_say(p, "asset 4 package://car/sub");
	assert_non_null(strstr(watcher_hears(p, "asset 4 "), "it is not a file"));
	watcher_say(p, "asset 5 file:///etc/passwd");
	assert_non_null(strstr(watcher_hears(p, "asset 5 "), "no folder of the rig's option"));
	watcher_end(p);
	line_down();
}
