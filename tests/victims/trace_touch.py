"""Touch 64 MiB of fresh memory, page by page, in pages of 4 KiB."""
import mmap

memory = mmap.mmap(-1, 64 << 20, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
memory.madvise(mmap.MADV_NOHUGEPAGE)
for page in range(0, len(memory), 4096):
    memory[page] = 1
