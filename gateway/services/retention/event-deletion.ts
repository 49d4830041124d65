import { Counter } from '#shared/counter.ts'
import { toIso } from '#shared/time.ts'
import type { Store } from '#store/store.ts'
import {
  EVENT_KINDS,
  type EventDeletionStep,
  type EventKind,
  type EventPosition,
} from '#store/tables/event-deletion.ts'
import type { WriteInput } from '#store/writer/writes.ts'

interface EventDeletionDeps {
  store: Pick<Store, 'write'>
  /** True with a hub: rows that it still lacks are not deleted for their age. */
  hasUpstream: boolean
}

/** Deletes old events and parties, in short transactions between those of the devices' messages. */
export class EventDeletion {
  readonly deleted = new Counter(EVENT_KINDS)
  readonly #deps: EventDeletionDeps

  constructor(deps: EventDeletionDeps) {
    this.#deps = deps
  }

  /** Deletes all of them before `cutoffMs`, except those the hub still lacks; calls `rest` after each step. */
  async deleteExpired(cutoffMs: number, rest: () => Promise<void>): Promise<Record<EventKind, number>> {
    const { store, hasUpstream } = this.#deps
    const deleted = { message: 0, lock_event: 0, geofence_event: 0, command: 0, audit_entry: 0 }
    let after: EventPosition | null = null
    for (;;) {
      const input: WriteInput<'deleteEventsStep'> = { beforeMs: cutoffMs, keepsUnsent: hasUpstream, after }
      const step: EventDeletionStep = await store.write('deleteEventsStep', input)
      deleted[step.kind] += step.deleted
      this.deleted.add(step.kind, step.deleted)
      after = step.after
      if (after === null) break
      await rest()
    }
    const parties = { before: toIso(cutoffMs).slice(0, 10), keepsUnsent: hasUpstream }
    while ((await store.write('deletePartiesStep', parties)) > 0) await rest()
    return deleted
  }
}
