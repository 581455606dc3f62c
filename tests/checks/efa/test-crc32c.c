/* SPDX-License-Identifier: Apache-2.0 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "checks/efa/crc32c.h"
#include "checks/text/cleanup.h"

/* RFC 3720, appendix B.4, and the check value of the catalogue of parametrised CRCs. */
static void test_published_vectors(void **state) {
        uint8_t zeros[32] = {}, ones[32], up[32], down[32];

        memset(ones, 0xff, sizeof(ones));
        for (unsigned i = 0; i < 32; i++) {
                up[i] = (uint8_t) i;
                down[i] = (uint8_t) (31 - i);
        }
        assert_int_equal(crc32c("123456789", 9), 0xe3069283);
        assert_int_equal(crc32c(zeros, 32), 0x8a9136aa);
        assert_int_equal(crc32c(ones, 32), 0x62a8ab43);
        assert_int_equal(crc32c(up, 32), 0x46dd794e);
        assert_int_equal(crc32c(down, 32), 0x113fdb5c);
        assert_int_equal(crc32c("", 0), 0);
}

static uint32_t bit_by_bit(const uint8_t *bytes, size_t n) {
        uint32_t crc = 0xffffffff;

        for (size_t i = 0; i < 8 * n; i++) {
                uint32_t bit = bytes[i / 8] >> i % 8 & 1;

                crc = (crc & 1) ^ bit ? crc >> 1 ^ 0x82f63b78u : crc >> 1;
        }
        return ~crc;
}

static void test_instruction_table_and_definition_agree_at_every_length(void **state) {
        uint8_t bytes[300];

        for (unsigned i = 0; i < sizeof(bytes); i++)
                bytes[i] = (uint8_t) (i * 167 + (i >> 3));
        for (size_t offset = 0; offset < 9; offset++)
                for (size_t n = 0; n + offset <= sizeof(bytes); n++) {
                        uint32_t expected = bit_by_bit(bytes + offset, n);

                        assert_int_equal(crc32c(bytes + offset, n), expected);
                        assert_int_equal(crc32c_plain(bytes + offset, n), expected);
                }
}

static uint64_t splitmix64(uint64_t x) {
        x += 0x9e3779b97f4a7c15u;
        x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
        x = (x ^ x >> 27) * 0x94d049bb133111ebu;
        return x ^ x >> 31;
}

static void test_payloads_are_byte_for_byte_what_the_port_says(void **state) {
        static const uint32_t sizes[] = { 1, 7, 8, 9, 4031, 4032, 4033, 4095, 4096, 4097, 8064, 8192 };

        for (size_t k = 0; k < ELEMENTS(sizes); k++) {
                uint8_t payload[8200];
                uint64_t seed = 0x123456789abcdefu + k;
                uint32_t flow = 0xfffffff0u + (uint32_t) k, sequence = 65535 - (uint32_t) k;

                memset(payload, 0xee, sizeof(payload));
                expected_payload(seed, flow, sequence, sizes[k], payload);
                for (uint32_t i = 0; i < sizes[k]; i++) {
                        uint64_t x = splitmix64(seed ^ (uint64_t) flow << 32 ^ sequence) + i / 8 * 0x9e3779b97f4a7c15u;

                        assert_int_equal(payload[i], (x ^ x >> 32) >> 8 * (i % 8) & 0xff);
                }
                assert_int_equal(payload[sizes[k]], 0xee);
                assert_int_equal(expected_crc(seed, flow, sequence, sizes[k]), bit_by_bit(payload, sizes[k]));
                assert_int_equal(expected_crc_plain(seed, flow, sequence, sizes[k]), bit_by_bit(payload, sizes[k]));
        }
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_published_vectors),
                cmocka_unit_test(test_instruction_table_and_definition_agree_at_every_length),
                cmocka_unit_test(test_payloads_are_byte_for_byte_what_the_port_says),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
