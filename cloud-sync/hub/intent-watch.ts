import type { Sql } from '#hub/store/database/database.ts'
import { lastIntents } from '#hub/store/intents.ts'
import { describeError } from '#shared/errors.ts'
import type { Component } from '#shared/lifecycle.ts'
import type { Log } from '#shared/log.ts'

const POLL_MS = 2_000

interface Waiter {
  readonly siteId: string
  readonly after: number
  readonly wake: () => void
}

/**
 * Gateways that wait for intents. An intent that this hub creates wakes its gateway immediately; those of other hubs
 * are found by polling the table, with one query for all gateways.
 */
export class IntentWatch implements Component {
  readonly #sql: Sql
  readonly #log: Log
  readonly #pollMs: number
  readonly #waiters = new Set<Waiter>()
  #timer: NodeJS.Timeout | undefined
  #isStopped = true
  #polling: Promise<void> | undefined
  /** Reason for which the last check failed, which is logged once; null if it succeeded. */
  #reason: string | null = null

  constructor(sql: Sql, log: Log, pollMs = POLL_MS) {
    this.#sql = sql
    this.#log = log
    this.#pollMs = pollMs
  }

  async start(): Promise<void> {
    this.#isStopped = false
    this.#timer = setInterval(() => {
      this.#polling ??= this.#poll().finally(() => {
        this.#polling = undefined
      })
    }, this.#pollMs)
  }

  /** Ends all waits, so that the waiting requests get their response. */
  async stop(): Promise<void> {
    this.#isStopped = true
    clearInterval(this.#timer)
    for (const { wake } of this.#waiters) wake()
    await this.#polling
  }

  /** Called when there is a new intent for this site. */
  wake(siteId: string): void {
    for (const waiter of this.#waiters) if (waiter.siteId === siteId) waiter.wake()
  }

  get waitingCount(): number {
    return this.#waiters.size
  }

  /** Resolves when there may be an intent after `after`, after `waitMs`, or when the client closes the connection. */
  async wait(siteId: string, after: number, waitMs: number, signal: AbortSignal): Promise<void> {
    if (this.#isStopped || signal.aborted || waitMs <= 0) return
    await new Promise<void>((resolve) => {
      const wake = () => {
        clearTimeout(timer)
        signal.removeEventListener('abort', wake)
        this.#waiters.delete(waiter)
        resolve()
      }
      const timer = setTimeout(wake, waitMs)
      const waiter: Waiter = { siteId, after, wake }
      this.#waiters.add(waiter)
      signal.addEventListener('abort', wake)
    })
  }

  async #poll(): Promise<void> {
    if (this.#waiters.size === 0) return
    try {
      const newest = await lastIntents(this.#sql, [...new Set([...this.#waiters].map(({ siteId }) => siteId))])
      for (const waiter of this.#waiters) {
        if ((newest.get(waiter.siteId) ?? 0) > waiter.after) waiter.wake()
      }
      if (this.#reason !== null) this.#log.info({}, 'checks for new intents succeed again')
      this.#reason = null
    } catch (error) {
      const reason = describeError(error)
      if (reason !== this.#reason) this.#log.warn({ reason }, 'checking for new intents failed; will retry')
      this.#reason = reason
    }
  }
}
