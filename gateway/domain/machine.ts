/**
 * Kinds of host identifiers, the strongest first: the serial number of the board (of a Raspberry Pi; of a PC that of
 * the product, then of its board), built-in network cards, and the id that the system generated.
 */
export const MACHINE_ID_KINDS = ['board', 'product', 'product_board', 'network', 'system'] as const
export type MachineId = (typeof MACHINE_ID_KINDS)[number]

/** Hashes of the identifiers that could be read: several for network cards, one for the others. */
export type MachineIds = Readonly<Partial<Record<MachineId, readonly string[]>>>

/** Limit of remembered values; cards that were added later, or were turned off for a while, stay known. */
const MOST_VALUES = 16

/**
 * Returns the identifier by which the host of `now` differs from the known one; null if it is the same, or if this
 * cannot be decided. The strongest identifier that both have decides: a host with another network card or a new system
 * is the same, a cloned system on another board is not.
 */
export function mismatchedId(known: MachineIds, now: MachineIds): MachineId | null {
  const sign = MACHINE_ID_KINDS.find((one) => valuesOf(known, one).length > 0 && valuesOf(now, one).length > 0)
  if (sign === undefined) return null
  const values = valuesOf(known, sign)
  return valuesOf(now, sign).some((value) => values.includes(value)) ? null : sign
}

/** Merges newly read identifiers of the same host; identifiers that could not be read this time stay. */
export function mergeMachineIds(known: MachineIds, now: MachineIds): MachineIds {
  const network = [...new Set([...valuesOf(now, 'network'), ...valuesOf(known, 'network')])]
  return {
    ...known,
    ...now,
    ...(network.length === 0 ? {} : { network: network.slice(0, MOST_VALUES) }),
  }
}

function valuesOf(signs: MachineIds, sign: MachineId): readonly string[] {
  return signs[sign] ?? []
}
