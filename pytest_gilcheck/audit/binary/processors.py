"""The architectures whose machine code can be followed."""

from __future__ import annotations

from .aarch64 import Arm64Processor
from .image import AARCH64, X86_64, Image
from .walk import Machine, Unknown
from .x86_64 import X86Processor


def machine_of(image: Image) -> Machine:
    """The architecture's part for an image.

    Raises:
        Unknown: it is none of those that are known.
    """
    if image.machine == X86_64:
        return X86Processor(image)
    if image.machine == AARCH64:
        return Arm64Processor(image)
    raise Unknown(f"code of {image.machine} is not read")
