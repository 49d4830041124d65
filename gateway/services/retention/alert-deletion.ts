import type { Store } from '#store/store.ts'

interface AlertDeletionDeps {
  store: Pick<Store, 'write'>
  /** True with a hub: rows that it still lacks are not deleted for their age. */
  hasUpstream: boolean
}

/** Deletes old closed alerts, in short transactions between those of the devices' messages. */
export class AlertDeletion {
  readonly #deps: AlertDeletionDeps

  constructor(deps: AlertDeletionDeps) {
    this.#deps = deps
  }

  /** Deletes all alerts closed before `cutoffMs`, except those the hub still lacks; calls `rest` after each step. */
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
