import { Counter, Gauge, type Registry } from 'prom-client'
import { SYNC_STATES, type SyncStatus } from '#shared/sync-status.ts'
import type { Tally } from '#shared/tally.ts'
import type { Clock } from '#shared/time.ts'

/** Where the figures of the replication come from. */
export interface SyncFigures {
  readonly status: () => SyncStatus
  readonly failures: Tally
  readonly sentBytes: Tally
  readonly clock: Clock
}

/** Puts the figures of the replication into the metrics. */
export function registerSyncMetrics(registry: Registry, figures: SyncFigures): void {
  const registers = [registry]
  const waiting: Gauge = new Gauge({
    name: 'cartbarn_sync_backlog_rows',
    help: 'Rows still to be sent to the head office, by stream.',
    labelNames: ['stream'],
    registers,
    collect: () => {
      for (const { stream, waitingRows } of figures.status().streams) waiting.set({ stream }, waitingRows)
    },
  })
  const state: Gauge = new Gauge({
    name: 'cartbarn_sync_state',
    help: '1 for the state the replication is in, 0 for the others.',
    labelNames: ['state'],
    registers,
    collect: () => {
      const current = figures.status().state
      for (const name of SYNC_STATES) state.set({ state: name }, Number(name === current))
    },
  })
  const contact: Gauge = new Gauge({
    name: 'cartbarn_sync_last_contact_seconds',
    help: 'Seconds since the head office answered last; NaN before the first time.',
    registers,
    collect: () => {
      const { lastContactMs } = figures.status()
      contact.set(
        lastContactMs === null ? Number.NaN : Math.max(0, figures.clock.nowMs() - lastContactMs) / 1000,
      )
    },
  })
  const audited: Gauge = new Gauge({
    name: 'cartbarn_sync_audit_rows',
    help: 'Rows of the last comparison with the head office: all, and those it confirmed.',
    labelNames: ['kind', 'outcome'],
    registers,
    collect: () => {
      for (const [kind, { rows, confirmed }] of Object.entries(figures.status().audit.last?.counts ?? {})) {
        audited.set({ kind, outcome: 'compared' }, rows)
        audited.set({ kind, outcome: 'confirmed' }, confirmed)
      }
    },
  })
  counter(
    'cartbarn_sync_acked_rows_total',
    'Rows the head office has taken.',
    () => figures.status().ackedRows,
  )
  const sent: Counter = new Counter({
    name: 'cartbarn_sync_bytes_sent_total',
    help: 'Bytes of bodies sent to the head office, by what was asked: push is data, latest are states of devices.',
    labelNames: ['request'],
    registers,
    collect: () => {
      // counted elsewhere: set is what it lacks
      sent.reset()
      for (const [request, bytes] of figures.sentBytes.entries()) sent.inc({ request }, bytes)
    },
  })

  function counter(name: string, help: string, read: () => number): void {
    const metric: Counter = new Counter({
      ...{ name, help, registers },
      collect: () => {
        // counted elsewhere: set is what it lacks
        metric.reset()
        metric.inc(read())
      },
    })
  }
}
