/* SPDX-License-Identifier: Apache-2.0 */
/* rosbag2: .db3 files as its sqlite3 storage writes them, a directory of them, and the metadata.yaml that we write. */
#include "sample.h"

#include <sqlite3.h>
#include <zstd.h>

#include "record/rosbag2.h"
#include "record/rosbag2_yaml.h"

#define TABLES \
	"CREATE TABLE schema(schema_version INTEGER PRIMARY KEY, ros_distro TEXT NOT NULL);" \
	"CREATE TABLE topics(id INTEGER PRIMARY KEY, name TEXT NOT NULL, type TEXT NOT NULL, serialization_format TEXT NOT NULL," \
	" offered_qos_profiles TEXT NOT NULL);" \
	"CREATE TABLE messages(id INTEGER PRIMARY KEY, topic_id INTEGER NOT NULL, timestamp INTEGER NOT NULL, data BLOB NOT NULL);" \
	"CREATE INDEX timestamp_idx ON messages (timestamp ASC);" \
	"INSERT INTO topics VALUES(1, '/chat', 'std_msgs/msg/String', 'cdr', '- depth: 10'), (7, '/own', 'own/msg/Raw', 'cdr', '');"

static const char *db(const char *name, const char *sql)
{
	const char *path = sample_fresh(name);
	sqlite3 *d;

	assert_int_equal(sqlite3_open(path, &d), SQLITE_OK);
	if (sqlite3_exec(d, sql, NULL, NULL, NULL) != SQLITE_OK)
		fail_msg("%s", sqlite3_errmsg(d));
	assert_int_equal(sqlite3_close(d), SQLITE_OK);
	return path;
}

static const char *a_db(const char *name)
{
	return db(name, TABLES
		  "INSERT INTO messages(topic_id, timestamp, data) VALUES(1, 30, 'one'), (7, 20, 'two'), (1, 10, '');");
}

TEST(a_db3_is_read_by_time_or_in_file_order)
{
	const struct log_read_options as_it_stands = { .file_order = true };
	const char *path = a_db("a.db3");
	struct log_reader *r = sample_open(path, NULL);
	const struct log_info *i = log_reader_info(r);
	const bool want[] = { false, true };

	assert_int_equal(i->format, LOG_DB3);
	assert_int_equal(i->n_messages, 3);
	assert_int_equal(i->start_ns, 10);
	assert_int_equal(i->end_ns, 30);
	assert_int_equal(i->channels[0].n_messages, 2);
	assert_string_equal(i->channels[0].message_encoding, "cdr");
	assert_string_equal(i->channels[0].metadata[0].value, "- depth: 10");
	assert_string_equal(i->channels[0].schema_encoding, "ros2msg"); /* a type that is known here */
	assert_true(i->channels[0].schema.size > 5);
	assert_int_equal(i->channels[1].schema.size, 0);
	assert_string_equal(sample_read(r), "0@10: 1@20:two 0@30:one ");
	assert_int_equal(log_reader_seek(r, 15), 0);
	assert_int_equal(log_reader_select(r, want, 2), 0);
	assert_string_equal(sample_read(r), "1@20:two ");
	log_reader_close(r);
	assert_string_equal(sample_all(path, &as_it_stands), "0@30:one 1@20:two 0@10: ");
}

TEST(definitions_in_the_file_are_used)
{
	const char *path = db("d.db3", TABLES
			      "CREATE TABLE message_definitions(id INTEGER PRIMARY KEY, topic_type TEXT, encoding TEXT,"
			      " encoded_message_definition TEXT, type_description_hash TEXT);"
			      "INSERT INTO message_definitions VALUES(1, 'own/msg/Raw', 'ros2msg', 'int8 x', '');");
	struct log_reader *r = sample_open(path, NULL);

	assert_string_equal(log_reader_info(r)->channels[1].schema_encoding, "ros2msg");
	assert_memory_equal(log_reader_info(r)->channels[1].schema.data, "int8 x", 6);
	log_reader_close(r);
}

/* As in a file from before Iron, with a type that no rule names. */
TEST(common_types_have_their_definition)
{
	const char *path =
		db("j.db3", TABLES "INSERT INTO topics VALUES(8, '/joints', 'sensor_msgs/msg/JointState', 'cdr', '');");
	struct log_reader *r = sample_open(path, NULL);
	const struct log_channel *ch = &log_reader_info(r)->channels[2];

	assert_string_equal(ch->schema_encoding, "ros2msg");
	assert_memory_equal(ch->schema.data, "std_msgs/Header header\nstring[] name\n", 37);
	assert_non_null(memmem(ch->schema.data, ch->schema.size, "MSG: builtin_interfaces/Time\n", 29));
	log_reader_close(r);
}

/* Its table has the service or the action, the topic the type of one of its messages. */
TEST(a_service_topic_has_the_definition_of_its_events)
{
	const char *path =
		db("e.db3", TABLES
		   "CREATE TABLE message_definitions(id INTEGER PRIMARY KEY, topic_type TEXT, encoding TEXT,"
		   " encoded_message_definition TEXT, type_description_hash TEXT);"
		   "INSERT INTO topics VALUES(8, '/add/_service_event', 'own/srv/Add_Event', 'cdr', '');"
		   "INSERT INTO message_definitions VALUES(1, 'own/srv/Add', 'ros2msg', 'int8 a', '');"
		   "INSERT INTO topics VALUES(9, '/go/_action/feedback', 'own/action/Go_FeedbackMessage', 'cdr', '');"
		   "INSERT INTO message_definitions VALUES(2, 'own/action/Go', 'ros2msg', 'int8 g', '');");
	struct log_reader *r = sample_open(path, NULL);

	assert_string_equal(log_reader_info(r)->channels[2].topic, "/add/_service_event");
	assert_string_equal(log_reader_info(r)->channels[2].schema_encoding, "ros2msg");
	assert_memory_equal(log_reader_info(r)->channels[2].schema.data, "int8 a", 6);
	assert_memory_equal(log_reader_info(r)->channels[3].schema.data, "int8 g", 6);
	assert_int_equal(log_reader_info(r)->channels[1].schema.size, 0);
	log_reader_close(r);
}

TEST(individually_compressed_messages_are_unpacked)
{
	char packed[100], sql[3000], hex[201] = "";
	size_t n = ZSTD_compress(packed, sizeof(packed), "hello", 5, 1);

	assert_false(ZSTD_isError(n));
	for (size_t i = 0; i < n; i++)
		snprintf(hex + 2 * i, 3, "%02x", (unsigned char)packed[i]);
	snprintf(sql, sizeof(sql),
		 TABLES "INSERT INTO messages(topic_id, timestamp, data) VALUES(1, 1, x'%s'), (1, 2, x'28b52ffd00');",
		 hex);
	assert_string_equal(sample_all(db("z.db3", sql), NULL), "0@1:hello ! ");
}

TEST(another_sqlite_database_is_refused)
{
	struct log_reader *r;
	const char *path = db("o.db3", "CREATE TABLE x(y)");

	assert_int_equal(log_reader_open(path, NULL, &r, sample_why, sizeof(sample_why)), -EBADMSG);
	assert_non_null(strstr(sample_why, "`topics`"));
	path = db(
		"v.db3",
		"CREATE VIEW messages AS SELECT 1 AS timestamp; CREATE VIEW topics AS SELECT 1 AS serialization_format");
	assert_int_equal(log_reader_open(path, NULL, &r, sample_why, sizeof(sample_why)), -EBADMSG);
}

/* With small pages, so that each byte can be tried: sqlite treats a whole page as damaged. */
TEST(a_truncated_or_corrupted_file_is_survived)
{
	const struct log_read_options as_it_stands = { .file_order = true };
	size_t n;
	uint8_t *p = sample_bytes(
		db("a.db3", "PRAGMA page_size = 512;" TABLES
			    "INSERT INTO messages(topic_id, timestamp, data) VALUES(1, 30, 'one'), (7, 20, 'two');"),
		&n);

	assert_true(n < 8000);
	for (size_t i = 0; i < n; i++) {
		sample_survives(p, i, 2, NULL);
		p[i] ^= (uint8_t)(1u << i % 8);
		sample_survives(p, n, 1000, i % 2 ? &as_it_stands : NULL);
		p[i] ^= (uint8_t)(1u << i % 8);
	}
	mem_free(p);
}

static const char *directory(const char *yaml)
{
	const char *dir = sample_path("recording");

	mkdir(dir, 0755);
	a_db("recording/0.db3");
	db("recording/1.db3",
	   TABLES "INSERT INTO messages(topic_id, timestamp, data) VALUES(1, 40, 'three'), (7, 25, 'four');");
	sample_fresh("recording/metadata.yaml");
	if (yaml)
		sample_file("recording/metadata.yaml", yaml, strlen(yaml));
	return dir;
}

#define YAML(files) \
	"rosbag2_bagfile_information:\n  version: 5\n  storage_identifier: sqlite3\n  relative_file_paths:\n" files

TEST(a_directory_is_read_by_its_metadata)
{
	struct log_reader *r = sample_open(directory(YAML("    - 0.db3\n    - 1.db3\n")), NULL);

	assert_int_equal(log_reader_info(r)->n_messages, 5);
	assert_int_equal(log_reader_info(r)->n_channels, 2);
	assert_int_equal(log_reader_info(r)->channels[0].n_messages, 3);
	assert_string_equal(sample_read(r), "0@10: 1@20:two 1@25:four 0@30:one 0@40:three ");
	assert_int_equal(log_reader_seek(r, 26), 0);
	assert_string_equal(sample_read(r), "0@30:one 0@40:three ");
	log_reader_close(r);
}

/* Block or flow, quoted or not, comments and other documents after it: any valid YAML is read. */
TEST(any_valid_metadata_is_read)
{
	static const char *const good[] = {
		"{\"rosbag2_bagfile_information\": {\"version\": 5, 'storage_identifier': sqlite3, \"relative_file_paths\": [0.db3, \"1.db3\"]}}",
		"%YAML 1.1\n--- # ours\nrosbag2_bagfile_information:\n    relative_file_paths: [0.db3,\n      '1.db3' ]\n"
		"    \"storage_identifier\": \"sqlite\\x33\"\n    compression_mode: ~\n    compression_format: null\n...\n",
		"? rosbag2_bagfile_information\n: custom_data: {a: [b, {c: d}], relative_file_paths: [x]}\n"
		"  storage_identifier: >-\n    sqlite3\n  relative_file_paths:\n  - 0.db3\n  -\n   1.db3\n",
		"\xef\xbb\xbfrosbag2_bagfile_information: &all\r\n  storage_identifier: !!str sqlite3\r\n  relative_file_paths:\r\n"
		"  - !!str 0.db3 # the first\r\n  - 1.db3\r\n",
	};

	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
		if (strcmp(sample_all(directory(good[i]), NULL), "0@10: 1@20:two 1@25:four 0@30:one 0@40:three ") != 0)
			fail_msg("%s", good[i]);
}

TEST(metadata_with_paths_outside_the_directory_is_refused)
{
	static const char *const bad[] = {
		YAML("    - ../a.db3\n"),
		YAML("    - .\n"),
		YAML("    - /etc/passwd\n"),
		YAML("    - none.db3\n"),
		YAML(""),
		"x: 1\n",
		YAML("    - \"0.db3\n"),
		YAML("    - [0.db3]\n"),
		YAML("    - &a 0.db3\n    - *a\n"),
		YAML("    - 0.db3\n  : : x\n"),
		YAML("    - \"0\\0.db3\"\n"),
		"rosbag2_bagfile_information:\n  storage_identifier: [sqlite3]\n  relative_file_paths: [0.db3]\n",
		"rosbag2_bagfile_information:\n  storage_identifier: sqlite3\n  relative_file_paths: 0.db3\n",
		YAML("    - 0.db3\n  compression_mode: FILE\n")
	};
	struct log_reader *r;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		sample_why[0] = '\0';
		assert_true(log_reader_open(directory(bad[i]), NULL, &r, sample_why, sizeof(sample_why)) < 0);
		assert_true(strlen(sample_why) > 10);
	}
	assert_non_null(strstr(sample_why, "zstd -d"));
}

/* Names of topics may be any bytes; YAML's may not. */
TEST(written_metadata_is_valid)
{
	const char *const files[] = { "0.db3" };
	const char *dir = directory(NULL);

	db("recording/0.db3", TABLES "UPDATE topics SET name = CAST(x'2fc3a9ff7fc285efbbbf220a' AS TEXT) WHERE id = 1;"
				     "INSERT INTO messages(topic_id, timestamp, data) VALUES(1, 40, 'three');");
	assert_int_equal(rosbag2_metadata_write(dir, files, 1, sample_why, sizeof(sample_why)), 0);
	assert_string_equal(sample_all(dir, NULL), "0@40:three ");
}

TEST(metadata_is_written_for_rosbag2)
{
	const char *const files[] = { "0.db3", "1.db3" };
	const char *dir = directory(NULL);
	static struct rosbag2_yaml y;
	size_t n;
	char *text;

	assert_int_equal(rosbag2_metadata_write(dir, files, 2, sample_why, sizeof(sample_why)), 0);
	assert_int_equal(rosbag2_metadata_write(dir, files, 2, sample_why, sizeof(sample_why)), -EEXIST);
	text = (char *)sample_bytes(sample_path("recording/metadata.yaml"), &n);
	assert_non_null(strstr(text, "  message_count: 5\n"));
	assert_non_null(strstr(text, "        offered_qos_profiles: \"- depth: 10\"\n      message_count: 3\n"));
	assert_non_null(strstr(text, "  starting_time:\n    nanoseconds_since_epoch: 10\n"));
	assert_int_equal(rosbag2_yaml_parse(text, n, &y, sample_why, sizeof(sample_why)), 0);
	assert_int_equal(y.n_files, 2);
	assert_string_equal(y.files[1], "1.db3");
	mem_free(text);
	assert_string_equal(sample_all(dir, NULL), "0@10: 1@20:two 1@25:four 0@30:one 0@40:three ");
}
