import type { Store } from '#store/store.ts'

interface AlertDeletionDeps {
  store: Pick<Store, 'write'>
  /** There is a head office: what it is still to get does not go for its age. */
  hasUpstream: boolean
}

/** Deletes alerts that were closed long ago, in short transactions between those of the devices' messages. */
export class AlertDeletion {
  readonly #deps: AlertDeletionDeps

  constructor(deps: AlertDeletionDeps) {
    this.#deps = deps
  }

  /**
   * Deletes all alerts that were closed before `cutoffMs`, except those the hub still lacks; `rest` is called after
   * each step.
   */
  async deleteExpired(cutoffMs: number, rest: () => Promise<void>): Promise<{ alerts: number }> {
    const { store, hasUpstream } = this.#deps
    let alerts = 0
    for (;;) {
      const deleted = await store.write('deleteAlertsStep', { beforeMs: cutoffMs, keepsUnsent: hasUpstream })
      alerts += deleted
      if (deleted === 0) return { alerts }
      await rest()
    }
  }
}
