const PT_LOAD = 1
/** Largest pages of the supported systems; a Raspberry Pi 5 has 16 KB. */
const LARGEST_PAGE = { 'linux-x64': 4096, 'linux-arm64': 65536 } as const

/** Throws if a system with large pages could not map a 64-bit ELF file: postject guarantees only 4 KB. */
export function checkLoadSegments(elf: Buffer, system: keyof typeof LARGEST_PAGE): void {
  const page = LARGEST_PAGE[system]
  for (const { offset, address } of loadSegments(elf)) {
    if ((address - offset) % page === 0) continue
    throw new Error(
      `the executable for ${system} would not start with pages of ${page} bytes: a segment at ${offset} of the ` +
        'file has to be ' +
        `at address ${address}, which differ within a page`,
    )
  }
}

function loadSegments(elf: Buffer): { offset: number; address: number }[] {
  const at = Number(elf.readBigUInt64LE(32))
  const size = elf.readUInt16LE(54)
  return Array.from({ length: elf.readUInt16LE(56) }, (_, i) => elf.subarray(at + i * size, at + (i + 1) * size))
    .filter((header) => header.readUInt32LE(0) === PT_LOAD)
    .map((header) => ({
      offset: Number(header.readBigUInt64LE(8)),
      address: Number(header.readBigUInt64LE(16)),
    }))
}
