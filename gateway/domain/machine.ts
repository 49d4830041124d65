/**
 * What tells a machine from others, the strongest first: the serial number that the maker put on the board (of a
 * Raspberry Pi; of a PC that of the product, then of its board), network cards that are built in, and the id that the
 * system made for itself.
 */
export const MACHINE_ID_KINDS = ['board', 'product', 'product_board', 'network', 'system'] as const
export type MachineId = (typeof MACHINE_ID_KINDS)[number]

/** Values of the signs that could be read, as hashes: several network cards, of the others one. */
export type MachineIds = Readonly<Partial<Record<MachineId, readonly string[]>>>

/** Cards that came later than others, or were switched off for a while, stay known. */
const MOST_VALUES = 16

/**
 * The sign by which the machine of `now` is another than the known one; null when it is the same, or nothing can be
 * said. The strongest sign that both have decides: a card with another network card or a new system is the same
 * machine, and a cloned system on another board is not.
 */
export function mismatchedId(known: MachineIds, now: MachineIds): MachineId | null {
  const sign = MACHINE_ID_KINDS.find((one) => valuesOf(known, one).length > 0 && valuesOf(now, one).length > 0)
  if (sign === undefined) return null
  const values = valuesOf(known, sign)
  return valuesOf(now, sign).some((value) => values.includes(value)) ? null : sign
}

/** What is known of one machine after another look at it: what could not be read this time stays. */
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
