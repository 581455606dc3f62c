/* SPDX-License-Identifier: Apache-2.0 */

/* A chip's record of version 2 spelled out: entries of each form come to the measurements that they stand for, and what is none is refused with a reason. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "checks/text/cleanup.h"
#include "daemon/record/encode/json.h"
#include "daemon/record/statement/statement-read.h"

#define ZEROS "0000000000000000000000000000000000000000000000000000000000000000"

/* Of steps as they are told, with ' for ". */
static json_t *statement_with(const char *steps, const char *more) {
        char text[4096];
        json_t *statement;

        (void) snprintf(text, sizeof(text), "{'_type':'https://in-toto.io/Statement/v1','subject':[{'digest':{'sha256':'" ZEROS "'}}],'predicateType':'" RECORD_TYPE_HEALTH_V2 "',"
                        "'predicate':{'producer':{'id':'a'},'log':{'origin':'a','index':0},'configuration':[{'name':'a','digest':{'sha256':'" ZEROS "'}}],"
                        "'run':{'id':'01934a6e-5e00-7000-8000-000000000001','stage':'PREFLIGHT','startedOn':'2026-11-21T09:14:02Z','finishedOn':'2026-11-21T09:14:02Z'},"
                        "'host':{'uri':'urn:dev:ops:1'},'location':{'path':'us0-2/chip3'},'result':'PASSED','steps':%s%s}}", steps, more);
        for (char *at = text; (at = strchr(at, '\''));)
                *at = '"';
        statement = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
        if (!statement)
                fail_msg("no JSON: %s", text);
        return statement;
}

/* "NAME=VALUE UNIT [LIMIT BOUND RESULT] [at PLACE] [STATISTIC COUNT] [counts]; …" */
static void describe(const json_t *measurements, char *text, size_t size) {
        json_t *measurement;
        size_t i, n = 0;

        text[0] = '\0';
        json_array_foreach(measurements, i, measurement) {
                const json_t *limit = json_array_get(json_object_get(measurement, "limits"), 0), *component = json_object_get(measurement, "component");

                n += (size_t) snprintf(text + n, size - n, "%s%s=%.17g %s", i > 0 ? "; " : "", text_of(measurement, "name"),
                                       json_number_value(json_object_get(measurement, "value")), text_of(measurement, "unit"));
                if (limit)
                        n += (size_t) snprintf(text + n, size - n, " %s %.17g %s", text_of(limit, "type"), json_number_value(json_object_get(limit, "value")), text_of(measurement, "result"));
                if (component)
                        n += (size_t) snprintf(text + n, size - n, " at %s", text_of(component, "location"));
                if (json_object_get(measurement, "statistic"))
                        n += (size_t) snprintf(text + n, size - n, " %s %lld", text_of(measurement, "statistic"), (long long) json_integer_value(json_object_get(measurement, "count")));
                if (json_is_true(json_object_get(measurement, "isCoverage")))
                        n += (size_t) snprintf(text + n, size - n, " counts");
        }
}

static void test_an_entry_is_the_measurements_that_it_stands_for(void **state) {
        static const struct {
                const char *entries, *means;
        } cases[] = {
                { "'measured':{'hot':7}", "host_link_hot=7 1" },
                { "'measured':{'hot':-0.5e-3}", "host_link_hot=-0.00050000000000000001 1" },
                { "'counted':{'hot':7}", "host_link_hot=7 1 counts" },
                { "'measured':{'/hot':7}", "hot=7 1" },
                { "'measured':{'hot':[58.5,'Cel']}", "host_link_hot=58.5 Cel" },
                { "'measured':{'hot':[0,'<=',0]}", "host_link_hot=0 1 LESS_THAN_OR_EQUAL 0 PASSED" },
                { "'measured':{'hot':[1,'<=',0]}", "host_link_hot=1 1 LESS_THAN_OR_EQUAL 0 FAILED" },
                { "'measured':{'hot':[1,'==',1]}", "host_link_hot=1 1 EQUAL 1 PASSED" },
                { "'measured':{'hot':[1,'W','>=',2]}", "host_link_hot=1 W GREATER_THAN_OR_EQUAL 2 FAILED" },
                { "'measured':{'hot':[[3,0],'<=',1,{'at':['hbm0-1']}]}",
                  "host_link_hot=3 1 LESS_THAN_OR_EQUAL 1 FAILED at us0-2/chip3/hbm0; host_link_hot=0 1 LESS_THAN_OR_EQUAL 1 PASSED at us0-2/chip3/hbm1" },
                { "'measured':{'hot':[1,{'at':['link-z+','link-z-']}]}", "host_link_hot=1 1 at us0-2/chip3/link-z+; host_link_hot=1 1 at us0-2/chip3/link-z-" },
                { "'measured':{'hot':[[1,2],{'at':['.','core5/pe17.93']}]}", "host_link_hot=1 1; host_link_hot=2 1 at us0-2/chip3/core5/pe17.93" },
                { "'measured':{'hot':[1,{'at':['/us0-3/chip1']}]}", "host_link_hot=1 1 at us0-3/chip1" },
                { "'measured':{'hot':[9.5,'GBy/s',{'min':8}]}", "host_link_hot=9.5 GBy/s min 8" },
                { "'measured':{'hot':[[1,2],{'p99':0,'at':['core6-7']}]}", "host_link_hot=1 1 at us0-2/chip3/core6 p99 0; host_link_hot=2 1 at us0-2/chip3/core7 p99 0" },
                { "'measured':{'hot':{'each':[1,[2,'<=',3]]}}", "host_link_hot=1 1; host_link_hot=2 1 LESS_THAN_OR_EQUAL 3 PASSED" },
                { "'counted':{'hot':[5,'of',5]},'measured':{'b':1}", "host_link_hot=5 1 counts; host_link_b=1 1" },
        };

        for (size_t i = 0; i < ELEMENTS(cases); i++) {
                _cleanup_json_ json_t *statement = NULL;
                char steps[1024], text[1024];
                SchemaWrong wrong = {};

                (void) snprintf(steps, sizeof(steps), "{'x':{'check':'host-link','result':'PASSED',%s}}", cases[i].entries);
                statement = statement_with(steps, "");
                if (statement_fit(&statement, &wrong) < 0)
                        fail_msg("%s: %s", cases[i].entries, wrong.text);
                describe(json_object_get(json_array_get(json_object_get(json_object_get(statement, "predicate"), "steps"), 0), "measurements"), text, sizeof(text));
                assert_string_equal(text, cases[i].means);
        }
}

static void test_what_is_no_entry_is_refused(void **state) {
        static const struct {
                const char *steps, *says;
        } cases[] = {
                { "[]", "steps: is not an object" },
                { "7", "steps: is not an object" },
                { "{'x':7}", "steps.x: is not an object" },
                { "{'x':{'result':'PASSED','status':'COMPLETE'}}", "steps.x.status: is not what it must be" },
                { "{'x':{'result':'PASSED','required':1}}", "steps.x.required: is not what it must be" },
                { "{'x':{'result':'PASSED','ms':[1]}}", "steps.x.ms: is no list of the right length" },
                { "{'x':{'result':'PASSED','ms':[1,'2']}}", "steps.x.ms[1]: is not what it must be" },
                { "{'x':{'result':'PASSED','ms':[-1,2]}}", "steps.x.ms[0]: is not what it must be" },
                { "{'x':{'result':'PASSED','check':7}}", "steps.x.check: is not what it must be" },
                { "{'x':{'result':'INCONCLUSIVE','status':'SKIP'}}", "x does not say why it was not tested" },
                { "{'x':{'result':'PASSED','measured':{'a':[1,'of',-2]}}}", "steps.x.measured.a: is not what it must be" },
                { "{'x':{'result':'PASSED','measured':{'a':[1,{'at':['hbm0/']}]}}}", "hbm0/ is no part" },
                { "{'x':{'result':'PASSED','measured':{'/':1}}}", "/ is no name" },
                { "{'x':{'result':'PASSED','measured':[]}}", "steps.x.measured: is not an object" },
                { "{'x':{'result':'PASSED','measured':{'':1}}}", "steps.x.measured: has a member without a name" },
                { "{'x':{'result':'PASSED','measured':{'a':'1'}}}", "steps.x.measured.a: is not what it must be" },
                { "{'x':{'result':'PASSED','measured':{'a':true}}}", "steps.x.measured.a: is not what it must be" },
                { "{'x':{'result':'PASSED','measured':{'a':[1]}}}", "steps.x.measured.a: is not what it must be" },
                { "{'x':{'result':'PASSED','measured':{'a':[]}}}", "steps.x.measured.a: is not what it must be" },
                { "{'x':{'result':'PASSED','measured':{'a':[1,'<',2]}}}", "steps.x.measured.a: is not what it must be" },
                { "{'x':{'result':'PASSED','measured':{'a':[1,'<=']}}}", "steps.x.measured.a: is not what it must be" },
                { "{'x':{'result':'PASSED','measured':{'a':[1,'<=','2']}}}", "steps.x.measured.a: is not what it must be" },
                { "{'x':{'result':'PASSED','measured':{'a':[1,'<=',2,'W']}}}", "steps.x.measured.a: is not what it must be" },
                { "{'x':{'result':'PASSED','measured':{'a':[1,'<=',2,3]}}}", "steps.x.measured.a: is not what it must be" },
                { "{'x':{'result':'PASSED','measured':{'a':[1,'of']}}}", "steps.x.measured.a: is not what it must be" },
                { "{'x':{'result':'PASSED','measured':{'a':[1,{}]}}}", "steps.x.measured.a: is not what it must be" },
                { "{'x':{'result':'PASSED','measured':{'a':[1,{'at':[]}]}}}", "steps.x.measured.a: is not what it must be" },
                { "{'x':{'result':'PASSED','measured':{'a':[1,{'at':[7]}]}}}", "steps.x.measured.a: is not what it must be" },
                { "{'x':{'result':'PASSED','measured':{'a':[1,{'median':3}]}}}", "steps.x.measured.a: is not what it must be" },
                { "{'x':{'result':'PASSED','measured':{'a':[1,{'min':-3}]}}}", "steps.x.measured.a: is not what it must be" },
                { "{'x':{'result':'PASSED','measured':{'a':[1,{'min':3,'max':3}]}}}", "steps.x.measured.a: is not what it must be" },
                { "{'x':{'result':'PASSED','measured':{'a':[[1,2],'<=',2]}}}", "steps.x.measured.a: is not what it must be" },
                { "{'x':{'result':'PASSED','measured':{'a':[[1,2,3],{'at':['hbm0-1']}]}}}", "not as many values as parts" },
                { "{'x':{'result':'PASSED','measured':{'a':[1,{'at':['hbm1-1']}]}}}", "no range of parts" },
                { "{'x':{'result':'PASSED','measured':{'a':[1,{'at':['hbm3-0']}]}}}", "no range of parts" },
                { "{'x':{'result':'PASSED','measured':{'a':[1,{'at':['hbm0-999999']}]}}}", "no range of parts" },
                { "{'x':{'result':'PASSED','measured':{'a':[1,{'at':['hbm0-1000','hbm0-1000']}]}}}", "more parts than anything has" },
                { "{'x':{'result':'PASSED','measured':{'a':{'each':[1]}}}}", "steps.x.measured.a: is not what it must be" },
                { "{'x':{'result':'PASSED','measured':{'a':{'each':[1,2],'b':3}}}}", "steps.x.measured.a: is not what it must be" },
                { "{'x':{'result':'PASSED','measured':{'a':{'each':[1,{'each':[1,2]}]}}}}", "steps.x.measured.a: is not what it must be" },
                { "{'x':{'result':'PASSED','measured':{'a':[1,'of',2,{'at':['hbm0']}]}}}", "promised twice, or not of the chip" },
                { "{'x':{'result':'PASSED','counted':{'/a':[1,'of',2]}},'y':{'result':'PASSED','counted':{'/a':[1,'of',3]}}}", "promised twice" },
        };

        for (size_t i = 0; i < ELEMENTS(cases); i++) {
                _cleanup_json_ json_t *statement = statement_with(cases[i].steps, "");
                SchemaWrong wrong = {};

                assert_int_equal(statement_fit(&statement, &wrong), -EBADMSG);
                if (!strstr(wrong.text, cases[i].says))
                        fail_msg("%s: %s", cases[i].steps, wrong.text);
        }
}

/* A range must not cost what it says. */
static void test_a_bomb_is_refused(void **state) {
        _cleanup_json_ json_t *statement = NULL;
        char steps[4096] = "{";
        SchemaWrong wrong;

        for (unsigned i = 0; i < 20; i++)
                (void) snprintf(steps + strlen(steps), sizeof(steps) - strlen(steps), "%s'x%u':{'result':'PASSED','measured':{'a':[1,{'at':['hbm0-999']}]}}", i > 0 ? "," : "", i);
        (void) strcat(steps, "}");
        statement = statement_with(steps, "");
        assert_int_equal(statement_fit(&statement, &wrong), -EBADMSG);
        assert_string_equal(wrong.text, "more measurements than a record has");
}

static void test_what_follows_is_spelled_out(void **state) {
        _cleanup_json_ json_t *statement = statement_with("{'a':{'result':'PASSED','counted':{'n':[3,'of',4]}},'b':{'check':'a','result':'WARNED','required':false,'counted':{'n':[9,'of',4]}},"
                                                         "'c':{'result':'FAILED'},'d':{'status':'SKIP','result':'INCONCLUSIVE','reason':'budget','open':['q'],'counted':{'/a_n':[99,'of',4]}}}",
                                                         ",'coverage':{'q':[1,2]}");
        static const struct {
                const char *member, *json;
        } expected[] = {
                { "status", "\"COMPLETE\"" },
                { "passedTests", "[\"a\"]" },
                { "warnedTests", "[\"b\"]" },
                { "failedTests", "[\"c\"]" },
                { "untestedTests", "[{\"name\":\"d\",\"reason\":\"budget\",\"coverage\":[\"q\"]}]" },
                { "coverage", "[{\"name\":\"q\",\"reached\":1,\"promised\":2},{\"name\":\"a_n\",\"reached\":9,\"promised\":4}]" },
        };
        SchemaWrong wrong;

        assert_int_equal(statement_fit(&statement, &wrong), 0);
        for (size_t i = 0; i < ELEMENTS(expected); i++) {
                char *text = json_dumps(json_object_get(json_object_get(statement, "predicate"), expected[i].member), JSON_COMPACT | JSON_ENCODE_ANY);

                assert_string_equal(text, expected[i].json);
                free(text);
        }
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_an_entry_is_the_measurements_that_it_stands_for),
                cmocka_unit_test(test_what_is_no_entry_is_refused),
                cmocka_unit_test(test_a_bomb_is_refused),
                cmocka_unit_test(test_what_follows_is_spelled_out),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
