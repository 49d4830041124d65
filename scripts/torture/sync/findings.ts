/** What can be wrong at a hub when nothing is under way. */
export const SYNC_FAULTS = {
  lacking: 'records at the gateway that the hub does not have',
  lost: 'acknowledged records at neither side, and no gap or erasure says so',
  different: 'records with other values than at the gateway',
  surplus: 'records at the hub that the gateway does not have, and no purge took',
  returned: 'erased records that came back',
  twice: 'records in two blocks of the hub',
  damaged: 'blocks of the hub that are not what their row says',
  events: 'events and notes that are not the same on both sides',
  lockEventsLost: 'acknowledged lock events the hub does not have',
  entities: 'entities that are not the same on both sides',
  course: 'drawings and photos that are not the same on both sides',
  states: 'states of devices that are not the same on both sides',
  cursors: 'cursors that are not the same on both sides',
  counts: 'counts of rows that are not what is there',
  audits: 'groups an audit finds different',
  quarantined: 'parts in quarantine',
} as const

export type SyncFault = keyof typeof SYNC_FAULTS

const MAX_EXAMPLES = 5

/** What a judgement found, by kind, with a few examples of each. */
export class SyncFindings {
  readonly examples: string[] = []
  /** The checks that were made. */
  readonly looked = { records: 0, excused: 0, events: 0, entities: 0, blocks: 0, photoBytes: 0 }
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
    return { ...Object.fromEntries(this.#counts), looked: this.looked, examples: this.examples }
  }
}
