"""The GIL declaration of an extension module, read out of its file without importing it: ELF, Mach-O and PE; x86-64 and aarch64."""
