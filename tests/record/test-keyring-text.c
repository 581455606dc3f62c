/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "daemon/record/keys/keyring.h"

#define KEY                                                                                                  \
        "-----BEGIN PUBLIC KEY-----\nMCowBQYDK2VwAyEA11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo=\n"          \
        "-----END PUBLIC KEY-----\n"

/* Of the seeds 01…, 02…, 0b…, 0c…, 0d…, written by golang.org/x/mod/sumdb/note, the witnesses' by its rule and SHA-256. */
#define ORIGIN "fleet.example/stations/st-017"
#define LOG_1  ORIGIN "+47e95623+AYqI4910CfGV/VLbLTy6XXLKZwm/HZQSG/N0iAG0D29c"
#define LOG_2  "fleet.example/stations/st-018+da3a4a33+AYE5dw6ofRdfVqNUZsNMfszLjYqRtO43ol32D1uPybOU"
#define W1     "fleet.example/witness/w1+466a76c8+BGa+fjMsekUzMr2dCn99sFX1xe8aBq2mbZizn7aBDEc6"
#define W2     "fleet.example/witness/w2+b7868abe+BAtROtm0kkAVygkC7QeQRNOsXb7CMG8GlIwQ2o62458t"
#define W3     "fleet.example/witness/w3+bca4eebe+BJGiigt0OBWTpNlGlXkgiSavyK2CyIObdkQ1m566mks6"

/* The keys of LOG_1 and of KEY as witnesses. */
#define OWN         "fleet.example/witness/w9+f9244c22+BIqI4910CfGV/VLbLTy6XXLKZwm/HZQSG/N0iAG0D29c"
#define OF_RECORDS  "fleet.example/witness/w9+90335790+BNdamAGCsQq31Uv+08lkBzoO4XLz2qYjJa8CGmj3B1Ea"

#define WITNESSES "witness w1 " W1 "\nwitness w2 " W2 "\nwitness w3 " W3 "\n"

static RecordKeyring *parsed(const char *text) {
        RecordKeyring *keyring;

        if (record_keyring_parse(text, strlen(text), &keyring) < 0)
                fail_msg("refused: %s", text);
        return keyring;
}

static void test_lines_stand_among_keys(void **state) {
        RecordKeyring *keyring = parsed("# who keeps st-017\nlog " LOG_1 " https://st-017.example/\n" KEY "\t witness\tw1 " W1
                                        " https://w1.example/\n\nquorum w1\nlog " LOG_2);
        CheckpointPolicy policy;

        assert_int_equal(keyring->n_keys, 1);
        assert_int_equal(keyring->n_logs, 2);
        assert_int_equal(keyring->n_witnesses, 1);
        assert_string_equal(keyring->witnesses[0].name, "w1");
        assert_true(keyring->expires_usec == UINT64_MAX && keyring->version == 0);
        assert_true(keyring_policy(keyring, ORIGIN, &policy));
        assert_string_equal(policy.log.name, ORIGIN);
        assert_memory_equal(policy.log.id, "\x47\xe9\x56\x23", 4);
        assert_int_equal(policy.n_witnesses, 1);
        assert_memory_equal(policy.witnesses[0].id, "\x46\x6a\x76\xc8", 4);
        assert_false(keyring_policy(keyring, "fleet.example/stations/st-019", &policy));
        (void) record_keyring_free(keyring);
}

static void test_a_key_in_a_text_may_sign_anything_and_remarks_say_nothing(void **state) {
        RecordKeyring *keyring = parsed("the log of our station, quorum or not\n" KEY "logs: none\n");

        assert_true(keyring->n_keys == 1 && keyring->n_logs == 0 && keyring->n_witnesses == 0);
        assert_string_equal(keyring->keys[0].producer, "");
        assert_string_equal(keyring->keys[0].origin, "");
        assert_true(keyring->keys[0].from_index == 0 && keyring->keys[0].until_index == UINT64_MAX);
        (void) record_keyring_free(keyring);
}

static void test_a_witness_may_have_a_url(void **state) {
        RecordKeyring *keyring = parsed("witness w1 " W1 " https://w.example/1\nwitness w2 " W2 "\nquorum none\n");

        assert_string_equal(keyring->witnesses[0].url, "https://w.example/1");
        assert_string_equal(keyring->witnesses[1].url, "");
        (void) record_keyring_free(keyring);
}

/* Which of the eight sets of three witnesses are enough, bit i for set i. */
static unsigned enough(const char *lines) {
        char text[4096];
        unsigned sets = 0;
        RecordKeyring *keyring;

        (void) snprintf(text, sizeof(text), "log " LOG_1 "\n" WITNESSES "%s", lines);
        keyring = parsed(text);
        for (uint32_t set = 0; set < 8; set++)
                sets |= (unsigned) quorum_is_met(&keyring->quorum, set) << set;
        (void) record_keyring_free(keyring);
        return sets;
}

static void test_a_quorum_is_what_its_line_says(void **state) {
        assert_int_equal(enough("quorum none\n"), 0xff);
        assert_int_equal(enough("quorum w1\n"), 0xaa);
        assert_int_equal(enough("quorum w3\n"), 0xf0);
        assert_int_equal(enough("quorum 1\n"), 0xfe);
        assert_int_equal(enough("quorum 2\n"), 0xe8);
        assert_int_equal(enough("quorum 3\n"), 0x80);
        assert_int_equal(enough("group g any w1 w2\nquorum g\n"), 0xee);
        assert_int_equal(enough("group g all w1 w2\nquorum g\n"), 0x88);
        assert_int_equal(enough("group g 2 w1 w2 w3\nquorum g\n"), 0xe8);
        assert_int_equal(enough("group g any w1 w2\ngroup h all g w3\nquorum h\n"), 0xe0);
        assert_int_equal(enough("group 2 any w1 w2\nquorum 2\n"), 0xee);
}

/* Also a quorum that stands for no log: whoever asks for witnesses must not be content with a signature. */
/* As it stands between the lines of KEY. */
#define WORD "MCowBQYDK2VwAyEA11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo="

/* Who believes a text believes what it binds. */
static void test_lines_bind_keys_to_places(void **state) {
        RecordKeyring *keyring = parsed("record " WORD " urn:p fleet.example/l 2 4 rotated\nlog " LOG_1 "\nmin " ORIGIN " 7\nquorum none\nexpires 2026-11-20T00:00:00Z\n");

        assert_int_equal(keyring->n_keys, 1);
        assert_string_equal(keyring->keys[0].key.id, "SHA256:bbXpuKG6zhzdmnxq256TlqzFBzRl2f6OOg722cYNbU8");
        assert_string_equal(keyring->keys[0].producer, "urn:p");
        assert_string_equal(keyring->keys[0].origin, "fleet.example/l");
        assert_true(keyring->keys[0].from_index == 2 && keyring->keys[0].until_index == 4);
        assert_int_equal(keyring_find_log(keyring, ORIGIN)->min_index, 7);
        assert_true(keyring->expires_usec == UINT64_C(1795132800000000)); /* date -u -d 2026-11-20 +%s */
        (void) record_keyring_free(keyring);
        keyring = parsed("record " WORD " p l\n");
        assert_true(keyring->keys[0].from_index == 0 && keyring->keys[0].until_index == UINT64_MAX);
        (void) record_keyring_free(keyring);
}

/* A witness of a later standard, here the name of one with 1,312 bytes of an ML-DSA-44 key (type 0x06, all but its first are zero). */
static const char *later_witness(char line[static 2048]) {
        int n = sprintf(line, "witness w4 fleet.example/witness/w4+0123abcd+BgAA");

        memset(line + n, 'A', 1748);
        (void) strcpy(line + n + 1744, "AA==\n");
        return line;
}

static void test_a_witness_of_a_later_type_counts_for_nothing(void **state) {
        static const struct {
                const char *quorum;
                unsigned sets; /* of w1, w2, w3 */
        } cases[] = {
                { "quorum none\n", 0xff },
                { "quorum w1\n", 0xaa },
                { "quorum 2\n", 0xe8 },
                { "quorum 4\n", 0 },
                { "quorum w4\n", 0 },
                { "group g any w1 w4\nquorum g\n", 0xaa },
                { "group g all w1 w4\nquorum g\n", 0 },
        };
        char lines[4096], later[2048];

        for (size_t i = 0; i < ELEMENTS(cases); i++) {
                (void) snprintf(lines, sizeof(lines), "%s%s", later_witness(later), cases[i].quorum);
                assert_int_equal(enough(lines), cases[i].sets);
        }
}

static void test_logs_or_a_quorum_want_a_proof(void **state) {
        static const struct {
                const char *lines;
                bool wants;
        } cases[] = {
                { "", false },
                { "log " LOG_1 "\nquorum none\n", true },
                { "log " LOG_1 "\n" WITNESSES "quorum w1\n", true },
                { WITNESSES "quorum none\n", false },
                { WITNESSES "quorum w1\n", true },
                { WITNESSES "quorum 2\n", true },
        };

        for (size_t i = 0; i < ELEMENTS(cases); i++) {
                char text[2048];
                RecordKeyring *keyring;

                (void) snprintf(text, sizeof(text), KEY "%s", cases[i].lines);
                keyring = parsed(text);
                assert_int_equal(record_keyring_wants_proof(keyring), cases[i].wants);
                (void) record_keyring_free(keyring);
        }
}

static void test_a_line_that_cannot_be_kept_spoils_the_keyring(void **state) {
        static const char *const cases[] = {
                "log " LOG_1 "\n",                                     /* and of witnesses nothing */
                "log\nquorum none\n",
                "log nothing\nquorum none\n",
                "log " LOG_1 "\nlog " LOG_1 "\nquorum none\n",
                "log " W1 "\nquorum none\n",                           /* a witness keeps no log */
                "log " LOG_1 " url more\nquorum none\n",
                "log " LOG_1 "\r\nquorum none\r\n",
                "witness w1 " LOG_1 "\nquorum none\n",
                "witness w1 " W1 "\nwitness w1 " W2 "\nquorum none\n", /* one name */
                "witness w1 " W1 "\nwitness w2 " W1 "\nquorum none\n", /* one key */
                "log " LOG_1 "\nwitness w1 " OWN "\nquorum none\n",  /* the key of the log, in whichever order */
                "witness w1 " OWN "\nlog " LOG_1 "\nquorum none\n",
                "witness w1 " OF_RECORDS "\nquorum none\n",          /* that of KEY, above */
                "record " WORD " p l\n",                              /* KEY, bound and not */
                "record " WORD " p\n",
                "record " WORD "A p l\n",
                "record KEY p l\n",
                "min " ORIGIN " 1\n",                                 /* a log that is not named */
                "log " LOG_1 "\nmin " ORIGIN " 1\nmin " ORIGIN " 2\nquorum none\n",
                "expires soon\n",
                "expires 2026-11-20T00:00:00Z\nexpires 2027-11-20T00:00:00Z\n",
                "version 1\n",                                        /* of roots */
                "root " WORD "\n",
                "threshold 1\n",
                "witness w1 w+0123abcd+\nquorum none\n",               /* no type */
                "witness w1 w+0123abcd+Bg==\nquorum none\n",           /* no key */
                "witness w1 w+0123abcd+BgAA=\nquorum none\n",
                "witness w1 w+0123abc+BgAA\nquorum none\n",
                "witness w1 +0123abcd+BgAA\nquorum none\n",
                "witness w1 w+0123abcd+BgAA\nwitness w1 w+0123abcd+BwAA\nquorum none\n",
                "log w+0123abcd+BgAA\nquorum none\n",                  /* nobody could tell what is in it */
                "witness w\xc3\xa4 " W1 "\nquorum none\n",
                "witness none " W1 "\nquorum none\n",
                "witness w1 " W1 "\n",
                WITNESSES "quorum w4\n",
                WITNESSES "quorum 0\n",
                WITNESSES "quorum 4\n",
                WITNESSES "quorum 01\n",
                WITNESSES "quorum w1\nquorum w2\n",
                "quorum w1\n" WITNESSES,
                WITNESSES "group w1 any w2\nquorum none\n",
                WITNESSES "group g 0 w1\nquorum g\n",
                WITNESSES "group g 3 w1 w2\nquorum g\n",
                WITNESSES "group g most w1 w2\nquorum g\n",
                WITNESSES "group g any w1 w1\nquorum g\n",
                WITNESSES "group g any w1 g\nquorum g\n",
                WITNESSES "group g any w1\ngroup h any w1 w2\nquorum h\n", /* w1 would count in both */
                WITNESSES "group g any\nquorum g\n",
                WITNESSES "quorum w1\ngroup g any w1\n",
                "-----BEGIN PUBLIC KEY\nlog " LOG_1 "\nquorum none\n", /* a block that hides what follows */
        };

        for (size_t i = 0; i < ELEMENTS(cases); i++) {
                char text[2048];
                RecordKeyring *keyring = NULL;

                (void) snprintf(text, sizeof(text), KEY "%s", cases[i]);
                if (record_keyring_parse(text, strlen(text), &keyring) != -EBADMSG)
                        fail_msg("case %zu is taken: %s", i, cases[i]);
                assert_null(keyring);
        }
}

static void assert_wrong(const char *text, const char *wanted) {
        RecordKeyring *keyring = NULL;
        char wrong[KEYRING_WRONG_MAX];

        assert_int_equal(keyring_parse(text, strlen(text), &keyring, wrong), -EBADMSG);
        if (!strstr(wrong, wanted))
                fail_msg("not `%s` but `%s`", wanted, wrong);
}

static void test_what_is_wrong_is_said_with_its_line(void **state) {
        assert_wrong(KEY "log " LOG_1 "\r\nquorum none\r\n", "line 4 ends in CR LF");
        assert_wrong(KEY "quorum\r\n", "line 4 ends in CR LF");
        assert_wrong(KEY "\nwitness w1 " W1 " https://w.example/\033[2J\nquorum w1\n", "line 5 has a control character");
        assert_wrong(KEY "log nothing\nquorum none\n", "line 4 is no `log VKEY [URL]`");
        assert_wrong(KEY "log " LOG_1 "\n", "quorum of witnesses");
        assert_wrong(KEY "log " LOG_1 "\nquorum none\nlog " LOG_2 "\nquorum none\n", "line 7 is a second `quorum`: a keyring has one");
        assert_wrong("nothing\n", "no public keys");
}

static void test_long_lines_and_many_witnesses_are_bounded(void **state) {
        static char text[10000];
        char *end = text;

        end += sprintf(end, KEY "quorum ");
        memset(end, 'a', 5000);
        assert_int_equal(record_keyring_parse(text, strlen(text), &(RecordKeyring *) { NULL }), -EBADMSG);

        end = text + sprintf(text, KEY);
        end += sprintf(end, "group g any");
        for (unsigned i = 0; i < 1000; i++)
                end += sprintf(end, " w");
        assert_int_equal(record_keyring_parse(text, strlen(text), &(RecordKeyring *) { NULL }), -EBADMSG);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_lines_stand_among_keys),
                cmocka_unit_test(test_a_key_in_a_text_may_sign_anything_and_remarks_say_nothing),
                cmocka_unit_test(test_a_witness_may_have_a_url),
                cmocka_unit_test(test_a_quorum_is_what_its_line_says),
                cmocka_unit_test(test_lines_bind_keys_to_places),
                cmocka_unit_test(test_a_witness_of_a_later_type_counts_for_nothing),
                cmocka_unit_test(test_logs_or_a_quorum_want_a_proof),
                cmocka_unit_test(test_a_line_that_cannot_be_kept_spoils_the_keyring),
                cmocka_unit_test(test_what_is_wrong_is_said_with_its_line),
                cmocka_unit_test(test_long_lines_and_many_witnesses_are_bounded),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
