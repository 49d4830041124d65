import { none } from '#scripts/rig/figures.ts'

/** Faults at a hub while nothing is in transit. */
export const SYNC_FAULTS = {
  lacking: none('records at the gateway that the hub does not have'),
  lost: none('acknowledged records on neither side, without a gap or an erasure'),
  different: none('records with other values than at the gateway'),
  surplus: none('records at the hub that the gateway does not have, without a purge'),
  returned: none('erased records that returned'),
  twice: none('records in two blocks of the hub'),
  damaged: none('blocks of the hub that differ from their row'),
  events: none('events and notes that differ between the sides'),
  lockEventsLost: none('acknowledged lock events the hub does not have'),
  entities: none('entities that differ between the sides'),
  course: none('drawings and photos that differ between the sides'),
  states: none('states of devices that differ between the sides'),
  cursors: none('cursors that differ between the sides'),
  counts: none('counts of rows that differ from the rows'),
  audits: none('groups that differ in an audit'),
  quarantined: none('batches in quarantine'),
}

export type SyncFault = keyof typeof SYNC_FAULTS

const MAX_EXAMPLES = 5

/** Findings of a check, by kind, with a few examples of each. */
export class SyncFindings {
  readonly examples: string[] = []
  /** Number of checks made. */
  readonly compared = { records: 0, excused: 0, rows: 0, blocks: 0, photoBytes: 0 }
  readonly counts: Record<SyncFault, number>

  constructor() {
    const faults = Object.keys(SYNC_FAULTS) as SyncFault[]
    this.counts = Object.fromEntries(faults.map((fault) => [fault, 0])) as Record<SyncFault, number>
  }

  note(fault: SyncFault, example: string, count = 1): void {
    if (count === 0) return
    if (this.counts[fault] < MAX_EXAMPLES) this.examples.push(`${fault}: ${example}`)
    this.counts[fault] += count
  }

  /** Adds the counts of another check. */
  add({ counts, compared }: SyncFindings): void {
    addUp(this.counts, counts)
    addUp(this.compared, compared)
  }

  get total(): number {
    return Object.values(this.counts).reduce((sum, count) => sum + count, 0)
  }
}

function addUp<Key extends string>(sums: Record<Key, number>, more: Record<Key, number>): void {
  for (const key in sums) sums[key] += more[key]
}
