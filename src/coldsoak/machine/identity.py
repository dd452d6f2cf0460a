"""Which names of which frameworks mean one and the same physical device."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, Protocol

import msgspec

from coldsoak.model.base import Frozen

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from coldsoak.machine.nvml import Card

__all__ = ["Named", "Physical", "physical"]


class Named(Protocol):
    """A device under the name of one framework."""

    @property
    def name(self) -> str:
        """The framework's spelling."""

    @property
    def kind(self) -> Literal["cpu", "gpu"]:
        """What it is."""

    @property
    def description(self) -> str:
        """Model of the device, where the framework tells."""

    @property
    def uuid(self) -> str:
        """UUID of the card or slice, with or without its prefix."""

    @property
    def pci(self) -> str:
        """PCI address."""

    @property
    def memory_bytes(self) -> int | None:
        """Memory of the device."""


class Physical(Frozen, kw_only=True):
    """A card, a slice of a card or the CPU, and what the frameworks call it."""

    kind: Literal["cpu", "gpu"]
    name: str
    uuid: str = ""
    pci: str = ""
    memory_bytes: int | None = None
    names: dict[str, tuple[str, ...]] = msgspec.field(default_factory=dict)
    """By framework."""


def physical(
    cards: Sequence[Card],
    seen: Iterable[tuple[str, Named]],
    *,
    cpu: str,
    memory_bytes: int | None = None,
) -> tuple[Physical, ...]:
    """Return the devices with all their names: cards, then what NVML does not know, then the CPU.

    A framework's GPU is matched with a card by UUID, else by PCI address; slices of a card in MIG
    mode have the UUID of their own and share the address. What matches no card stands alone.
    """
    names: dict[str, dict[str, tuple[str, ...]]] = {}
    strangers: dict[str, Named] = {}
    for framework, device in seen:
        key = "cpu" if device.kind == "cpu" else _key(cards, device)
        if key not in {"cpu", *(card.uuid for card in cards)}:
            strangers.setdefault(key, device)
        mine = names.setdefault(key, {})
        mine[framework] = (*mine.get(framework, ()), device.name)
    known = [
        Physical(
            kind="gpu",
            name=card.name,
            uuid=card.uuid,
            pci=card.pci,
            memory_bytes=card.memory_bytes,
            names=names.get(card.uuid, {}),
        )
        for card in cards
    ]
    others = [
        Physical(
            kind="gpu",
            name=device.description or device.name,
            uuid=device.uuid,
            pci=device.pci,
            memory_bytes=device.memory_bytes,
            names=names[key],
        )
        for key, device in strangers.items()
    ]
    host = Physical(kind="cpu", name=cpu, memory_bytes=memory_bytes, names=names.get("cpu", {}))
    return (*known, *others, host)


def _key(cards: Sequence[Card], device: Named) -> str:
    """Return the card's UUID, else what tells the device from others."""
    own, place = _bare(device.uuid), _address(device.pci)
    for card in cards:
        if own and own == _bare(card.uuid):
            return card.uuid
    slices = {_bare(uuid): uuid for card in cards for uuid in card.mig_uuids}
    if own and own in slices:
        return slices[own]
    for card in cards:
        if place and place == _address(card.pci) and not card.mig:
            return card.uuid
    return device.uuid or device.pci or device.name


def _bare(uuid: str) -> str:
    """Return the hexadecimal digits of ``GPU-…`` or ``MIG-…``."""
    return uuid.lower().removeprefix("gpu-").removeprefix("mig-")


def _address(pci: str) -> tuple[int, ...]:
    """Return (domain, bus, device) of ``00000000:02:00.0`` or ``0000:02:00.0``; empty for none."""
    head = pci.lower().partition(".")[0].split(":")
    try:
        return tuple(int(part, 16) for part in head)
    except ValueError:
        return ()
