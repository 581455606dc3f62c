/* SPDX-License-Identifier: Apache-2.0 */

/* hw_counters of an adapter, by the names of the public driver (amzn-drivers, kernel/linux/efa/src/efa_verbs.c). */

#include <inttypes.h>
#include <stdio.h>

#include "sim/nic/nic.h"

#define SERVICE UINT64_C(1000000000000) /* what an adapter has counted in some months */

void nic_count(Nic *nic, const Execution *execution, NicCounter counter, uint64_t n) {
        bool sound = nic->n_faults == 0;

        if (n == 0 || (!sound && nic_counters_stuck(nic, execution)))
                return;
        if (!sound && nic_counters_run_back(nic, execution))
                nic->counters[counter] -= n;
        else
                nic->counters[counter] += n;
}

void nic_counters_age(Nic *nic, bool wrap) {
        for (unsigned k = 0; k < _NIC_COUNTER_MAX; k++)
                if (wrap)
                        nic->counters[k] |= UINT32_MAX - 99;
                else
                        nic->counters[k] += SERVICE;
}

#define NIC_COUNTER_FILE(word, counter)                                                                      \
        static int read_##word(void *state, Chip *chip, unsigned index, char *text, size_t size) {           \
                const Nic *nic = state;                                                                      \
                                                                                                             \
                (void) snprintf(text, size, "%" PRIu64,                                                      \
                                nic->counters[counter] & (nic_counters_wrap(nic) ? UINT32_MAX : UINT64_MAX)); \
                return 0;                                                                                    \
        }                                                                                                    \
        struct nic_counter_file_##word##_needs_a_semicolon

NIC_COUNTER_FILE(tx_bytes, NIC_TX_BYTES);
NIC_COUNTER_FILE(tx_pkts, NIC_TX_PKTS);
NIC_COUNTER_FILE(rx_bytes, NIC_RX_BYTES);
NIC_COUNTER_FILE(rx_pkts, NIC_RX_PKTS);
NIC_COUNTER_FILE(rx_drops, NIC_RX_DROPS);
NIC_COUNTER_FILE(send_bytes, NIC_SEND_BYTES);
NIC_COUNTER_FILE(send_wrs, NIC_SEND_WRS);
NIC_COUNTER_FILE(recv_bytes, NIC_RECV_BYTES);
NIC_COUNTER_FILE(recv_wrs, NIC_RECV_WRS);
NIC_COUNTER_FILE(rdma_read_wrs, NIC_RDMA_READ_WRS);
NIC_COUNTER_FILE(rdma_read_bytes, NIC_RDMA_READ_BYTES);
NIC_COUNTER_FILE(rdma_read_wr_err, NIC_RDMA_READ_WR_ERR);
NIC_COUNTER_FILE(rdma_read_resp_bytes, NIC_RDMA_READ_RESP_BYTES);
NIC_COUNTER_FILE(rdma_write_wrs, NIC_RDMA_WRITE_WRS);
NIC_COUNTER_FILE(rdma_write_bytes, NIC_RDMA_WRITE_BYTES);
NIC_COUNTER_FILE(rdma_write_wr_err, NIC_RDMA_WRITE_WR_ERR);
NIC_COUNTER_FILE(rdma_write_recv_bytes, NIC_RDMA_WRITE_RECV_BYTES);
NIC_COUNTER_FILE(retrans_bytes, NIC_RETRANS_BYTES);
NIC_COUNTER_FILE(retrans_pkts, NIC_RETRANS_PKTS);
NIC_COUNTER_FILE(retrans_timeout_events, NIC_RETRANS_TIMEOUT_EVENTS);
NIC_COUNTER_FILE(unresponsive_remote_events, NIC_UNRESPONSIVE_REMOTE_EVENTS);
NIC_COUNTER_FILE(impaired_remote_conn_events, NIC_IMPAIRED_REMOTE_CONN_EVENTS);

#define NIC_COUNTER(word) { "hw_counters/" #word, read_##word }

const Attribute nic_attributes[] = {
        NIC_COUNTER(tx_bytes),
        NIC_COUNTER(tx_pkts),
        NIC_COUNTER(rx_bytes),
        NIC_COUNTER(rx_pkts),
        NIC_COUNTER(rx_drops),
        NIC_COUNTER(send_bytes),
        NIC_COUNTER(send_wrs),
        NIC_COUNTER(recv_bytes),
        NIC_COUNTER(recv_wrs),
        NIC_COUNTER(rdma_read_wrs),
        NIC_COUNTER(rdma_read_bytes),
        NIC_COUNTER(rdma_read_wr_err),
        NIC_COUNTER(rdma_read_resp_bytes),
        NIC_COUNTER(rdma_write_wrs),
        NIC_COUNTER(rdma_write_bytes),
        NIC_COUNTER(rdma_write_wr_err),
        NIC_COUNTER(rdma_write_recv_bytes),
        NIC_COUNTER(retrans_bytes),
        NIC_COUNTER(retrans_pkts),
        NIC_COUNTER(retrans_timeout_events),
        NIC_COUNTER(unresponsive_remote_events),
        NIC_COUNTER(impaired_remote_conn_events),
        {}
};
