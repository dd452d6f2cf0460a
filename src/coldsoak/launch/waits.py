"""What a thread waits for when it leaves the CPU, read from the kernel's part of its stack."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["wait_reason"]

_REASONS: tuple[tuple[str, tuple[str, ...]], ...] = (
    (
        "disk",
        (
            "io_schedule",
            "folio_wait_bit",
            "wait_on_page",
            "blk_mq_",
            "submit_bio_wait",
            "jbd2_log_wait",
            "filemap_fault",
            "balance_dirty_pages",
        ),
    ),
    ("child", ("do_wait", "kernel_wait4", "kernel_waitid", "kernel_clone", "wait_for_vfork")),
    ("futex", ("futex_wait", "futex_do_wait", "futex_lock_pi")),
    ("sleep", ("hrtimer_nanosleep", "do_nanosleep", "clock_nanosleep")),
    ("network", ("tcp_", "udp_", "inet_", "sk_wait_data", "__skb_wait", "sk_stream_wait")),
    ("socket", ("unix_stream", "unix_dgram", "unix_wait", "sock_")),
    ("poll", ("ep_poll", "do_sys_poll", "do_poll", "do_select", "poll_schedule", "do_epoll")),
    ("pipe", ("pipe_read", "anon_pipe_", "pipe_write", "pipe_wait", "pipe_release")),
    ("lock file", ("flock_lock", "locks_lock", "posix_lock", "fcntl_setlk")),
    ("memory map", ("rwsem_down", "down_read", "down_write", "mmap_lock", "rcu_", "membarrier")),
    ("signal", ("sigsuspend", "sigtimedwait", "do_signal_stop", "sys_pause")),
    ("terminal", ("n_tty_", "tty_")),
    ("exit", ("do_exit", "do_group_exit")),
    ("page fault", ("handle_mm_fault", "exc_page_fault", "do_page_fault")),
    ("device", ("sys_ioctl",)),
)
"""Reason, and beginnings of kernel symbols of which one is on the stack; the first match counts."""


def wait_reason(kernel_symbols: Sequence[str]) -> str:
    """Return the reason, ``kernel`` for a stack that is not known, or an empty text without one.

    Args:
        kernel_symbols: Symbols of the kernel frames, leaf first.

    """
    if not any(kernel_symbols):
        return ""
    stripped = [symbol.lstrip("_") for symbol in kernel_symbols]
    cleaned = [name.removeprefix("x64_").removeprefix("arm64_") for name in stripped]
    for reason, beginnings in _REASONS:
        if any(symbol.startswith(beginnings) for symbol in cleaned):
            return reason
    return "kernel"
