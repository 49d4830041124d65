/** Kinds of faults at a hub while nothing is in transit. */
export const SYNC_FAULTS = {
  lacking: 'records at the gateway that the hub does not have',
  lost: 'acknowledged records on neither side, without a gap or an erasure',
  different: 'records with other values than at the gateway',
  surplus: 'records at the hub that the gateway does not have, without a purge',
  returned: 'erased records that returned',
  twice: 'records in two blocks of the hub',
  damaged: 'blocks of the hub that differ from their row',
  events: 'events and notes that differ between the sides',
  lockEventsLost: 'acknowledged lock events the hub does not have',
  entities: 'entities that differ between the sides',
  course: 'drawings and photos that differ between the sides',
  states: 'states of devices that differ between the sides',
  cursors: 'cursors that differ between the sides',
  counts: 'counts of rows that differ from the rows',
  audits: 'groups that differ in an audit',
  quarantined: 'batches in quarantine',
} as const

export type SyncFault = keyof typeof SYNC_FAULTS

const MAX_EXAMPLES = 5

/** Findings of a check, by kind, with a few examples of each. */
export class SyncFindings {
  readonly examples: string[] = []
  /** Number of checks made. */
  readonly compared = { records: 0, excused: 0, events: 0, entities: 0, blocks: 0, photoBytes: 0 }
  readonly #counts = new Map<SyncFault, number>()

  note(fault: SyncFault, example: string, count = 1): void {
    if (count === 0) return
    const before = this.of(fault)
    this.#counts.set(fault, before + count)
    if (before < MAX_EXAMPLES) this.examples.push(`${fault}: ${example}`)
  }

  of(fault: SyncFault): number {
    return this.#counts.get(fault) ?? 0
  }

  get total(): number {
    return [...this.#counts.values()].reduce((sum, count) => sum + count, 0)
  }

  toJSON(): object {
    return { ...Object.fromEntries(this.#counts), looked: this.compared, examples: this.examples }
  }
}
