/* SPDX-License-Identifier: Apache-2.0 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "daemon/config.h"

#define A32     "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
#define HEAD    "origin: us0.example/assayd\nproducer: https://example.com/us0\n"
#define WITNESS "fleet.example/w1+2506ecbe+BAEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEB"
#define LOG     "fleet.example/w1+bb70dd3b+AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEB"
#define TARGETS "targets: [{device: sim:/run/a.sock, servers: [us0-0]}]\n"

typedef struct Refusal {
        const char *text;
        const char *where; /* LINE:COLUMN */
        const char *says;
} Refusal;

static const Refusal refusals[] = {
        { "",                                                       "1:1:",  "expected"          },
        { "- a list\n",                                             "1:1:",  ""                  },
        { HEAD,                                                     "1:1:",  "targets"           },
        { HEAD TARGETS "colour: red\n",                             "4:1:",  "colour"            },
        { HEAD TARGETS "origin: again\n",                           "4:1:",  "origin"            },
        { "origin: a b\nproducer: urn:x\n" TARGETS,                 "1:10:", "no spaces"         },
        { "origin: a+b\nproducer: urn:x\n" TARGETS,                 "1:10:", "'+'"               },
        { "origin: ''\nproducer: urn:x\n" TARGETS,                  "1:9:",  "1 to 127"          },
        { "origin: " A32 A32 A32 A32 "\nproducer: urn:x\n" TARGETS, "1:9:",  "1 to 127"          },
        { "origin: [a]\nproducer: urn:x\n" TARGETS,                 "1:9:",  "origin"            },
        { "origin: a\nproducer: nowhere\n" TARGETS,                 "2:11:", "not a URI"         },
        { "origin: a\nproducer: 'urn:a b'\n" TARGETS,               "2:11:", "not a URI"         },
        { HEAD "targets: []\n",                                     "3:10:", "no targets"        },
        { HEAD "targets: sim:/x\n",                                 "3:10:", "list of targets"   },
        { HEAD "targets: [{servers: [us0-0]}]\n",                   "3:11:", "device"            },
        { HEAD "targets: [{device: sim:/a}]\n",                     "3:11:", "servers"           },
        { HEAD "targets: [{device: sim:/a, servers: []}]\n",        "3:37:", "no servers"        },
        { HEAD "targets: [{device: /a, servers: [us0-0]}]\n",       "3:20:", "sim:SOCKET"        },
        { HEAD "targets: [{device: 'sim:', servers: [us0-0]}]\n",   "3:20:", "sim:SOCKET"        },
        { HEAD "targets: [{device: 'sim:/a#b', servers: [a]}]\n",   "3:2",   "no '#'"            },
        { HEAD "targets: [{device: sim:/a, servers: [US0]}]\n",     "3:38:", "name of a server"  },
        { HEAD "targets: [{device: sim:/a, servers: [a/chip1]}]\n", "3:38:", "name of a server"  },
        { HEAD "targets: [{device: sim:/a, servers: [a, a]}]\n",    "3:41:", "twice"             },
        { HEAD TARGETS "limits: {scans: 0}\n",                      "4:17:", ""                  },
        { HEAD TARGETS "limits: {scans: many}\n",                   "4:17:", ""                  },
        { HEAD TARGETS "limits: {scans: 7abc}\n",                   "4:17:", ""                  },
        { HEAD TARGETS "limits: {workers: 1000}\n",                 "4:19:", ""                  },
        { HEAD TARGETS "limits: {silence_sec: 0}\n",                "4:23:", ""                  },
        { HEAD TARGETS "limits: {deadline_scale: .inf}\n",          "4:26:", ""                  },
        { HEAD TARGETS "limits: {speed: 1}\n",                      "4:10:", "speed"             },
        { HEAD TARGETS "heartbeat_sec: 0\n",                        "4:16:", ""                  },
        { HEAD TARGETS "heartbeat_sec: 3601\n",                     "4:16:", ""                  },
        { HEAD TARGETS "clock_source: gps\n",                       "4:15:", "ntp"               },
        { HEAD TARGETS "store: ''\n",                               "4:8:",  "path"              },
        { HEAD TARGETS "key: [a]\n",                                "4:6:",  "path"              },
        { HEAD TARGETS "witnesses: " WITNESS "\n",                  "4:12:", "list of keys"      },
        { HEAD TARGETS "witnesses: [w1]\n",                         "4:13:", "type 0x04"         },
        { HEAD TARGETS "witnesses: [" LOG "]\n",                    "4:13:", "type 0x04"         },
        { HEAD TARGETS "checkpoint_sec: 0\n",                       "4:17:", ""                  },
        { HEAD TARGETS "keep_days: -1\n",                           "4:12:", ""                  },
        { HEAD TARGETS "archive: ''\n",                             "4:10:", "path"              },
        { HEAD TARGETS "anchor: ''\n",                              "4:9:",  "path"              },
        { HEAD TARGETS "topology: {}\n",                            "4:11:", "path"              },
};

static void test_what_is_wrong_is_refused_with_its_position(void **state) {
        for (size_t i = 0; i < ELEMENTS(refusals); i++) {
                _cleanup_(config_freep) Config *config = NULL;
                _cleanup_free_ char *error = NULL;
                char expected[64];

                if (config_parse("assayd.yaml", refusals[i].text, strlen(refusals[i].text), &config, &error) >= 0)
                        fail_msg("accepted:\n%s", refusals[i].text);
                assert_null(config);
                assert_non_null(error);

                (void) snprintf(expected, sizeof(expected), "assayd.yaml:%s", refusals[i].where);
                if (strncmp(error, expected, strlen(expected)) != 0 || !strstr(error, refusals[i].says))
                        fail_msg("%s\nexpected %s … %s, is %s", refusals[i].text, expected, refusals[i].says, error);
        }
}

static void test_a_whole_file_is_read(void **state) {
        static const char text[] =
                        HEAD "key: /k\nlog_key: /l\nstore: /s\nanchor: /a\ncheckpoint_sec: 0.5\nkeep_days: 400\narchive: /o\nwitnesses: [" WITNESS "]\nevidence: /e\nplans: /p:/q\nrun_socket: /r\n"
                             "limits: {scans: 3, scans_per_uid: 2, workers: 5, reconnects: 1, step_sec: 0.5, "
                             "silence_sec: 2, deadline_scale: 4}\n"
                             "targets:\n"
                             "  - {device: sim:/a, servers: [us0-0, us0-1]}\n"
                             "  - {device: sim:/b, model: Trn3, servers: [trn-0]}\n";
        _cleanup_(config_freep) Config *config = NULL;
        _cleanup_free_ char *error = NULL;

        if (config_parse("f", text, strlen(text), &config, &error) < 0)
                fail_msg("%s", error);
        assert_string_equal(config->origin, "us0.example/assayd");
        assert_string_equal(config->producer, "https://example.com/us0");
        assert_string_equal(config->key, "/k");
        assert_string_equal(config->log_key, "/l");
        assert_string_equal(config->store, "/s");
        assert_string_equal(config->anchor, "/a");
        assert_true(config->checkpoint_sec == 0.5);
        assert_int_equal(config->keep_days, 400);
        assert_string_equal(config->archive, "/o");
        assert_int_equal(config->n_witnesses, 1);
        assert_string_equal(config->witnesses[0], WITNESS);
        assert_string_equal(config->evidence, "/e");
        assert_string_equal(config->plans, "/p:/q");
        assert_string_equal(config->run_socket, "/r");
        assert_int_equal(config->limits.scans, 3);
        assert_int_equal(config->limits.scans_per_uid, 2);
        assert_int_equal(config->limits.workers, 5);
        assert_int_equal(config->limits.reconnects, 1);
        assert_true(config->limits.step_sec == 0.5 && config->limits.silence_sec == 2);
        assert_true(config->limits.deadline_scale == 4);
        assert_int_equal(config->n_servers, 3);
        assert_string_equal(config->servers[1].name, "us0-1");
        assert_string_equal(config->servers[1].device, "sim:/a");
        assert_string_equal(config->servers[1].model, "Trn2");
        assert_string_equal(config->servers[2].name, "trn-0");
        assert_string_equal(config->servers[2].device, "sim:/b");
        assert_string_equal(config->servers[2].model, "Trn3");
}

static void write_file(const char *path, const char *text) {
        FILE *file = fopen(path, "we");

        assert_non_null(file);
        assert_true(fputs(text, file) >= 0);
        assert_int_equal(fclose(file), 0);
}

static void test_a_topology_file_must_be_one_and_name_all_servers(void **state) {
        static const char *const cases[][2] = {
                { "topology: t\nservers: [us0-0]\n", NULL },
                { "topology: t\nrings: [[us0-0, a, b, c]]\n", NULL },
                { "topology: t\nrings: [[a, b, c]]\n", "topology.yaml:2:9: a ring of 3 servers" },
                { "topology: t\nservers: [us0-1]\n", "assayd.yaml:4:11: " },
        };
        char folder[] = "/tmp/assay-config-XXXXXX", path[64], topology[64], text[512];

        assert_non_null(mkdtemp(folder));
        (void) snprintf(path, sizeof(path), "%s/assayd.yaml", folder);
        (void) snprintf(topology, sizeof(topology), "%s/topology.yaml", folder);
        (void) snprintf(text, sizeof(text), HEAD TARGETS "topology: %s\n", topology);
        write_file(path, text);
        for (size_t i = 0; i < ELEMENTS(cases); i++) {
                _cleanup_(config_freep) Config *config = NULL;
                _cleanup_free_ char *error = NULL;

                write_file(topology, cases[i][0]);
                assert_int_equal(config_load(path, &config, &error) < 0, cases[i][1] != NULL);
                assert_int_equal(!config, cases[i][1] != NULL);
                if (cases[i][1] && !strstr(error, cases[i][1]))
                        fail_msg("%s", error);
                if (config)
                        assert_non_null(config->topology);
        }
        (void) unlink(topology);
        _cleanup_(config_freep) Config *config = NULL;
        _cleanup_free_ char *error = NULL;

        assert_int_equal(config_load(path, &config, &error), -ENOENT);
        assert_non_null(strstr(error, topology));
        (void) unlink(path);
        (void) rmdir(folder);
}

static void test_what_is_left_out_has_a_default(void **state) {
        _cleanup_(config_freep) Config *config = NULL;
        _cleanup_free_ char *error = NULL;

        if (config_parse("f", HEAD TARGETS, strlen(HEAD TARGETS), &config, &error) < 0)
                fail_msg("%s", error);
        assert_null(config->key);
        assert_null(config->store);
        assert_int_equal(config->limits.scans, 64);
        assert_int_equal(config->limits.scans_per_uid, 16);
        assert_int_equal(config->limits.workers, 0);
        assert_true(config->limits.deadline_scale == 1);
}

static void test_more_servers_than_there_may_be_are_refused(void **state) {
        _cleanup_(config_freep) Config *config = NULL;
        _cleanup_free_ char *error = NULL, *text = NULL;
        size_t n = 0;
        FILE *stream = open_memstream(&text, &n);

        fputs(HEAD "targets: [{device: sim:/a, servers: [s0", stream);
        for (unsigned i = 1; i <= CONFIG_SERVERS_MAX; i++)
                fprintf(stream, ", s%u", i);
        fputs("]}]\n", stream);
        fclose(stream);

        assert_int_equal(config_parse("f", text, n, &config, &error), -EINVAL);
        assert_non_null(error);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_what_is_wrong_is_refused_with_its_position),
                cmocka_unit_test(test_a_whole_file_is_read),
                cmocka_unit_test(test_a_topology_file_must_be_one_and_name_all_servers),
                cmocka_unit_test(test_what_is_left_out_has_a_default),
                cmocka_unit_test(test_more_servers_than_there_may_be_are_refused),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
