from __future__ import annotations

import pytest

from coldsoak.launch.waits import wait_reason


@pytest.mark.parametrize(
    ("stack", "reason"),
    [
        (["__schedule", "schedule", "futex_do_wait", "__x64_sys_futex"], "futex"),
        (["__schedule", "do_nanosleep", "hrtimer_nanosleep"], "sleep"),
        (["schedule", "io_schedule", "folio_wait_bit_common", "filemap_fault"], "disk"),
        (["schedule", "do_wait", "kernel_wait4"], "child"),
        (["schedule", "ep_poll", "do_epoll_wait"], "poll"),
        (["schedule", "anon_pipe_read", "vfs_read"], "pipe"),
        (["schedule", "sk_wait_data", "tcp_recvmsg"], "network"),
        (["schedule", "rwsem_down_read_slowpath", "exc_page_fault"], "memory map"),
        (["schedule", "something_new"], "kernel"),
        (["", ""], ""),
        ([], ""),
    ],
)
def test_the_kernel_stack_tells_what_was_waited_for(stack, reason):
    assert wait_reason(stack) == reason
