import type { NotifierChannel } from '#shared/wire/notifiers.ts'

export type Channel = 'webhook' | NotifierChannel
export const CHANNELS: readonly Channel[] = ['webhook', 'email', 'ntfy', 'telegram']

/** Something to be told, with its body. */
export interface Outgoing {
  /** The same at a retry. */
  readonly deliveryId: string
  /** Null for a test. */
  readonly alertId: string | null
  /** JSON, as it was queued. */
  readonly body: string
}

export interface Sending {
  /** It comes long after its time. */
  readonly isLate: boolean
  readonly signal: AbortSignal
}

/** Whoever is told of alerts. */
export interface Target {
  readonly targetId: string
  readonly channel: Channel
  /**
   * How long after an alert was opened it is told, with those that were opened soon after it; null for a target that is
   * told of everything at once and by itself, what concerns one alert in order.
   */
  readonly waitMs: number | null
  /** How long an attempt may take. */
  readonly attemptMs: number
  /** Rejects with what went wrong in words. */
  send(outgoing: readonly [Outgoing, ...Outgoing[]], sending: Sending): Promise<void>
}

/** How it goes with a target. */
export interface TargetStatus {
  lastSuccessAtMs: number | null
  /** In words; null after a success. */
  lastError: string | null
}
