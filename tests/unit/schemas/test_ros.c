/* SPDX-License-Identifier: Apache-2.0 */
/* The tables of ROS types against the sums and hashes that ROS publishes. */

#include "tests/support/test.h"

#include "ros/ros_definition.h"
#include "ros/ros_text.h"

/* clang-format off */
static const struct { const char *name, *hash; } md5_sums[] = {
	{ "std_msgs/String", "992ce8a1687cec8c8bd883ec73ca41d1" },
	{ "std_msgs/Header", "2176decaecbce78abc3b96ef049fabed" },
	{ "std_msgs/Bool", "8b94c1b53db61fb6aed406028ad6332a" },
	{ "std_msgs/Int32", "da5909fbe378aeaf85e547e830cc1bb7" },
	{ "std_msgs/Float64", "fdb28210bfa9d7c91146260178d9a584" },
	{ "std_msgs/Empty", "d41d8cd98f00b204e9800998ecf8427e" },
	{ "rosgraph_msgs/Clock", "a9c97c1d230cfc112e270351a944ee47" },
	{ "geometry_msgs/Vector3", "4a842b65f413084dc2b10fb484ea7f17" },
	{ "geometry_msgs/Quaternion", "a779879fadf0160734f906b8c19c7004" },
	{ "geometry_msgs/Pose", "e45d45a5a1ce597b249e23fb30fc871f" },
	{ "geometry_msgs/PoseStamped", "d3812c3cbc69362b77dc0b19b345f8f5" },
	{ "geometry_msgs/Twist", "9f195f881246fdfa2798d1d3eebca84a" },
	{ "geometry_msgs/AccelWithCovariance", "ad5a718d699c6be72a02b8d6a139f334" },
	{ "geometry_msgs/AccelWithCovarianceStamped", "96adb295225031ec8d57fb4251b0a886" },
	{ "geometry_msgs/TransformStamped", "b5764a33bfeb3588febc2682852579b0" },
	{ "tf2_msgs/TFMessage", "94810edda583a504dfda3829e70d7eec" },
	{ "nav_msgs/Odometry", "cd5e73d190d741a2f92e81eda573aca7" },
	{ "nav_msgs/MapMetaData", "10cfc8a2818024d3248802c00c95f11b" },
	{ "nav_msgs/OccupancyGrid", "3381f2d731d4076ec5c71b0759edbe4e" },
	{ "sensor_msgs/Image", "060021388200f6f0f447d0fcd9c64743" },
	{ "sensor_msgs/CompressedImage", "8f7a12909da2c9d3332d540a0977563f" },
	{ "sensor_msgs/CameraInfo", "c9a58c1b0b154e0e6da7578cb991d214" },
	{ "sensor_msgs/PointCloud2", "1158d486dd51d683ce2f1be655c3c181" },
	{ "sensor_msgs/LaserScan", "90c7ef2dc6895d81024acba2ac42f369" },
	{ "sensor_msgs/Imu", "6a62c6daae103f4ff57a132d6f95cec2" },
	{ "sensor_msgs/NavSatFix", "2d3a8cd499b9b4a0249fb98fd05cfa48" },
	{ "std_msgs/ColorRGBA", "a29a96539573343b1310c73607334b00" },
	{ "visualization_msgs/Marker", "4048c9de2a16f4ae8e0538085ebf1b97" },
	{ "visualization_msgs/MarkerArray", "d155b9ce5188fbaf89745847fd5882d7" },
	{ "uuid_msgs/UniqueID", "fec2a93b6f5367ee8112c9c0b41ff310" },
	{ "autoware_msgs/VehicleStatus", "c076819eac8c8f6f51f5d7b08bb0966b" },
	{ "autoware_can_msgs/CANInfo", "605f4356821f92a8fec1a756259316df" },
};

static const struct { const char *name, *hash; } rihs[] = {
	{ "builtin_interfaces/msg/Time", "RIHS01_b106235e25a4c5ed35098aa0a61a3ee9c9b18d197f398b0e4206cea9acf9c197" },
	{ "builtin_interfaces/msg/Duration", "RIHS01_e8d009f659816f758b75334ee1a9ca5b5c0b859843261f14c7f937349599d93b" },
	{ "rosgraph_msgs/msg/Clock", "RIHS01_692f7a66e93a3c83e71765d033b60349ba68023a8c689a79e48078bcb5c58564" },
	{ "std_msgs/msg/String", "RIHS01_df668c740482bbd48fb39d76a70dfd4bd59db1288021743503259e948f6b1a18" },
	{ "std_msgs/msg/Empty", "RIHS01_20b625256f32d5dbc0d04fee44f43c41e51c70d3502f84b4a08e7a9c26a96312" },
	{ "std_msgs/msg/Header", "RIHS01_f49fb3ae2cf070f793645ff749683ac6b06203e41c891e17701b1cb597ce6a01" },
	{ "sensor_msgs/msg/PointField", "RIHS01_5c6a4750728c2bcfbbf7037225b20b02d4429634732146b742dee1726637ef01" },
	{ "sensor_msgs/msg/PointCloud2", "RIHS01_9198cabf7da3796ae6fe19c4cb3bdd3525492988c70522628af5daa124bae2b5" },
	{ "sensor_msgs/msg/Image", "RIHS01_d31d41a9a4c4bc8eae9be757b0beed306564f7526c88ea6a4588fb9582527d47" },
	{ "sensor_msgs/msg/Imu", "RIHS01_7d9a00ff131080897a5ec7e26e315954b8eae3353c3f995c55faf71574000b5b" },
	{ "geometry_msgs/msg/Vector3", "RIHS01_cc12fe83e4c02719f1ce8070bfd14aecd40f75a96696a67a2a1f37f7dbb0765d" },
	{ "geometry_msgs/msg/Quaternion", "RIHS01_8a765f66778c8ff7c8ab94afcc590a2ed5325a1d9a076ffff38fbce36f458684" },
	{ "geometry_msgs/msg/Twist", "RIHS01_9c45bf16fe0983d80e3cfe750d6835843d265a9a6c46bd2e609fcddde6fb8d2a" },
	{ "geometry_msgs/msg/PoseStamped", "RIHS01_10f3786d7d40fd2b54367835614bff85d4ad3b5dab62bf8bca0cc232d73b4cd8" },
	{ "sensor_msgs/msg/LaserScan", "RIHS01_64c191398013af96509d518dac71d5164f9382553fce5c1f8cca5be7924bd828" },
	{ "nav_msgs/msg/Odometry", "RIHS01_3cc97dc7fb7502f8714462c526d369e35b603cfc34d946e3f2eda2766dfec6e0" },
	{ "nav_msgs/msg/Path", "RIHS01_1957a5bb3cee5da65c4e52e52b65a93df227efce4c20f8458b36e73066ca334b" },
	{ "sensor_msgs/msg/JointState", "RIHS01_a13ee3a330e346c9d87b5aa18d24e11690752bd33a0350f11c5882bc9179260e" },
	{ "rcl_interfaces/msg/Log", "RIHS01_e28ce254ca8abc06abf92773b74602cdbf116ed34fbaf294fb9f81da9f318eac" },
	{ "rcl_interfaces/msg/ParameterEvent", "RIHS01_043e627780fcad87a22d225bc2a037361dba713fca6a6b9f4b869a5aa0393204" },
	{ "sensor_msgs/msg/CompressedImage", "RIHS01_15640771531571185e2efc8a100baf923961a4d15d5569652e6cb6691e8e371a" },
	{ "std_msgs/msg/ColorRGBA", "RIHS01_77a7a5b9ae477306097665106e0413ba74440245b1f3d0c6d6405fe5c7813fe8" },
	{ "visualization_msgs/msg/Marker", "RIHS01_45b13ccf791f225962bf74e746f9644518855d783a6f42ba0cc14fde2b4f3ce0" },
	{ "visualization_msgs/msg/MarkerArray", "RIHS01_86cb8800b6fb05b5eff1abd7a56f62a5641d3ae9a1c29e78e67e704f1d067dcf" },
	{ "visualization_msgs/msg/MeshFile", "RIHS01_7710ece15a148fb7c9b546364cfb215bb06098087bd6394fe5b73a493508f8c4" },
	{ "visualization_msgs/msg/UVCoordinate", "RIHS01_f27f7ed21fe360c6066944f856b801a0c0d1e94e815b6886444b42d90b196a26" },
	{ "rmw_dds_common/msg/ParticipantEntitiesInfo",
	  "RIHS01_91a0593bacdcc50ea9bdcf849a938b128412cc1ea821245c663bcd26f83c295e" },
	/* computed from the definitions of autoware_msgs 1.12.0, by a program that shares no code with ours */
	{ "autoware_control_msgs/msg/Control", "RIHS01_7818be59aa790ebb777db06e55a2c15e3756de4cc35c80b1e8271afc5bab2e9d" },
	{ "autoware_control_msgs/msg/Lateral", "RIHS01_94d39634041a92db4e460dae93def564fbeb89142e9c64f9c2ed540a182935a1" },
	{ "autoware_control_msgs/msg/Longitudinal", "RIHS01_4ac4a6b5085ee6bb12067b763568abbf68ec3f2baf64b49e1da360aa6413edc1" },
	{ "autoware_perception_msgs/msg/DetectedObject",
	  "RIHS01_395e8cae03c45c86ddb3263f9db58f5a1364bdabdcec56c24c817a372f7d566f" },
	{ "autoware_perception_msgs/msg/DetectedObjectKinematics",
	  "RIHS01_a01b4e06aa855e7a501b1af1e7c6a9eddb70e728e8f1195372ff5801cae1c9eb" },
	{ "autoware_perception_msgs/msg/DetectedObjects",
	  "RIHS01_2facd6b15786cbd1f720cdd23d22e6d60d2e7e83b8dff8fd401330e24edb187b" },
	{ "autoware_perception_msgs/msg/ObjectClassification",
	  "RIHS01_38131fef2df46486c20c12c238faf778328309f4c3e9daa6ffd621732e48dd19" },
	{ "autoware_perception_msgs/msg/PredictedTrafficLightState",
	  "RIHS01_2681f28132320e5fba12197070f0f06a956f5a991823034eb5b1bf298243e4be" },
	{ "autoware_perception_msgs/msg/Shape", "RIHS01_1a32ac3073c17e4822d39b7f4c263eb1c4a2bacbf707d6db96e77e867063562b" },
	{ "autoware_perception_msgs/msg/TrafficLightElement",
	  "RIHS01_825dec7c3da93f4cb3653006dbeef30f7d1ca92f1d1091e01e79d7d6b84086e9" },
	{ "autoware_perception_msgs/msg/TrafficLightGroup",
	  "RIHS01_39af6118b864b40141456dd74caefe615739b465e136ef0b806d0b50329347cb" },
	{ "autoware_perception_msgs/msg/TrafficLightGroupArray",
	  "RIHS01_6f6bf892681a43836041dabdac5e95dc3125f1f785d7455c77d09a8b4645fc90" },
	{ "autoware_vehicle_msgs/msg/ControlModeReport",
	  "RIHS01_968feaa6441be3c3b161f2eb65972a4b15394d0a7ddc4664318551280d1ff222" },
	{ "autoware_vehicle_msgs/msg/Engage", "RIHS01_a865a0a669052a5bb45be203266058660ae8b3be8d080c4567f78d8174f4849e" },
	{ "autoware_vehicle_msgs/msg/GearCommand", "RIHS01_4aa982c6505fafa9bdca2d243d0a71e46ff9a1e7013767f13a533d0a5d30a1a6" },
	{ "autoware_vehicle_msgs/msg/GearReport", "RIHS01_4d14bc3f186c1a6af6a732bb5ebd540cdd742a56770012f4c3cb9e762de8f391" },
	{ "autoware_vehicle_msgs/msg/HazardLightsCommand",
	  "RIHS01_ad2386a78a210625f1fb35f8043ef4e78da58cf01f33c340fa9468e5e8cdd0bc" },
	{ "autoware_vehicle_msgs/msg/HazardLightsReport",
	  "RIHS01_01ce3b4293a5c2799fd7483b2d62a790e26fe8f2b5d60e48149163475685f28a" },
	{ "autoware_vehicle_msgs/msg/SteeringReport", "RIHS01_aa3acc9ca95ebc4daf9dec0ecf87911ad9c196392857c3026bfead589db65a94" },
	{ "autoware_vehicle_msgs/msg/TurnIndicatorsCommand",
	  "RIHS01_657d7f761a9b02c543e4bf3e0000405906b6169dc0bbfd6637c64fe00d98cec7" },
	{ "autoware_vehicle_msgs/msg/TurnIndicatorsReport",
	  "RIHS01_c05a54cd244f1c9d683613b11c87a5b3ef816eed7a5f207368301221731a0964" },
	{ "autoware_vehicle_msgs/msg/VelocityReport", "RIHS01_9052adda949c32f4a98500abc1fb5bd23f2560e321eebdfbb25318d6108d4ce4" },
};
/* clang-format on */

static void expect_hash(const struct ros_type *const *known, const char *name, const char *hash)
{
	const struct ros_type *t;
	struct ros_text *made;

	print_message("%s\n", name);
	assert_int_equal(ros_definition_type(known, name, &t, &made), 0);
	assert_string_equal(t->hash, hash);
	ros_text_destroy(made);
}

TEST(ros1_md5_sums_match_the_published_ones)
{
	for (size_t i = 0; i < sizeof(md5_sums) / sizeof(md5_sums[0]); i++)
		expect_hash(ros1_types, md5_sums[i].name, md5_sums[i].hash);
	assert_string_equal(ros_type_find(ros1_types, "rmw_dds_common/NodeEntitiesInfo")->hash, "");
}

TEST(ros1_service_md5_sums_match_the_published_ones)
{
	unsigned seen = 0;

	for (const struct ros_service *s = ros1_services; s->name; s++) {
		const char *want = strcmp(s->name, "std_srvs/SetBool") == 0   ? "09fb03525b03e7ea1fd3992bafd87e16"
				   : strcmp(s->name, "std_srvs/Trigger") == 0 ? "937c9679a518e3a18d831e57125ea522"
				   : strcmp(s->name, "std_srvs/Empty") == 0   ? "d41d8cd98f00b204e9800998ecf8427e"
									      : NULL;

		if (!want)
			continue;
		assert_string_equal(s->hash, want);
		assert_string_equal(s->request->kind, "srv");
		seen++;
	}
	assert_int_equal(seen, 3);
}

TEST(ros2_hashes_are_the_published_ones)
{
	for (size_t i = 0; i < sizeof(rihs) / sizeof(rihs[0]); i++)
		expect_hash(ros2_types, rihs[i].name, rihs[i].hash);
}

TEST(names_are_found_in_both_forms)
{
	const struct ros_type *t = ros_type_find(ros2_types, "rosgraph_msgs/Clock");
	char dds[128], small[10];

	assert_non_null(t);
	assert_ptr_equal(t, ros_type_find(ros2_types, "rosgraph_msgs/msg/Clock"));
	assert_null(ros_type_find(ros2_types, "rosgraph_msgs/srv/Clock"));
	assert_null(ros_type_find(ros2_types, "rosgraph_msgs/Cloc"));
	assert_null(ros_type_find(ros2_types, "Clock"));
	assert_null(ros_type_find(ros2_types, ""));
	assert_int_equal(ros_type_dds_name(t, dds, sizeof(dds)), 0);
	assert_string_equal(dds, "rosgraph_msgs::msg::dds_::Clock_");
	assert_true(ros_type_dds_name(t, small, sizeof(small)) < 0);
	t = ros_type_find(ros2_types, "std_srvs/srv/Trigger_Request");
	assert_int_equal(ros_type_dds_name(t, dds, sizeof(dds)), 0);
	assert_string_equal(dds, "std_srvs::srv::dds_::Trigger_Request_");
}

TEST(definitions_include_all_nested_types)
{
	const char *ros1 = ros_type_find(ros1_types, "geometry_msgs/PoseStamped")->definition;
	const char *ros2 = ros_type_find(ros2_types, "geometry_msgs/PoseStamped")->definition;

	assert_memory_equal(ros1, "std_msgs/Header header\ngeometry_msgs/Pose pose\n====", 51);
	assert_non_null(strstr(ros1, "\nMSG: std_msgs/Header\nuint32 seq\ntime stamp\nstring frame_id\n===="));
	assert_non_null(strstr(ros1, "\nMSG: geometry_msgs/Quaternion\n"));
	assert_null(strstr(ros1, "builtin_interfaces"));
	assert_non_null(strstr(ros2, "\nMSG: std_msgs/Header\nbuiltin_interfaces/Time stamp\nstring frame_id\n===="));
	assert_non_null(strstr(ros2, "\nMSG: builtin_interfaces/Time\nint32 sec\nuint32 nanosec\n"));
}
