/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "daemon/record/statement/identity.h"

static const IdentityIssuer issuer = { .pen = 32473, .origin = "fleet.example/stations/st-017" };

static Identity identity(const char *path, const char *product, const char *serial, const char *server_serial) {
        RecordSubject subject = { .serial = serial, .product = product };
        RecordSubject server = { .serial = server_serial, .product = "Trn2" };
        Identity ret;

        assert_int_equal(location_parse(path, &subject.where, NULL, NULL), 0);
        assert_int_equal(location_parse("us0-2", &server.where, NULL, NULL), 0);
        assert_int_equal(identity_of(&issuer, &subject, &server, &ret), 0);
        return ret;
}

/* printf 'assay-identity/v1\nkind: accelerator\n…' | sha256sum */
static void test_a_serial_is_an_identity(void **state) {
        Identity chip = identity("us0-2/chip3", "Trainium2", "0123456789abc003", "SRV00017");
        Identity server = identity("us0-2", "Trn2", "SRV00017", "SRV00017");
        char hex[DIGEST_HEX];

        assert_string_equal(chip.name, "accelerator");
        assert_string_equal(chip.uri, "urn:dev:ops:32473-Trainium2-0123456789abc003");
        assert_string_equal(digest_to_hex(chip.digest, hex), "26f39bfbbba6805e725327c3094c387c400e90d4be189130a0aee3580117ab87");
        assert_string_equal(server.name, "server");
        assert_string_equal(server.uri, "urn:dev:ops:32473-Trn2-SRV00017");
        assert_string_equal(server.document, "assay-identity/v1\nkind: server\nmanufacturer: Amazon\nproduct: Trn2\nserial: SRV00017\n");
}

static void test_a_chip_keeps_its_identity_in_another_slot(void **state) {
        Identity a = identity("us0-2/chip3", "Trainium2", "0123456789abc003", "SRV00017");
        Identity b = identity("us0-1/chip9", "Trainium2", "0123456789abc003", "SRV00016");

        assert_memory_equal(a.digest, b.digest, sizeof(a.digest));
}

static void test_a_chip_without_a_serial_is_the_slot_of_its_server(void **state) {
        static const char *const serials[] = { "", NULL, "0123 456", "a/b", "x\ny", "s\xc3\xa9rie",
                                               "0123456789012345678901234567890123456789012345678901234567890123x" };

        for (size_t i = 0; i < ELEMENTS(serials); i++) {
                Identity slot = identity("us0-2/chip3", "Trainium2", serials[i], "SRV00017");

                assert_string_equal(slot.name, "slot");
                assert_string_equal(slot.uri, "urn:dev:ops:32473-Trn2-SRV00017_chip3");
                assert_string_equal(slot.document, "assay-identity/v1\nkind: slot\nmanufacturer: Amazon\nproduct: Trn2\n"
                                                   "serial: SRV00017\nslot: chip3\n");
        }
}

static void test_without_any_serial_the_log_names_the_slot(void **state) {
        Identity chip = identity("us0-2/chip3", "Trainium2", "", ""), server = identity("us0-2", "Trn2", "", "");

        assert_string_equal(chip.uri, "urn:dev:ops:32473-Trn2-unknown_us0-2_chip3");
        assert_string_equal(chip.document, "assay-identity/v1\nkind: slot\nmanufacturer: Amazon\nproduct: Trn2\n"
                                           "slot: us0-2/chip3\norigin: fleet.example/stations/st-017\n");
        assert_string_equal(server.name, "slot");
        assert_string_equal(server.uri, "urn:dev:ops:32473-Trn2-unknown_us0-2");
}

static void test_a_product_that_no_urn_can_hold_is_unknown(void **state) {
        assert_string_equal(identity("us0-2/chip3", "Trainium-2", "7", "S").uri, "urn:dev:ops:32473-unknown-7");
        assert_string_equal(identity("us0-2/chip3", "", "7", "S").uri, "urn:dev:ops:32473-unknown-7");
        assert_string_equal(identity("us0-2/chip3", NULL, "7", "S").uri, "urn:dev:ops:32473-unknown-7");
        assert_string_equal(identity("us0-2/chip3", "Trainium2", "a-b.C", "S").uri, "urn:dev:ops:32473-Trainium2-a-b.C");
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_a_serial_is_an_identity),
                cmocka_unit_test(test_a_chip_keeps_its_identity_in_another_slot),
                cmocka_unit_test(test_a_chip_without_a_serial_is_the_slot_of_its_server),
                cmocka_unit_test(test_without_any_serial_the_log_names_the_slot),
                cmocka_unit_test(test_a_product_that_no_urn_can_hold_is_unknown),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
